// The file of a vendor's library that the program uses.
#pragma once

#include <dlfcn.h>

#include <string>

namespace rondo::bench {

// The path of the shared library that has the function; where none has it, it is linked into the program.
inline std::string loaded_library(const char* function) {
  Dl_info found;
  void* const address = dlsym(RTLD_DEFAULT, function);
  if (!address || !dladdr(address, &found) || !found.dli_fname) return "linked into the program";
  return found.dli_fname;
}

}  // namespace rondo::bench

#include "kernel_name.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <sstream>
#include <unordered_map>

namespace simt {
namespace {

std::string look_up(const void* kernel) {
  Dl_info info = {};
  if (dladdr(kernel, &info) == 0 || !info.dli_sname || info.dli_saddr != kernel) {
    std::ostringstream text;
    text << "at " << kernel;
    return text.str();
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : info.dli_sname;
}

}  // namespace

std::string kernel_name(const void* kernel) {
  static std::mutex mutex;
  static auto& names = *new std::unordered_map<const void*, std::string>;
  std::lock_guard lock(mutex);
  const auto [entry, fresh] = names.try_emplace(kernel);
  if (fresh) entry->second = look_up(kernel);
  return entry->second;
}

}  // namespace simt

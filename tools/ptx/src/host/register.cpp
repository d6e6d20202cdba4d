// What nvcc's host code calls before main(), when a shared library is loaded, and at the end.
#include <cuda_runtime_api.h>

#include <vector>

#include "program.h"
#include "runtime.h"

using ptx::Program;
using ptx::Unit;

namespace {

// Of <fatbinary_section.h>, which not all toolkits install.
struct Wrapper {
  int magic, version;
  const void* data;
  // Version 2, of nvcc -rdc=true: the fat binaries of all translation units, and a null pointer. `data` is
  // then what the device linker made of their machine code.
  const void* const* prelinked;
};
constexpr int kLinked = 2;

Unit* unit_of(void** handle) { return reinterpret_cast<Unit*>(handle); }

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  const auto& binary = *static_cast<const Wrapper*>(wrapper);
  std::vector<const void*> parts;
  if (binary.version == kLinked && binary.prelinked)
    for (const void* const* part = binary.prelinked; *part; ++part) parts.push_back(*part);
  if (parts.empty()) parts.push_back(binary.data);
  return reinterpret_cast<void**>(Program::get().add_unit(parts));
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void** handle) { Program::get().remove_unit(unit_of(handle)); }

// Before the host accesses a managed variable.
char __cudaInitModule(void** handle) {
  try {
    Program::get().place_managed(unit_of(handle));
    return 1;
  } catch (const simt::Failure&) {
    return 0;
  }
}

void __cudaRegisterFunction(void** handle, const char* host, char* /*device_function*/, const char* name,
                            int /*thread_limit*/, uint3*, uint3*, dim3*, dim3*, int*) {
  Program::get().add_kernel(unit_of(handle), host, name);
}

void __cudaRegisterVar(void** handle, char* host, char* /*device_address*/, const char* name,
                       int /*external*/, size_t /*bytes*/, int /*constant*/, int /*global*/) {
  Program::get().add_variable(unit_of(handle), host, name);
}

void __cudaRegisterManagedVar(void** handle, void** host_pointer, char* /*device_address*/, const char* name,
                              int /*external*/, size_t /*bytes*/, int /*constant*/, int /*global*/) {
  Program::get().add_managed(unit_of(handle), host_pointer, name);
}

}  // extern "C"

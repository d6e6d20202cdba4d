// The properties of the CPU executor's devices.
#pragma once

#include "runtime.h"

namespace simt {

// The same on every GPU; gpu_limits.h has the properties that differ.
inline constexpr size_t kSharedPerBlock = 48 << 10;  // without opting in
inline constexpr int kThreadsPerBlock = 1024;

cudaDeviceProp properties_of(const Runtime& runtime, int device);

// Throws cudaErrorInvalidValue for an unknown attribute.
int attribute_of(const cudaDeviceProp& properties, cudaDeviceAttr attribute);

}  // namespace simt

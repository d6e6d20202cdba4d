// What a device made of CPU cores says about itself.
#pragma once

#include "runtime.h"

namespace simt {

inline constexpr size_t kSharedPerBlock = 48 << 10;        // without opting in
inline constexpr size_t kSharedPerBlockOptIn = 227 << 10;  // the most that a kernel may opt in to
inline constexpr size_t kSharedPerMultiprocessor = 228 << 10;
inline constexpr size_t kSharedReservedPerBlock = 1 << 10;
inline constexpr int kThreadsPerBlock = 1024;

cudaDeviceProp properties_of(const Runtime& runtime, int device);

// Throws cudaErrorInvalidValue for an attribute that does not exist.
int attribute_of(const cudaDeviceProp& properties, cudaDeviceAttr attribute);

}  // namespace simt

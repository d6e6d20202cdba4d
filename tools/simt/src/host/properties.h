// The properties of the CPU executor's devices.
#pragma once

#include "runtime.h"

namespace simt {

inline constexpr size_t kSharedPerBlock = 48 << 10;  // on every GPU, without opting in

cudaDeviceProp properties_of(const Runtime& runtime, int device);

// Throws cudaErrorInvalidValue for an unknown attribute.
int attribute_of(const cudaDeviceProp& properties, cudaDeviceAttr attribute);

// Throws cudaErrorInvalidValue for a window that the device does not have.
void check_access_policy_window(const Runtime& runtime, const cudaAccessPolicyWindow& window);

}  // namespace simt

// What a kernel has accessed at an address where it faults. The host half knows the memory, the device half
// gets the fault.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "sanitizers.h"

namespace simt {

// Whether such an access becomes a fault of the kernel. The sanitizers handle the signal themselves.
#ifdef __x86_64__
inline constexpr bool kWrongAddressesAreFaults = !kAddressSanitizer && !kThreadSanitizer;
#else
inline constexpr bool kWrongAddressesAreFaults = false;
#endif

// "a null pointer (address 4)"
std::string description_of(uintptr_t address);

// Whether a kernel has called malloc() or new: the memory map does not have that memory.
inline std::atomic<bool> kernel_heap_is_used{false};

}  // namespace simt

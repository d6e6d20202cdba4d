// The bounds check (SIMT_BOUNDS=1): accesses of kernels to memory that their device may not access, and of
// the host to memory of a device.
#pragma once

#include <simt/observe.h>

#include <cstddef>
#include <cstdint>

namespace simt {

inline bool bounds_are_checked = false;  // set before the first kernel

// A kernel accesses memory that is no allocation which its device may access. Raises a fault if it is not
// memory of the program that kernels have, such as constants.
void check_bounds_of_kernel(const void* place, uintptr_t address, size_t bytes, AccessKind kind);
// A kernel accesses the shared memory of its block. Raises a fault if no variable is there.
void check_bounds_of_shared(const void* place, uintptr_t address, size_t bytes, AccessKind kind);
// An access of a host thread.
void check_bounds_of_host(const void* place, uintptr_t address, size_t bytes, AccessKind kind);

}  // namespace simt

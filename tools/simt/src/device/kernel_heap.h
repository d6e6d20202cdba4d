// The heap of kernels (simt/translated.h).
#pragma once

#include <cstdint>

namespace simt {

// Whether a kernel got the memory at this address by malloc() or new. Asked with SIMT_BOUNDS=1 only.
bool in_kernel_heap(uintptr_t address);

}  // namespace simt

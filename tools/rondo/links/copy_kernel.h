// A simple copy kernel, for the measurement of links.
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo::program {

// Copies `bytes`, a multiple of kCopyMultiple. Both addresses must be 16-byte aligned.
inline constexpr int64_t kCopyMultiple = 16 << 10;
[[nodiscard]] Status copy_by_kernel(void* to, const void* from, int64_t bytes, cudaStream_t stream);

}  // namespace rondo::program

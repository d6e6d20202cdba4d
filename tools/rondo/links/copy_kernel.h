// The kernel by which links are measured: as plain as a copy can be.
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo::program {

// `bytes`, a multiple of kCopyMultiple, from memory that begins at a boundary of 16 bytes to such memory.
inline constexpr int64_t kCopyMultiple = 16 << 10;
[[nodiscard]] Status copy_by_kernel(void* to, const void* from, int64_t bytes, cudaStream_t stream);

}  // namespace rondo::program

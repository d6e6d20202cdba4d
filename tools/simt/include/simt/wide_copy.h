// An asynchronous copy to shared memory that is longer than cp.async's, for kernels whose threads use vector
// registers. <cuda_runtime.h> does not include it, because CUDA does not have it.
#pragma once

#include <simt/async_copy.h>

namespace simt {

// Equals Bytes / 16 calls of async_copy<16>() in a row.
template <int Bytes>
[[gnu::always_inline]] inline void async_copy_wide(void* to, const void* from, bool valid) {
  static_assert(Bytes % 16 == 0);
  const uintptr_t addresses =
      reinterpret_cast<uintptr_t>(to) | (valid ? reinterpret_cast<uintptr_t>(from) : 0);
  if (addresses % 16 != 0) [[unlikely]]
    detail::misaligned_copy(to, from, 16);
#ifdef SIMT_OBSERVE
  detail::observe_async_copy(to, from, Bytes, valid);
#endif
  if (detail::late_copies) [[unlikely]]
    return detail::async_copy_late(to, from, Bytes, valid);
#ifdef SIMT_OBSERVE
  return detail::copy_or_clear_unobserved(to, from, Bytes, valid);
#endif
  if (valid)
    std::memcpy(to, from, Bytes);
  else
    std::memset(to, 0, Bytes);
}

}  // namespace simt

// The dynamic shared memory of the running block.
#pragma once

#include <cstddef>

namespace simt {

namespace detail {
inline thread_local constinit void* shared_begin = nullptr;
inline thread_local constinit size_t shared_bytes = 0;
[[noreturn]] void shared_too_small(size_t wanted);
}  // namespace detail

// Aligned to 1024 bytes, the period of the widest swizzle; every byte is 0xFF when the block starts. If the
// kernel needs more than its launch provides, the call raises a fault.
inline void* shared_memory(size_t wanted = 0) {
  if (wanted > detail::shared_bytes) [[unlikely]]
    detail::shared_too_small(wanted);
  return detail::shared_begin;
}

}  // namespace simt

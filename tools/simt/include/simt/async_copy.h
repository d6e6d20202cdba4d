// cp.async: copies from global to shared memory that are done when their group has been waited for.
//
// A GPU may do such a copy at any moment between the issue and the wait. The executor has the two extremes:
// eager, at the issue; and late, at the wait, with 0xFF in the destination meanwhile, so that a kernel which
// forgets to wait reads nonsense every time. A setting chooses (see settings.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace simt {

namespace detail {
inline thread_local constinit bool late_copies = false;
void async_copy_late(void* to, const void* from, size_t bytes, bool valid);
void async_commit_late();
void async_wait_late(int groups);
[[noreturn]] void misaligned_copy(const void* to, const void* from, size_t bytes);
}  // namespace detail

// Starts a copy of 4, 8 or 16 bytes; both addresses are multiples of its size. !valid: zeros are written and
// `from` is not read.
template <int Bytes>
inline void async_copy(void* to, const void* from, bool valid = true) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  const uintptr_t addresses =
      reinterpret_cast<uintptr_t>(to) | (valid ? reinterpret_cast<uintptr_t>(from) : 0);
  if (addresses % Bytes != 0) [[unlikely]]
    detail::misaligned_copy(to, from, Bytes);
  if (detail::late_copies) [[unlikely]]
    return detail::async_copy_late(to, from, Bytes, valid);
  if (valid)
    std::memcpy(to, from, Bytes);
  else
    std::memset(to, 0, Bytes);
}

// Closes the calling thread's group of copies.
inline void async_commit() {
  if (detail::late_copies) [[unlikely]]
    detail::async_commit_late();
}

// Returns when at most `groups` of the thread's newest groups are still on their way.
inline void async_wait(int groups) {
  if (detail::late_copies) [[unlikely]]
    detail::async_wait_late(groups);
}

}  // namespace simt

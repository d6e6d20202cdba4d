// cp.async: copies from global to shared memory that are complete after a wait for their group.
//
// A GPU may perform such a copy at any time between the issue and the wait. The executor has the two
// extremes, selected by a setting (settings.h). Eager mode copies at the issue. Late mode copies at the wait
// and fills the destination with 0xFF until then, so that a kernel with a missing wait always reads wrong
// values.
#pragma once

#include <simt/memory_access.h>

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

// Starts a copy of 4, 8 or 16 bytes; both addresses must be multiples of its size. If !valid, writes zeros
// and does not read `from`. For kernels whose threads use vector registers, larger multiples of 16 are
// allowed; such a copy equals copies of 16 bytes in a row.
template <int Bytes>
[[gnu::always_inline]] inline void async_copy(void* to, const void* from, bool valid = true) {
  static_assert(Bytes == 4 || Bytes == 8 || (Bytes > 0 && Bytes % 16 == 0));
  constexpr int kAlignment = Bytes < 16 ? Bytes : 16;
  const uintptr_t addresses =
      reinterpret_cast<uintptr_t>(to) | (valid ? reinterpret_cast<uintptr_t>(from) : 0);
  if (addresses % kAlignment != 0) [[unlikely]]
    detail::misaligned_copy(to, from, kAlignment);
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

// Commits the calling thread's copies since the last commit as a group.
inline void async_commit() {
#ifdef SIMT_OBSERVE
  detail::observe_async_commit();
#endif
  if (detail::late_copies) [[unlikely]]
    detail::async_commit_late();
}

// Waits until at most `groups` of the calling thread's newest groups are pending.
inline void async_wait(int groups) {
#ifdef SIMT_OBSERVE
  detail::observe_async_wait(groups);
#endif
  if (detail::late_copies) [[unlikely]]
    detail::async_wait_late(groups);
}

}  // namespace simt

// Accesses of several values at once. A GPU faults where their address is not a multiple of their size; the
// processor that stands in for it does not mind, so code for both asks here.
//
// The checks stand in inner loops. They are compiled in where RONDO_CHECK_ALIGNMENT is on
// (SIMT_CHECK_ALIGNMENT is defined): in the presets asan and tsan.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

namespace detail {
[[noreturn]] void misaligned_access(const char* what, const void* address, size_t bytes);
}  // namespace detail

// A fault (cudaErrorMisalignedAddress) unless `address` is a multiple of `Bytes`; `what` names the access.
template <size_t Bytes>
[[gnu::always_inline]] inline void check_aligned([[maybe_unused]] const char* what,
                                                 [[maybe_unused]] const void* address) {
#ifdef SIMT_CHECK_ALIGNMENT
  if (reinterpret_cast<uintptr_t>(address) % Bytes != 0) [[unlikely]]
    detail::misaligned_access(what, address, Bytes);
#endif
}

}  // namespace simt

// Alignment checks for vector accesses. A GPU faults if an address is not a multiple of the access size; the
// CPU does not, so code that runs on both calls these checks. Scalar accesses are checked where the compiler
// reports every access: in the preset observe (src/observe/hooks.cpp), and by the sanitizer of asan.
//
// The checks are in inner loops. They are compiled in only with RONDO_CHECK_ALIGNMENT (which defines
// SIMT_CHECK_ALIGNMENT): in the presets asan, tsan and observe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

namespace detail {
[[noreturn]] void misaligned_access(const char* what, const void* address, size_t bytes);
}  // namespace detail

// Raises a fault (cudaErrorMisalignedAddress) unless `address` is a multiple of `Bytes`; `what` names the
// access.
template <size_t Bytes>
[[gnu::always_inline]] inline void check_aligned([[maybe_unused]] const char* what,
                                                 [[maybe_unused]] const void* address) {
#ifdef SIMT_CHECK_ALIGNMENT
  if (reinterpret_cast<uintptr_t>(address) % Bytes != 0) [[unlikely]]
    detail::misaligned_access(what, address, Bytes);
#endif
}

}  // namespace simt

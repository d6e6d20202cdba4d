// Included first in sources whose kernels are observed: memcpy(), memmove() and memset() report what they
// access.
#pragma once

#undef _FORTIFY_SOURCE  // has such functions, too

#include <string.h>

#ifdef __cplusplus

extern "C" {
void* simt_observed_memcpy(void* to, const void* from, size_t bytes);
void* simt_observed_memmove(void* to, const void* from, size_t bytes);
void* simt_observed_memset(void* to, int value, size_t bytes);

#define SIMT_INLINED extern inline __attribute__((gnu_inline, always_inline, artificial))

// The compiler instruments a copy of the size of one instruction itself.
#define SIMT_COPY(name)                                                                 \
  const bool one = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16; \
  return __builtin_constant_p(bytes) && one ? __builtin_##name(to, from, bytes)         \
                                            : simt_observed_##name(to, from, bytes)
SIMT_INLINED void* memcpy(void* __restrict to, const void* __restrict from, size_t bytes) noexcept {
  SIMT_COPY(memcpy);
}
SIMT_INLINED void* memmove(void* to, const void* from, size_t bytes) noexcept { SIMT_COPY(memmove); }
SIMT_INLINED void* memset(void* to, int value, size_t bytes) noexcept {
  return simt_observed_memset(to, value, bytes);
}
#undef SIMT_INLINED
#undef SIMT_COPY
}

#endif

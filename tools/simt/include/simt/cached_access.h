// Loads and stores with a hint for the caches, which are not simulated: each is one access.
#pragma once

#include <simt/memory_access.h>

#include <type_traits>

#define SIMT_CACHED_LOAD(name)                          \
  template <class T>                                    \
  [[gnu::always_inline]] inline T name(const T* from) { \
    return simt::load_value<T>(from);                   \
  }
SIMT_CACHED_LOAD(__ldg)
SIMT_CACHED_LOAD(__ldca)
SIMT_CACHED_LOAD(__ldcg)
SIMT_CACHED_LOAD(__ldcs)
SIMT_CACHED_LOAD(__ldcv)
SIMT_CACHED_LOAD(__ldlu)
#undef SIMT_CACHED_LOAD

#define SIMT_CACHED_STORE(name)                                                   \
  template <class T>                                                              \
  [[gnu::always_inline]] inline void name(T* to, std::type_identity_t<T> value) { \
    simt::store_value(to, value);                                                 \
  }
SIMT_CACHED_STORE(__stcg)
SIMT_CACHED_STORE(__stcs)
SIMT_CACHED_STORE(__stwb)
SIMT_CACHED_STORE(__stwt)
#undef SIMT_CACHED_STORE

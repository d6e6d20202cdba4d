// CUDA's atomic operations. All are relaxed, as on a GPU: they do not order other memory accesses.
#pragma once

#include <simt/builtins.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace simt::detail {

#ifdef SIMT_OBSERVE
void observe_atomic(void* address, size_t bytes);
#define SIMT_OBSERVE_ATOMIC(address) observe_atomic(address, sizeof(*address))
#define SIMT_UNOBSERVED __attribute__((noinline, no_sanitize_thread))
#else
#define SIMT_OBSERVE_ATOMIC(address) static_cast<void>(0)
#define SIMT_UNOBSERVED
#endif

template <class T, class Next>
SIMT_UNOBSERVED inline T compare_and_swap_until_done(T* address, Next next) {
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (T desired = next(old);
       !__atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);)
    desired = next(old);
  return old;
}

// Atomically replaces *address with next(*address) and returns the old value. A GPU has one instruction for
// it.
template <class T, class Next>
inline T atomic_update(T* address, Next next) {
  SIMT_OBSERVE_ATOMIC(address);
  return compare_and_swap_until_done(address, next);
}
#undef SIMT_OBSERVE_ATOMIC
#undef SIMT_UNOBSERVED

template <class T>
concept AtomicInteger =
    std::same_as<T, int> || std::same_as<T, unsigned> || std::same_as<T, unsigned long long>;
template <class T>
concept AtomicNumber = AtomicInteger<T> || std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept AtomicOrdered = AtomicInteger<T> || std::same_as<T, long long>;

}  // namespace simt::detail

template <simt::detail::AtomicNumber T>
inline T atomicAdd(T* address, std::type_identity_t<T> value) {
  if constexpr (std::is_integral_v<T>)
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  else
    return simt::detail::atomic_update(address, [value](T old) { return old + value; });
}

template <class T>
requires(std::same_as<T, int> || std::same_as<T, unsigned>) inline T
    atomicSub(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}

template <class T>
requires(simt::detail::AtomicInteger<T> || std::same_as<T, float>) inline T
    atomicExch(T* address, std::type_identity_t<T> value) {
  T old;
  __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
  return old;
}

template <class T>
requires(simt::detail::AtomicInteger<T> || std::same_as<T, unsigned short>) inline T
    atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  __atomic_compare_exchange(address, &expected, &desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

template <simt::detail::AtomicOrdered T>
inline T atomicMin(T* address, std::type_identity_t<T> value) {
  return simt::detail::atomic_update(address, [value](T old) { return old < value ? old : value; });
}
template <simt::detail::AtomicOrdered T>
inline T atomicMax(T* address, std::type_identity_t<T> value) {
  return simt::detail::atomic_update(address, [value](T old) { return old > value ? old : value; });
}

template <simt::detail::AtomicInteger T>
inline T atomicAnd(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <simt::detail::AtomicInteger T>
inline T atomicOr(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <simt::detail::AtomicInteger T>
inline T atomicXor(T* address, std::type_identity_t<T> value) {
  return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}

// Increments, and wraps to 0 after `limit`.
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return simt::detail::atomic_update(address, [limit](unsigned old) { return old >= limit ? 0 : old + 1; });
}
// Decrements; 0 and values above `limit` become `limit`.
inline unsigned atomicDec(unsigned* address, unsigned limit) {
  return simt::detail::atomic_update(
      address, [limit](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

// The functions with the scope of a block and of the system. All atomics here have that of the system.
#define SIMT_ATOMIC_SCOPES(name)                         \
  template <class T, class... Values>                    \
  inline T name##_block(T* address, Values... values) {  \
    return name(address, values...);                     \
  }                                                      \
  template <class T, class... Values>                    \
  inline T name##_system(T* address, Values... values) { \
    return name(address, values...);                     \
  }
SIMT_ATOMIC_SCOPES(atomicAdd)
SIMT_ATOMIC_SCOPES(atomicSub)
SIMT_ATOMIC_SCOPES(atomicExch)
SIMT_ATOMIC_SCOPES(atomicCAS)
SIMT_ATOMIC_SCOPES(atomicMin)
SIMT_ATOMIC_SCOPES(atomicMax)
SIMT_ATOMIC_SCOPES(atomicAnd)
SIMT_ATOMIC_SCOPES(atomicOr)
SIMT_ATOMIC_SCOPES(atomicXor)
SIMT_ATOMIC_SCOPES(atomicInc)
SIMT_ATOMIC_SCOPES(atomicDec)
#undef SIMT_ATOMIC_SCOPES

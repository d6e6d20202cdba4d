// Memory accesses that are one instruction on a GPU and more than one access in C++: vector loads and stores.
//
// A build that observes kernels (RONDO_OBSERVE; simt/observe.h) sees the accesses that the compiler emits.
// A 16-byte load of a struct of four floats may become four loads of 4 bytes there. Device code that wants
// one instruction therefore loads through load(), which reports the access as a whole. In other builds load()
// is a plain copy.
#pragma once

#include <cstddef>

namespace simt {

namespace detail {
// Each reports an access of the running CUDA thread; the caller's place in the source is the place of the
// access.
void observe_load(const void* from, size_t bytes);
void observe_store(void* to, size_t bytes);
void observe_async_copy(void* to, const void* from, size_t bytes, bool valid);
void observe_async_commit();
void observe_async_wait(int groups);
// Copies, as one load and one store of the running CUDA thread.
void observe_copy(void* to, const void* from, size_t bytes);
void observe_multiply_adds(int count);
// `products` instructions of the running thread's warp, with `multiply_adds` each.
void observe_tensor_products(bool tf32, int products, int multiply_adds);
// Copies without reporting.
void copy_unobserved(void* to, const void* from, size_t bytes);
void copy_or_clear_unobserved(void* to, const void* from, size_t bytes, bool copy);
}  // namespace detail

// A load to `value`, or a store of it, of `Bytes` bytes by one instruction. `value` is a local variable. Its
// accesses are observed while it may be an accumulator of an unfinished product.
template <size_t Bytes>
[[gnu::always_inline]] inline void load(void* value, const void* from) {
#ifdef SIMT_OBSERVE
  detail::observe_load(from, Bytes);
  detail::observe_store(value, Bytes);
  detail::copy_unobserved(value, from, Bytes);
#else
  __builtin_memcpy(value, from, Bytes);
#endif
}
template <size_t Bytes>
[[gnu::always_inline]] inline void store(void* to, const void* value) {
#ifdef SIMT_OBSERVE
  detail::observe_load(value, Bytes);
  detail::observe_store(to, Bytes);
  detail::copy_unobserved(to, value, Bytes);
#else
  __builtin_memcpy(to, value, Bytes);
#endif
}
// The same for a value of a struct or vector type. Without an observer it is an access of that type, and g++
// can keep the struct in a vector register, which it does not do with the result of a memcpy.
template <class T>
[[gnu::always_inline]] inline T load_value(const void* from) {
#ifdef SIMT_OBSERVE
  T value;
  load<sizeof(T)>(&value, from);
  return value;
#else
  return *static_cast<const T*>(from);
#endif
}
template <class T>
[[gnu::always_inline]] inline void store_value(void* to, const T& value) {
#ifdef SIMT_OBSERVE
  store<sizeof(T)>(to, &value);
#else
  *static_cast<T*>(to) = value;
#endif
}

// The same for an address that is only aligned to `Scalar` bytes: one instruction for each scalar.
template <size_t Bytes, size_t Scalar>
[[gnu::always_inline]] inline void load_scalars(void* value, const void* from) {
#ifdef SIMT_OBSERVE
  for (size_t i = 0; i < Bytes; i += Scalar) detail::observe_load(static_cast<const char*>(from) + i, Scalar);
  detail::observe_store(value, Bytes);
  detail::copy_unobserved(value, from, Bytes);
#else
  __builtin_memcpy(value, from, Bytes);
#endif
}
template <size_t Bytes, size_t Scalar>
[[gnu::always_inline]] inline void store_scalars(void* to, const void* value) {
#ifdef SIMT_OBSERVE
  detail::observe_load(value, Bytes);
  for (size_t i = 0; i < Bytes; i += Scalar) detail::observe_store(static_cast<char*>(to) + i, Scalar);
  detail::copy_unobserved(to, value, Bytes);
#else
  __builtin_memcpy(to, value, Bytes);
#endif
}

// Counts `count` multiply-adds of the running CUDA thread in a build that observes kernels.
[[gnu::always_inline]] inline void count_multiply_adds([[maybe_unused]] int count) {
#ifdef SIMT_OBSERVE
  detail::observe_multiply_adds(count);
#endif
}

}  // namespace simt

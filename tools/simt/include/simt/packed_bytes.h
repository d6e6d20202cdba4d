// Operations on the bytes and halves of a word: dot products and CUDA's SIMD intrinsics.
#pragma once

#include <vector_types.h>

#include <bit>
#include <cstdint>

namespace simt::detail {

// Applies `operation` to the elements of type T of two words, and puts its results together.
template <class T, class Operation>
constexpr unsigned by_elements(unsigned a, unsigned b, Operation operation) {
  constexpr unsigned kBits = 8 * sizeof(T);
  unsigned result = 0;
  for (unsigned shift = 0; shift < 32; shift += kBits) {
    const int x = static_cast<T>(a >> shift), y = static_cast<T>(b >> shift);
    result |= (static_cast<unsigned>(operation(x, y)) & ((1u << kBits) - 1)) << shift;
  }
  return result;
}
template <class T>
constexpr int saturated(int value) {
  constexpr int kLeast = static_cast<T>(-1) < 0 ? -(1 << (8 * sizeof(T) - 1)) : 0;
  constexpr int kMost = kLeast + (1 << 8 * sizeof(T)) - 1;
  return value < kLeast ? kLeast : value > kMost ? kMost : value;
}
template <class T>
constexpr unsigned sum_of_differences(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (unsigned shift = 0; shift < 32; shift += 8 * sizeof(T)) {
    const int difference = static_cast<T>(a >> shift) - static_cast<T>(b >> shift);
    sum += static_cast<unsigned>(difference < 0 ? -difference : difference);
  }
  return sum;
}

}  // namespace simt::detail

// c + the products of the bytes.
inline int __dp4a(int a, int b, int c) {
  for (int shift = 0; shift < 32; shift += 8)
    c += static_cast<int8_t>(a >> shift) * static_cast<int8_t>(b >> shift);
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int shift = 0; shift < 32; shift += 8) c += (a >> shift & 0xFF) * (b >> shift & 0xFF);
  return c;
}
inline int __dp4a(char4 a, char4 b, int c) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w + c; }
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return static_cast<unsigned>(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w) + c;
}
// c + the products of the halves of a with the low or high two bytes of b.
inline int __dp2a_lo(int a, int b, int c) {
  return c + static_cast<int16_t>(a) * static_cast<int8_t>(b) + (a >> 16) * static_cast<int8_t>(b >> 8);
}
inline int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) {
  return c + (a & 0xFFFF) * (b & 0xFF) + (a >> 16) * (b >> 8 & 0xFF);
}
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return __dp2a_lo(a, b >> 16, c); }

// __vadd4 (bytes) and __vadd2 (halves), and so on: s signed, u unsigned, ss and us saturate.
#define SIMT_BY_ELEMENTS(name, T, expression)                                           \
  inline unsigned name(unsigned a, unsigned b) {                                        \
    return simt::detail::by_elements<T>(a, b, [](int x, int y) { return expression; }); \
  }
#define SIMT_PACKED(n, S, U)                                                                               \
  SIMT_BY_ELEMENTS(__vadd##n, U, x + y)                                                                    \
  SIMT_BY_ELEMENTS(__vsub##n, U, x - y)                                                                    \
  SIMT_BY_ELEMENTS(__vaddss##n, S, simt::detail::saturated<S>(x + y))                                      \
  SIMT_BY_ELEMENTS(__vaddus##n, U, simt::detail::saturated<U>(x + y))                                      \
  SIMT_BY_ELEMENTS(__vsubss##n, S, simt::detail::saturated<S>(x - y))                                      \
  SIMT_BY_ELEMENTS(__vsubus##n, U, simt::detail::saturated<U>(x - y))                                      \
  SIMT_BY_ELEMENTS(__vavgu##n, U, (x + y + 1) >> 1)                                                        \
  SIMT_BY_ELEMENTS(__vmaxs##n, S, x > y ? x : y)                                                           \
  SIMT_BY_ELEMENTS(__vmaxu##n, U, x > y ? x : y)                                                           \
  SIMT_BY_ELEMENTS(__vmins##n, S, x < y ? x : y)                                                           \
  SIMT_BY_ELEMENTS(__vminu##n, U, x < y ? x : y)                                                           \
  SIMT_BY_ELEMENTS(__vabsdiffu##n, U, x > y ? x - y : y - x)                                               \
  SIMT_BY_ELEMENTS(__vabsdiffs##n, S, x > y ? x - y : y - x)                                               \
  SIMT_BY_ELEMENTS(__vcmpeq##n, U, x == y ? -1 : 0)                                                        \
  SIMT_BY_ELEMENTS(__vcmpgts##n, S, x > y ? -1 : 0)                                                        \
  SIMT_BY_ELEMENTS(__vcmpgtu##n, U, x > y ? -1 : 0)                                                        \
  SIMT_BY_ELEMENTS(__vseteq##n, U, x == y)                                                                 \
  inline unsigned __vsads##n(unsigned a, unsigned b) { return simt::detail::sum_of_differences<S>(a, b); } \
  inline unsigned __vsadu##n(unsigned a, unsigned b) { return simt::detail::sum_of_differences<U>(a, b); }
SIMT_PACKED(4, int8_t, uint8_t)
SIMT_PACKED(2, int16_t, uint16_t)
#undef SIMT_PACKED
#undef SIMT_BY_ELEMENTS

// Integer types by their size, and operations on integers that several families of instructions have.
#pragma once

#include <cstdint>
#include <type_traits>

namespace ptx {

template <int bytes>
struct Integer;
template <>
struct Integer<1> {
  using type = uint8_t;
  using with_sign = int8_t;
};
template <>
struct Integer<2> {
  using type = uint16_t;
  using with_sign = int16_t;
};
template <>
struct Integer<4> {
  using type = uint32_t;
  using with_sign = int32_t;
};
template <>
struct Integer<8> {
  using type = uint64_t;
  using with_sign = int64_t;
};
template <>
struct Integer<16> {
  using type = unsigned __int128;
  using with_sign = __int128;
};

template <class T>
using Unsigned = typename Integer<sizeof(T)>::type;
// The type of twice the width.
template <class T>
using Twice = std::conditional_t<std::is_signed_v<T>, typename Integer<2 * sizeof(T)>::with_sign,
                                 typename Integer<2 * sizeof(T)>::type>;

// Overflow wraps around, so signed values are computed as unsigned ones.
struct Add {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(Unsigned<T>(a) + Unsigned<T>(b));
  }
};
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return b > a ? b : a;
  }
};
struct And {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

}  // namespace ptx

// Faults: errors of the executed program.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "interpreter.h"

namespace ptx {

// Values of cudaError_t.
inline constexpr int kInvalidPtx = 218;         // cudaErrorInvalidPtx
inline constexpr int kIllegalAddress = 700;     // cudaErrorIllegalAddress
inline constexpr int kAssertion = 710;          // cudaErrorAssert
inline constexpr int kMisalignedAddress = 716;  // cudaErrorMisalignedAddress
inline constexpr int kInvalidPc = 718;          // cudaErrorInvalidPc
inline constexpr int kLaunchFailure = 719;      // cudaErrorLaunchFailure
inline constexpr int kNotSupported = 801;       // cudaErrorNotSupported

struct Hexadecimal {
  uint64_t value;
};
inline Hexadecimal hex(uint64_t value) { return {value}; }

inline void append(std::string& text, std::string_view part) { text += part; }
inline void append(std::string& text, char part) { text += part; }
inline void append(std::string& text, Hexadecimal part) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, part.value, 16).ptr;
  text += "0x";
  text.append(digits, end);
}
template <std::integral T>
requires(!std::same_as<T, char> && !std::same_as<T, bool>) void append(std::string& text, T part) {
  char digits[24];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
}

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string text;
  (append(text, parts), ...);
  return text;
}

template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(int error, const Parts&... parts) {
  throw Fault{error, concat(parts...)};
}

}  // namespace ptx

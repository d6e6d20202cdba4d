// Where a struct has pointers, for the check of the structs among the arguments of a launch.
//
// C++20 cannot list the members of a struct. It can tell whether T{a, b, c} is valid, where a, b and c are of
// a type that converts to every other, or to pointers only: so it is known which members are pointers.
// Members of structs and arrays in it count one by one (brace elision). A struct with a pointer of a known
// value tells where the pointer is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace simt::detail {

struct AnyValue {
  template <class T>
  requires(std::is_scalar_v<T> ||
           ((std::is_empty_v<T> || !std::is_aggregate_v<T>)&&std::is_default_constructible_v<T>))
  operator T() const {
    return T();
  }
};
// Pointers to functions and to void have nothing that a kernel could read.
struct AnyPointer {
  static constexpr uintptr_t kValue = 0x5A5A'A5A5'3C3C'C3C3;
  template <class T>
  requires(std::is_object_v<T> && sizeof(T) > 0) operator T*() const { return reinterpret_cast<T*>(kValue); }
};

inline constexpr size_t kMostMembers = 64;  // the pointers among the first ones are found

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

template <class T, size_t... before>
void add_pointers(std::vector<size_t>& offsets, std::index_sequence<before...>) {
  if constexpr (requires { T{(static_cast<void>(before), AnyValue())..., AnyPointer()}; }) {
    const T sample = {(static_cast<void>(before), AnyValue())..., AnyPointer()};
    const char* const bytes = reinterpret_cast<const char*>(&sample);
    for (size_t at = 0; at + sizeof(uintptr_t) <= sizeof(T); at += alignof(uintptr_t))
      if (std::memcmp(bytes + at, &AnyPointer::kValue, sizeof(uintptr_t)) == 0) offsets.push_back(at);
  }
  if constexpr (sizeof...(before) + 1 < kMostMembers && requires {
                  T{(static_cast<void>(before), AnyValue())..., AnyValue()};
                })
    add_pointers<T>(offsets, std::make_index_sequence<sizeof...(before) + 1>());
}
#pragma GCC diagnostic pop

// The offsets of the pointers in a T. None if T is no struct or has constructors.
template <class T>
const std::vector<size_t>& pointers_in() {
  static const std::vector<size_t> offsets = [] {
    std::vector<size_t> all;
    if constexpr (std::is_aggregate_v<T> && std::is_class_v<T> && std::is_trivially_copyable_v<T>)
      add_pointers<T>(all, std::index_sequence<>());
    return all;
  }();
  return offsets;
}

}  // namespace simt::detail

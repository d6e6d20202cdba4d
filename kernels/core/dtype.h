// DType: an element type that is known only at run time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace rondo {

enum class DType : uint8_t { float32, float64, bfloat16, float16, int32, int64, uint8 };

inline constexpr DType kDTypes[] = {DType::float32, DType::float64, DType::bfloat16, DType::float16,
                                    DType::int32,   DType::int64,   DType::uint8};

constexpr int64_t size_of(DType dtype) {
  constexpr int64_t kBytes[] = {4, 8, 2, 2, 4, 8, 1};
  return kBytes[static_cast<int>(dtype)];
}

constexpr const char* name_of(DType dtype) {
  constexpr const char* kNames[] = {"float32", "float64", "bfloat16", "float16", "int32", "int64", "uint8"};
  return kNames[static_cast<int>(dtype)];
}

// The DType of a C++ type: dtype_of<float> is DType::float32.
template <class T>
inline constexpr DType dtype_of = [] { static_assert(sizeof(T) == 0, "no element type"); }();
template <>
inline constexpr DType dtype_of<float> = DType::float32;
template <>
inline constexpr DType dtype_of<double> = DType::float64;
template <>
inline constexpr DType dtype_of<__nv_bfloat16> = DType::bfloat16;
template <>
inline constexpr DType dtype_of<__half> = DType::float16;
template <>
inline constexpr DType dtype_of<int32_t> = DType::int32;
template <>
inline constexpr DType dtype_of<int64_t> = DType::int64;
template <>
inline constexpr DType dtype_of<uint8_t> = DType::uint8;

// The types of elements that operators accept: float32, bfloat16 and float16. Operators compute with floats.
// InputType: of the view that an operator deduces the type from if no output has it. GradientOf<T>: of the
// gradient of an optimizer with copies of T. SampleElement: of a view of a data set on the device.
template <class T>
concept NarrowType = std::same_as<T, __nv_bfloat16> || std::same_as<T, __half>;
template <class T>
concept ValueType = std::same_as<T, float> || NarrowType<T>;
template <class T>
concept InputType = ValueType<std::remove_const_t<T>>;
template <class T>
concept SampleElement = std::same_as<const T, const uint8_t> || std::same_as<const T, const float>;
template <class Gradient, class T>
concept GradientOf = std::same_as<const Gradient, const float> || std::same_as<const Gradient, const T>;

// visit(dtype, f) calls f with a value of the C++ type.
template <class Visitor>
decltype(auto) visit(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::float64:
      return visitor(double{});
    case DType::bfloat16:
      return visitor(__nv_bfloat16{});
    case DType::float16:
      return visitor(__half{});
    case DType::int32:
      return visitor(int32_t{});
    case DType::int64:
      return visitor(int64_t{});
    case DType::uint8:
      return visitor(uint8_t{});
    case DType::float32:
      break;
  }
  return visitor(float{});
}

}  // namespace rondo

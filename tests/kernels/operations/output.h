// An output of an operation: its bytes, and the type of its elements.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace rondo::test {

enum class ElementKind : char { float32 = 'f', float64 = 'd', bfloat16 = 'b', float16 = 'h', bytes = '-' };

struct Output {
  ElementKind kind = ElementKind::bytes;
  std::vector<unsigned char> bytes;
};

template <class T>
Output output_of(const std::vector<T>& values) {
  Output output;
  if constexpr (std::is_same_v<T, float>) output.kind = ElementKind::float32;
  if constexpr (std::is_same_v<T, double>) output.kind = ElementKind::float64;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) output.kind = ElementKind::bfloat16;
  if constexpr (std::is_same_v<T, __half>) output.kind = ElementKind::float16;
  output.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(output.bytes.data(), values.data(), output.bytes.size());
  return output;
}

}  // namespace rondo::test

// nvcuda::wmma: products of matrices by a warp, for half, bf16 and tf32.
//
// The elements of a fragment are where mma.sync has them (simt/wmma_places.h), which CUDA leaves open: each
// element of the matrix is in one lane, so num_elements may be less than on a GPU. The sums are those of
// simt/tensor_core.h. A load or store is one access for each element here, so profiles of it do not show a
// GPU's. There are no products of integers and doubles.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <simt/tensor_core.h>
#include <simt/wmma_places.h>

#include <cstring>

namespace nvcuda::wmma {

struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}  // namespace precision

namespace detail {
template <class T>
struct Element {
  using type = T;
  static constexpr simt::TensorFormat format =
      std::is_same_v<T, __half> ? simt::TensorFormat::float16 : simt::TensorFormat::bfloat16;
};
template <>
struct Element<precision::tf32> {
  using type = float;
  static constexpr simt::TensorFormat format = simt::TensorFormat::tf32;
};
}  // namespace detail

using simt::accumulator;
using simt::matrix_a;
using simt::matrix_b;

template <class Use, int M, int N, int K, class T, class Layout = void>
class fragment {
  using Shape = simt::WmmaShape<M, N, K>;
  static_assert(Shape::kValid, "16 x 16, 32 x 8 or 8 x 32 elements, and 16 or (tf32) 8 steps");

 public:
  using element_type = typename detail::Element<T>::type;
  static constexpr int num_elements = Shape::template elements<Use>();
  element_type x[num_elements];
};

template <class Use, int M, int N, int K, class T, class Layout, class Value>
void fill_fragment(fragment<Use, M, N, K, T, Layout>& to, const Value& value) {
  for (auto& element : to.x) element = value;
}

// Element (i, j) of the matrix is at from[i * step + j], or with column-major order at from[i + j * step].
template <class Use, int M, int N, int K, class T, class Layout>
void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& to,
                      const typename fragment<Use, M, N, K, T, Layout>::element_type* from, unsigned step) {
  simt::WmmaShape<M, N, K>::template for_elements<Use>([&](int element, size_t row, size_t column) {
    to.x[element] = from[std::is_same_v<Layout, row_major> ? row * step + column : row + column * step];
  });
}
template <int M, int N, int K, class T>
void load_matrix_sync(fragment<accumulator, M, N, K, T>& to, const T* from, unsigned step, layout_t layout) {
  simt::WmmaShape<M, N, K>::template for_elements<accumulator>([&](int element, size_t row, size_t column) {
    to.x[element] = from[layout == mem_row_major ? row * step + column : row + column * step];
  });
}
template <int M, int N, int K, class T>
void store_matrix_sync(T* to, const fragment<accumulator, M, N, K, T>& from, unsigned step, layout_t layout) {
  simt::WmmaShape<M, N, K>::template for_elements<accumulator>([&](int element, size_t row, size_t column) {
    to[layout == mem_row_major ? row * step + column : row + column * step] = from.x[element];
  });
}

// d = a * b + c
template <int M, int N, int K, class T, class LayoutA, class LayoutB, class Sum, class Old>
void mma_sync(fragment<accumulator, M, N, K, Sum>& d, const fragment<matrix_a, M, N, K, T, LayoutA>& a,
              const fragment<matrix_b, M, N, K, T, LayoutB>& b, const fragment<accumulator, M, N, K, Old>& c,
              simt::Place place = simt::Place::current()) {
  using Shape = simt::WmmaShape<M, N, K>;
  constexpr int kSums = fragment<accumulator, M, N, K, Sum>::num_elements;
  float sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = c.x[i];
  uint32_t left[Shape::kTilesM * 4], right[Shape::kTilesN * 2];
  std::memcpy(Shape::kTransposed ? right : left, a.x, sizeof(a.x));
  std::memcpy(Shape::kTransposed ? left : right, b.x, sizeof(b.x));
  simt::tensor_multiply(detail::Element<T>::format, {sums, left, right, Shape::kTilesM, Shape::kTilesN},
                        place);
  for (int i = 0; i < kSums; ++i) d.x[i] = sums[i];
}

// Rounds to the nearest tf32, ties away from 0.
inline float __float_to_tf32(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return x - x != 0 ? x : std::bit_cast<float>((bits + 0x1000u) & 0xFFFFE000u);
}

}  // namespace nvcuda::wmma

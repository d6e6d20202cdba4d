// Products by wmma of every shape, type and order, with integers whose sums are exact.
#include <mma.h>

#include <vector>

#include "device_testing.h"

using namespace simt_test;
namespace wmma = nvcuda::wmma;

namespace {

template <class Layout>
constexpr bool kRows = std::is_same_v<Layout, wmma::row_major>;

template <int M, int N, int K, class T, class Sum, class LayoutA, class LayoutB>
void check(wmma::layout_t order) {
  using Left = wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA>;
  using Right = wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB>;
  using Sums = wmma::fragment<wmma::accumulator, M, N, K, Sum>;
  using Value = typename Left::element_type;
  // Rows and columns are further apart than the matrices are long.
  constexpr unsigned kStep = 40;
  std::vector<Value> a(kStep * kStep, Value(99.0f)), b(kStep * kStep, Value(99.0f));
  std::vector<Sum> d(kStep * kStep, Sum(-1.0f));
  const auto value = [](int i, int j) { return static_cast<float>((i * 7 + j * 3) % 11 - 5); };
  const auto at = [](bool rows, int i, int j) {
    return static_cast<size_t>(rows ? i : j) * kStep + static_cast<size_t>(rows ? j : i);
  };
  for (int k = 0; k < K; ++k) {
    for (int i = 0; i < M; ++i) a[at(kRows<LayoutA>, i, k)] = value(i, k);
    for (int j = 0; j < N; ++j) b[at(kRows<LayoutB>, k, j)] = value(k + 2, j);
  }
  const bool rows = order == wmma::mem_row_major;
  run_ok({1, 32}, [&] {
    Left left;
    Right right;
    Sums sums, old;
    wmma::load_matrix_sync(left, a.data(), kStep);
    wmma::load_matrix_sync(right, b.data(), kStep);
    wmma::fill_fragment(sums, 2.0f);
    wmma::mma_sync(sums, left, right, sums);
    for (int i = 0; i < sums.num_elements; ++i) sums.x[i] = sums.x[i] * Sum(2.0f);
    wmma::store_matrix_sync(d.data(), sums, kStep, order);
    __syncwarp();
    wmma::load_matrix_sync(old, d.data(), kStep, order);
    for (int i = 0; i < sums.num_elements; ++i) ASSERT_EQ(float{old.x[i]}, float{sums.x[i]});
  });
  size_t written = 0;
  for (const Sum sum : d) written += float{sum} != -1.0f;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float expected = 2;
      for (int k = 0; k < K; ++k) expected += value(i, k) * value(k + 2, j);
      ASSERT_EQ(float{d[at(rows, i, j)]}, 2 * expected) << i << ", " << j;
    }
  EXPECT_LE(written, size_t{M * N});
}

template <int M, int N, int K, class T, class Sum>
void check_orders() {
  check<M, N, K, T, Sum, wmma::row_major, wmma::row_major>(wmma::mem_row_major);
  check<M, N, K, T, Sum, wmma::row_major, wmma::col_major>(wmma::mem_col_major);
  check<M, N, K, T, Sum, wmma::col_major, wmma::row_major>(wmma::mem_row_major);
  check<M, N, K, T, Sum, wmma::col_major, wmma::col_major>(wmma::mem_col_major);
}

TEST(Wmma, Half) {
  check_orders<16, 16, 16, __half, float>();
  check_orders<32, 8, 16, __half, float>();
  check_orders<8, 32, 16, __half, float>();
  check_orders<16, 16, 16, __half, __half>();
}
TEST(Wmma, Bfloat16) {
  check_orders<16, 16, 16, __nv_bfloat16, float>();
  check_orders<32, 8, 16, __nv_bfloat16, float>();
  check_orders<8, 32, 16, __nv_bfloat16, float>();
}
TEST(Wmma, Tf32) { check_orders<16, 16, 8, wmma::precision::tf32, float>(); }

TEST(Wmma, RoundsToTf32) {
  EXPECT_EQ(wmma::__float_to_tf32(1.0f + 0x1p-12f), 1.0f);
  EXPECT_EQ(wmma::__float_to_tf32(1.0f + 0x1p-11f), 1.0f + 0x1p-10f);
  EXPECT_EQ(wmma::__float_to_tf32(-1.0f - 0x1p-11f), -1.0f - 0x1p-10f);
}

TEST(Wmma, NeedsAWholeWarp) {
  NOT_UNDER_CHECK();
  const simt::Fault fault = run({1, 16}, [] {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(a, 1.0f);
    wmma::fill_fragment(b, 1.0f);
    wmma::fill_fragment(c, 0.0f);
    wmma::mma_sync(c, a, b, c);
  });
  expect_fault(fault, {"all 32 lanes"});
}

}  // namespace

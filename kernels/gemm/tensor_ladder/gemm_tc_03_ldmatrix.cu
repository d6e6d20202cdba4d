// Idea:      ldmatrix loads four 8 x 16-byte matrices for a warp: a fragment of A, or two of B. Copies are
//            16 bytes wide. No padding: the 16-byte chunks of a row are permuted (swizzled) by the number of
//            the row, so that neither copies nor ldmatrix meet in a bank. tensor_tile.cuh has the layouts.
// Builds on: gemm_tc_02_shared_tiles, gemm_05_vectorised.
// Limit now: load, barrier, multiply, barrier: tensor cores wait for the copies, and the copies for them.
// Next:      gemm_tc_04_pipelined: several k-tiles in flight, and fragments one step ahead.
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/gemm/fma/matrix_loaders.cuh>
#include <rondo/kernels/gemm/mma/tensor_mainloop.cuh>
#include <rondo/kernels/gemm/mma/tiles.cuh>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.cuh>

namespace rondo {
namespace {

template <class T>
using TileOf = TensorTile64x64<arithmetic_of(dtype_of<T>, Math::tf32)>;

template <class T>
struct Parameters {
  GemmArgumentsOf<T> gemm;
  int a_width, b_width;  // elements per copy
  int64_t tiles_n;
};

template <class T, Order OrderA, Order OrderB>
struct Shared {
  alignas(128) T a[KTileA<TileOf<T>, OrderA>::kSize];
  alignas(128) T b[KTileB<TileOf<T>, OrderB>::kSize];
};

template <class T, Order OrderA, Order OrderB>
__global__ __launch_bounds__(TileOf<T>::kThreads) void gemm_tc_03_ldmatrix_kernel(const Parameters<T> p) {
  using Tile = TileOf<T>;
  auto& shared = shared_memory<Shared<T, OrderA, OrderB>>();
  const GemmArgumentsOf<T>& g = p.gemm;
  const int64_t m0 = blockIdx.x / p.tiles_n * Tile::kM, n0 = blockIdx.x % p.tiles_n * Tile::kN;
  MatrixLoader<OrderA, KTileA<Tile, OrderA>, Tile::kM, Tile> a(
      g.a + (OrderA == Order::k_major ? m0 * g.a_stride : m0), g.a_stride, g.m - m0, g.k, p.a_width);
  MatrixLoader<OrderB, KTileB<Tile, OrderB>, Tile::kN, Tile> b(
      g.b + (OrderB == Order::k_major ? n0 * g.b_stride : n0), g.b_stride, g.n - n0, g.k, p.b_width);

  Accumulators<Tile> acc;
  set_zero(acc.d);
  for (int64_t k0 = 0; k0 < g.k; k0 += Tile::kK) {
    a.copy(shared.a);
    b.copy(shared.b);
    ptx::cp_async_commit();
    ptx::cp_async_wait<0>();
    __syncthreads();
    RONDO_UNROLL
    for (int step = 0; step < Tile::kSteps; ++step) {
      Fragments<Tile> fragments;
      load_fragments_a<Tile, OrderA>(fragments.a, shared.a, step);
      load_fragments_b<Tile, OrderB>(fragments.b, shared.b, step);
      multiply_step<Tile>(acc, fragments);
    }
    __syncthreads();
  }
  visit_results<Tile, OrderA>(acc, [&](int row, int column, const Vec<2>& sums) {
    RONDO_UNROLL
    for (int j = 0; j < 2; ++j) store_result_inside(g, m0 + row, n0 + column + j, sums[j]);
  });
}

}  // namespace

template <class T>
Status gemm_tc_03_ldmatrix(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                           const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "gemm_tc_03_ldmatrix";
  Parameters<T> p;
  GemmArgumentsOf<T>& g = p.gemm;
  RONDO_RETURN_IF_ERROR(check_rung(kName, c, a, b, options, workspace, &g));
  p.a_width = copy_width(g.a, g.a_stride, g.transpose_a ? g.m : g.k);
  p.b_width = copy_width(g.b, g.b_stride, g.transpose_b ? g.k : g.n);
  p.tiles_n = ceil_div<int64_t>(g.n, TileOf<T>::kN);
  const GemmProblem problem = problem_of(g);
  return with_orders(problem.a.order, problem.b.order, [&]<Order OrderA, Order OrderB>() {
    const LaunchShape shape = {.grid_x = ceil_div<int64_t>(g.m, TileOf<T>::kM) * p.tiles_n,
                               .block_x = TileOf<T>::kThreads,
                               .shared_bytes = sizeof(Shared<T, OrderA, OrderB>)};
    return launch(kName, shape, stream, gemm_tc_03_ldmatrix_kernel<T, OrderA, OrderB>, p);
  });
}
RONDO_INSTANTIATE_RUNG(gemm_tc_03_ldmatrix)

}  // namespace rondo

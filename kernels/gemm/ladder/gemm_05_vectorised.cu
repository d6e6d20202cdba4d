// Idea:      load four values per instruction. Each thread's columns are now adjacent, so it can read them
//            from shared memory with 16-byte loads. Gaps in the k-tile avoid bank conflicts (fma/tile.cuh).
//            Global memory is read 16 bytes at a time if the matrices are aligned.
// Builds on: gemm_04_register_tiles.
// Limit now: latency. The loop is load, barrier, multiply, barrier: no arithmetic runs during the load of a
//            k-tile.
// Counted:   0.0098 global requests of 16 bytes per lane, 0.25 wavefronts of shared memory per multiply-add.
// Next:      load the next k-tile while the current one is multiplied (gemm_06).
#include <rondo/kernels/gemm/ladder/fp32_rung.h>
#include <rondo/kernels/gemm/ladder/gemm_variants.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/gemm/epilogue.cuh>
#include <rondo/kernels/gemm/fma/tile_mainloop.cuh>

namespace rondo {
namespace {

using Square = Tile<8, 8, 8, 8, 16, 1>;

// One operand as contiguous rows, either K-major or MN-major.
struct Operand {
  const float* data;
  int64_t stride;
  int64_t rows, cols;
  bool aligned;  // data, stride and cols allow 16-byte loads

  // The four values from (row, col) on; zero outside the operand.
  __device__ __forceinline__ Pack<float, 4> four(int64_t row, int64_t col) const {
    const float* from = data + row * stride + col;
    if (row >= rows || col >= cols) return {};
    if (aligned) return load_pack<4>(from);
    return {
        {from[0], col + 1 < cols ? from[1] : 0, col + 2 < cols ? from[2] : 0, col + 3 < cols ? from[3] : 0}};
  }
};

// Copies one k-tile. `outer0` and `k0` are its first row (or column) and its first k.
template <class KTile, Order order, int Outer>
__device__ __forceinline__ void copy_k_tile(float* k_tile, const Operand& operand, int64_t outer0,
                                            int64_t k0) {
  constexpr int kRowLength = order == Order::k_major ? Square::kK : Outer;  // of a contiguous row
  for (int e = 4 * threadIdx.x; e < Outer * Square::kK; e += 4 * Square::kThreads) {
    const int row = e / kRowLength, col = e % kRowLength;
    const int k = order == Order::k_major ? col : row, outer = order == Order::k_major ? row : col;
    const auto four =
        order == Order::k_major ? operand.four(outer0 + outer, k0 + k) : operand.four(k0 + k, outer0 + outer);
    constexpr int dk = order == Order::k_major ? 1 : 0, douter = 1 - dk;
    k_tile[KTile::at(k, outer)] = four.v[0];
    k_tile[KTile::at(k + dk, outer + douter)] = four.v[1];
    k_tile[KTile::at(k + 2 * dk, outer + 2 * douter)] = four.v[2];
    k_tile[KTile::at(k + 3 * dk, outer + 3 * douter)] = four.v[3];
  }
}

template <Order OrderA, Order OrderB>
__global__ __launch_bounds__(Square::kThreads,
                             1) void gemm_05_vectorised_kernel(const GemmArguments g, Operand a, Operand b,
                                                               int64_t tiles_n, GemmEpilogue epilogue) {
  auto& shared = shared_memory<TileShared<Square, OrderA, OrderB>>();
  const int64_t i0 = blockIdx.x / tiles_n * Square::kM, j0 = blockIdx.x % tiles_n * Square::kN;
  Accumulators<Square> acc = {};
  for (int64_t k0 = 0; k0 < g.k; k0 += Square::kK) {
    copy_k_tile<KTileA<Square, OrderA>, OrderA, Square::kM>(shared.a[0], a, i0, k0);
    copy_k_tile<KTileB<Square, OrderB>, OrderB, Square::kN>(shared.b[0], b, j0, k0);
    __syncthreads();
    multiply_k_tile<Square, OrderA, OrderB>(acc, shared.a[0], shared.b[0]);
    __syncthreads();
  }
  const ThreadInTile thread = thread_in_tile<Square>();
  RONDO_UNROLL
  for (int i = 0; i < Square::kPerThreadM; ++i) {
    const int64_t row = i0 + KTileA<Square, OrderA>::row(thread.m, i);
    if (row < g.m)
      epilogue.store_row(g.c + row * g.c_stride, j0 + thread.n * Square::kPerThreadN, g.n, acc.row[i]);
  }
}

}  // namespace

Status gemm_05_vectorised(MatrixView<float> c, MatrixView<const float> a, MatrixView<const float> b,
                          const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmArguments g;
  RONDO_RETURN_IF_ERROR(check_fp32_rung("gemm_05_vectorised", c, a, b, options, workspace, &g));
  const Operand in_a = {a.data, a.stride, a.rows, a.cols, copy_width(a.data, a.stride, a.cols) >= 4};
  const Operand in_b = {b.data, b.stride, b.rows, b.cols, copy_width(b.data, b.stride, b.cols) >= 4};
  const GemmEpilogue epilogue = gemm_epilogue(g);
  const int64_t tiles_n = ceil_div<int64_t>(g.n, Square::kN);
  const auto run = [&](auto kernel, int64_t shared_bytes) {
    const LaunchShape shape = {.grid_x = ceil_div<int64_t>(g.m, Square::kM) * tiles_n,
                               .block_x = Square::kThreads,
                               .shared_bytes = shared_bytes};
    return launch("gemm_05_vectorised", shape, stream, kernel, g, in_a, in_b, tiles_n, epilogue);
  };
  constexpr Order k_major = Order::k_major, mn_major = Order::mn_major;
  constexpr int64_t kKMajorBytes = sizeof(TileShared<Square, k_major>),
                    kMnMajorBytes = sizeof(TileShared<Square, mn_major>);
  if (g.transpose_a)
    return g.transpose_b ? run(gemm_05_vectorised_kernel<mn_major, k_major>, kMnMajorBytes)
                         : run(gemm_05_vectorised_kernel<mn_major, mn_major>, kMnMajorBytes);
  return g.transpose_b ? run(gemm_05_vectorised_kernel<k_major, k_major>, kKMajorBytes)
                       : run(gemm_05_vectorised_kernel<k_major, mn_major>, kKMajorBytes);
}

}  // namespace rondo

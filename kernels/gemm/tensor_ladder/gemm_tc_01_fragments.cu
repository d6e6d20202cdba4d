// Idea:      a warp multiplies 16 x 8 matrices. Each lane reads its elements of the fragments (ptx/mma.cuh)
//            from global memory. A warp computes 32 x 32 results: 2 fragments of A times 4 of B.
// Builds on: gemm_02_coalesced; mma.sync takes the place of a thread's multiply-add.
// Limit now: requests to the caches. A product of fragments does the work of 32 (tf32) or 64 multiply-adds of
//            a warp, and the fragments are read 4 (16 bits: 2) bytes at a time, from up to 8 rows.
// Next:      gemm_tc_02_shared_tiles.
#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.cuh>

namespace rondo {
namespace {

constexpr int kM = 64, kN = 64;  // of a block: 2 x 2 warps
constexpr int kThreads = 128;

template <class T>
__global__ __launch_bounds__(kThreads, 4)  // without the 4, nvcc keeps to 96 registers for tf32, and spills
    void gemm_tc_01_fragments_kernel(const GemmArgumentsOf<T> p, int64_t tiles_n) {
  constexpr int E = kPerRegister<T>;
  const int warp = static_cast<int>(threadIdx.x) / 32, g = static_cast<int>(threadIdx.x) % 32 / 4,
            t = static_cast<int>(threadIdx.x) % 4;
  const int64_t m0 = blockIdx.x / tiles_n * kM + warp / 2 * 32 + g,
                n0 = blockIdx.x % tiles_n * kN + warp % 2 * 32;

  float sums[2][4][4] = {};
  for (int64_t k0 = 0; k0 < p.k; k0 += kProductK<T>) {
    unsigned a[2][4], b[4][2];
    RONDO_UNROLL
    for (int i = 0; i < 2; ++i) RONDO_UNROLL
    for (int part = 0; part < 4; ++part) {
      const int64_t row = m0 + 16 * i + part % 2 * 8, k = k0 + t * E + part / 2 * 4 * E;
      T values[E];
      RONDO_UNROLL
      for (int e = 0; e < E; ++e)
        values[e] = row < p.m && k + e < p.k ? element_of_a(p, row, k + e) : static_cast<T>(0.0f);
      a[i][part] = fragment_register(values);
    }
    RONDO_UNROLL
    for (int j = 0; j < 4; ++j) RONDO_UNROLL
    for (int part = 0; part < 2; ++part) {
      const int64_t column = n0 + 8 * j + g, k = k0 + t * E + part * 4 * E;
      T values[E];
      RONDO_UNROLL
      for (int e = 0; e < E; ++e)
        values[e] = column < p.n && k + e < p.k ? element_of_b(p, k + e, column) : static_cast<T>(0.0f);
      b[j][part] = fragment_register(values);
    }
    ptx::mma<ptx::FragmentOf<T>>(sums, a, b);
  }

  store_fragments(p, m0, n0 + 2 * t, sums);
}

}  // namespace

template <class T>
Status gemm_tc_01_fragments(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                            const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmArgumentsOf<T> arguments;
  RONDO_RETURN_IF_ERROR(check_rung("gemm_tc_01_fragments", c, a, b, options, workspace, &arguments));
  const int64_t tiles_n = ceil_div<int64_t>(arguments.n, kN);
  const LaunchShape shape = {.grid_x = ceil_div<int64_t>(arguments.m, kM) * tiles_n, .block_x = kThreads};
  return launch("gemm_tc_01_fragments", shape, stream, gemm_tc_01_fragments_kernel<T>, arguments, tiles_n);
}
RONDO_INSTANTIATE_RUNG(gemm_tc_01_fragments)

}  // namespace rondo

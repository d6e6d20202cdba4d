// Idea:      a block reads each k-tile of A and B once, into shared memory, and its 4 warps read their
//            fragments from there, 4 bytes at a time. A row of a k-tile has 128 bytes, and 16 bytes of
//            padding: lane 4 g + t reads word t of row g, in bank 4 g + t of 32.
// Builds on: gemm_tc_01_fragments, gemm_03_shared_tiles.
// Limit now: shared memory and instruction issue. 16 loads for 8 products; stores of single elements, which
//            have bank conflicts where adjacent lanes write adjacent rows (B not transposed); and 2 barriers
//            for 128 bytes of k.
// Next:      gemm_tc_03_ldmatrix.
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/gemm/tensor_ladder/tensor_rung.cuh>

namespace rondo {
namespace {

constexpr int kM = 64, kN = 64;  // of a block: 2 x 2 warps with 32 x 32 results
constexpr int kThreads = 128;
constexpr int kRowBytes = 128, kPaddingBytes = 16;

// The k-tiles: one row for each row of A or column of B.
template <class T>
struct Shared {
  static constexpr int kK = kRowBytes / sizeof(T), kStride = (kRowBytes + kPaddingBytes) / sizeof(T);
  alignas(16) T a[kM * kStride];
  alignas(16) T b[kN * kStride];
};

// Copies a k-tile of 64 rows. Adjacent threads read adjacent memory: along k, or along the rows.
template <class T, class ElementAt>
__device__ __forceinline__ void copy_k_tile(T* to, bool k_major, const ElementAt& element) {
  constexpr int kK = Shared<T>::kK;
  RONDO_UNROLL_BY(4)
  for (int i = threadIdx.x; i < 64 * kK; i += kThreads) {
    const int row = k_major ? i / kK : i % 64, k = k_major ? i % kK : i / 64;
    to[row * Shared<T>::kStride + k] = element(row, k);
  }
}

// The register of the elements from k on in a row.
template <class T>
__device__ __forceinline__ unsigned read_register(const T* k_tile, int row, int k) {
  const auto pack = load_pack<kPerRegister<T>>(k_tile + row * Shared<T>::kStride + k);
  return fragment_register<T>(pack.v);
}

template <class T>
__global__ __launch_bounds__(kThreads) void gemm_tc_02_shared_tiles_kernel(const GemmArgumentsOf<T> p,
                                                                           int64_t tiles_n) {
  constexpr int E = kPerRegister<T>;
  auto& shared = shared_memory<Shared<T>>();
  const int warp = static_cast<int>(threadIdx.x) / 32, g = static_cast<int>(threadIdx.x) % 32 / 4,
            t = static_cast<int>(threadIdx.x) % 4;
  const int64_t m0 = blockIdx.x / tiles_n * kM, n0 = blockIdx.x % tiles_n * kN;
  const int warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;

  float sums[2][4][4] = {};
  for (int64_t k0 = 0; k0 < p.k; k0 += Shared<T>::kK) {
    copy_k_tile(shared.a, !p.transpose_a, [&](int row, int k) {
      return m0 + row < p.m && k0 + k < p.k ? element_of_a(p, m0 + row, k0 + k) : static_cast<T>(0.0f);
    });
    copy_k_tile(shared.b, p.transpose_b, [&](int column, int k) {
      return n0 + column < p.n && k0 + k < p.k ? element_of_b(p, k0 + k, n0 + column) : static_cast<T>(0.0f);
    });
    __syncthreads();
    RONDO_UNROLL
    for (int k = 0; k < Shared<T>::kK; k += kProductK<T>) {
      unsigned a[2][4], b[4][2];
      RONDO_UNROLL
      for (int i = 0; i < 2; ++i) RONDO_UNROLL
      for (int part = 0; part < 4; ++part)
        a[i][part] =
            read_register(shared.a, warp_m + 16 * i + g + part % 2 * 8, k + t * E + part / 2 * 4 * E);
      RONDO_UNROLL
      for (int j = 0; j < 4; ++j) RONDO_UNROLL
      for (int part = 0; part < 2; ++part)
        b[j][part] = read_register(shared.b, warp_n + 8 * j + g, k + t * E + part * 4 * E);
      ptx::mma<ptx::FragmentOf<T>>(sums, a, b);
    }
    __syncthreads();
  }

  store_fragments(p, m0 + warp_m + g, n0 + warp_n + 2 * t, sums);
}

}  // namespace

template <class T>
Status gemm_tc_02_shared_tiles(MatrixView<T> c, MatrixView<const T> a, MatrixView<const T> b,
                               const GemmOptions& options, Workspace workspace, cudaStream_t stream) {
  GemmArgumentsOf<T> arguments;
  RONDO_RETURN_IF_ERROR(check_rung("gemm_tc_02_shared_tiles", c, a, b, options, workspace, &arguments));
  const int64_t tiles_n = ceil_div<int64_t>(arguments.n, kN);
  const LaunchShape shape = {.grid_x = ceil_div<int64_t>(arguments.m, kM) * tiles_n,
                             .block_x = kThreads,
                             .shared_bytes = sizeof(Shared<T>)};
  return launch("gemm_tc_02_shared_tiles", shape, stream, gemm_tc_02_shared_tiles_kernel<T>, arguments,
                tiles_n);
}
RONDO_INSTANTIATE_RUNG(gemm_tc_02_shared_tiles)

}  // namespace rondo

// Tiles whose products are computed by wgmma, from k-tiles that tensor maps describe.
//
// A block computes kM x kN results; each of its consumer warpgroups computes kM / kGroups rows, in panels of
// 64. A k-tile has 128 bytes of each row of A and column of B, 32 values of tf32 or 64 of 16 bits: four steps
// of wgmma, and a row of the 128-byte swizzle. In shared memory it is a sequence of panels of 8 KB:
//   K-major:  64 rows (or columns), with the 128 bytes of each side by side.
//   MN-major: 64 steps of k, with 128 bytes of 64 rows side by side. 16 bits only.
// In both orders wgmma reads a panel as 8 groups of 8 lines of 128 bytes. The last panel of B is partly
// unused where kN is no multiple of 64; if it is MN-major, the columns beyond kN are copied too, and not
// read.
#pragma once

#include <rondo/kernels/core/tensor_map.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/core/ptx/bulk_copy.cuh>
#include <rondo/kernels/core/ptx/mbarrier.cuh>
#include <rondo/kernels/core/ptx/wgmma.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/vec.cuh>

#include <cstdint>
#include <type_traits>

namespace rondo {

inline constexpr int kWarpgroup = 128;               // threads
inline constexpr int kLineBytes = 128;               // of a row in a k-tile
inline constexpr int kPanelBytes = 64 * kLineBytes;  // of a panel of a k-tile

template <class T, int M, int N, int Groups, int Stages>
struct WgmmaTile {
  using Element = T;
  using Fragment = ptx::FragmentOf<T>;
  static constexpr TileId kId = {Instruction::wgmma, arithmetic_of(dtype_of<T>, Math::tf32), M, N};
  static constexpr int kM = M, kN = N, kK = kLineBytes / sizeof(T), kStages = Stages;
  static constexpr int kGroups = Groups, kPanelsM = M / Groups / 64;  // panels of 64 rows of a warpgroup
  static constexpr int kSteps = 4, kPerStep = kK / kSteps;
  static constexpr int kPaddedN = (N + 63) / 64 * 64;  // of the blocks of B
  static constexpr int kBytesA = M * kLineBytes, kBytesB = kPaddedN * kLineBytes, kBytes = kBytesA + kBytesB;
  static constexpr bool kRoundsToTf32 = std::is_same_v<T, float>;  // the tensor maps of floats
  static_assert(M % (64 * Groups) == 0 && N % 16 == 0 && M <= 256 && N <= 256 && Stages >= 2);
};

template <class Tile>
struct WgmmaShared {
  alignas(1024) unsigned char a[Tile::kStages][Tile::kBytesA];
  alignas(1024) unsigned char b[Tile::kStages][Tile::kBytesB];
  ptx::Mbarrier full[Tile::kStages], empty[Tile::kStages];
};

// The tensor map of an operand with `outer` rows of A or columns of B, for tiles of `tile_outer` of them.
template <class Tile, class T>
Status make_operand_map(CUtensorMap* map, Order order, const T* data, int64_t outer, int64_t k,
                        int64_t stride, int tile_outer) {
  constexpr int kLine = kLineBytes / sizeof(T);
  const bool k_major = order == Order::k_major;
  return make_tensor_map(map, {.data = data,
                               .dtype = dtype_of<T>,
                               .rank = 2,
                               .size = {k_major ? k : outer, k_major ? outer : k},
                               .stride = {0, stride * static_cast<int64_t>(sizeof(T))},
                               .box = {kLine, k_major ? tile_outer : kLine},
                               .swizzle = Swizzle::bytes128,
                               .round_to_tf32 = Tile::kRoundsToTf32});
}

// Loads the k-tile of one operand, from row (or column) `outer` and step `k` on. One thread calls it. What
// lies outside of the operand becomes zeros, and its bytes count too.
template <class Tile, Order order, int kTileOuter>
__device__ __forceinline__ void load_k_tile(unsigned char* to, const CUtensorMap& map, int64_t outer,
                                            int64_t k, ptx::Mbarrier* full) {
  const int row = static_cast<int>(outer), step = static_cast<int>(k);
  if constexpr (order == Order::k_major) {
    ptx::tma_load(to, map, {step, row}, full);
  } else {
    RONDO_UNROLL
    for (int i = 0; i < kTileOuter / 64; ++i)
      ptx::tma_load(to + i * kPanelBytes, map, {row + i * 64, step}, full);
  }
}

// The k-tiles of A and B of one stage, which complete a phase of its `full` barrier.
template <class Tile, Order OrderA, Order OrderB>
__device__ __forceinline__ void load_stage(WgmmaShared<Tile>& shared, int stage, const CUtensorMap& a,
                                           const CUtensorMap& b, int64_t m0, int64_t n0, int64_t k) {
  constexpr int kColumns = OrderB == Order::k_major ? Tile::kN : Tile::kPaddedN;
  ptx::mbarrier_arrive_expect_tx(&shared.full[stage], Tile::kBytesA + kColumns * kLineBytes);
  load_k_tile<Tile, OrderA, Tile::kM>(shared.a[stage], a, m0, k, &shared.full[stage]);
  load_k_tile<Tile, OrderB, kColumns>(shared.b[stage], b, n0, k, &shared.full[stage]);
}

// The stage of a pipeline, and the parity of the phase that a pass through its ring of stages waits for.
template <int kStages>
struct PipelineState {
  int stage = 0;
  unsigned parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

// The accumulators of a thread: register 4 j + 2 h + e of panel i is in row 64 i + 16 w + g + 8 h of its
// warpgroup, column 8 j + 2 t + e, for thread 32 w + 4 g + t of the warpgroup.
template <class Tile>
struct WgmmaAccumulators {
  float d[Tile::kPanelsM][Tile::kN / 2];
};

// A compiler fence for the accumulators (CUTLASS: warpgroup_fence_operand). wgmma writes them asynchronously,
// until wgmma_wait(), which the compiler does not know. If it writes one between two wgmma, ptxas serialises
// all of them, with a note (C7510 to C7515).
template <class Tile>
__device__ __forceinline__ void fence_accumulators([[maybe_unused]] WgmmaAccumulators<Tile>& acc) {
#ifndef __SIMT__
  RONDO_UNROLL_ON_GPU
  for (int i = 0; i < Tile::kPanelsM; ++i) RONDO_UNROLL_ON_GPU
  for (int j = 0; j < Tile::kN / 2; ++j) asm volatile("" : "+f"(acc.d[i][j])::"memory");
#endif
}

template <class Tile>
__device__ __forceinline__ void set_zero(WgmmaAccumulators<Tile>& acc) {
  RONDO_UNROLL_ON_GPU
  for (int i = 0; i < Tile::kPanelsM; ++i) RONDO_UNROLL_ON_GPU
  for (int j = 0; j < Tile::kN / 2; ++j) acc.d[i][j] = 0;
  fence_accumulators(acc);
}

// The descriptor of an operand in a k-tile, from one of its panels on.
__device__ __forceinline__ uint64_t operand_descriptor(const unsigned char* start) {
  return ptx::descriptor({start, kPanelBytes, 8 * kLineBytes, ptx::MatrixSwizzle::bytes128});
}

// Issues the products of a k-tile, for the rows of warpgroup `group` of the consumers, and closes their
// group.
template <class Tile, Order OrderA, Order OrderB>
__device__ __forceinline__ void multiply_k_tile(WgmmaAccumulators<Tile>& acc, const unsigned char* a,
                                                const unsigned char* b, int group) {
  using enum Order;
  constexpr ptx::WgmmaOptions kOptions = {.transpose_a = OrderA == mn_major,
                                          .transpose_b = OrderB == mn_major};
  const uint64_t from_a = operand_descriptor(a + group * Tile::kPanelsM * kPanelBytes),
                 from_b = operand_descriptor(b);
  // The distance of steps: 32 bytes within the lines, or their number of lines.
  constexpr unsigned kStepA = OrderA == k_major ? kLineBytes / Tile::kSteps : Tile::kPerStep * kLineBytes;
  constexpr unsigned kStepB = OrderB == k_major ? kLineBytes / Tile::kSteps : Tile::kPerStep * kLineBytes;
  fence_accumulators(acc);
  ptx::wgmma_fence();
  RONDO_UNROLL_ON_GPU
  for (int step = 0; step < Tile::kSteps; ++step) RONDO_UNROLL_ON_GPU
  for (int i = 0; i < Tile::kPanelsM; ++i)
    ptx::wgmma<typename Tile::Fragment, Tile::kN, kOptions>(
        acc.d[i], ptx::advanced(from_a, i * kPanelBytes + step * kStepA),
        ptx::advanced(from_b, step * kStepB), true);
  ptx::wgmma_commit();
}

// Calls visit(row, column, values) for each pair of adjacent columns of the calling thread, in the tile.
template <class Tile, class Visit>
__device__ __forceinline__ void visit_results(const WgmmaAccumulators<Tile>& acc, int group, Visit&& visit) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int row = group * Tile::kPanelsM * 64 + thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
  RONDO_UNROLL_ON_GPU
  for (int i = 0; i < Tile::kPanelsM; ++i) RONDO_UNROLL_ON_GPU
  for (int half = 0; half < 2; ++half) RONDO_UNROLL_ON_GPU
  for (int j = 0; j < Tile::kN / 8; ++j) {
    Vec<2> values;
    values.set(0, acc.d[i][4 * j + 2 * half]);
    values.set(1, acc.d[i][4 * j + 2 * half + 1]);
    visit(row + 64 * i + 8 * half, column + 8 * j, values);
  }
}

// with_orders() for matrices of T: tf32 has only K-major ones.
template <class T, class Run>
Status with_wgmma_orders(Order a, Order b, Run&& run) {
  if constexpr (std::is_same_v<T, float>)
    return run.template operator()<Order::k_major, Order::k_major>();
  else
    return with_orders(a, b, run);
}

}  // namespace rondo

// tf32x3 by wgmma: the tile and the roles of the warps that gemm_tf32x3.cu and the convolutions of
// tf32x3 share. Each float is the sum of two values of tf32, and three products of them have the accuracy of
// fp32 (multiply_step() of mma/tensor_mainloop.cuh).
//
// wgmma reads B from shared memory, so both parts of B have to be there. A may be in registers: each consumer
// loads its fragments of A with ldmatrix and splits them, which saves half of the bytes that wgmma reads.
// The three warps beside the loading thread are the splitters: they split B. Each stage has three mbarriers:
// `full` (loaded), `split` (B is split) and `empty` (released).
//
// Tensor cores truncate their sums. So the small products and the large one of a step (8 of k) have a sum of
// their own, which begins at zero, and an fp32 addition adds it to the others. While one consumer warpgroup
// waits for its step and adds it, the tensor cores compute a step of the other one.
//
// Limit: a step is short, and the additions take issue slots.
#pragma once

#include <rondo/kernels/core/ptx/ldmatrix.cuh>
#include <rondo/kernels/gemm/mma/tensor_mainloop.cuh>
#include <rondo/kernels/gemm/wgmma/warp_specialized.cuh>

#include <type_traits>

namespace rondo {

// With 128 sums, 16 values of the fragments of two steps, and addresses, a consumer thread has no registers
// for more than 128 columns.
template <int N, int Stages>
struct SplitTile : WarpSpecializedTile<float, 128, N, 2, Stages> {
  static constexpr TileId kId = {Instruction::wgmma, Arithmetic::tf32x3, 128, N};
  static constexpr bool kRoundsToTf32 = false;  // tensor maps: the kernel splits
  static_assert(N <= 128 && SplitTile::kPanelsM == 1);
};

// The threads of a block that split B.
template <class Tile>
inline constexpr int kSplitters = 0;
template <int N, int Stages>
inline constexpr int kSplitters<SplitTile<N, Stages>> = kWarpgroup - 32;

template <class Tile>
struct SplitShared : WarpSpecializedShared<Tile> {  // b: the large parts, after the split
  alignas(1024) unsigned char b_small[Tile::kStages][Tile::kBytesB];
  ptx::Mbarrier split[Tile::kStages];
};
template <class Tile>
using SharedOf = std::conditional_t<(kSplitters<Tile> != 0), SplitShared<Tile>, WarpSpecializedShared<Tile>>;

template <class Tile>
__device__ __forceinline__ void init_ring(SplitShared<Tile>& shared) {
  if (threadIdx.x == 0) {
    RONDO_UNROLL
    for (ptx::Mbarrier& barrier : shared.split) ptx::mbarrier_init(&barrier, kSplitters<Tile>);
  }
  init_ring(static_cast<WarpSpecializedShared<Tile>&>(shared));
}

// The role of the splitters, for the next `k_tiles` k-tiles. The large part overwrites its value, so the
// layout does not change.
template <class Tile>
__device__ __forceinline__ void split_b(SplitShared<Tile>& shared, PipelineState<Tile::kStages>& state,
                                        int64_t k_tiles) {
  const int first = static_cast<int>(threadIdx.x) - 32;
  for (; k_tiles > 0; --k_tiles) {
    ptx::mbarrier_wait(&shared.full[state.stage], state.parity);
    RONDO_UNROLL_BY(2)
    for (int i = first; i < Tile::kBytesB / 16; i += kSplitters<Tile>) {
      auto* const b = reinterpret_cast<uint4*>(shared.b[state.stage]) + i;
      const uint4 values = *b;
      const unsigned x[1][4] = {{values.x, values.y, values.z, values.w}};
      unsigned large[1][4], small[1][4];
      split_tf32(large, small, x);
      *b = make_uint4(large[0][0], large[0][1], large[0][2], large[0][3]);
      reinterpret_cast<uint4*>(shared.b_small[state.stage])[i] =
          make_uint4(small[0][0], small[0][1], small[0][2], small[0][3]);
    }
    ptx::async_proxy_fence();
    ptx::mbarrier_arrive(&shared.split[state.stage]);
    state.advance();
  }
}

// A fragment of A for one step: the parts of 64 x 8 values.
struct SplitFragment {
  unsigned large[1][4], small[1][4];
};
__device__ __forceinline__ void load_fragment(SplitFragment& to, const unsigned char* a, int group,
                                              int step) {
  // Matrices: rows 0 and 8 of the first half of the step, then of the second half.
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int row = group * 64 + thread / 32 * 16 + thread % 16, chunk = 2 * step + thread % 32 / 16;
  const void* const rows[1] = {a + row * kLineBytes + (chunk ^ row % 8) * 16};
  unsigned values[1][4];
  ptx::ldmatrix<false>(values, rows);
  split_tf32(to.large, to.small, values);
}

// The role of the consumer warpgroups: see consume() of warp_specialized.cuh.
template <class Tile>
__device__ __forceinline__ void consume_split(WgmmaAccumulators<Tile>& acc, SplitShared<Tile>& shared,
                                              PipelineState<Tile::kStages>& state, int64_t k_tiles,
                                              int group) {
  constexpr unsigned kStep = kLineBytes / Tile::kSteps;
  WgmmaAccumulators<Tile> step_acc;
  set_zero(acc);
  set_zero(step_acc);
  for (; k_tiles > 0; --k_tiles) {
    ptx::mbarrier_wait(&shared.full[state.stage], state.parity);
    SplitFragment a[2];
    load_fragment(a[0], shared.a[state.stage], group, 0);
    ptx::mbarrier_wait(&shared.split[state.stage], state.parity);
    const uint64_t large = operand_descriptor(shared.b[state.stage]),
                   small = operand_descriptor(shared.b_small[state.stage]);
    RONDO_UNROLL
    for (int step = 0; step < Tile::kSteps; ++step) {
      const SplitFragment& x = a[step % 2];
      const auto add_product = [&](const unsigned(&of_a)[1][4], uint64_t of_b, bool add) {
        ptx::wgmma<typename Tile::Fragment, Tile::kN>(step_acc.d[0], of_a[0],
                                                      ptx::advanced(of_b, step * kStep), add);
      };
      fence_accumulators(step_acc);
      ptx::wgmma_fence();
      add_product(x.small, large, false);
      add_product(x.large, small, true);
      add_product(x.large, large, true);
      ptx::wgmma_commit();
      if (step + 1 < Tile::kSteps) load_fragment(a[(step + 1) % 2], shared.a[state.stage], group, step + 1);
      ptx::wgmma_wait<0>();
      fence_accumulators(step_acc);
      RONDO_UNROLL_ON_GPU
      for (int j = 0; j < Tile::kN / 2; ++j) acc.d[0][j] += step_acc.d[0][j];
    }
    __syncwarp();  // every lane has read A, and one arrives for all
    release_stage(shared, state.stage);
    state.advance();
  }
}

}  // namespace rondo

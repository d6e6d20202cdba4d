// The kernel of gemm_tc_07_persistent for tf32x3: each float is the sum of two values of tf32, and three
// products of them have the accuracy of fp32 (multiply_step() of tensor_mainloop.cuh).
//
// wgmma reads B from shared memory, so both parts of B have to be there. A may be in registers: each consumer
// loads its fragments of A with ldmatrix and splits them, which saves half of the bytes that wgmma reads.
// The three warps beside the loading thread split B. Each stage has three mbarriers: `full` (loaded), `split`
// (B is split) and `empty` (released).
//
// Tensor cores truncate their sums. So the small products and the large one of a step (8 of k) have a sum of
// their own, which begins at zero, and an fp32 addition adds it to the others. While one consumer warpgroup
// waits for its step and adds it, the tensor cores compute a step of the other one.
//
// Limit: a step is short, and the additions take issue slots. Operands that are not K-major, and those that
// tensor maps cannot describe, are for gemm_tc_04_pipelined.
#include <rondo/kernels/core/ptx/ldmatrix.cuh>
#include <rondo/kernels/gemm/tensor_ladder/gemm_tc_07_persistent.cuh>

namespace rondo {
namespace {

// With 128 sums, 16 values of the fragments of two steps, and addresses, a consumer thread has no registers
// for a wider tile.
struct SplitTile : WarpSpecializedTile<float, 128, 128, 2, 4> {
  static constexpr bool kRoundsToTf32 = false;  // tensor maps: the kernel splits
  static constexpr int kSplitters = kWarpgroup - 32;
};
static_assert(SplitTile::kPanelsM == 1);

struct Shared : WarpSpecializedShared<SplitTile> {  // b: the large parts, after the split
  alignas(1024) unsigned char b_small[SplitTile::kStages][SplitTile::kBytesB];
  ptx::Mbarrier split[SplitTile::kStages];
};

// The role of the splitting threads, for one tile. The large part overwrites its value, so the layout does
// not change.
__device__ __forceinline__ void split_b(Shared& shared, PipelineState<SplitTile::kStages>& state,
                                        const TileWork& work) {
  const int first = static_cast<int>(threadIdx.x) - 32;
  for (int64_t k = work.k_begin; k < work.k_end; k += SplitTile::kK) {
    ptx::mbarrier_wait(&shared.full[state.stage], state.parity);
    RONDO_UNROLL_BY(2)
    for (int i = first; i < SplitTile::kBytesB / 16; i += SplitTile::kSplitters) {
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
struct FragmentA {
  unsigned large[1][4], small[1][4];
};
__device__ __forceinline__ void load_fragment(FragmentA& to, const unsigned char* a, int group, int step) {
  // Matrices: rows 0 and 8 of the first half of the step, then of the second half.
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup;
  const int row = group * 64 + thread / 32 * 16 + thread % 16, chunk = 2 * step + thread % 32 / 16;
  const void* const rows[1] = {a + row * kLineBytes + (chunk ^ row % 8) * 16};
  unsigned values[1][4];
  ptx::ldmatrix_x4<false>(values, rows);
  split_tf32(to.large, to.small, values);
}

// The role of the consumer warpgroups, for one tile: see consume() of warp_specialized.cuh.
__device__ __forceinline__ void multiply(WgmmaAccumulators<SplitTile>& acc, Shared& shared,
                                         PipelineState<SplitTile::kStages>& state, const TileWork& work,
                                         int group) {
  constexpr unsigned kStep = kLineBytes / SplitTile::kSteps;
  WgmmaAccumulators<SplitTile> step_acc;
  set_zero(acc);
  set_zero(step_acc);
  for (int64_t k = work.k_begin; k < work.k_end; k += SplitTile::kK) {
    ptx::mbarrier_wait(&shared.full[state.stage], state.parity);
    FragmentA a[2];
    load_fragment(a[0], shared.a[state.stage], group, 0);
    ptx::mbarrier_wait(&shared.split[state.stage], state.parity);
    const uint64_t large = operand_descriptor(shared.b[state.stage]),
                   small = operand_descriptor(shared.b_small[state.stage]);
    RONDO_UNROLL
    for (int step = 0; step < SplitTile::kSteps; ++step) {
      const FragmentA& x = a[step % 2];
      const auto add_product = [&](const unsigned(&of_a)[1][4], uint64_t of_b, bool add) {
        ptx::wgmma<SplitTile::Fragment, SplitTile::kN>(step_acc.d[0], of_a[0],
                                                       ptx::advanced(of_b, step * kStep), add);
      };
      fence_accumulators(step_acc);
      ptx::wgmma_fence();
      add_product(x.small, large, false);
      add_product(x.large, small, true);
      add_product(x.large, large, true);
      ptx::wgmma_commit();
      if (step + 1 < SplitTile::kSteps)
        load_fragment(a[(step + 1) % 2], shared.a[state.stage], group, step + 1);
      ptx::wgmma_wait<0>();
      fence_accumulators(step_acc);
      RONDO_UNROLL_ON_GPU
      for (int j = 0; j < SplitTile::kN / 2; ++j) acc.d[0][j] += step_acc.d[0][j];
    }
    __syncwarp();  // every lane has read A, and one arrives for all
    release_stage(shared, state.stage);
    state.advance();
  }
}

__global__ __launch_bounds__(SplitTile::kThreads, 1) void gemm_tc_07_persistent_tf32x3_kernel(
    const __grid_constant__ WarpSpecializedParameters<float> p, const TileGrid tiles) {
  auto& shared = shared_memory<Shared>();
  if (threadIdx.x == 0) {
    RONDO_UNROLL
    for (ptx::Mbarrier& barrier : shared.split) ptx::mbarrier_init(&barrier, SplitTile::kSplitters);
  }
  init_ring(shared);
  PipelineState<SplitTile::kStages> state;
  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == 0) {
    ptx::warpgroup_reg_dealloc<SplitTile::kProducerRegisters>();
    if (threadIdx.x >= 32)
      for_each_tile<SplitTile>(p, tiles, [&](const TileWork& work) { split_b(shared, state, work); });
    else if (ptx::elect_one())
      for_each_tile<SplitTile>(p, tiles, [&](const TileWork& work) {
        produce<SplitTile, Order::k_major, Order::k_major>(p, shared, state, work);
      });
    return;
  }
  ptx::warpgroup_reg_alloc<SplitTile::kConsumerRegisters>();
  WgmmaAccumulators<SplitTile> acc;
  for_each_tile<SplitTile>(p, tiles, [&](const TileWork& work) {
    multiply(acc, shared, state, work, warpgroup - 1);
    store_results<SplitTile>(p, shared, acc, work, warpgroup - 1);
  });
}

}  // namespace

Status launch_gemm_persistent_tf32x3(const char* name, const GemmArguments& g, const GemmConfig& config,
                                     Workspace workspace, cudaStream_t stream) {
  return launch_blocks<SplitTile>(
      name, g, config, workspace, stream,
      [&](LaunchShape shape, const WarpSpecializedParameters<float>& p, const TileGrid& tiles) {
        shape.shared_bytes = sizeof(Shared);
        return launch(name, shape, stream, gemm_tc_07_persistent_tf32x3_kernel, p, tiles);
      });
}

}  // namespace rondo

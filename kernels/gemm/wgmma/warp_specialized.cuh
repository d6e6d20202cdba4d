// The producer and consumer roles of the warps of products by wgmma (persistent.cuh, clusters.cuh,
// stream_k_kernel.cuh, and the rung gemm_tc_06_warp_specialized).
// wgmma_tf32x3.cuh adds splitters.
//
// Between them is a ring of stages, with two mbarriers for each. `full` completes a phase when the bytes of a
// k-tile have arrived; `empty` when every consumer warp is done with it.
#pragma once

#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/core/ptx/warp_specialization.cuh>
#include <rondo/kernels/gemm/fma/pipelined.cuh>
#include <rondo/kernels/gemm/staged_rows.cuh>
#include <rondo/kernels/gemm/wgmma/direct_store.cuh>
#include <rondo/kernels/gemm/wgmma/wgmma_tile.cuh>
#include <rondo/kernels/reduce/column_moments.cuh>

#include <algorithm>

namespace rondo {

// A tile with a warpgroup of loading threads before the consumers. The registers of each thread: a
// multiprocessor has 65536, and loading (and splitting, wgmma_tf32x3.cuh) needs few.
template <class T, int M, int N, int Groups, int Stages>
struct WarpSpecializedTile : WgmmaTile<T, M, N, Groups, Stages> {
  static constexpr int kThreads = kWarpgroup * (1 + Groups);
  static constexpr int kProducerRegisters = Groups == 2 ? 40 : 32;
  static constexpr int kConsumerRegisters = Groups == 2 ? 232 : 160;
  static_assert(kWarpgroup * (kProducerRegisters + Groups * kConsumerRegisters) <= 65536);
};

// The same for a cluster of two blocks with tiles one below the other (clusters.cuh). kM and kN are those of
// a block.
template <class T, int M, int N, int Groups, int Stages>
struct ClusterTile : WarpSpecializedTile<T, M, N, Groups, Stages> {
  static constexpr TileId kId = {Instruction::wgmma, ClusterTile::WgmmaTile::kId.arithmetic, 2 * M, N,
                                 /*cluster_blocks=*/2};
};

template <class Tile>
struct WarpSpecializedShared : WgmmaShared<Tile> {
  StagedRows staged[4 * Tile::kGroups];  // of each consumer warp
};

// Kernels count tiles in 32 bits.
inline Status check_tiles(const char* name, int64_t tiles) {
  return tiles <= INT32_MAX ? Status()
                            : bad_argument(name, ": the result has ", tiles, " tiles, must be below 2^31");
}

// The blocks that compute adjacent tiles together.
template <class Tile>
inline constexpr int kClusterBlocks = Tile::kId.cluster_blocks;

// A cluster for as many multiprocessors as it has blocks, or one for each group of adjacent tiles if there
// are fewer. Each computes one group after the other; `tiles` counts the groups.
template <class Tile>
Status persistent_launch_shape(const char* name, LaunchShape* shape, int64_t tiles) {
  RONDO_RETURN_IF_ERROR(check_tiles(name, tiles));
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  const int64_t clusters =
      std::min<int64_t>(tiles, std::max(1, device.multiprocessors / kClusterBlocks<Tile>));
  *shape = LaunchShape{.grid_x = kClusterBlocks<Tile> * clusters,
                       .block_x = Tile::kThreads,
                       .shared_bytes = sizeof(WarpSpecializedShared<Tile>),
                       .cluster_x = kClusterBlocks<Tile>};
  return {};
}

template <class T>
struct WarpSpecializedParameters {
  CUtensorMap a, b;
  PipelinedParameters<T> product;
};

// The parameters of a kernel with tiles of kM x kN. Each block of a cluster loads its part of their columns.
template <class Tile, class T, class C>
Status warp_specialized_parameters(WarpSpecializedParameters<T>* p, const GemmArgumentsOf<T, C>& g,
                                   const SplitK& parts, Workspace workspace) {
  p->product = pipelined_parameters(g, parts, workspace);
  p->product.tiles_n = ceil_div<int64_t>(g.n, Tile::kN);
  if (g.k == 0) return {};
  const GemmProblem problem = problem_of(g);
  RONDO_RETURN_IF_ERROR(make_operand_map<Tile>(&p->a, problem.a.order, g.a, g.m, g.k, g.a_stride, Tile::kM));
  return make_operand_map<Tile>(&p->b, problem.b.order, g.b, g.n, g.k, g.b_stride,
                                Tile::kN / kClusterBlocks<Tile>);
}

// The results that a block computes: of a tile, the sum over k from k_begin to k_end.
struct TileWork {
  int tile_m, tile_n;  // row and column, counted in tiles
  int part;            // of k
  int64_t k_begin, k_end;

  template <class Tile>
  __device__ int64_t first_row() const {
    return int64_t{tile_m} * Tile::kM;
  }
  template <class Tile>
  __device__ int64_t first_column() const {
    return int64_t{tile_n} * Tile::kN;
  }
};
template <class Tile, class T>
__device__ __forceinline__ TileWork tile_work(const WarpSpecializedParameters<T>& p, int tile_m, int tile_n,
                                              int part) {
  const int64_t k_begin = part * p.product.k_per_split;
  return {tile_m, tile_n, part, k_begin, min(p.product.gemm.k, k_begin + p.product.k_per_split)};
}

template <class Tile>
__device__ __forceinline__ int64_t k_tiles_of(const TileWork& work) {
  return ceil_div<int64_t>(work.k_end - work.k_begin, Tile::kK);
}

// One thread initializes the barriers of the ring; then the block passes a barrier. The consumers of `blocks`
// blocks release each stage.
template <class Tile>
__device__ __forceinline__ void init_ring(WgmmaShared<Tile>& shared, int blocks = 1) {
  if (threadIdx.x == 0) {
    RONDO_UNROLL
    for (int stage = 0; stage < Tile::kStages; ++stage) {
      ptx::mbarrier_init(&shared.full[stage], 1);
      ptx::mbarrier_init(&shared.empty[stage], blocks * 4 * Tile::kGroups);  // a thread of each consumer warp
    }
    ptx::mbarrier_init_fence();
  }
  __syncthreads();
}

// The role of one thread: loads the k-tiles of a tile into the stages that the consumers have released.
template <class Tile, Order OrderA, Order OrderB, class T>
__device__ __forceinline__ void produce(const WarpSpecializedParameters<T>& p, WgmmaShared<Tile>& shared,
                                        PipelineState<Tile::kStages>& state, const TileWork& work) {
  for (int64_t k = work.k_begin; k < work.k_end; k += Tile::kK) {
    ptx::mbarrier_wait(&shared.empty[state.stage], state.parity ^ 1);  // the first pass does not wait
    load_stage<Tile, OrderA, OrderB>(shared, state.stage, p.a, p.b, work.first_row<Tile>(),
                                     work.first_column<Tile>(), k);
    state.advance();
  }
}

// The role of the first warp: one of its threads calls produce(state), which loads k-tiles, and then waits
// until the consumers have released every stage. A block could do without the last wait: its shared memory
// stays until its last thread has ended. But all copies and phases then have an end that a thread has seen,
// for the consumers of another block too, and checkers of races rely on it.
template <class Tile, class Produce>
__device__ __forceinline__ void run_producer(WgmmaShared<Tile>& shared, const Produce& produce) {
  if (threadIdx.x >= 32 || !ptx::elect_one()) return;
  PipelineState<Tile::kStages> state;
  produce(state);
  RONDO_UNROLL_BY(1)
  for (int i = 0; i < Tile::kStages; ++i) {
    ptx::mbarrier_wait(&shared.empty[state.stage], state.parity ^ 1);  // does not wait if it had no k-tile
    state.advance();
  }
}

// Every consumer warp calls it when it is done with a stage.
template <class Tile>
__device__ __forceinline__ void release_stage(WgmmaShared<Tile>& shared, int stage) {
  if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&shared.empty[stage]);
}

// The role of the consumer warpgroups: each multiplies its rows of the next `k_tiles` k-tiles. The products
// of a k-tile run while those of the next are issued, so a stage is released one k-tile later, by
// release(stage).
template <class Tile, Order OrderA, Order OrderB, class Release>
__device__ __forceinline__ void consume(WgmmaAccumulators<Tile>& acc, WgmmaShared<Tile>& shared,
                                        PipelineState<Tile::kStages>& state, int64_t k_tiles, int group,
                                        const Release& release) {
  set_zero(acc);
  int previous_stage = -1;
  for (; k_tiles > 0; --k_tiles) {
    ptx::mbarrier_wait(&shared.full[state.stage], state.parity);
    multiply_k_tile<Tile, OrderA, OrderB>(acc, shared.a[state.stage], shared.b[state.stage], group);
    ptx::wgmma_wait<1>();
    if (previous_stage >= 0) release(previous_stage);
    previous_stage = state.stage;
    state.advance();
  }
  ptx::wgmma_wait<0>();
  fence_accumulators(acc);
  if (previous_stage >= 0) release(previous_stage);
}
template <class Tile, Order OrderA, Order OrderB>
__device__ __forceinline__ void consume(WgmmaAccumulators<Tile>& acc, WgmmaShared<Tile>& shared,
                                        PipelineState<Tile::kStages>& state, int64_t k_tiles, int group) {
  consume<Tile, OrderA, OrderB>(acc, shared, state, k_tiles, group,
                                [&](int stage) { release_stage(shared, stage); });
}

// Calls store(row, column, Vec<4>) for the results of a consumer warpgroup.
template <class Tile, class Store>
__device__ __forceinline__ void store_tile(WarpSpecializedShared<Tile>& shared,
                                           const WgmmaAccumulators<Tile>& acc, int group,
                                           const Store& store) {
  const int warp = static_cast<int>(threadIdx.x) % kWarpgroup / 32;
  constexpr int kTail = Tile::kN % StagedRows::kColumns;
  RONDO_UNROLL_ON_GPU
  for (int i = 0; i < Tile::kPanelsM; ++i) {
    const int first_row = (group * Tile::kPanelsM + i) * 64 + warp * 16;
    RONDO_UNROLL_ON_GPU
    for (int c = 0; c < Tile::kN - kTail; c += StagedRows::kColumns)
      store_staged(
          shared.staged[4 * group + warp], *reinterpret_cast<const float(*)[4][4]>(&acc.d[i][c / 2]),
          [&](int row, int column, const Vec<4>& values) { store(first_row + row, c + column, values); });
    if constexpr (kTail > 0) {
      constexpr int kBegin = Tile::kN - kTail;
      store_staged(shared.staged[4 * group + warp],
                   *reinterpret_cast<const float(*)[kTail / 8][4]>(&acc.d[i][kBegin / 2]),
                   [&](int row, int column, const Vec<4>& values) {
                     store(first_row + row, kBegin + column, values);
                   });
    }
  }
}

// The same where store() returns the values as it stored them. Calls end(row, column, moments) with the
// moments of a column of the 16 rows from `row` on, of those for which included(row) is true; a lane for each
// column.
template <class Tile, class Store, class Included, class End>
__device__ __forceinline__ void store_tile_and_moments(WarpSpecializedShared<Tile>& shared,
                                                       const WgmmaAccumulators<Tile>& acc, int group,
                                                       const Store& store, const Included& included,
                                                       const End& end) {
  static_assert(Tile::kN % StagedRows::kColumns == 0);
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroup, warp = thread / 32;
  RONDO_UNROLL_ON_GPU
  for (int i = 0; i < Tile::kPanelsM; ++i) RONDO_UNROLL_ON_GPU
  for (int c = 0; c < Tile::kN; c += StagedRows::kColumns) {
    ColumnMoments<typename Tile::Element, 1> moments;
    const int first_row = (group * Tile::kPanelsM + i) * 64 + warp * 16;
    store_staged(
        shared.staged[4 * group + warp], *reinterpret_cast<const float(*)[4][4]>(&acc.d[i][c / 2]),
        [&](int row, int column, const Vec<4>& values) { return store(first_row + row, c + column, values); },
        [&](int row, float value) {
          if (included(first_row + row)) moments.add(value);
        });
    end(first_row, c + thread % 32, moments);
  }
}

// Stores the results of a consumer warpgroup: its partial sums, if k is split. kStaged: k is not split, and
// the results are staged, because too few registers are left for store_directly().
template <class Tile, bool kStaged = false, class T>
__device__ __forceinline__ void store_results(const WarpSpecializedParameters<T>& p,
                                              WarpSpecializedShared<Tile>& shared,
                                              WgmmaAccumulators<Tile>& acc, const TileWork& work, int group) {
  const auto& g = p.product.gemm;
  const GemmEpilogue& epilogue = p.product.epilogue;
  const Partials& partials = p.product.partials;
  float* floats = partials.data ? partials.row(work.part, 0) : nullptr;
  int64_t stride = partials.stride(), columns = stride;  // the padding too
  if (!floats) stride = g.c_stride, columns = g.n;
  if (!floats && (std::is_same_v<T, float> || p.product.float_result)) floats = static_cast<float*>(g.c);
  const auto row_of = [&](auto* to) {
    return [=, rows = g.m, first = work.first_row<Tile>()](int row) {
      return first + row < rows ? to + (first + row) * stride : nullptr;
    };
  };
  const int64_t column = work.first_column<Tile>();
  // Partial sums have aligned rows and no epilogue: they always go directly.
  const bool direct =
      !kStaged && (floats ? can_store_directly(epilogue, floats, stride, columns)
                          : can_store_directly(epilogue, static_cast<T*>(g.c), stride, columns));
  Epilogue of_rows = {epilogue.alpha,      epilogue.beta,    epilogue.bias,
                      epilogue.activation, epilogue.aligned, epilogue.residual};
  if (direct || is_smooth(epilogue.activation)) {  // a smooth one comes with beta = 0: wgmma_unsupported()
    apply_epilogue(acc, epilogue, column, columns);
    of_rows = Epilogue{.aligned = epilogue.aligned};
  }
  if (direct) {
    if (floats)
      store_directly<float>(acc, group, column, columns, row_of(floats));
    else if constexpr (!std::is_same_v<T, float>)
      store_directly<T>(acc, group, column, columns, row_of(static_cast<T*>(g.c)));
    return;
  }
  store_tile(shared, acc, group, [&](int row_in_tile, int column_in_tile, const Vec<4>& values) {
    const int64_t row = work.first_row<Tile>() + row_in_tile;
    if (row < g.m) store_row(p.product, g.c, of_rows, row, column + column_in_tile, values);
  });
}

}  // namespace rondo

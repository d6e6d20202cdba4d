// row_reduction(): one result for each row of a matrix.
//
// The order of the additions is that of rows.cuh: a row is cut into parts of 8192 columns; column j of a part
// belongs to place j % kPlaces; the values of a place are added in order, the places in a tree of neighbours,
// (0 + 1) + (2 + 3), .... Of a longer row, lane l of a warp merges the parts l, l + 32, ... in order, and the
// lanes are merged in such a tree, too. It depends on the number of columns alone.
//
// Unlike rows.cuh, nothing is computed from the values afterwards. So a thread keeps none of them, the number
// of columns need not fill whole packs, and a row of millions of columns has one more launch, not two.
#pragma once

#include <rondo/kernels/core/view.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/reduce/rows.cuh>

namespace rondo::reduce {

// values[0] becomes ((0 + 1) + (2 + 3)) + ....
template <class Reducer, int kCount>
__device__ __forceinline__ void merge_neighbours(typename Reducer::State (&values)[kCount]) {
  RONDO_UNROLL
  for (int width = kCount / 2; width > 0; width /= 2) {
    RONDO_UNROLL
    for (int k = 0; k < width; ++k) values[k] = Reducer::merge(values[2 * k], values[2 * k + 1]);
  }
}

template <class Reducer, int kLanes>
__device__ __forceinline__ void merge_lanes(typename Reducer::State& state) {
#pragma unroll
  for (int mask = 1; mask < kLanes; mask *= 2)
    state = Reducer::merge(state, __shfl_xor_sync(~0u, state, mask));
}

// What the warps of a part have: for each pack of a round, a state of each warp.
template <class Tile, class State>
struct WarpStates {
  State of[Tile::kLanes > 32 && !Tile::kVectors ? rows::kPlacesPerLane * Tile::kLanes / 32 : 1];
};

// The state of `count` columns of a row, of which the first is column `first`; in lane 0.
template <class Tile, int N, class Reducer, class T>
__device__ __forceinline__ typename Reducer::State reduce_part(
    const Reducer& reducer, const T* from, int count, int64_t first,
    WarpStates<Tile, typename Reducer::State>& exchange) {
  using State = typename Reducer::State;
  constexpr int kPacks = rows::kPlacesPerLane / N;  // of a round
  constexpr int kWarp = Tile::kLanes < 32 ? Tile::kLanes : 32, kWarps = Tile::kLanes / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % Tile::kLanes;
  const auto column = [&](int round, int i) { return round * Tile::kPlaces + (i * Tile::kLanes + lane) * N; };

  // All loads before the first addition: a row of a warp is in flight at once.
  Values<N> held[rows::kRounds][kPacks];
#pragma unroll
  for (int round = 0; round < rows::kRounds; ++round)
#pragma unroll
    for (int i = 0; i < kPacks; ++i)
      if (column(round, i) + N <= count) held[round][i] = load_values<N>(from + column(round, i));
  State of_place[kPacks][N];
#pragma unroll
  for (int i = 0; i < kPacks; ++i)
#pragma unroll
    for (int k = 0; k < N; ++k) of_place[i][k] = Reducer::identity();
#pragma unroll
  for (int round = 0; round < rows::kRounds; ++round)
#pragma unroll
    for (int i = 0; i < kPacks; ++i)
      if (column(round, i) + N <= count)
#pragma unroll
        for (int k = 0; k < N; ++k)
          of_place[i][k] = reducer.add(of_place[i][k], held[round][i].v[k], first + column(round, i) + k);
  // The columns behind the last whole pack are the last of their places.
  if constexpr (N > 1) {
    const int tail = count / N * N;
    if (tail < count && tail / N % Tile::kLanes == lane)
#pragma unroll
      for (int i = 0; i < kPacks; ++i)
        if (tail / N / Tile::kLanes % kPacks == i)
#pragma unroll
          for (int k = 0; k < N; ++k)
            if (tail + k < count)
              of_place[i][k] =
                  reducer.add(of_place[i][k], static_cast<float>(from[tail + k]), first + tail + k);
  }

  State of_pack[kPacks];
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    merge_neighbours<Reducer>(of_place[i]);
    of_pack[i] = of_place[i][0];
    merge_lanes<Reducer, kWarp>(of_pack[i]);
  }
  if constexpr (kWarps == 1) {
    merge_neighbours<Reducer>(of_pack);
    return of_pack[0];
  } else {
    constexpr int kStates = kPacks * kWarps, kAtOnce = kStates < 32 ? kStates : 32;
    if (lane % kWarp == 0)
#pragma unroll
      for (int i = 0; i < kPacks; ++i) exchange.of[i * kWarps + lane / kWarp] = of_pack[i];
    __syncthreads();
    State states[kStates / kAtOnce];
#pragma unroll
    for (int i = 0; i < kStates / kAtOnce; ++i) {
      states[i] = exchange.of[i * kAtOnce + lane % kAtOnce];
      merge_lanes<Reducer, kAtOnce>(states[i]);
    }
    merge_neighbours<Reducer>(states);
    return states[0];
  }
}

// The same, by one thread of the executor.
template <class Tile, class Reducer, class T>
__device__ typename Reducer::State reduce_part_by_vectors(const Reducer& reducer, const T* from, int count,
                                                          int64_t first) {
  typename Reducer::State of_place[Tile::kPlaces];
  // The first round is apart, so that the identities are not stored and read again.
  const int of_first_round = min(count, Tile::kPlaces);
  RONDO_SIMD
  for (int p = 0; p < of_first_round; ++p)
    of_place[p] = reducer.add(Reducer::identity(), static_cast<float>(from[p]), first + p);
  for (int p = of_first_round; p < Tile::kPlaces; ++p) of_place[p] = Reducer::identity();
  for (int round = Tile::kPlaces; round < count; round += Tile::kPlaces) {
    const int places = min(count - round, Tile::kPlaces);
    RONDO_SIMD
    for (int p = 0; p < places; ++p)
      of_place[p] = reducer.add(of_place[p], static_cast<float>(from[round + p]), first + round + p);
  }
  using State = typename Reducer::State;
  return rows::merged_places<Tile::kPlaces>(
      &of_place[0], [](const State& a, const State& b) { return Reducer::merge(a, b); });
}

// The fewest blocks of a multiprocessor, for ptxas; 0: no number. Without one ptxas 13.0 keeps to 48
// registers for 10.0 and newer, and may spill one.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
template <class Tile, class Reducer>
inline constexpr int kLeastBlocks = sizeof(typename Reducer::State) == 4 ? 512 / Tile::kBlock : 0;
#else
template <class Tile, class Reducer>
inline constexpr int kLeastBlocks = 0;
#endif

// Row `item / parts`, part `item % parts`. A row of several parts has its states in `partial`.
template <class Tile, int N, class Reducer, class T>
__global__ void __launch_bounds__(Tile::kBlock, (kLeastBlocks<Tile, Reducer>))
    reduce_rows_kernel(Reducer reducer, typename Reducer::Result* y, typename Reducer::State* partial,
                       const T* x, int64_t stride, int64_t row_count, int64_t cols, int64_t parts) {
  using State = typename Reducer::State;
  struct Shared {
    WarpStates<Tile, State> of_row[Tile::kRowsAtOnce];
  };
  rows::for_each_row<Tile>([&](int in_block, [[maybe_unused]] int at_once) {
    const int64_t item = static_cast<int64_t>(blockIdx.x) * Tile::kRows + in_block;
    const int64_t row = parts == 1 ? item : item / parts;
    const int64_t first = parts == 1 ? 0 : (item - row * parts) * Tile::kMost;
    // Threads without a row take part in the exchange of states.
    const bool active = row < row_count;
    if (Tile::kVectors && !active) return;
    const int count = active ? static_cast<int>(min(cols - first, int64_t{Tile::kMost})) : 0;
    const T* const from = x + (active ? row * stride + first : 0);
    State state;
    if constexpr (Tile::kVectors)
      state = reduce_part_by_vectors<Tile>(reducer, from, count, first);
    else
      state = reduce_part<Tile, N>(reducer, from, count, first, shared_memory<Shared>().of_row[at_once]);
    if (!active || static_cast<int>(threadIdx.x) % Tile::kThreads != 0) return;
    if (parts == 1)
      y[row] = reducer.result(state, cols);
    else
      partial[item] = state;
  });
}

inline constexpr int kMergeThreads = 128;

// A warp merges the parts of a row. With `vectors` one thread does.
template <bool vectors, class Reducer>
__global__ void __launch_bounds__(kMergeThreads)
    merge_parts_kernel(Reducer reducer, typename Reducer::Result* y, const typename Reducer::State* partial,
                       int64_t rows, int64_t cols, int64_t parts) {
  constexpr int kLanes = 32, kThreads = vectors ? 1 : kLanes, kHere = vectors ? kLanes : 1;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / kThreads) + threadIdx.x / kThreads;
  if (row >= rows) return;  // a whole warp
  typename Reducer::State states[kHere];
  for (int l = 0; l < kHere; ++l) {
    states[l] = Reducer::identity();
    for (int64_t part = threadIdx.x % kThreads + l; part < parts; part += kLanes)
      states[l] = Reducer::merge(states[l], partial[row * parts + part]);
  }
  if constexpr (vectors)
    merge_neighbours<Reducer>(states);
  else
    merge_lanes<Reducer, kLanes>(states[0]);
  if (threadIdx.x % kThreads == 0) y[row] = reducer.result(states[0], cols);
}

inline int64_t row_workspace_bytes(int64_t rows, int64_t cols) {
  const int64_t parts = rows::parts_of(std::max<int64_t>(cols, 1));
  return rows <= 0 || parts == 1 ? 0 : saturating_product({rows, parts, int64_t{sizeof(double)}});
}

template <bool vectors, int lanes, int N, class Reducer, class T>
Status launch_rows(const char* name, const Reducer& reducer, typename Reducer::Result* y,
                   MatrixView<const T> x, Workspace workspace, cudaStream_t stream) {
  using Tile = rows::Tile<lanes, vectors>;
  using State = typename Reducer::State;
  const int64_t parts = lanes == 256 ? rows::parts_of(x.cols) : 1;
  auto* const partial = static_cast<State*>(workspace.data);
  LaunchShape shape;
  shape.grid_x = ceil_div<int64_t>(x.rows * parts, Tile::kRows);
  shape.block_x = Tile::kBlock;
  shape.shared_bytes = vectors ? 0 : Tile::kRowsAtOnce * sizeof(WarpStates<Tile, State>);
  RONDO_RETURN_IF_ERROR(launch(name, shape, stream, reduce_rows_kernel<Tile, N, Reducer, T>, reducer, y,
                               partial, x.data, x.stride, x.rows, x.cols, parts));
  if (parts == 1) return {};
  LaunchShape merge;
  merge.block_x = vectors ? 1 : kMergeThreads;
  merge.grid_x = ceil_div<int64_t>(x.rows, vectors ? 1 : kMergeThreads / 32);
  return launch(name, merge, stream, merge_parts_kernel<vectors, Reducer>, reducer, y, partial, x.rows,
                x.cols, parts);
}

template <bool vectors, int N, class Reducer, class T>
Status launch_rows_of_width(const char* name, const Reducer& reducer, typename Reducer::Result* y,
                            MatrixView<const T> x, Workspace workspace, cudaStream_t stream) {
  const int lanes = rows::lanes_for(x.cols);
  auto* const launch_of = lanes == 4    ? launch_rows<vectors, 4, N, Reducer, T>
                          : lanes == 32 ? launch_rows<vectors, 32, N, Reducer, T>
                                        : launch_rows<vectors, 256, N, Reducer, T>;
  return launch_of(name, reducer, y, x, workspace, stream);
}

// y[i] = the result of row i. Also of rows without columns. `aligned`: all rows begin at multiples of 16
// bytes.
template <class Reducer, class T>
Status row_reduction(const char* name, const Reducer& reducer, typename Reducer::Result* y,
                     MatrixView<const T> x, bool aligned, Workspace workspace, cudaStream_t stream) {
  if (x.rows == 0) return {};
  if constexpr (kVectorTiles)
    if (use_vector_threads()) return launch_rows_of_width<true, 1>(name, reducer, y, x, workspace, stream);
  return aligned ? launch_rows_of_width<false, 16 / sizeof(T)>(name, reducer, y, x, workspace, stream)
                 : launch_rows_of_width<false, 1>(name, reducer, y, x, workspace, stream);
}

}  // namespace rondo::reduce

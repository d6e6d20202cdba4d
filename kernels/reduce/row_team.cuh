// RowTeam: the threads that share a part of a row (rows.cuh), and the part's values.
#pragma once

#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/tile_threads.cuh>
#include <rondo/kernels/core/values.cuh>

#include <cmath>

namespace rondo::rows {

inline constexpr int kPlacesPerLane = 8;
inline constexpr int kRounds = 4;  // the values of a place

// kVectors: one thread of the executor does the work of all lanes, for all rows of a block.
template <int lanes, bool vectors>
struct Tile {
  static constexpr bool kVectors = vectors;
  static constexpr int kLanes = lanes;
  static constexpr int kPlaces = kPlacesPerLane * lanes;
  static constexpr int kMost = kRounds * kPlaces;  // columns of a part
  static constexpr int kThreads = vectors ? 1 : lanes;
  static constexpr int kRows = lanes < 128 ? (vectors ? 512 : 128) / lanes : 1;  // rows of a block
  static constexpr int kRowsAtOnce = vectors ? 1 : kRows;
  static constexpr int kBlock = kRowsAtOnce * kThreads;
};

// Calls visit(row in the block, row among those at once) for the calling thread's rows.
template <class Tile, class Visit>
__device__ __forceinline__ void for_each_row(Visit visit) {
  if constexpr (Tile::kVectors) {
    for (int row = 0; row < Tile::kRows; ++row) visit(row, 0);
  } else {
    const int row = static_cast<int>(threadIdx.x) / Tile::kThreads;
    visit(row, row);
  }
}

// An access to N neighbouring elements. kAligned: with one instruction.
template <int N, bool kAligned>
struct Access {
  static constexpr int kSize = N;
  using Pack = Values<N>;

  template <class T>
  static __device__ __forceinline__ Pack load(const T* from) {
    if constexpr (kAligned)
      return load_values<N>(from);
    else
      return load_elements<N>(from);
  }
  template <class T>
  static __device__ __forceinline__ void store(T* to, const Pack& pack) {
    if constexpr (kAligned)
      store_values<N>(to, pack);
    else
      store_elements<N>(to, pack);
  }
};

template <class Access, class Operation, class Packs>
__device__ __forceinline__ void prepare_values(const Operation& operation, Packs& values, int64_t row,
                                               int col) {
  if constexpr (requires { operation.template prepare<Access>(values, row, col); })
    operation.template prepare<Access>(values, row, col);
}

// The calling thread's accesses to a part of `count` columns: visit(access, column).
template <class Tile, int N, class Visit>
__device__ __forceinline__ void for_each_access(int count, Visit visit) {
  if constexpr (Tile::kVectors) {
    int j = 0;
    for (; j + N <= count; j += N) visit(Access<N, false>(), j);
    for (; j < count; ++j) visit(Access<1, false>(), j);
  } else {
    for (int j = static_cast<int>(threadIdx.x) % Tile::kThreads * N; j < count; j += Tile::kThreads * N)
      visit(Access<N, true>(), j);
  }
}

// The shared memory of a team: on a GPU two buffers for exchanges of the warps, with vectors all values.
struct Exchange {
  static constexpr int kMostSums = 3;
  float values[2][kMostSums][8 * kPlacesPerLane];
};
struct Nothing {};
template <class Tile, int kInputs>
struct TeamMemory {
  struct Held {
    alignas(64) float values[kInputs][Tile::kMost];
  };
  using Type =
      std::conditional_t<Tile::kVectors, Held, std::conditional_t<(Tile::kLanes > 32), Exchange, Nothing>>;
};

// The lanes are threads. They keep the values in registers, except where accesses are single elements: the
// unrolled code would be long, and the cache has the values.
template <class Tile, int N, class Operation>
class RowTeam {
  static constexpr int kInputs = Operation::kInputs;

 public:
  using Memory = typename TeamMemory<Tile, kInputs>::Type;
  static constexpr bool kKeepsValues = N > 1;

  // Of `count` columns of a row, from column `first` on.
  __device__ __forceinline__ RowTeam(Memory& memory, const Operation& operation, int64_t row, int first,
                                     int count)
      : memory_(memory),
        operation_(operation),
        row_(row),
        first_(first),
        count_(count),
        lane_(static_cast<int>(threadIdx.x) % Tile::kLanes) {
    for (int i = 0; i < kInputs; ++i) from_[i] = operation.input(i, row) + first;
    if constexpr (kKeepsValues) for_each([&](auto& values, int, int j) { load(values, j); });
  }

  __device__ __forceinline__ bool is_first() const { return lane_ == 0; }
  // The row, the part's first column in it, and the columns of the part.
  __device__ __forceinline__ int64_t row() const { return row_; }
  __device__ __forceinline__ int first() const { return first_; }
  __device__ __forceinline__ int count() const { return count_; }

  // visit(access, values, column) for each pack of the thread: values[i] are those of input i.
  template <class Visit>
  __device__ __forceinline__ void for_each_pack(Visit visit) {
    for_each_loaded([&](auto& values, int, int j) { visit(Access<N, true>(), values, j); });
  }

  // The largest value of input 0. NaN is left out; without any other value it is -infinity.
  __device__ __forceinline__ float max() {
    float most = -INFINITY;
    for_each_loaded([&](auto& held, int, int) {
#pragma unroll
      for (int k = 0; k < N; ++k) most = fmaxf(most, held[0].v[k]);
    });
#pragma unroll
    for (int mask = 1; mask < kWarp; mask *= 2) most = fmaxf(most, other(most, mask));
    if constexpr (kWarps > 1) {
      float* const values = memory_.values[turn_][0];
      turn_ ^= 1;
      if (lane_ % kWarp == 0) values[lane_ / kWarp] = most;
      __syncthreads();
      most = values[lane_ % kWarps];
#pragma unroll
      for (int mask = 1; mask < kWarps; mask *= 2) most = fmaxf(most, other(most, mask));
    }
    return most;
  }

  // Sums over the part. add(values, sums, j) adds those of the part's column j to the sums, and may change
  // the values. What the threads of the team have read before is read before any of them goes on.
  template <int kSums, class Add>
  __device__ __forceinline__ void sums(float (&result)[kSums], Add add) {
    Values<N> of_place[kSums][kPacks] = {};
    for_each_loaded([&](auto& held, int i, int j) {
#pragma unroll
      for (int k = 0; k < N; ++k) {
        float values[kInputs], to[kSums];
        for (int input = 0; input < kInputs; ++input) values[input] = held[input].v[k];
        for (int s = 0; s < kSums; ++s) to[s] = of_place[s][i].v[k];
        add(values, to, j + k);
        for (int input = 0; input < kInputs; ++input) held[input].v[k] = values[input];
        for (int s = 0; s < kSums; ++s) of_place[s][i].v[k] = to[s];
      }
    });
    float of_pack[kSums][kPacks];
#pragma unroll
    for (int s = 0; s < kSums; ++s)
#pragma unroll
      for (int i = 0; i < kPacks; ++i) {
        add_neighbours<N>(of_place[s][i].v);
        of_pack[s][i] = of_place[s][i].v[0];
#pragma unroll
        for (int mask = 1; mask < kWarp; mask *= 2) of_pack[s][i] += other(of_pack[s][i], mask);
      }
    if constexpr (kWarps == 1) {
      __syncwarp();
#pragma unroll
      for (int s = 0; s < kSums; ++s) {
        add_neighbours<kPacks>(of_pack[s]);
        result[s] = of_pack[s][0];
      }
    } else {
      add_warps(result, of_pack);
    }
  }

 private:
  static constexpr int kPacks = kPlacesPerLane / N;  // of a round
  static constexpr int kWarp = Tile::kLanes < 32 ? Tile::kLanes : 32, kWarps = Tile::kLanes / kWarp;

  // visit(values, i, j) for each pack: pack i of its round, which begins at column j.
  template <class Visit>
  __device__ __forceinline__ void for_each(Visit visit) {
    if constexpr (kKeepsValues) {
#pragma unroll
      for (int round = 0; round < kRounds; ++round) visit_round(round, &held_[round * kPacks], visit);
    } else {
#pragma unroll 1
      for (int round = 0; round < kRounds; ++round) visit_round(round, held_, visit);
    }
  }
  template <class Visit>
  __device__ __forceinline__ void visit_round(int round, Values<N> (*held)[kInputs], Visit& visit) {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const int j = round * Tile::kPlaces + (i * Tile::kLanes + lane_) * N;
      if (j < count_) visit(held[i], i, j);
    }
  }
  // The same, with the values.
  template <class Visit>
  __device__ __forceinline__ void for_each_loaded(Visit visit) {
    for_each([&](auto& values, int i, int j) {
      if constexpr (!kKeepsValues) load(values, j);
      visit(values, i, j);
    });
  }
  __device__ __forceinline__ void load(Values<N> (&values)[kInputs], int j) const {
#pragma unroll
    for (int i = 0; i < kInputs; ++i) values[i] = load_values<N>(from_[i] + j);
    prepare_values<Access<N, true>>(operation_, values, row_, first_ + j);
  }

  static __device__ __forceinline__ float other(float value, int mask) {
    return __shfl_xor_sync(~0u, value, mask);
  }

  // values[0] becomes ((0 + 1) + (2 + 3)) + ....
  template <int kCount>
  static __device__ __forceinline__ void add_neighbours(float (&values)[kCount]) {
#pragma unroll
    for (int width = kCount / 2; width > 0; width /= 2)
#pragma unroll
      for (int k = 0; k < width; ++k) values[k] = values[2 * k] + values[2 * k + 1];
  }

  // Warp w has the sums of the places of its lanes, for each pack i: place (i * kWarps + w).
  template <int kSums>
  __device__ __forceinline__ void add_warps(float (&result)[kSums], const float (&of_pack)[kSums][kPacks]) {
    constexpr int kValues = kPacks * kWarps, kAtOnce = kValues < 32 ? kValues : 32;
    float(&values)[Exchange::kMostSums][8 * kPlacesPerLane] = memory_.values[turn_];
    turn_ ^= 1;
    static_assert(kSums <= Exchange::kMostSums && kValues <= 64);
    if (lane_ % kWarp == 0)
#pragma unroll
      for (int s = 0; s < kSums; ++s)
#pragma unroll
        for (int i = 0; i < kPacks; ++i) values[s][i * kWarps + lane_ / kWarp] = of_pack[s][i];
    __syncthreads();
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
      float sum[kValues / kAtOnce];
#pragma unroll
      for (int i = 0; i < kValues / kAtOnce; ++i) {
        sum[i] = values[s][i * kAtOnce + lane_ % kAtOnce];
#pragma unroll
        for (int mask = 1; mask < kAtOnce; mask *= 2) sum[i] += other(sum[i], mask);
      }
      add_neighbours<kValues / kAtOnce>(sum);
      result[s] = sum[0];
    }
  }

  Memory& memory_;
  const Operation& operation_;
  const int64_t row_;
  const int first_, count_, lane_;
  int turn_ = 0;
  const typename Operation::Type* from_[kInputs];
  Values<N> held_[(kKeepsValues ? kRounds : 1) * kPacks][kInputs];
};

// ((0 + 1) + (2 + 3)) + ... of kCount states, where merge(a, b) is a + b. Does not store into them: g++ makes
// vectors of it.
template <int kCount, class State, class Merge>
__device__ __forceinline__ State merged_places(const State* states, Merge merge) {
  if constexpr (kCount == 1) {
    return states[0];
  } else {
    State merged[kCount / 2];
    RONDO_SIMD
    for (int p = 0; p < kCount / 2; ++p) merged[p] = merge(states[2 * p], states[2 * p + 1]);
    return merged_places<kCount / 2>(merged, merge);
  }
}

// One thread of the executor is all lanes.
template <int lanes, int N, class Operation>
class RowTeam<Tile<lanes, true>, N, Operation> {
  static constexpr int kInputs = Operation::kInputs;
  using OfTile = Tile<lanes, true>;

 public:
  using Memory = typename TeamMemory<OfTile, kInputs>::Type;
  static constexpr bool kKeepsValues = true;

  __device__ RowTeam(Memory& memory, const Operation& operation, int64_t row, int first, int count)
      : memory_(memory), row_(row), first_(first), count_(count) {
    const typename Operation::Type* from[kInputs];
    for (int i = 0; i < kInputs; ++i) from[i] = operation.input(i, row) + first;
    for_each_access<OfTile, N>(count_, [&](auto access, int j) {
      typename decltype(access)::Pack values[kInputs];
      for (int i = 0; i < kInputs; ++i) values[i] = access.load(from[i] + j);
      prepare_values<decltype(access)>(operation, values, row, first + j);
      for (int i = 0; i < kInputs; ++i) access.store(memory_.values[i] + j, values[i]);
    });
  }

  __device__ bool is_first() const { return true; }
  __device__ int64_t row() const { return row_; }
  __device__ int first() const { return first_; }
  __device__ int count() const { return count_; }

  template <class Visit>
  __device__ void for_each_pack(Visit visit) {
    for_each_access<OfTile, N>(count_, [&](auto access, int j) {
      typename decltype(access)::Pack values[kInputs];
      for (int i = 0; i < kInputs; ++i) values[i] = access.load(memory_.values[i] + j);
      visit(access, values, j);
    });
  }

  __device__ float max() const {
    const float* const values = memory_.values[0];
    float most[N];
    for (float& value : most) value = -INFINITY;
    int j = 0;
    for (; j + N <= count_; j += N) {
      RONDO_SIMD
      for (int k = 0; k < N; ++k) most[k] = larger(most[k], values[j + k]);
    }
    for (int k = 0; j + k < count_; ++k) most[k] = larger(most[k], values[j + k]);
    return merged_places<N>(&most[0], larger);
  }

  template <int kSums, class Add>
  __device__ void sums(float (&result)[kSums], Add add) {
    float of_place[kSums][OfTile::kPlaces] = {};
    for (int round = 0; round < count_; round += OfTile::kPlaces) {
      const int places = min(count_ - round, OfTile::kPlaces);
      RONDO_SIMD
      for (int p = 0; p < places; ++p) {
        float values[kInputs], to[kSums];
        for (int i = 0; i < kInputs; ++i) values[i] = memory_.values[i][round + p];
        for (int s = 0; s < kSums; ++s) to[s] = of_place[s][p];
        add(values, to, round + p);
        for (int i = 0; i < kInputs; ++i) memory_.values[i][round + p] = values[i];
        for (int s = 0; s < kSums; ++s) of_place[s][p] = to[s];
      }
    }
    for (int s = 0; s < kSums; ++s)
      result[s] = merged_places<OfTile::kPlaces>(&of_place[s][0], [](float a, float b) { return a + b; });
  }

 private:
  // fmaxf() of a first number that is not NaN: a call for each value, and no vectors.
  static __device__ __forceinline__ float larger(float a, float b) { return b > a ? b : a; }

  Memory& memory_;
  const int64_t row_;
  const int first_, count_;
};

}  // namespace rondo::rows

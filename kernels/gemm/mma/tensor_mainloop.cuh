// The main loop of tensor tiles: k-tiles stream through shared memory (cp.async), fragments through registers
// (ldmatrix), and both one step ahead of the products that use them.
#pragma once

#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/core/ptx/ldmatrix.cuh>
#include <rondo/kernels/core/ptx/tf32.cuh>
#include <rondo/kernels/gemm/mma/tensor_tile.cuh>

#include <cstdint>

namespace rondo {

// The operands of one step, as they are in memory.
template <class Tile>
struct Fragments {
  unsigned a[Tile::kFragmentsM][4];
  unsigned b[Tile::kFragmentsN][2];
};

// Loads the fragments of A of step `step` of a k-tile.
template <class Tile, Order order>
__device__ __forceinline__ void load_fragments_a(unsigned (&to)[Tile::kFragmentsM][4],
                                                 const typename Tile::Element* k_tile, int step) {
  using KTile = KTileA<Tile, order>;
  const LaneInTile lane = lane_in_tile<Tile>();
  const int id = 4 * lane.g + lane.t, k0 = step * Tile::kPerStep;
  if constexpr (order == Order::k_major || sizeof(typename Tile::Element) == 2) {
    // Matrices: rows 0 and 8 of the first half of the step, then of the second half.
    constexpr bool kTransposed = order == Order::mn_major;
    const int k = k0 + (kTransposed ? id % 8 + id / 16 * 8 : id / 16 * Tile::kPerChunk);
    const int row = lane.m + (kTransposed ? id / 8 % 2 * 8 : id % 16);
    const void* rows[Tile::kFragmentsM];
    RONDO_UNROLL
    for (int i = 0; i < Tile::kFragmentsM; ++i) rows[i] = k_tile + KTile::at(k, row + 16 * i);
    ptx::ldmatrix<kTransposed>(to, rows);
  } else {
    RONDO_UNROLL
    for (int i = 0; i < Tile::kFragmentsM; ++i) RONDO_UNROLL
    for (int part = 0; part < 4; ++part)
      to[i][part] = __float_as_uint(
          k_tile[KTile::at(k0 + lane.t + part / 2 * 4, lane.m + 16 * i + lane.g + part % 2 * 8)]);
  }
}

// The same for B. One ldmatrix loads two fragments.
template <class Tile, Order order>
__device__ __forceinline__ void load_fragments_b(unsigned (&to)[Tile::kFragmentsN][2],
                                                 const typename Tile::Element* k_tile, int step) {
  using KTile = KTileB<Tile, order>;
  const LaneInTile lane = lane_in_tile<Tile>();
  const int id = 4 * lane.g + lane.t, k0 = step * Tile::kPerStep;
  if constexpr (order == Order::k_major || sizeof(typename Tile::Element) == 2) {
    // Matrices: columns 0 of both halves of the step, then columns 8.
    constexpr bool kTransposed = order == Order::mn_major;
    const int k = k0 + (kTransposed ? id % 16 : id / 8 % 2 * Tile::kPerChunk);
    const int column = lane.n + (kTransposed ? id / 16 * 8 : id % 8 + id / 16 * 8);
    const void* rows[Tile::kFragmentsN / 2];
    RONDO_UNROLL
    for (int j = 0; j < Tile::kFragmentsN / 2; ++j) rows[j] = k_tile + KTile::at(k, column + 16 * j);
    ptx::ldmatrix<kTransposed>(reinterpret_cast<unsigned(&)[Tile::kFragmentsN / 2][4]>(to), rows);
  } else {
    RONDO_UNROLL
    for (int j = 0; j < Tile::kFragmentsN; ++j) RONDO_UNROLL
    for (int part = 0; part < 2; ++part)
      to[j][part] = __float_as_uint(k_tile[KTile::at(k0 + lane.t + part * 4, lane.n + 8 * j + lane.g)]);
  }
}

// x is about big + small, both tf32: 22 significant bits.
template <int M, int N>
__device__ __forceinline__ void split_tf32(unsigned (&big)[M][N], unsigned (&small)[M][N],
                                           const unsigned (&x)[M][N]) {
  RONDO_UNROLL
  for (int i = 0; i < M; ++i) RONDO_UNROLL
  for (int j = 0; j < N; ++j) {
    big[i][j] = ptx::to_tf32(__uint_as_float(x[i][j]));
    small[i][j] = ptx::to_tf32(__uint_as_float(x[i][j]) - __uint_as_float(big[i][j] & 0xFFFFE000u));
  }
}

template <int M, int N>
__device__ __forceinline__ void round_to_tf32(unsigned (&x)[M][N]) {
  RONDO_UNROLL
  for (int i = 0; i < M; ++i) RONDO_UNROLL
  for (int j = 0; j < N; ++j) x[i][j] = ptx::to_tf32(__uint_as_float(x[i][j]));
}

template <int M, int N>
__device__ __forceinline__ void set_zero(float (&d)[M][N][4]) {
  RONDO_UNROLL
  for (int i = 0; i < M; ++i) RONDO_UNROLL
  for (int j = 0; j < N; ++j) RONDO_UNROLL
  for (int e = 0; e < 4; ++e) d[i][j][e] = 0;
}

// acc += a * b for one step.
//
// tf32x3 leaves out the product of the two small parts, which is below the rounding of fp32. Tensor cores
// truncate their sums, so the sum of a step is added to the others by an fp32 addition, which rounds. The
// small products come first, so that they are added to each other and not to a large sum.
template <class Tile>
__device__ __forceinline__ void multiply_step(Accumulators<Tile>& acc, Fragments<Tile>& x) {
  using Fragment = typename Tile::Fragment;
  if constexpr (Tile::kArithmetic == Arithmetic::tf32x3) {
    constexpr int M = 2,
                  N = Tile::kFragmentsN;  // rows of fragments at once: more would need too many registers
    unsigned b[N][2], b_small[N][2];
    split_tf32(b, b_small, x.b);
    RONDO_UNROLL
    for (int i0 = 0; i0 < Tile::kFragmentsM; i0 += M) {
      unsigned a[M][4], a_small[M][4];
      split_tf32(a, a_small, reinterpret_cast<const unsigned(&)[M][4]>(x.a[i0]));
      float sum[M][N][4];
      set_zero(sum);
      ptx::mma<Fragment>(sum, a_small, b);
      ptx::mma<Fragment>(sum, a, b_small);
      ptx::mma<Fragment>(sum, a, b);
      RONDO_UNROLL
      for (int i = 0; i < M; ++i) RONDO_UNROLL
      for (int j = 0; j < N; ++j) RONDO_UNROLL
      for (int e = 0; e < 4; ++e) acc.d[i0 + i][j][e] += sum[i][j][e];
    }
  } else {
    if constexpr (Tile::kArithmetic == Arithmetic::tf32) {
      round_to_tf32(x.a);
      round_to_tf32(x.b);
    }
    ptx::mma<Fragment>(acc.d, x.a, x.b);
  }
}

// Whether the fragments of a step are loaded before the products of the step before it. From 10.0 on the
// registers of tf32 do not suffice: on 12.0, and in loaders that gather, which have more state. A product of
// mma.sync takes more cycles there than on 8.0, so there is time to load the fragments.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
template <class Tile, class LoaderA>
inline constexpr bool kLoadsAhead = sizeof(typename Tile::Element) == 2 || (!requires {
                                      LoaderA::kGathers;
                                    } && (Tile::kArithmetic == Arithmetic::tf32x3 || __CUDA_ARCH__ < 1200));
#else
template <class Tile, class LoaderA>
inline constexpr bool kLoadsAhead = true;
#endif

// acc = the sum over k; see tile_mainloop() of tile_mainloop.cuh.
//
// While one k-tile is multiplied, the next kStages - 1 are being copied. The barrier of a k-tile stands
// before its last step: by then every thread has read all fragments of this k-tile, so its memory can be
// filled again, and the copies of the next k-tile, whose first fragments are loaded, have arrived.
template <class Tile, Order OrderA, Order OrderB, class LoaderA, class LoaderB>
requires Tile::kTensor __device__ __forceinline__ void tile_mainloop(Accumulators<Tile>& acc,
                                                                     TileShared<Tile, OrderA, OrderB>& shared,
                                                                     LoaderA& a, LoaderB& b, int64_t k) {
  const auto k_tiles = ceil_div<int64_t>(k, Tile::kK);
  set_zero(acc.d);
  RONDO_UNROLL
  for (int stage = 0; stage < Tile::kStages - 1; ++stage) {
    if (stage < k_tiles) {
      a.copy(shared.a[stage]);
      b.copy(shared.b[stage]);
    }
    ptx::cp_async_commit();
  }
  if (k_tiles == 0) return;

  constexpr bool kAhead = kLoadsAhead<Tile, LoaderA>;
  Fragments<Tile> fragments[2];
  const auto load = [&](Fragments<Tile>& to, int stage, int step) {
    load_fragments_a<Tile, OrderA>(to.a, shared.a[stage], step);
    load_fragments_b<Tile, OrderB>(to.b, shared.b[stage], step);
  };
  ptx::cp_async_wait<Tile::kStages - 2>();
  __syncthreads();
  if (kAhead) load(fragments[0], 0, 0);

  int reading = 0, filling = Tile::kStages - 1;
  RONDO_UNROLL_BY(1)
  for (int64_t left = k_tiles; left > 0; --left) {
    if (left >= Tile::kStages) {
      a.copy(shared.a[filling]);
      b.copy(shared.b[filling]);
    }
    ptx::cp_async_commit();
    const int next = reading + 1 == Tile::kStages ? 0 : reading + 1;
    // Two steps at a time. If all were unrolled, nvcc would load too many fragments early, and spill.
    RONDO_UNROLL_BY(1)
    for (int step = 0; step < Tile::kSteps; step += 2) {
      if (!kAhead) load(fragments[0], reading, step);
      if (kAhead) load(fragments[1], reading, step + 1);
      multiply_step<Tile>(acc, fragments[0]);
      if (!kAhead) load(fragments[1], reading, step + 1);
      if (step + 2 < Tile::kSteps) {
        if (kAhead) load(fragments[0], reading, step + 2);
      } else if (left > 1) {
        ptx::cp_async_wait<Tile::kStages - 2>();
        __syncthreads();
        if (kAhead) load(fragments[0], next, 0);
      }
      multiply_step<Tile>(acc, fragments[1]);
    }
    filling = reading;
    reading = next;
  }
}

}  // namespace rondo

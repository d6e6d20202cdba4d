// The main loop of a GEMM and of a convolution: k-tiles stream through shared memory while the register tiles
// accumulate the products. Loaders supply the k-tiles. A loader has
//
//   copy(float* k_tile)   starts the copies (cp.async) of the calling thread's part of the next k-tile, and
//                         writes zeros where the k-tile reaches outside the problem
//   outer()               the rows or columns of the tile that exist
//   prefetch(part, parts) fetches a part of the next k-tile into the cache
//
// The last two are optional, and only vector tiles call them.
//
// All threads of the block must call tile_mainloop() together. OrderA: of A in shared memory. OrderB: of B in
// global memory. tensor_mainloop.cuh has the loop of the tiles for tensor cores.
#pragma once

#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/gemm/fma/tile.cuh>

namespace rondo {

// acc += (k-tile of A) * (k-tile of B), for the register tile of the calling thread.
template <class Tile, Order OrderA, Order OrderB>
__device__ __forceinline__ void multiply_k_tile(Accumulators<Tile>& acc, const float* a, const float* b) {
  using A = KTileA<Tile, OrderA>;
  using B = KTileB<Tile, OrderB>;
  using Columns = Vec<Tile::kPerThreadN>;
  const ThreadInTile thread = thread_in_tile<Tile>();
  b += B::at(0, thread.n * Tile::kPerThreadN);
  a += A::at(0, A::row(thread.m, 0));

  if constexpr (OrderA == Order::k_major) {
    RONDO_UNROLL_BY(1)
    for (int k = 0; k < Tile::kK; k += 4) {
      Columns columns[4];
      RONDO_UNROLL
      for (int u = 0; u < 4; ++u) columns[u] = Columns::load(b + (k + u) * B::kStride);
      RONDO_UNROLL
      for (int i = 0; i < Tile::kPerThreadM; ++i) {
        const Broadcast<4> row(a + i * Tile::kThreadsM * A::kStride + k);
        RONDO_UNROLL
        for (int u = 0; u < 4; ++u) acc.row[i].add_product(row[u], columns[u]);
      }
    }
  } else {
    RONDO_UNROLL_BY(2)
    for (int k = 0; k < Tile::kK; ++k) {
      const Columns columns = Columns::load(b + k * B::kStride);
      RONDO_UNROLL
      for (int i = 0; i < Tile::kPerThreadM; i += 4) {
        const Broadcast<4> rows(a + k * A::kStride + i);
        RONDO_UNROLL
        for (int u = 0; u < 4; ++u) acc.row[i + u].add_product(rows[u], columns);
      }
    }
  }
}

// acc = the sum over k. While one k-tile is multiplied, the next kStages - 1 are being copied. One barrier
// per k-tile is enough. It guarantees both that all threads' copies of this k-tile have arrived, and that all
// threads have finished reading the k-tile whose memory is filled next.
template <class Tile, Order OrderA, Order OrderB, class LoaderA, class LoaderB>
__device__ __forceinline__ void tile_mainloop(Accumulators<Tile>& acc,
                                              TileShared<Tile, OrderA, OrderB>& shared, LoaderA& a,
                                              LoaderB& b, int64_t k) {
  static_assert(Tile::kStages >= 2, "one stage is read while another is filled");
  const auto k_tiles = ceil_div<int64_t>(k, Tile::kK);
  RONDO_UNROLL
  for (int i = 0; i < Tile::kPerThreadM; ++i) acc.row[i] = Vec<Tile::kPerThreadN>::zero();

  RONDO_UNROLL
  for (int stage = 0; stage < Tile::kStages - 1; ++stage) {
    if (stage < k_tiles) {
      a.copy(shared.a[stage]);
      b.copy(shared.b[stage]);
    }
    ptx::cp_async_commit();
  }
  int reading = 0, filling = Tile::kStages - 1;
  RONDO_UNROLL_BY(1)
  for (int64_t k_tile = 0; k_tile < k_tiles; ++k_tile) {
    ptx::cp_async_wait<Tile::kStages - 2>();
    __syncthreads();
    if (k_tile + Tile::kStages - 1 < k_tiles) {
      a.copy(shared.a[filling]);
      b.copy(shared.b[filling]);
    }
    ptx::cp_async_commit();
    multiply_k_tile<Tile, OrderA, OrderB>(acc, shared.a[reading], shared.b[reading]);
    filling = reading;
    reading = reading + 1 == Tile::kStages ? 0 : reading + 1;
  }
}

// The register tiles, of kRegisterTile rows or columns each, that have results.
template <int kRegisterTile, class Loader>
__device__ __forceinline__ int register_tiles(const Loader& loader, int all) {
  if constexpr (requires { loader.outer(); })
    return min(all, ceil_div(max(loader.outer(), 0), kRegisterTile));
  else
    return all;
}

template <class Loader>
__device__ __forceinline__ void prefetch_part(const Loader& loader, int part, int parts) {
  if constexpr (requires { loader.prefetch(part, parts); }) loader.prefetch(part, parts);
}

// The one thread of a vector tile multiplies a k-tile for all register tiles before it copies the next one.
// visit_results() multiplies the last one, so that its results go from registers to the epilogue.
template <class Tile, Order OrderA, Order OrderB, class LoaderA, class LoaderB>
requires Tile::kVectors __device__ __forceinline__ void tile_mainloop(
    Accumulators<Tile>& acc, TileShared<Tile, OrderA, OrderB>& shared, LoaderA& a, LoaderB& b, int64_t k) {
  acc = {shared.a, shared.b, shared.sums};
  acc.tiles_m = register_tiles<Tile::kPerThreadM>(a, Tile::kThreadsM);
  acc.tiles_n = register_tiles<Tile::kPerThreadN>(b, Tile::kThreadsN);
  for (; k > 0; k -= Tile::kK) {
    a.copy(shared.a);
    b.copy(shared.b);
    ptx::cp_async_commit();
    ptx::cp_async_wait<0>();
    acc.k = static_cast<int>(min(k, int64_t{Tile::kK}));
    if (k <= Tile::kK) break;
    for (int n = 0; n < acc.tiles_n; ++n)
      for (int m = 0; m < acc.tiles_m; ++m) {
        prefetch_part(a, n * acc.tiles_m + m, acc.tiles_m * acc.tiles_n);
        prefetch_part(b, n * acc.tiles_m + m, acc.tiles_m * acc.tiles_n);
        acc.template multiply<OrderA>(m, n, acc.register_tile(m, n));
      }
    acc.first = false;
  }
}

}  // namespace rondo

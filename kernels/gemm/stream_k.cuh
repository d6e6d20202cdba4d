// Stream-K: the division of the last tiles of a product among persistent blocks, as a pure function.
//
// Each block computes the same number of whole tiles, as in wgmma/persistent.cuh. If the number of tiles is
// no multiple of that of blocks, the tiles of the last full round and those after it are divided by k-tiles:
// each block has a range of them, and the ranges differ by at most one k-tile. A range is longer than a tile,
// so a tile has at most two parts. It may have more only if there are fewer tiles than blocks.
//
// Source: Osama, Merrill, Cecka, Garland, Owens, "Stream-K: Work-Centric Parallel Decomposition for Dense
// Matrix-Matrix Multiplication on the GPU", PPoPP 2023; there it is the "two-tile" hybrid.
#pragma once

#include <rondo/kernels/core/launch.cuh>

#include <cstdint>

namespace rondo {

// What one block computes of one tile: part `part` of `parts`. The parts of a tile are in ascending order of
// k, and part i is computed by block first_block + i.
struct StreamKWorkUnit {
  int64_t tile;    // its number; wgmma/tile_order.h has its place
  int begin, end;  // k-tiles
  int part, parts;
  int first_block;
};

// Numbers of blocks and k-tiles have 32 bits: the kernel has few registers for them.
struct StreamK {
  int64_t tiles = 0;        // of the product
  int64_t whole_tiles = 0;  // the first ones, which are not divided
  int k_tiles = 0;          // of a tile
  int blocks = 1;

  __host__ __device__ bool divides() const { return whole_tiles < tiles; }
  // The number of k-tiles of all divided tiles. They are numbered tile after tile.
  __host__ __device__ int divided_k_tiles() const { return static_cast<int>(tiles - whole_tiles) * k_tiles; }
  // The first k-tile of a block's range. The first divided_k_tiles() % blocks blocks have one k-tile more
  // than the others.
  __host__ __device__ int first_k_tile(int block) const {
    const int with_extra = divided_k_tiles() % blocks;
    return divided_k_tiles() / blocks * block + (block < with_extra ? block : with_extra);
  }
  __host__ __device__ int block_of(int k_tile) const {
    const int k_tiles_of_block = divided_k_tiles() / blocks, with_extra = divided_k_tiles() % blocks;
    const int of_those = with_extra * (k_tiles_of_block + 1);
    return k_tile < of_those ? k_tile / (k_tiles_of_block + 1)
                             : with_extra + (k_tile - of_those) / k_tiles_of_block;
  }
  // A bound of the parts of a tile.
  __host__ __device__ int max_parts() const {
    const int k_tiles_of_block = divided_k_tiles() / blocks;
    return k_tiles_of_block == 0 ? k_tiles : 1 + ceil_div(k_tiles - 1, k_tiles_of_block);
  }

  // The i-th work unit of a block; false if it has fewer.
  __host__ __device__ __forceinline__ bool find_work_unit(int block, int64_t i, StreamKWorkUnit* unit) const {
    const int64_t tile = block + i * blocks;
    *unit = {tile, 0, k_tiles, 0, 1, block};
    if (tile < whole_tiles) return true;
    if (!divides()) return false;
    const int from = first_k_tile(block), to = first_k_tile(block + 1);
    const int number = from / k_tiles + static_cast<int>(i - whole_tiles / blocks);
    const int first = number * k_tiles, end = first + k_tiles;
    if (first >= to) return false;
    unit->tile = whole_tiles + number;
    unit->begin = from > first ? from - first : 0;
    unit->end = to < end ? to - first : k_tiles;
    unit->first_block = block_of(first);
    unit->part = block - unit->first_block;
    unit->parts = block_of(end - 1) - unit->first_block + 1;
    return true;
  }
};

// blocks > 0. No tile is divided if it would have 2^31 k-tiles or more, which is a k of 10^8.
__host__ __device__ inline StreamK stream_k(int64_t tiles, int64_t k_tiles, int blocks) {
  const int64_t rounds = tiles / blocks, whole = rounds > 1 ? (rounds - 1) * blocks : 0;
  const bool divides = tiles % blocks != 0 && k_tiles > 0 && k_tiles <= INT32_MAX / (2 * int64_t{blocks});
  return {tiles, divides ? whole : tiles, static_cast<int>(k_tiles), blocks};
}

}  // namespace rondo

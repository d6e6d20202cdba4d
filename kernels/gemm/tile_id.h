// The identity of a tile: how its threads multiply, the arithmetic, and the size.
#pragma once

#include <rondo/kernels/core/arithmetic.h>
#include <rondo/kernels/core/loops.cuh>

#include <ostream>
#include <string>

namespace rondo {

// The memory order of an operand. k_major: consecutive values along k are contiguous. mn_major: for each step
// of k, the values of adjacent rows of A or columns of B are contiguous.
enum class Order { k_major, mn_major };

// fma:         multiply-adds of the lanes of a warp (fma/)
// vector_fma:  multiply-adds of vector registers, of all arithmetics but tf32x3; only on the CPU executor
//              (fma/)
// mma:         mma.sync, by a warp (mma/)
// wgmma:       wgmma, by a warpgroup; compute capability 9.0 (wgmma/)
enum class Instruction { fma, vector_fma, mma, wgmma };

// Whether this build has tiles of vector_fma for the arithmetic.
template <Arithmetic kArithmetic>
inline constexpr bool kHasVectorTiles = kVectorTiles&& kArithmetic != Arithmetic::tf32x3;

// A block, or a cluster of blocks, computes m x n results.
struct TileId {
  Instruction instruction = Instruction::fma;
  Arithmetic arithmetic = Arithmetic::fp32;
  int m = 0, n = 0;
  int cluster_blocks = 1;

  friend bool operator==(const TileId&, const TileId&) = default;
};

constexpr const char* name_of(Instruction instruction) {
  constexpr const char* kNames[] = {"fma", "vector_fma", "mma", "wgmma"};
  return kNames[static_cast<int>(instruction)];
}

// "128x128", "128x128v" by vector registers, "128x128v bf16", "128x128 tf32" by mma.sync; "128x256",
// "2 of 128x256" by wgmma
std::string name_of(const TileId& tile);
std::ostream& operator<<(std::ostream& out, const TileId& tile);

// Tiles of mma.sync compute the moments (reduce/moments.h) of as many rows at a time: all the same number, so
// that the sums do not depend on the tile.
inline constexpr int kMomentRows = 32;

}  // namespace rondo

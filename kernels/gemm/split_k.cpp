#include <rondo/kernels/gemm/split_k.h>

#include <rondo/kernels/core/launch.cuh>

#include <algorithm>

namespace rondo {
namespace {

constexpr int64_t kEnoughTiles = 128;  // about one per multiprocessor of a large GPU
constexpr int64_t kTileM = 128, kTileN = 64;

int64_t round_up(int64_t value, int64_t multiple) {
  return saturating_product({ceil_div<int64_t>(value, multiple), multiple});
}

}  // namespace

SplitK split_k(const GemmShape& shape, int64_t least_k) {
  const int64_t tiles = std::max<int64_t>(
      1, saturating_product({ceil_div<int64_t>(shape.m, kTileM), ceil_div<int64_t>(shape.n, kTileN)}));
  const int64_t wanted = std::max<int64_t>(1, std::min(kEnoughTiles / tiles, shape.k / least_k));
  SplitK parts;
  parts.k_per_split = std::max<int64_t>(64, round_up(ceil_div<int64_t>(shape.k, wanted), 64));
  parts.splits = std::max<int64_t>(1, ceil_div<int64_t>(shape.k, parts.k_per_split));
  return parts;
}

int64_t partials_bytes(int64_t rows, int64_t columns, int64_t count) {
  return saturating_product({rows, ceil_div<int64_t>(columns, 4), 4, count, sizeof(float)});
}

int64_t split_k_workspace_bytes(const GemmShape& shape) {
  const int64_t splits = split_k(shape).splits;
  return splits > 1 ? partials_bytes(shape.m, shape.n, splits) : 0;
}

// The parts of all tiles together are at most kEnoughTiles, for every k.
int64_t most_partial_bytes() { return kEnoughTiles * kTileM * kTileN * int64_t{sizeof(float)}; }

}  // namespace rondo

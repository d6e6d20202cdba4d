// The order in which persistent blocks compute the tiles of a product.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace rondo {

// Tiles in one row of tiles share rows of A, those in one column share columns of B. At any time each
// multiprocessor computes one of about 100 consecutive tiles. They are a band of kBandRows rows of tiles,
// column after column: with tiles of 128 x 256 about 16 x 8 of them, for which A and B are read least from
// memory.
inline constexpr int64_t kBandRows = 16;

struct TilePosition {
  int64_t m, n;  // row and column, counted in tiles
};

// Each of the tiles_m * tiles_n tiles has one number. The last band may have fewer rows.
__host__ __device__ constexpr TilePosition tile_position(int64_t number, int64_t tiles_m, int64_t tiles_n,
                                                         int64_t band_rows = kBandRows) {
  const int64_t first = number / (band_rows * tiles_n) * band_rows;
  const int64_t rows = tiles_m - first < band_rows ? tiles_m - first : band_rows;
  const int64_t in_band = number - first * tiles_n;
  return {first + in_band % rows, in_band / rows};
}

}  // namespace rondo

// The order in which persistent blocks compute the tiles of a product.
#pragma once

#include <cuda_runtime.h>

#include <rondo/kernels/core/divisor.h>

#include <algorithm>
#include <cstdint>

namespace rondo {

// Tiles in one row of tiles share rows of A, those in one column share columns of B. At any time each
// multiprocessor computes one of about 100 consecutive tiles. They are a band of kBandRows rows of tiles,
// column after column (Triton's GROUP_SIZE_M): with tiles of 128 x 256 about 16 x 8 of them, for which A and
// B are read least from memory.
inline constexpr int kBandRows = 16;

struct TilePosition {
  int m, n;  // row and column, counted in tiles
  int part;  // of k
};

// m x n tiles for each part of k, less than 2^31 in all. Each has one number. The last band may have fewer
// rows.
class TileGrid {
 public:
  TileGrid() = default;
  TileGrid(int64_t m, int64_t n, int64_t parts, int band_rows = kBandRows)
      : m_(static_cast<int>(m)),
        size_(static_cast<int>(m * n * parts)),
        band_rows_(band_rows),
        by_part_(static_cast<int>(m * n)),
        by_band_(static_cast<int>(std::min(band_rows * n, m * n))),
        by_rows_(band_rows),
        by_rows_of_last_(static_cast<int>((m - 1) % band_rows + 1)) {}

  __host__ __device__ int size() const { return size_; }
  __host__ __device__ TilePosition position(int number) const {
    const auto [part, in_part] = by_part_.divide(number);
    const auto [band, in_band] = by_band_.divide(in_part);
    const int first = band * band_rows_;
    const auto [column, row] = (m_ - first < band_rows_ ? by_rows_of_last_ : by_rows_).divide(in_band);
    return {first + row, column, part};
  }

 private:
  int m_ = 0, size_ = 0, band_rows_ = kBandRows;
  Divisor by_part_, by_band_, by_rows_, by_rows_of_last_;
};

}  // namespace rondo

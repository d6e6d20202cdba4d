// Operand A of the filter gradient, MN-major: k = output pixel, row = (tap, in channel). A row of the k-tile
// is one patch of the image. Each thread processes one pixel of the k-tile and copies its part of the patch.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/gemm/fma/matrix_loaders.cuh>

namespace rondo {

// The position of a row (r, s, c) of the tile relative to what tap (0, 0) reads; in shared memory.
struct PatchTap {
  int offset;
  int y, x;
};

// Rows past the end repeat the first rows: they read valid memory, aligned to the `width` of the copies, and
// their results are not stored.
__device__ inline PatchTap patch_tap(const ConvGeometry& g, int row, int width) {
  if (row >= g.patch) row %= width;
  const int c = row % g.c, s = row / g.c % g.s, r = row / g.c / g.s;
  const int y = r * g.dilation_h, x = s * g.dilation_w;
  return {(y * g.w + x) * g.c + c, y, x};
}

template <class KTile, class Tile>
class PatchLoader {
 public:
  using Element = typename Tile::Element;

  // `pixels` output pixels remain, starting with number `first`.
  __device__ __forceinline__ PatchLoader(const Element* x, const ConvGeometry& g, const PatchTap* taps,
                                         int64_t first, int64_t pixels, int width)
      : x_(x), geometry_(g), taps_(taps), left_(pixels), width_(width) {
    const int64_t pixel = first + threadIdx.x / kPerRow;
    q_ = static_cast<int>(pixel % g.q);
    p_ = static_cast<int>(pixel / g.q % g.p);
    image_ = static_cast<int>(pixel / g.q / g.p);
    if constexpr (Tile::kVectors) find_runs();
  }

  __device__ RONDO_INLINE_ON_GPU void copy(typename Tile::KTileElement* k_tile) {
    if constexpr (Tile::kVectors) {
      for (int k = 0; k < Tile::kK; ++k) {
        copy_pixel_by_runs(k_tile, k);
        go_on(1);
      }
    } else {
      with_width<Tile, Tile::kWidestCopy>(width_,
                                          [&]<int V>() { copy_pixel<V>(k_tile, threadIdx.x / kPerRow); });
      go_on(Tile::kK);
    }
    left_ -= Tile::kK;
  }

 private:
  // Threads that share a pixel of the k-tile. The one of a vector tile has all pixels.
  static constexpr int kPerRow = Tile::kVectors ? 1 : Tile::kThreads / Tile::kK;

  // Neighbouring rows that are neighbours in memory: the channels of a tap, or of several taps if all are
  // inside the image. Only with vector registers.
  struct Run {
    int row, length;
  };
  struct Runs {
    Run of[Tile::kM];
    int count = 0;
  };
  struct NoRuns {};

  __device__ void find_runs() {
    for (int row = 0; row < Tile::kM; ++row) {
      const bool joins =
          row > 0 && taps_[row].offset == taps_[row - 1].offset + 1 &&
          (!geometry_.padded || (taps_[row].y == taps_[row - 1].y && taps_[row].x == taps_[row - 1].x));
      if (joins)
        ++runs_.of[runs_.count - 1].length;
      else
        runs_.of[runs_.count++] = {row, 1};
    }
  }
  __device__ void copy_pixel_by_runs(float* k_tile, int k) const {
    const ConvGeometry& g = geometry_;
    const int y = p_ * g.stride_h - g.pad_h, x = q_ * g.stride_w - g.pad_w;
    const Element* const pixel =
        x_ + static_cast<int64_t>(image_) * g.h * g.w * g.c + (static_cast<int64_t>(y) * g.w + x) * g.c;
    for (int i = 0; i < runs_.count; ++i) {
      const auto [row, length] = runs_.of[i];
      const PatchTap& tap = taps_[row];
      const bool visible =
          k < left_ && (!g.padded || (static_cast<unsigned>(y + tap.y) < static_cast<unsigned>(g.h) &&
                                      static_cast<unsigned>(x + tap.x) < static_cast<unsigned>(g.w)));
      copy_factors_then_zeros<Tile::kId.arithmetic>(k_tile + KTile::at(k, row), pixel + tap.offset,
                                                    visible ? length : 0, length);
    }
  }

  __device__ __forceinline__ void go_on(int pixels) {
    q_ += pixels;
    while (q_ >= geometry_.q) {
      q_ -= geometry_.q;
      if (++p_ == geometry_.p) p_ = 0, ++image_;
    }
  }

  template <int V>
  __device__ __forceinline__ void copy_pixel(Element* k_tile, int k) const {
    if (k >= Tile::kK) return;
    const ConvGeometry& g = geometry_;
    const bool inside = k < left_;
    const int y = p_ * g.stride_h - g.pad_h, x = q_ * g.stride_w - g.pad_w;
    const Element* pixel =
        x_ + static_cast<int64_t>(image_) * g.h * g.w * g.c + (static_cast<int64_t>(y) * g.w + x) * g.c;
    const PatchTap* taps = taps_;
    // Narrow copies in the same order for every pixel: other orders take up to 48 registers more on 10.0.
    const int order = V < Tile::kWidestCopy ? 0 : k;
    if (!g.padded) {  // every tap is inside the image
      RONDO_UNROLL_BY(4)
      for (int step = 0; step * kPerRow * V < Tile::kM; ++step) {
        const int row = KTile::template copy_offset<V, kPerRow>(threadIdx.x % kPerRow, order, step);
        if (row < Tile::kM)
          ptx::cp_async<sizeof(Element) * V>(k_tile + KTile::at(k, row), pixel + taps[row].offset, inside);
      }
      return;
    }
    for (int step = 0; step * kPerRow * V < Tile::kM; ++step) {
      const int row = KTile::template copy_offset<V, kPerRow>(threadIdx.x % kPerRow, order, step);
      if (row >= Tile::kM) break;
      const PatchTap& tap = taps[row];
      const bool visible = static_cast<unsigned>(y + tap.y) < static_cast<unsigned>(g.h) &&
                           static_cast<unsigned>(x + tap.x) < static_cast<unsigned>(g.w);
      ptx::cp_async<sizeof(Element) * V>(k_tile + KTile::at(k, row), pixel + tap.offset, inside && visible);
    }
  }

  const Element* x_;
  const ConvGeometry& geometry_;
  const PatchTap* taps_;
  int64_t left_;
  int width_;
  int q_, p_, image_;
  [[no_unique_address]] std::conditional_t<Tile::kVectors, Runs, NoRuns> runs_;
};

}  // namespace rondo

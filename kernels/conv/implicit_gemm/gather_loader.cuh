// Operand A of an implicit GEMM, K-major. Row i has, for every tap and channel, the value of the pixel that
// row i reads through that tap. Forward gathers from x, backward from dy (see Axis).
#pragma once

#include <rondo/kernels/conv/implicit_gemm/taps.cuh>
#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/gemm/fma/matrix_loaders.cuh>

namespace rondo {

// The position of a row of the tile. In shared memory, because every k-tile uses it.
struct GatherRow {
  int64_t from;  // offset of the pixel (y, x), which tap 0 reads
  int64_t to;    // row of the result; -1: none
  int y, x;
};

template <class T>
struct GatherSource {
  const T* data;
  int channels;
  Axis h, w;
  int width;  // elements per copy
};

template <class KTile, class Tile>
class GatherLoader {
 public:
  using Element = typename Tile::Element;
  static constexpr bool kGathers = true;  // it has more state than a loader of matrices

  // all_visible: every tap of the walk is inside the image for every row, so no bounds check is needed.
  __device__ __forceinline__ GatherLoader(const GatherSource<Element>& source, const TapWalk& walk,
                                          const GatherRow* rows, bool all_visible)
      : source_(source), walk_(walk), rows_(rows), all_visible_(all_visible), step_(walk.distance(Tile::kK)) {
    const int width = copied_width<Tile>(source.width);
    position_ = walk.at(threadIdx.x % (Tile::kK / width) * width);
  }

  __device__ RONDO_INLINE_ON_GPU void copy(typename Tile::KTileElement* k_tile) {
    if constexpr (Tile::kVectors) {
      copy_runs(k_tile);
    } else {
      with_width<Tile, Tile::kWidestCopy>(source_.width, [&]<int V>() {
        constexpr int kPerRow = Tile::kK / V, kRows = Tile::kThreads / kPerRow;
        const int chunk = threadIdx.x % kPerRow, first = threadIdx.x / kPerRow;
        if (first < kRows) copy_chunks<V>(k_tile, position_, chunk * V, first, kRows);
      });
      walk_.advance(position_, step_);
    }
    left_ -= Tile::kK;
  }

 private:
  // Neighbouring values of k that are neighbours in memory: channels of a tap, or of several taps.
  struct Run {
    int k, length, dy, dx;
    int64_t offset;
  };

  // A thread with vector registers copies the k-tile run by run.
  __device__ void copy_runs(float* k_tile) const {
    const int here = min(left_, Tile::kK), channels = source_.channels;
    const bool adjacent_taps = all_visible_ && source_.w.tap_distance == 1;
    Run runs[Tile::kK];
    int count = 0;
    for (int k = 0; k < here; k += runs[count++].length) {
      const TapPosition position = walk_.at(walk_.length() - left_ + k);
      const int taps = adjacent_taps ? walk_.columns() - position.s : 1;
      const int dy = source_.h.tap_distance * walk_.r(position),
                dx = source_.w.tap_distance * walk_.s(position);
      runs[count] = {k, min(taps * channels - position.channel, here - k), dy, dx,
                     (static_cast<int64_t>(dy) * source_.w.size + dx) * channels + position.channel};
    }
    for (int i = 0; i < Tile::kM; ++i) {
      const GatherRow& row = rows_[i];
      float* const to = k_tile + KTile::at(0, i);
      for (int run = 0; run < count; ++run) {
        const Run& r = runs[run];
        const bool seen = all_visible_ || visible(row.y + r.dy, row.x + r.dx);
        copy_factors_then_zeros<Tile::kId.arithmetic>(to + r.k, source_.data + row.from + r.offset,
                                                      seen ? r.length : 0, r.length);
      }
      for (int k = here; k < Tile::kK; ++k) to[k] = 0;
    }
  }

  // Copies the rows first, first + step, ... at k of the k-tile.
  template <int V>
  __device__ __forceinline__ void copy_chunks(Element* k_tile, const TapPosition& position, int k, int first,
                                              int step) const {
    const bool inside = k < left_;
    const int dy = source_.h.tap_distance * walk_.r(position),
              dx = source_.w.tap_distance * walk_.s(position);
    const Element* from =
        source_.data + (static_cast<int64_t>(dy) * source_.w.size + dx) * source_.channels + position.channel;
    if (all_visible_) {
      const GatherRow* rows = rows_;
      RONDO_UNROLL_BY(4)
      for (int i = first; i < Tile::kM; i += step)
        ptx::cp_async<sizeof(Element) * V>(k_tile + KTile::at(k, i), from + rows[i].from, inside);
      return;
    }
    RONDO_UNROLL_BY(2)
    for (int i = first; i < Tile::kM; i += step) {
      const GatherRow& row = rows_[i];
      ptx::cp_async<sizeof(Element) * V>(k_tile + KTile::at(k, i), from + row.from,
                                         inside && visible(row.y + dy, row.x + dx));
    }
  }
  __device__ __forceinline__ bool visible(int y, int x) const {
    return static_cast<unsigned>(y) < static_cast<unsigned>(source_.h.size) &&
           static_cast<unsigned>(x) < static_cast<unsigned>(source_.w.size);
  }

  const GatherSource<Element>& source_;
  const TapWalk& walk_;
  const GatherRow* rows_;
  bool all_visible_;
  int left_ = walk_.length();  // of k, for the next k-tile and those after it
  TapPosition position_, step_;
};

}  // namespace rondo

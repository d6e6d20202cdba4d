// Operand A of an implicit GEMM, along k: row i holds, for every tap and channel, the value of the pixel that
// row i sees through that tap. Forward it gathers from x, backward from dy (see TapAxis).
#pragma once

#include <rondo/kernels/conv/taps.cuh>
#include <rondo/kernels/core/ptx/cp_async.cuh>
#include <rondo/kernels/gemm/matrix_loaders.cuh>

namespace rondo {

// Where a row of the tile stands; kept in shared memory, since every slab needs it again.
struct GatherRow {
  int64_t from;  // offset of the pixel (y, x) of its image, or of pixel (0, 0) where a divisor is not 1
  int64_t to;    // offset of its results
  int y, x;
};

struct GatherSource {
  const float* data;
  int channels;
  TapAxis h, w;
  int width;  // floats that one copy may take
};

template <class Slab, class Tile>
class GatherLoader {
 public:
  // all_visible: every tap of the walk hits the image for every row, so nobody has to look.
  __device__ __forceinline__ GatherLoader(const GatherSource& source, const TapWalk& walk,
                                          const GatherRow* rows, bool all_visible)
      : source_(source), walk_(walk), rows_(rows), all_visible_(all_visible), step_(walk.at(Tile::kK)) {
    position_ = walk.at(threadIdx.x % (Tile::kK / source.width) * source.width);
  }

  __device__ __forceinline__ void copy(float* slab) {
    with_width(source_.width, [&]<int V>() { copy_chunks<V>(slab); });
    walk_.advance(position_, step_);
  }

 private:
  template <int V>
  __device__ __forceinline__ void copy_chunks(float* slab) const {
    constexpr int kPerRow = Tile::kK / V, kRows = Tile::kThreads / kPerRow;
    const int k = threadIdx.x % kPerRow * V, first = threadIdx.x / kPerRow;
    if (first >= kRows) return;
    const bool inside = walk_.inside(position_);
    const int dy = source_.h.direction * walk_.r(position_), dx = source_.w.direction * walk_.s(position_);
    const int channel = position_.channel;
    if (source_.h.divisor == 1 && source_.w.divisor == 1) {
      const float* from =
          source_.data + (static_cast<int64_t>(dy) * source_.w.size + dx) * source_.channels + channel;
      if (all_visible_) {
        const GatherRow* rows = rows_;
        RONDO_UNROLL_BY(4)
        for (int i = first; i < Tile::kM; i += kRows)
          ptx::cp_async<4 * V>(slab + Slab::at(k, i), from + rows[i].from, inside);
        return;
      }
      RONDO_UNROLL_BY(2)
      for (int i = first; i < Tile::kM; i += kRows) {
        const GatherRow& row = rows_[i];
        ptx::cp_async<4 * V>(slab + Slab::at(k, i), from + row.from,
                             inside && visible(row.y + dy, row.x + dx));
      }
    } else {
      RONDO_UNROLL_BY(1)
      for (int i = first; i < Tile::kM; i += kRows) {
        const GatherRow& row = rows_[i];
        const int y = (row.y + dy) / source_.h.divisor, x = (row.x + dx) / source_.w.divisor;
        const bool whole = y * source_.h.divisor == row.y + dy && x * source_.w.divisor == row.x + dx;
        const float* from = source_.data + row.from + (y * source_.w.size + x) * source_.channels + channel;
        ptx::cp_async<4 * V>(slab + Slab::at(k, i), from, inside && whole && visible(y, x));
      }
    }
  }
  __device__ __forceinline__ bool visible(int y, int x) const {
    return static_cast<unsigned>(y) < static_cast<unsigned>(source_.h.size) &&
           static_cast<unsigned>(x) < static_cast<unsigned>(source_.w.size);
  }

  const GatherSource& source_;
  const TapWalk& walk_;
  const GatherRow* rows_;
  bool all_visible_;
  TapPosition position_, step_;
};

}  // namespace rondo

// The random numbers of an image's augmentation: a pure function of (seed, epoch, index in the data set),
// with the same bits on a GPU and on a CPU.
//
// Random words are those of Philox with the seed as the key and the counter (index, 2^31 + block, epoch). The
// shuffle of the samples uses the same seed; its second word is below 2^31. Block 0 has the words of the
// crop's row and column, the flip, and the decision to erase. Block 1 + k has those of the k-th rectangle:
// its area, ratio, row and column. A word w is the uniform number floor(w / 2^8) / 2^24, or floor(w n / 2^32)
// of n places.
#pragma once

#include <cuda_runtime.h>

#include <rondo/kernels/core/elementary.h>
#include <rondo/kernels/data/augmentation.h>
#include <rondo/kernels/random/philox.h>

#include <cmath>
#include <cstdint>

namespace rondo {

// The changes of one image.
struct ImageDraw {
  int32_t top = 0, left = 0;  // of the crop, in the image without padding: -padding to padding
  bool flip = false;
  int32_t erase_top = 0, erase_left = 0, erase_height = 0, erase_width = 0;  // in the result

  __host__ __device__ bool erases(int32_t row, int32_t column) const {
    return row >= erase_top && row - erase_top < erase_height && column >= erase_left &&
           column - erase_left < erase_width;
  }
};

// Draws the changes of images of one size.
class ImageDraws {
 public:
  // Options that check_augmentation() accepts.
  ImageDraws(const Augmentation& augmentation, int32_t height, int32_t width, uint64_t seed)
      : seed_(seed),
        height_(height),
        width_(width),
        padding_(static_cast<int32_t>(augmentation.padding)),
        flip_(augmentation.flip),
        erase_(augmentation.erase),
        pixels_(static_cast<float>(height) * static_cast<float>(width)),
        min_area_(augmentation.min_area),
        area_range_(augmentation.max_area - augmentation.min_area),
        max_ratio_(augmentation.max_ratio),
        log_ratio_range_(log_of_one_plus(augmentation.max_ratio / augmentation.min_ratio - 1.0f)) {}

  __host__ __device__ ImageDraw operator()(int64_t sample, int64_t epoch) const {
    ImageDraw draw;
    const PhiloxBlock words = block(sample, epoch, 0);
    draw.top = below(words.v[0], 2 * padding_ + 1) - padding_;
    draw.left = below(words.v[1], 2 * padding_ + 1) - padding_;
    draw.flip = uniform(words.v[2]) < flip_;
    if (uniform(words.v[3]) < erase_) draw_rectangle(draw, sample, epoch);
    return draw;
  }

 private:
  static constexpr uint32_t kRectangles = 10;

  __host__ __device__ static float uniform(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
  __host__ __device__ static int32_t below(uint32_t word, int32_t places) {
    return static_cast<int32_t>(static_cast<uint64_t>(word) * static_cast<uint32_t>(places) >> 32);
  }
  __host__ __device__ PhiloxBlock block(int64_t sample, int64_t epoch, uint32_t number) const {
    const auto of_epoch = static_cast<uint64_t>(epoch);
    return philox4x32_10({{static_cast<uint32_t>(sample), (1u << 31) + number,
                           static_cast<uint32_t>(of_epoch), static_cast<uint32_t>(of_epoch >> 32)}},
                         seed_);
  }

  // max_ratio exp((u - 1) log(max_ratio / min_ratio)) is the ratio: the exponent is never positive.
  __host__ __device__ void draw_rectangle(ImageDraw& draw, int64_t sample, int64_t epoch) const {
    for (uint32_t i = 0; i < kRectangles; ++i) {
      const PhiloxBlock words = block(sample, epoch, 1 + i);
      const float area = pixels_ * fmaf(uniform(words.v[0]), area_range_, min_area_);
      const float ratio = max_ratio_ * exp_of_negative((uniform(words.v[1]) - 1.0f) * log_ratio_range_);
      const auto rows = static_cast<int32_t>(rintf(sqrtf(area * ratio)));
      const auto columns = static_cast<int32_t>(rintf(sqrtf(area / ratio)));
      if (rows >= height_ || columns >= width_) continue;
      draw.erase_top = below(words.v[2], height_ - rows + 1);
      draw.erase_left = below(words.v[3], width_ - columns + 1);
      draw.erase_height = rows;
      draw.erase_width = columns;
      return;
    }
  }

  uint64_t seed_;
  int32_t height_, width_, padding_;
  float flip_, erase_;
  float pixels_, min_area_, area_range_, max_ratio_, log_ratio_range_;
};

}  // namespace rondo

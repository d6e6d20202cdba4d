// Augmentation: random crop, horizontal flip and erasing of training images, as options of
// gather_augmented_batch() (augmented_batch.h).
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo {

// An image of height x width pixels is changed in this order:
//   crop    `padding` pixels of zeros on each side, before normalisation, then height x width pixels at a
//           random place
//   flip    exchanges left and right, with probability `flip`
//   erase   with probability `erase`, sets a random rectangle to 0, after normalisation. Its area is a
//           uniform share from min_area to max_area of the image, the logarithm of height / width is uniform
//           from log(min_ratio) to log(max_ratio), and both sides are rounded to pixels. A rectangle that is
//           not smaller than the image on both sides is drawn again, up to ten times, then nothing is erased.
// These are RandomCrop(padding), RandomHorizontalFlip and RandomErasing (Zhong et al., "Random erasing data
// augmentation", 2017) of torchvision, with its defaults for area and ratio. Its random numbers differ.
struct Augmentation {
  int64_t padding = 0;  // below the height and the width; 0: no crop
  float flip = 0;       // probabilities, 0 to 1
  float erase = 0;
  float min_area = 0.02f, max_area = 0.33f;  // 0 < min_area <= max_area <= 1
  float min_ratio = 0.3f, max_ratio = 3.3f;  // 2^-10 <= min_ratio <= max_ratio <= 2^10

  // Whether any image changes.
  bool any() const { return padding != 0 || flip != 0 || erase != 0; }
  bool operator==(const Augmentation&) const = default;
};

// bad_argument, with a message that begins with `operation`, for options outside their range for images of
// this size.
[[nodiscard]] Status check_augmentation(const char* operation, const Augmentation& augmentation,
                                        int64_t height, int64_t width);

}  // namespace rondo

// gather_batch() (batch.h) with augmentation, and with a normalisation of each channel.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/data/augmentation.h>
#include <rondo/kernels/data/batch_position.h>
#include <rondo/kernels/data/labels_view.h>

namespace rondo {

// Selects the random numbers of an epoch. An image's numbers are a pure function of (seed, *epoch, index in
// the data set), so they depend neither on the order of the samples nor on the shards (data/image_draw.h).
struct AugmentationStream {
  uint64_t seed = 0;
  const int64_t* epoch = nullptr;  // device memory, aligned to 8
};

// For every sample i of the shard, with s = order[*step * batch + first + i] and the random (top, left, flip,
// rectangle) of image s:
//   x[i, h, w, c] = 0                                            inside the rectangle that is erased
//                 = images[s, h', w', c] * scale[c] + shift[c]   otherwise; one rounding, one more to 16 bits
//   h' = top + h,   w' = left + (flip ? width - 1 - w : w); a value outside the image is 0
//   labels[i] = image_labels[s]
// Without augmentation this is gather_batch() with a scale and a shift for each channel.
//
// Shapes, types, alignment, and samples that do not exist are those of gather_batch(). scale and shift:
// [channels] float32, in device memory. An erased element is +0, whatever the shift is. The low 32 bits of s
// select the random numbers. Deterministic, with the same bits on every device. Errors: those of
// gather_batch(), other sizes of scale or shift, an image of 2^31 values or more, and augmentation outside
// its range (check_augmentation()). Traffic: as gather_batch(); single values are read, because a crop begins
// at any of them.
template <ValueType T = float, SampleElement S = const uint8_t>
[[nodiscard]] Status gather_augmented_batch(ImageView<T> x, VectorView<int32_t> labels, ImageView<S> images,
                                            LabelsView image_labels, VectorView<const int32_t> order,
                                            BatchPosition position, VectorView<const float> scale,
                                            VectorView<const float> shift, const Augmentation& augmentation,
                                            AugmentationStream random, cudaStream_t stream);

}  // namespace rondo

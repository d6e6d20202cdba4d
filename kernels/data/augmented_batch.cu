// Each block copies one sample. All its threads draw the same numbers, which costs less than a barrier, then
// compute packs of neighbouring elements: one division for a pack finds the first pixel, the others follow.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/data/augmented_batch.h>
#include <rondo/kernels/data/batch_check.h>
#include <rondo/kernels/data/image_draw.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/data/sample_at.cuh>

namespace rondo {
namespace {

constexpr int kThreads = 128;

// The images of the data set, all of the same size.
template <class S>
struct Images {
  const S* data;
  LabelsView labels;
  int64_t count;
  int32_t height, width, channels;
  const float *scale, *shift;  // of each channel
};

// One image of the data set after its changes.
template <class S>
struct AugmentedImage {
  const Images<S>& images;
  const S* data;
  ImageDraw draw;

  __device__ float operator()(int32_t row, int32_t column, int32_t channel) const {
    if (draw.erases(row, column)) return 0.0f;
    const int32_t from_row = draw.top + row;
    const int32_t from_column = draw.left + (draw.flip ? images.width - 1 - column : column);
    const bool inside =
        from_row >= 0 && from_row < images.height && from_column >= 0 && from_column < images.width;
    const S stored =
        inside ? data[(from_row * images.width + from_column) * images.channels + channel] : S{0};
    return fmaf(static_cast<float>(stored), images.scale[channel], images.shift[channel]);
  }
};

template <class T, class S, int N>
__global__ void __launch_bounds__(kThreads)
    gather_augmented_batch_kernel(T* __restrict__ x, int32_t* __restrict__ labels, Images<S> images,
                                  VectorView<const int32_t> order, BatchPosition position, ImageDraws draws,
                                  const int64_t* epoch) {
  const int64_t i = blockIdx.x;
  const int64_t sample = sample_at(position, i, order, images.count);
  if (threadIdx.x == 0) labels[i] = sample < 0 ? -1 : images.labels[sample];
  const int32_t row_size = images.width * images.channels, size = images.height * row_size;
  T* to = x + i * size;
  if (sample < 0) {
    for (int64_t j = threadIdx.x; j < size; j += kThreads) to[j] = static_cast<T>(NAN);
    return;
  }
  const AugmentedImage<S> image = {images, images.data + sample * size, draws(sample, *epoch)};
  for (int64_t j = static_cast<int64_t>(threadIdx.x) * N; j < size; j += kThreads * N) {
    const auto first = static_cast<int32_t>(j);
    int32_t row = first / row_size;
    int32_t column = (first - row * row_size) / images.channels;
    int32_t channel = first - (row * images.width + column) * images.channels;
    Values<N> values;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      values.v[k] = image(row, column, channel);
      if (++channel == images.channels) channel = 0, ++column;
      if (column == images.width) column = 0, ++row;
    }
    store_values<N>(to + j, values);
  }
}

}  // namespace

Status check_augmentation(const char* operation, const Augmentation& augmentation, int64_t height,
                          int64_t width) {
  constexpr float kMostRatio = 1024;
  const Augmentation& a = augmentation;
  ArgumentCheck check(operation);
  check.require(a.padding >= 0 && (a.padding == 0 || (a.padding < height && a.padding < width)),
                "the crop's padding is ", a.padding, ", must be at least 0 and below the image's sides, ",
                height, " x ", width);
  check.require(a.flip >= 0 && a.flip <= 1, "the probability of a flip is ", a.flip, ", must be 0 to 1");
  check.require(a.erase >= 0 && a.erase <= 1, "the probability of erasing is ", a.erase, ", must be 0 to 1");
  check.require(a.min_area > 0 && a.min_area <= a.max_area && a.max_area <= 1, "the erased area is ",
                a.min_area, " to ", a.max_area,
                " of the image, must be above 0, at most 1, and the least at most the largest");
  check.require(a.min_ratio >= 1 / kMostRatio && a.min_ratio <= a.max_ratio && a.max_ratio <= kMostRatio,
                "the ratio of the erased sides is ", a.min_ratio, " to ", a.max_ratio,
                ", must be 2^-10 to 2^10 and the least at most the largest");
  return check.status();
}

template <ValueType T, SampleElement S>
Status gather_augmented_batch(ImageView<T> x, VectorView<int32_t> labels, ImageView<S> stored,
                              LabelsView image_labels, VectorView<const int32_t> order,
                              BatchPosition position, VectorView<const float> scale,
                              VectorView<const float> shift, const Augmentation& augmentation,
                              AugmentationStream random, cudaStream_t stream) {
  using Stored = std::remove_const_t<S>;
  const ImageView<const Stored> images = stored;
  constexpr const char* kName = "gather_augmented_batch";
  ArgumentCheck check(kName);
  check_batch(check, x, labels, images, image_labels, order, position);
  check.input("scale", scale);
  check.input("shift", shift);
  check.input_value("random.epoch", random.epoch);
  check.require(scale.size == images.channels, "scale.size is ", scale.size,
                ", must be images.channels = ", images.channels);
  check.require(shift.size == images.channels, "shift.size is ", shift.size,
                ", must be images.channels = ", images.channels);
  const int64_t sample_size = saturating_product({x.height, x.width, x.channels});
  check.require(sample_size <= INT32_MAX, "an image has ", sample_size, " values, must be below 2^31");
  RONDO_RETURN_IF_ERROR(check.status());
  RONDO_RETURN_IF_ERROR(check_augmentation(kName, augmentation, x.height, x.width));
  const auto height = static_cast<int32_t>(x.height), width = static_cast<int32_t>(x.width),
             channels = static_cast<int32_t>(x.channels);
  LaunchShape shape;
  shape.grid_x = x.images;
  shape.block_x = kThreads;
  return with_values_width<T>(values_width<T>(sample_size, x.data), [&](auto n) {
    return launch(kName, shape, stream, gather_augmented_batch_kernel<T, Stored, n>, x.data, labels.data,
                  Images<Stored>{images.data, image_labels, images.images, height, width, channels,
                                 scale.data, shift.data},
                  order, position, ImageDraws(augmentation, height, width, random.seed), random.epoch);
  });
}

#define RONDO_GATHER_AUGMENTED_BATCH_OF(T, S)                                                               \
  template Status gather_augmented_batch<T, S>(ImageView<T>, VectorView<int32_t>, ImageView<S>, LabelsView, \
                                               VectorView<const int32_t>, BatchPosition,                    \
                                               VectorView<const float>, VectorView<const float>,            \
                                               const Augmentation&, AugmentationStream, cudaStream_t);
#define RONDO_GATHER_AUGMENTED_BATCH(T)             \
  RONDO_GATHER_AUGMENTED_BATCH_OF(T, uint8_t)       \
  RONDO_GATHER_AUGMENTED_BATCH_OF(T, const uint8_t) \
  RONDO_GATHER_AUGMENTED_BATCH_OF(T, float) RONDO_GATHER_AUGMENTED_BATCH_OF(T, const float)
RONDO_FOR_VALUE_TYPES(RONDO_GATHER_AUGMENTED_BATCH)

}  // namespace rondo

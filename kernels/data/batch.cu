// Each block copies one sample. All its threads compute the sample's index in the data set, then convert
// packs of bytes or floats to packs of float or 16-bit elements.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/data/batch_check.h>
#include <rondo/kernels/data/permutation.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/data/sample_at.cuh>

#include <algorithm>

namespace rondo {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    shuffle_kernel(int32_t* order, int32_t size, uint64_t seed, const int64_t* epoch) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= size) return;
  const Permutation permutation(size, seed, static_cast<uint64_t>(*epoch));
  order[i] = permutation(static_cast<int32_t>(i));
}

template <class T, class S, int N>
__global__ void __launch_bounds__(kThreads)
    gather_batch_kernel(T* __restrict__ x, int32_t* __restrict__ labels, const S* __restrict__ images,
                        LabelsView image_labels, int64_t samples, int64_t sample_size,
                        VectorView<const int32_t> order, BatchPosition position, float scale, float shift) {
  const int64_t i = blockIdx.x;
  const int64_t sample = sample_at(position, i, order, samples);
  if (threadIdx.x == 0) labels[i] = sample < 0 ? -1 : image_labels[sample];
  T* to = x + i * sample_size;
  for (int64_t j = static_cast<int64_t>(threadIdx.x) * N; j < sample_size; j += kThreads * N) {
    Values<N> values;
    if (sample < 0) {
      RONDO_SIMD
      for (int k = 0; k < N; ++k) values.v[k] = NAN;
    } else {
      const auto stored = load_values<N>(images + sample * sample_size + j);
      RONDO_SIMD
      for (int k = 0; k < N; ++k) values.v[k] = fmaf(stored.v[k], scale, shift);
    }
    store_values<N>(to + j, values);
  }
}

__global__ void advance_kernel(int64_t* counter, int64_t amount) { *counter += amount; }

}  // namespace

Status shuffle(VectorView<int32_t> order, uint64_t seed, const int64_t* epoch, cudaStream_t stream) {
  ArgumentCheck check("shuffle");
  check.output("order", order);
  check.input_value("epoch", epoch);
  check.require(order.size <= INT32_MAX, "order.size is ", order.size, ", must be at most ", INT32_MAX);
  RONDO_RETURN_IF_ERROR(check.status());
  return launch("shuffle", flat_shape(order.size, kThreads), stream, shuffle_kernel, order.data,
                static_cast<int32_t>(order.size), seed, epoch);
}

template <ValueType T, SampleElement S>
Status gather_batch(ImageView<T> x, VectorView<int32_t> labels, ImageView<S> stored, LabelsView image_labels,
                    VectorView<const int32_t> order, BatchPosition position, float scale, float shift,
                    cudaStream_t stream) {
  using Stored = std::remove_const_t<S>;
  const ImageView<const Stored> images = stored;
  constexpr const char* kName = "gather_batch";
  ArgumentCheck check(kName);
  check_batch(check, x, labels, images, image_labels, order, position);
  RONDO_RETURN_IF_ERROR(check.status());
  const int64_t sample_size = x.height * x.width * x.channels;
  const int width = values_width<T>(sample_size, x.data, images.data);
  LaunchShape shape;
  shape.grid_x = x.images;
  shape.block_x = kThreads;
  return with_values_width<T>(width, [&](auto n) {
    return launch(kName, shape, stream, gather_batch_kernel<T, Stored, n>, x.data, labels.data, images.data,
                  image_labels, images.images, sample_size, order, position, scale, shift);
  });
}

#define RONDO_GATHER_BATCH_OF(T, S)                                                               \
  template Status gather_batch<T, S>(ImageView<T>, VectorView<int32_t>, ImageView<S>, LabelsView, \
                                     VectorView<const int32_t>, BatchPosition, float, float, cudaStream_t);
#define RONDO_GATHER_BATCH(T)             \
  RONDO_GATHER_BATCH_OF(T, uint8_t)       \
  RONDO_GATHER_BATCH_OF(T, const uint8_t) \
  RONDO_GATHER_BATCH_OF(T, float) RONDO_GATHER_BATCH_OF(T, const float)
RONDO_FOR_VALUE_TYPES(RONDO_GATHER_BATCH)

Status advance(int64_t* counter, int64_t amount, cudaStream_t stream) {
  ArgumentCheck check("advance");
  check.output_value("counter", counter);
  RONDO_RETURN_IF_ERROR(check.status());
  return launch("advance", LaunchShape{}, stream, advance_kernel, counter, amount);
}

}  // namespace rondo

// Batches assembled on the device: the data set is uploaded once, as bytes or as floats, and not accessed by
// the host again.
//
// A training step reads its position from a counter in device memory, so one captured graph can be replayed
// for every step:  shuffle (once per epoch) -> gather_batch -> ... -> advance.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/data/batch_position.h>
#include <rondo/kernels/data/labels_view.h>

namespace rondo {

// order = a random permutation of 0 ... order.size - 1. It is a pure function of (seed, *epoch), the same on
// every device and on the CPU (data/permutation.h describes the algorithm and its uniformity). `epoch` is
// device memory, aligned to 8; order.size < 2^31. Every element is computed independently: no sort, no
// workspace.
// Errors: bad_argument for a bad size, a null or misaligned pointer, an overlap. size == 0 does nothing.
// Traffic: one write of order.
[[nodiscard]] Status shuffle(VectorView<int32_t> order, uint64_t seed, const int64_t* epoch,
                             cudaStream_t stream);

// For every sample i of the shard, with s = order[*step * batch + first + i]:
//   x[i, h, w, c] = images[s, h, w, c] * scale + shift     (one rounding, and one more to 16 bits)
//   labels[i]     = image_labels[s]
// For (byte / 255 - mean) / stddev pass scale = 1 / (255 stddev) and shift = -mean / stddev. With the scale 1
// and the shift -0 a float keeps its bits.
//
// x: [shard, h, w, c] float32, bfloat16 or float16. labels: [shard] int32. images: [samples, h, w, c] uint8
// or float32. image_labels: [samples] uint8 or int32. order: int32, or an empty view for the order of the
// data set. Each pointer needs only the alignment of its element. A position past the end of order, or an
// index outside the data set, is detected on the device, which cannot return a Status. Such a sample is all
// NaN with the label -1, and softmax_cross_entropy() counts it as bad. Errors: bad_argument for negative
// sizes, shapes that do not match, null or misaligned pointers, an overlap, batch < first + shard. A shard of
// zero samples does nothing. Traffic: reads the images of the shard once, writes x once; up to 16 bytes an
// access.
template <ValueType T = float, SampleElement S = const uint8_t>
[[nodiscard]] Status gather_batch(ImageView<T> x, VectorView<int32_t> labels, ImageView<S> images,
                                  LabelsView image_labels, VectorView<const int32_t> order,
                                  BatchPosition position, float scale, float shift, cudaStream_t stream);

// *counter += amount, in stream order. counter: device memory, aligned to 8. Errors: bad_argument for a null
// or misaligned pointer.
[[nodiscard]] Status advance(int64_t* counter, int64_t amount, cudaStream_t stream);

}  // namespace rondo

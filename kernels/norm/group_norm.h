// Group normalisation (Wu and He, 2018) of images, forward and backward. As PyTorch's group_norm(), but of
// NHWC images.
//
// x, y and their gradients: [images, height, width, channels], packed; float32, bfloat16 or float16, all of
// one type. The channels are divided into `groups` of channels / groups neighbours. With one group it
// normalises whole images, with a group for each channel it is instance normalisation. mean, inv_std:
// [images, groups], gamma, beta and their gradients: [channels], float32. Aligned to the elements; accesses
// of 16 bytes if the alignment and the channels allow it. No units. An optional operand is omitted by passing
// an empty view: gamma is 1 then, beta 0.
//
// Numerics: float32; a 16-bit result is rounded once, to nearest even. The statistics are those of
// batch_norm_sums() (values in pairs of floats, the rest in double): the variance keeps the bits of a float
// while |mean| is below 10^4 standard deviations. NaN or an infinity makes its group NaN, and the gradients
// of gamma and beta.
// Determinism: the order of the additions depends only on the shape, not on the alignment or the device.
// y, dx and the statistics of an image do not depend on the other images.
// Errors: bad_argument for negative sizes, images without elements, channels that groups do not divide, more
// than 2^20 channels, 2^31 pixels of all images or elements of an image or more, sizes that do not match,
// null or misaligned pointers, an overlap, a workspace that is too small, eps not in [0, 1). Without images
// the gradients of gamma and beta are 0. An output must not overlap any other operand unless its function
// documents otherwise.
// Traffic: forward reads x twice and writes y once. Backward reads dy and x twice and writes dx once.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// The workspaces in bytes for group_norm() and group_norm_backward(). pixels: height * width.
int64_t group_norm_workspace_bytes(int64_t images, int64_t pixels, int64_t channels);
int64_t group_norm_backward_workspace_bytes(int64_t images, int64_t pixels, int64_t channels, int64_t groups);

// With the mean and the variance over the pixels and channels of group g of image n, biased:
//   mean[n, g];   inv_std[n, g] = 1 / sqrt(variance + eps)
//   y[n, h, w, c] = gamma[c] * (x[n, h, w, c] - mean[n, g]) * inv_std[n, g] + beta[c]
//
// mean and inv_std are outputs, for group_norm_backward(). y may be x.
template <ValueType T = float>
[[nodiscard]] Status group_norm(ImageView<T> y, VectorView<float> mean, VectorView<float> inv_std,
                                NonDeduced<ImageView<const T>> x, VectorView<const float> gamma,
                                VectorView<const float> beta, int64_t groups, float eps, Workspace workspace,
                                cudaStream_t stream);

// What the forward pass leaves for the backward pass: its input and its statistics.
template <class T>
struct GroupNormSavedOf {
  ImageView<const T> x;
  VectorView<const float> mean, inv_std;
};
using GroupNormSaved = GroupNormSavedOf<float>;

// With xhat = (x - mean) * inv_std, G = gamma * dy, and means over the elements of a group of an image:
//   dx = inv_std * (G - mean of G - xhat * mean of (G * xhat))
//   gamma_gradient[c] = sum over n, h, w of dy * xhat;   beta_gradient[c] = sum over n, h, w of dy
//
// gamma_gradient, beta_gradient and gamma may be omitted. dx may be dy.
template <ValueType T = float>
[[nodiscard]] Status group_norm_backward(ImageView<T> dx, VectorView<float> gamma_gradient,
                                         VectorView<float> beta_gradient, NonDeduced<ImageView<const T>> dy,
                                         const NonDeduced<GroupNormSavedOf<T>>& saved,
                                         VectorView<const float> gamma, int64_t groups, Workspace workspace,
                                         cudaStream_t stream);

}  // namespace rondo

// Batch normalisation (Ioffe and Szegedy, 2015), forward and backward, as separate functions for each part of
// a step.
//
//   forward, training     batch_norm_sums        sums over the batch, one pass over x
//                         (all_reduce of the sums, for synchronised statistics)
//                         batch_norm_statistics  mean and inv_std from the sums; running statistics
//                         batch_norm             y = gamma * xhat + beta, with xhat = (x - mean) * inv_std
//   forward, evaluation   batch_norm_inv_std     from the running variance, then batch_norm
//   backward              batch_norm_backward_sums, (all_reduce), batch_norm_backward
//
// The sums are a separate vector. *Synchronised* statistics therefore need one all-reduce of 2 * channels
// doubles between two calls, and local statistics need nothing.
//
// x, y and their gradients are [rows, channels] row-major and packed: an NHWC tensor with rows = n * h * w.
// `count` is the number of rows in the sums, over all devices. gamma, beta, mean, inv_std: [channels].
//
// x, y, the residual and their gradients: float32, bfloat16 or float16, all of one type, with float
// arithmetic in between. Everything else: float32 unless stated otherwise. For all functions: aligned to the
// elements; 16-byte accesses if the alignment and the channels allow it. Determinism: the order of the
// additions depends only on the row numbers. rows == 0 gives sums of 0. An optional operand is omitted by
// passing an empty view. Errors: bad_argument for negative sizes, sizes that do not match, null or misaligned
// pointers, a workspace that is too small, count < 1, eps or momentum out of range, more than 2^20 channels,
// an overlap. An output must not overlap any other operand unless its function documents otherwise.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// The workspace in bytes for batch_norm_sums() and batch_norm_backward_sums().
int64_t batch_norm_workspace_bytes(int64_t rows, int64_t channels);

// sums[c] = sum over i of x[i, c];   sums[channels + c] = sum over i of x[i, c]^2
//
// In one pass, with the same bits on every device. Up to 32 rows are added as differences from the first of
// them, in pairs of floats, and the sums of these in double. While |mean| is below 10^4 standard deviations,
// the variance from the sums has the accuracy of a float, up to a few units in the last place; with a sum of
// squares in float it would have no correct bit. The same holds for Conv2dEpilogue::sums. A column whose
// squared differences leave the range of floats is added in double (Conv2dEpilogue::sums are infinite or NaN
// there). Traffic: reads x once.
template <InputType T = const float>
[[nodiscard]] Status batch_norm_sums(VectorView<double> sums, MatrixView<T> x, Workspace workspace,
                                     cudaStream_t stream);

// The statistics that a layer keeps between steps, for evaluation. Both may be omitted.
struct RunningStatistics {
  VectorView<float> mean, variance;
  float momentum = 0.1f;  // in [0, 1]: the weight of the new batch
  // If not null, the weight is 1 / *batches instead: with *batches = 1, 2, 3, ... the statistics are the
  // plain averages over all batches so far, PyTorch's momentum=None. One value in device memory, aligned to
  // 8, which advance() (data/batch.h) increments before each batch. A value below 1 counts as 1.
  const int64_t* batches = nullptr;
};

// mean[c] = sums[c] / count;   inv_std[c] = 1 / sqrt(variance + eps)
//   with variance = sums[channels + c] / count - mean^2
// running.mean = (1 - momentum) * running.mean + momentum * mean
//   with momentum = running.momentum, or 1 / *running.batches rounded to a float
// running.variance likewise, with the unbiased variance * count / (count - 1), as in PyTorch. With a count of
// 1 there is no unbiased variance. PyTorch refuses to train then; Rondo computes what the other formulas
// give, so that a last batch of one row does not end a training: y is beta, dx is 0, and running.variance
// receives the variance itself, 0.
[[nodiscard]] Status batch_norm_statistics(VectorView<float> mean, VectorView<float> inv_std,
                                           const RunningStatistics& running, VectorView<const double> sums,
                                           int64_t count, float eps, cudaStream_t stream);

// inv_std[c] = 1 / sqrt(variance[c] + eps)
[[nodiscard]] Status batch_norm_inv_std(VectorView<float> inv_std, VectorView<const float> variance,
                                        float eps, cudaStream_t stream);

// Operations fused after the normalisation.
template <class T>
struct BatchNormEpilogueOf {
  MatrixView<const T> residual = {};  // added; may be omitted
  bool relu = false;                  // max(0, .) of the sum; NaN stays NaN
};
using BatchNormEpilogue = BatchNormEpilogueOf<float>;

// y[i, c] = epilogue(gamma[c] * (x[i, c] - mean[c]) * inv_std[c] + beta[c])
//
// gamma and beta may be omitted: gamma is 1 then, beta 0.
// y may be x or the residual. Traffic: reads x (and the residual) once, writes y once.
template <ValueType T = float>
[[nodiscard]] Status batch_norm(MatrixView<T> y, NonDeduced<MatrixView<const T>> x,
                                VectorView<const float> mean, VectorView<const float> inv_std,
                                VectorView<const float> gamma, VectorView<const float> beta,
                                const NonDeduced<BatchNormEpilogueOf<T>>& epilogue, cudaStream_t stream);

// The saved state of the forward pass: its input and its statistics. `y` is the output if a ReLU followed,
// otherwise an empty view. With y, g = dy where y > 0 and 0 elsewhere; without it, g = dy.
template <class T>
struct BatchNormSavedOf {
  MatrixView<const T> x;
  VectorView<const float> mean, inv_std;
  MatrixView<const T> y = {};
};
using BatchNormSaved = BatchNormSavedOf<float>;

// sums[c] = sum over i of g[i, c] = d beta
// sums[channels + c] = sum over i of g[i, c] * xhat[i, c] = d gamma
//
// Added like the sums of the forward pass: up to 32 rows in pairs of floats, the rest in double. The error is
// below that of rounding each g and g * xhat to a float. The gradients of beta and gamma over this device's
// rows are also written as floats, because they are part of the gradient that is reduced over the devices.
// Either may be omitted. Traffic: reads dy and x (and y) once.
template <InputType T = const float>
[[nodiscard]] Status batch_norm_backward_sums(
    VectorView<double> sums, VectorView<float> gamma_gradient, VectorView<float> beta_gradient,
    MatrixView<T> dy, const NonDeduced<BatchNormSavedOf<std::remove_const_t<T>>>& saved, Workspace workspace,
    cudaStream_t stream);

// dx[i, c] = gamma[c] * inv_std[c] * (g[i, c] - sums[c] / count - xhat[i, c] * sums[channels + c] / count)
//
// gamma may be omitted: it is 1 then. Also writes residual_gradient = g, the gradient of the epilogue's
// residual, in the same pass; it may be omitted. Either output may be dy. Traffic: reads dy and x (and y)
// once, writes dx (and residual_gradient) once.
template <ValueType T = float>
[[nodiscard]] Status batch_norm_backward(MatrixView<T> dx, NonDeduced<MatrixView<T>> residual_gradient,
                                         NonDeduced<MatrixView<const T>> dy,
                                         const NonDeduced<BatchNormSavedOf<T>>& saved,
                                         VectorView<const float> gamma, VectorView<const double> sums,
                                         int64_t count, cudaStream_t stream);

}  // namespace rondo

// Layer normalisation (Ba, Kiros and Hinton, 2016) and RMS normalisation (Zhang and Sennrich, 2019) of the
// rows of a matrix, forward and backward. They are those of PyTorch's layer_norm() and rms_norm() over the
// last side.
//
// x, y and their gradients: [rows, cols] row-major, each with any stride >= cols; float32, bfloat16 or
// float16, all of one type. mean, inv_std, inv_rms: [rows], gamma, beta and their gradients: [cols], float32.
// Aligned to the elements; accesses of 16 bytes where all rows begin at multiples of 16 bytes and cols fills
// whole accesses. No units. An optional operand is omitted by passing an empty view: gamma is 1 then, beta 0.
//
// Numerics: float32; a 16-bit result is rounded once, to nearest even. Deviations are from a mean of the same
// row, and not differences of large sums: the relative error of inv_std is below 2^-19 where |mean| is below
// one standard deviation, and below 2^-18 up to 1000. The rounding of the mean itself, 2^-24 |mean|, counts
// in standard deviations. The squares of deviations must be in the range of floats. NaN or an infinity in a
// row makes it NaN, and the gradients of gamma and beta.
// The sums of the gradients of gamma and beta are those of batch_norm_backward_sums(): up to 32 rows in pairs
// of floats, the rest in double.
// Determinism: the order of the additions depends only on rows and cols, not on the alignment or the device
// (reduce/rows.cuh, reduce/column_sums.cuh). y and dx of a row do not depend on the other rows.
// Errors: bad_argument for negative sizes, no columns with rows, a stride below cols, more than 2^20 columns,
// sizes that do not match, null or misaligned pointers, an overlap, a workspace that is too small, eps not in
// [0, 1). Without rows the gradients of gamma and beta are 0. An output must not overlap any other operand
// unless its function documents otherwise.
// Traffic: up to 8192 columns forward reads x once and writes y once. Backward reads dy and x once for dx,
// and once more if a gradient of gamma or beta is wanted. Longer rows are read once more.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

namespace rondo {

// The workspaces in bytes for layer_norm() and rms_norm(), and for their gradients.
int64_t layer_norm_workspace_bytes(int64_t rows, int64_t cols);
int64_t layer_norm_backward_workspace_bytes(int64_t rows, int64_t cols);

// y[i, j] = gamma[j] * (x[i, j] - mean[i]) * inv_std[i] + beta[j]
//   mean[i] = mean over j of x[i, j];  inv_std[i] = 1 / sqrt(mean over j of (x[i, j] - mean[i])^2 + eps)
//
// mean and inv_std are outputs for layer_norm_backward(), and may be omitted. y may be x.
template <ValueType T = float>
[[nodiscard]] Status layer_norm(MatrixView<T> y, VectorView<float> mean, VectorView<float> inv_std,
                                NonDeduced<MatrixView<const T>> x, VectorView<const float> gamma,
                                VectorView<const float> beta, float eps, Workspace workspace,
                                cudaStream_t stream);

// What the forward pass leaves for the backward pass: its input and its statistics.
template <class T>
struct LayerNormSavedOf {
  MatrixView<const T> x;
  VectorView<const float> mean, inv_std;
};
using LayerNormSaved = LayerNormSavedOf<float>;

// With xhat = (x - mean) * inv_std and g[i, j] = gamma[j] * dy[i, j]:
//   dx[i, j] = inv_std[i] * (g[i, j] - mean over k of g[i, k]
//                            - xhat[i, j] * mean over k of g[i, k] * xhat[i, k])
//   gamma_gradient[j] = sum over i of dy[i, j] * xhat[i, j];   beta_gradient[j] = sum over i of dy[i, j]
//
// gamma_gradient, beta_gradient and gamma may be omitted. dx may be dy.
template <ValueType T = float>
[[nodiscard]] Status layer_norm_backward(MatrixView<T> dx, VectorView<float> gamma_gradient,
                                         VectorView<float> beta_gradient, NonDeduced<MatrixView<const T>> dy,
                                         const NonDeduced<LayerNormSavedOf<T>>& saved,
                                         VectorView<const float> gamma, Workspace workspace,
                                         cudaStream_t stream);

// y[i, j] = gamma[j] * x[i, j] * inv_rms[i];   inv_rms[i] = 1 / sqrt(mean over j of x[i, j]^2 + eps)
//
// inv_rms is an output for rms_norm_backward(), and may be omitted. y may be x.
template <ValueType T = float>
[[nodiscard]] Status rms_norm(MatrixView<T> y, VectorView<float> inv_rms, NonDeduced<MatrixView<const T>> x,
                              VectorView<const float> gamma, float eps, Workspace workspace,
                              cudaStream_t stream);

template <class T>
struct RmsNormSavedOf {
  MatrixView<const T> x;
  VectorView<const float> inv_rms;
};
using RmsNormSaved = RmsNormSavedOf<float>;

// With xhat = x * inv_rms and g[i, j] = gamma[j] * dy[i, j]:
//   dx[i, j] = inv_rms[i] * (g[i, j] - xhat[i, j] * mean over k of g[i, k] * xhat[i, k])
//   gamma_gradient[j] = sum over i of dy[i, j] * xhat[i, j]
//
// gamma_gradient and gamma may be omitted. dx may be dy.
template <ValueType T = float>
[[nodiscard]] Status rms_norm_backward(MatrixView<T> dx, VectorView<float> gamma_gradient,
                                       NonDeduced<MatrixView<const T>> dy,
                                       const NonDeduced<RmsNormSavedOf<T>>& saved,
                                       VectorView<const float> gamma, Workspace workspace,
                                       cudaStream_t stream);

}  // namespace rondo

#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/norm/batch_norm_checks.h>
#include <rondo/kernels/reduce/moments.h>
#include <rondo/kernels/norm/row_map.cuh>

namespace rondo {
namespace {

using namespace norm;

struct Statistics {
  float *mean, *inv_std, *running_mean, *running_variance;
  const double* sums;
  double count;
  float eps, momentum;
  const int64_t* batches;
};

// (1 - momentum) * old + momentum * value. The form old + momentum * (value - old) would lose a value that is
// small compared with the old one. With momentum 1 the result is exactly the value.
__device__ float average(float old, float value, float momentum) {
  return fmaf(momentum, value, (1 - momentum) * old);
}

// Of the newest of `batches` batches in their average.
__device__ float weight_of_batch(int64_t batches) {
  return static_cast<float>(1.0 / static_cast<double>(batches > 1 ? batches : 1));
}

constexpr int kChannelThreads = 128;

__global__ void __launch_bounds__(kChannelThreads) statistics_kernel(Statistics s, int channels) {
  const int c = static_cast<int>(blockIdx.x) * kChannelThreads + static_cast<int>(threadIdx.x);
  if (c >= channels) return;
  const double mean = s.sums[c] / s.count;
  // Rounding may make the variance of a constant channel slightly negative. NaN stays NaN.
  double variance = fma(-mean, mean, s.sums[channels + c] / s.count);
  if (variance < 0) variance = 0;
  s.mean[c] = static_cast<float>(mean);
  s.inv_std[c] = static_cast<float>(1.0 / sqrt(variance + static_cast<double>(s.eps)));
  const double unbiased = s.count > 1 ? variance * (s.count / (s.count - 1)) : variance;
  const float momentum = s.batches ? weight_of_batch(*s.batches) : s.momentum;
  if (s.running_mean) s.running_mean[c] = average(s.running_mean[c], static_cast<float>(mean), momentum);
  if (s.running_variance)
    s.running_variance[c] = average(s.running_variance[c], static_cast<float>(unbiased), momentum);
}

__global__ void __launch_bounds__(kChannelThreads)
    inv_std_kernel(float* inv_std, const float* variance, float eps, int channels) {
  const int c = static_cast<int>(blockIdx.x) * kChannelThreads + static_cast<int>(threadIdx.x);
  if (c >= channels) return;
  inv_std[c] = static_cast<float>(1.0 / sqrt(static_cast<double>(variance[c]) + static_cast<double>(eps)));
}

template <class T>
struct Normalise {
  static constexpr int kWidest = kWidestValues<T>;
  T* y;
  const T *x, *residual;
  const float *mean, *inv_std, *gamma, *beta;
  int cols;
  bool relu;

  template <int N>
  struct Channel {
    const Normalise& n;
    int col;
    Values<N> mean, scale, beta;

    __device__ __forceinline__ void row(int64_t row) const {
      const int64_t at = row * n.cols + col;
      auto value = load_values<N>(n.x + at);
      RONDO_SIMD
      for (int k = 0; k < N; ++k) value.v[k] = fmaf(value.v[k] - mean.v[k], scale.v[k], beta.v[k]);
      if (n.residual) {
        const auto residual = load_values<N>(n.residual + at);
        RONDO_SIMD
        for (int k = 0; k < N; ++k) value.v[k] += residual.v[k];
      }
      if (n.relu) RONDO_SIMD
      for (int k = 0; k < N; ++k) value.v[k] = value.v[k] <= 0 ? 0.0f : value.v[k];
      store_values<N>(n.y + at, value);
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    Channel<N> c{*this, col, load_values<N>(mean + col), load_values_or<N>(1, gamma, col),
                 load_values_or<N>(0, beta, col)};
    const auto inverse = load_values<N>(inv_std + col);
    RONDO_SIMD
    for (int k = 0; k < N; ++k) c.scale.v[k] *= inverse.v[k];
    return c;
  }
};

template <class T>
Status launch_sums(VectorView<double> sums, MatrixView<const T> x, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "batch_norm_sums";
  BatchNormCheck check(kName, x.rows, x.cols, "x");
  check.input_matrix("x", x);
  check.output_channels("sums", sums, 2);
  check.workspace(workspace, batch_norm_workspace_bytes(x.rows, x.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  return add_moments(kName, sums.data, x.data, x.rows, x.cols, workspace, stream);
}

}  // namespace

int64_t batch_norm_workspace_bytes(int64_t rows, int64_t channels) {
  return moments_workspace_bytes(rows, channels);
}

Status batch_norm_statistics(VectorView<float> mean, VectorView<float> inv_std,
                             const RunningStatistics& running, VectorView<const double> sums, int64_t count,
                             float eps, cudaStream_t stream) {
  constexpr const char* kName = "batch_norm_statistics";
  const int64_t channels = mean.size;
  BatchNormCheck check(kName, 1, channels, "mean");
  check.output_channels("mean", mean);
  check.output_channels("inv_std", inv_std);
  check.optional_output_channels("running.mean", running.mean);
  check.optional_output_channels("running.variance", running.variance);
  check.input_channels("sums", sums, 2);
  check.count(count);
  check.eps(eps);
  check.require(running.momentum >= 0 && running.momentum <= 1, "running.momentum is ", running.momentum,
                ", must be at least 0 and at most 1");
  check.optional_input_value("running.batches", running.batches);
  RONDO_RETURN_IF_ERROR(check.status());
  const Statistics s = {mean.data,
                        inv_std.data,
                        running.mean.data,
                        running.variance.data,
                        sums.data,
                        static_cast<double>(count),
                        eps,
                        running.momentum,
                        running.batches};
  return launch(kName, flat_shape(channels, kChannelThreads), stream, statistics_kernel, s,
                static_cast<int>(channels));
}

Status batch_norm_inv_std(VectorView<float> inv_std, VectorView<const float> variance, float eps,
                          cudaStream_t stream) {
  constexpr const char* kName = "batch_norm_inv_std";
  const int64_t channels = inv_std.size;
  BatchNormCheck check(kName, 1, channels, "inv_std");
  check.output_channels("inv_std", inv_std);
  check.input_channels("variance", variance);
  check.eps(eps);
  RONDO_RETURN_IF_ERROR(check.status());
  return launch(kName, flat_shape(channels, kChannelThreads), stream, inv_std_kernel, inv_std.data,
                variance.data, eps, static_cast<int>(channels));
}

template <ValueType T>
Status batch_norm(MatrixView<T> y, NonDeduced<MatrixView<const T>> x, VectorView<const float> mean,
                  VectorView<const float> inv_std, VectorView<const float> gamma,
                  VectorView<const float> beta, const NonDeduced<BatchNormEpilogueOf<T>>& epilogue,
                  cudaStream_t stream) {
  constexpr const char* kName = "batch_norm";
  const MatrixView<const T>& residual = epilogue.residual;
  BatchNormCheck check(kName, x.rows, x.cols, "x");
  check.input_matrix("x", x);
  check.output_matrix("y", y, {"x", "residual"});
  check.input_channels("mean", mean);
  check.input_channels("inv_std", inv_std);
  check.optional_input_channels("gamma", gamma);
  check.optional_input_channels("beta", beta);
  check.optional_input_matrix("residual", residual);
  RONDO_RETURN_IF_ERROR(check.status());
  const int width =
      values_width<T>(x.cols, y.data, x.data, residual.data, mean.data, inv_std.data, gamma.data, beta.data);
  const Normalise<T> operation = {y.data,       x.data,     residual.data, mean.data,
                                  inv_std.data, gamma.data, beta.data,     static_cast<int>(x.cols),
                                  epilogue.relu};
  return row_map(kName, operation, x.rows, x.cols, width, stream);
}

template <InputType T>
Status batch_norm_sums(VectorView<double> sums, MatrixView<T> x, Workspace workspace, cudaStream_t stream) {
  return launch_sums<std::remove_const_t<T>>(sums, x, workspace, stream);
}

#define RONDO_BATCH_NORM_SUMS(T) \
  template Status batch_norm_sums<T>(VectorView<double>, MatrixView<T>, Workspace, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_BATCH_NORM_SUMS)

#define RONDO_BATCH_NORM(T)                                                                                \
  template Status batch_norm<T>(MatrixView<T>, MatrixView<const T>, VectorView<const float>,               \
                                VectorView<const float>, VectorView<const float>, VectorView<const float>, \
                                const BatchNormEpilogueOf<T>&, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_BATCH_NORM)

}  // namespace rondo

// With xhat = (x - mean) * inv_std, where mean and inv_std are functions of x, the chain rule gives
//
//   dx = gamma * inv_std * (g - mean over the batch of g - xhat * mean over the batch of (g * xhat))
//
// Two sums over the batch must be known before the first element of dx. Backward therefore needs two passes.
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/norm/batch_norm_checks.h>
#include <rondo/kernels/norm/gradient_sums.cuh>
#include <rondo/kernels/norm/row_map.cuh>
#include <rondo/kernels/reduce/column_sums.cuh>

namespace rondo {
namespace {

using namespace norm;

template <class T>
struct Saved {
  using Value = double;
  static constexpr int kSums = 2, kRowThreads = 16, kWidest = kWidestValues<T>;
  const T *dy, *x, *y;
  const float *mean, *inv_std;
  int cols;

  template <int N>
  using Partial = GradientSums<N>;
  template <int N>
  struct Channel {
    const Saved& s;
    int col;
    Values<N> mean, inv_std;

    __device__ __forceinline__ Recovered<N> recover(int64_t row) const {
      const int64_t at = row * s.cols + col;
      Recovered<N> r = {load_values<N>(s.dy + at), load_values<N>(s.x + at)};
      if (s.y) {
        const auto y = load_values<N>(s.y + at);
        RONDO_SIMD
        for (int k = 0; k < N; ++k) r.g.v[k] = y.v[k] > 0 ? r.g.v[k] : 0.0f;
      }
      RONDO_SIMD
      for (int k = 0; k < N; ++k) r.xhat.v[k] = (r.xhat.v[k] - mean.v[k]) * inv_std.v[k];
      return r;
    }
    __device__ __forceinline__ void add(GradientSums<N>& sums, int64_t row) const { sums.add(recover(row)); }
    __device__ __forceinline__ void add(columns::Sums<double, 2, N>& sums, int64_t row) const {
      const Recovered<N> r = recover(row);
      const double g = r.g.v[0];
      sums.of[0][0] += g;
      sums.of[1][0] = fma(g, static_cast<double>(r.xhat.v[0]), sums.of[1][0]);
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {*this, col, load_values<N>(mean + col), load_values<N>(inv_std + col)};
  }
};

template <class T>
struct Backward {
  static constexpr int kWidest = kWidestValues<T>;
  Saved<T> saved;
  T *dx, *residual_gradient;
  const float* gamma;
  const double* sums;
  double inverse_count;  // of the rows of the batch: a division in double takes many instructions

  template <int N>
  struct Channel {
    const Backward& b;
    typename Saved<T>::template Channel<N> saved;
    Values<N> scale, mean_g, mean_gx;

    __device__ __forceinline__ void row(int64_t row) const {
      const int64_t at = row * b.saved.cols + saved.col;
      const Recovered<N> r = saved.recover(row);
      Values<N> dx;
      RONDO_SIMD
      for (int k = 0; k < N; ++k)
        dx.v[k] = scale.v[k] * fmaf(-r.xhat.v[k], mean_gx.v[k], r.g.v[k] - mean_g.v[k]);
      store_values<N>(b.dx + at, dx);
      if (b.residual_gradient) store_values<N>(b.residual_gradient + at, r.g);
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    Channel<N> c{*this, saved.template channel<N>(col), load_values_or<N>(1, gamma, col),
                 load_scaled<N>(sums + col, inverse_count),
                 load_scaled<N>(sums + saved.cols + col, inverse_count)};
    RONDO_SIMD
    for (int k = 0; k < N; ++k) c.scale.v[k] *= c.saved.inv_std.v[k];
    return c;
  }
};

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    parameter_gradients_kernel(float* gamma_gradient, float* beta_gradient, const double* sums,
                               int channels) {
  const int c = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (c >= channels) return;
  if (beta_gradient) beta_gradient[c] = static_cast<float>(sums[c]);
  if (gamma_gradient) gamma_gradient[c] = static_cast<float>(sums[channels + c]);
}

template <class T>
void check_saved(BatchNormCheck& check, MatrixView<const T> dy, const BatchNormSavedOf<T>& saved) {
  check.input_matrix("dy", dy);
  check.input_matrix("saved.x", saved.x);
  check.optional_input_matrix("saved.y", saved.y);
  check.input_channels("saved.mean", saved.mean);
  check.input_channels("saved.inv_std", saved.inv_std);
}

template <class T>
Saved<T> pointers(MatrixView<const T> dy, const BatchNormSavedOf<T>& saved) {
  return {dy.data,         saved.x.data,       saved.y.data,
          saved.mean.data, saved.inv_std.data, static_cast<int>(dy.cols)};
}

template <class T>
Status launch_backward_sums(VectorView<double> sums, VectorView<float> gamma_gradient,
                            VectorView<float> beta_gradient, MatrixView<const T> dy,
                            const BatchNormSavedOf<T>& saved, Workspace workspace, cudaStream_t stream) {
  constexpr const char* kName = "batch_norm_backward_sums";
  BatchNormCheck check(kName, dy.rows, dy.cols, "dy");
  check_saved(check, dy, saved);
  check.output_channels("sums", sums, 2);
  check.optional_output_channels("gamma_gradient", gamma_gradient);
  check.optional_output_channels("beta_gradient", beta_gradient);
  check.workspace(workspace, batch_norm_workspace_bytes(dy.rows, dy.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  RONDO_RETURN_IF_ERROR(columns::column_sums(
      kName, sums.data, pointers(dy, saved), dy.rows, dy.cols,
      values_width<T>(dy.cols, dy.data, saved.x.data, saved.y.data, saved.mean.data, saved.inv_std.data),
      workspace, stream));
  return store_parameter_gradients(kName, gamma_gradient.data, beta_gradient.data, sums.data, dy.cols,
                                   stream);
}

}  // namespace

Status norm::store_parameter_gradients(const char* name, float* gamma_gradient, float* beta_gradient,
                                       const double* sums, int64_t channels, cudaStream_t stream) {
  if (!gamma_gradient && !beta_gradient) return {};
  return launch(name, flat_shape(channels, kThreads), stream, parameter_gradients_kernel, gamma_gradient,
                beta_gradient, sums, static_cast<int>(channels));
}

template <ValueType T>
Status batch_norm_backward(MatrixView<T> dx, NonDeduced<MatrixView<T>> residual_gradient,
                           NonDeduced<MatrixView<const T>> dy, const NonDeduced<BatchNormSavedOf<T>>& saved,
                           VectorView<const float> gamma, VectorView<const double> sums, int64_t count,
                           cudaStream_t stream) {
  constexpr const char* kName = "batch_norm_backward";
  BatchNormCheck check(kName, dy.rows, dy.cols, "dy");
  check_saved(check, dy, saved);
  check.output_matrix("dx", dx, {"dy"});
  check.optional_output_matrix("residual_gradient", residual_gradient, {"dy"});
  check.optional_input_channels("gamma", gamma);
  check.input_channels("sums", sums, 2);
  check.count(count);
  RONDO_RETURN_IF_ERROR(check.status());
  const int width = values_width<T>(dy.cols, dx.data, residual_gradient.data, dy.data, saved.x.data,
                                    saved.y.data, saved.mean.data, saved.inv_std.data, gamma.data, sums.data);
  const Backward<T> operation = {pointers(dy, saved), dx.data,   residual_gradient.data,
                                 gamma.data,          sums.data, 1 / static_cast<double>(count)};
  return row_map(kName, operation, dy.rows, dy.cols, width, stream);
}

template <InputType T>
Status batch_norm_backward_sums(VectorView<double> sums, VectorView<float> gamma_gradient,
                                VectorView<float> beta_gradient, MatrixView<T> dy,
                                const NonDeduced<BatchNormSavedOf<std::remove_const_t<T>>>& saved,
                                Workspace workspace, cudaStream_t stream) {
  return launch_backward_sums<std::remove_const_t<T>>(sums, gamma_gradient, beta_gradient, dy, saved,
                                                      workspace, stream);
}

#define RONDO_BATCH_NORM_BACKWARD_SUMS(T)                                      \
  template Status batch_norm_backward_sums<T>(                                 \
      VectorView<double>, VectorView<float>, VectorView<float>, MatrixView<T>, \
      const BatchNormSavedOf<std::remove_const_t<T>>&, Workspace, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_BATCH_NORM_BACKWARD_SUMS)

#define RONDO_BATCH_NORM_BACKWARD(T)                                                          \
  template Status batch_norm_backward<T>(MatrixView<T>, MatrixView<T>, MatrixView<const T>,   \
                                         const BatchNormSavedOf<T>&, VectorView<const float>, \
                                         VectorView<const double>, int64_t, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_BATCH_NORM_BACKWARD)

}  // namespace rondo

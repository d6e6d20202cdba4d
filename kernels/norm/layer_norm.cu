// The moments of a row: first its mean, then the sums of the deviations d from it and of d^2. The former
// corrects the rounding of the mean. The moments of the parts of a long row are combined in order (Chan,
// Golub and LeVeque, 1983).

#include <rondo/kernels/norm/layer_norm.h>
#include <rondo/kernels/norm/layer_norm_checks.h>
#include <rondo/kernels/reduce/rows.cuh>

namespace rondo {
namespace {

struct RowMoments {
  float mean, squares;  // the sum of the squared deviations from the mean
};
struct RowStatistics {
  float mean, inv_std;
};

template <class T>
struct LayerNorm {
  using Type = T;
  using Part = RowMoments;
  using Row = RowStatistics;
  static constexpr int kInputs = 1;
  MatrixView<T> y;
  MatrixView<const T> x;
  float *mean, *inv_std;
  const float *gamma, *beta;
  float eps;
  bool centred;  // otherwise the mean counts as 0: RMS normalisation

  __device__ __forceinline__ const T* input(int, int64_t row) const { return x.data + row * x.stride; }
  __device__ __forceinline__ T* output(int64_t row) const { return y.data + row * y.stride; }
  template <class Team>
  __device__ __forceinline__ Part part(Team& team) const {
    const float count = static_cast<float>(team.count());
    float pivot = 0;
    if (centred) {
      float sum[1];
      team.sums(sum, [](float(&value)[1], float(&sums)[1], int) { sums[0] += value[0]; });
      pivot = sum[0] / count;
    }
    float sums[2];
    team.sums(sums, [=](float(&value)[1], float(&to)[2], int) {
      const float deviation = value[0] - pivot;
      to[0] += deviation;
      to[1] = fmaf(deviation, deviation, to[1]);
    });
    if (!centred) return {0, sums[1]};
    const float offset = sums[0] / count;
    const float squares = fmaf(-sums[0], offset, sums[1]);
    return {pivot + offset, squares < 0 ? 0 : squares};  // keeps NaN
  }
  __device__ __forceinline__ Row combine(const Part* parts, int count, int64_t) const {
    const int cols = static_cast<int>(x.cols);
    Part all = parts[0];
    for (int i = 1; i < count; ++i) {
      const float before = static_cast<float>(i * rows::kPartColumns);
      const float here = static_cast<float>(min(cols - i * rows::kPartColumns, rows::kPartColumns));
      const float weight = here / (before + here), delta = parts[i].mean - all.mean;
      all.mean = fmaf(delta, weight, all.mean);
      all.squares = fmaf(delta * delta, before * weight, all.squares + parts[i].squares);
    }
    return {all.mean, 1.0f / sqrtf(all.squares / static_cast<float>(cols) + eps)};
  }
  __device__ __forceinline__ void save(const Row& of_row, int64_t row) const {
    if (mean) mean[row] = of_row.mean;
    if (inv_std) inv_std[row] = of_row.inv_std;
  }

  template <class Access>
  __device__ __forceinline__ void apply(typename Access::Pack (&in)[1], const Row& of_row, int col,
                                        bool) const {
    typename Access::Pack scale, shift;
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k) scale.v[k] = 1, shift.v[k] = 0;
    if (gamma) scale = Access::load(gamma + col);
    if (beta) shift = Access::load(beta + col);
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k)
      in[0].v[k] = fmaf((in[0].v[k] - of_row.mean) * of_row.inv_std, scale.v[k], shift.v[k]);
  }
};

template <class T>
Status launch_layer_norm(const char* name, const LayerNorm<T>& operation, Workspace workspace,
                         cudaStream_t stream) {
  const MatrixView<T>& y = operation.y;
  return rows::row_operation(name, operation, y.rows, y.cols,
                             rows::rows_are_wide<T>({y, operation.x}, operation.gamma, operation.beta),
                             workspace, stream);
}

}  // namespace

int64_t layer_norm_workspace_bytes(int64_t rows, int64_t cols) {
  return rows::workspace_bytes<LayerNorm<float>>(rows, cols);
}

template <ValueType T>
Status layer_norm(MatrixView<T> y, VectorView<float> mean, VectorView<float> inv_std,
                  NonDeduced<MatrixView<const T>> x, VectorView<const float> gamma,
                  VectorView<const float> beta, float eps, Workspace workspace, cudaStream_t stream) {
  norm::LayerNormCheck<T> check("layer_norm", "y", y);
  check.output("y", y, {"x"});
  check.optional_of_rows("mean", mean);
  check.optional_of_rows("inv_std", inv_std);
  check.input_matrix("x", x);
  check.optional_of_columns("gamma", gamma);
  check.optional_of_columns("beta", beta);
  check.eps(eps);
  check.workspace(workspace, layer_norm_workspace_bytes(y.rows, y.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  return launch_layer_norm("layer_norm",
                           LayerNorm<T>{y, x, mean.data, inv_std.data, gamma.data, beta.data, eps, true},
                           workspace, stream);
}

template <ValueType T>
Status rms_norm(MatrixView<T> y, VectorView<float> inv_rms, NonDeduced<MatrixView<const T>> x,
                VectorView<const float> gamma, float eps, Workspace workspace, cudaStream_t stream) {
  norm::LayerNormCheck<T> check("rms_norm", "y", y);
  check.output("y", y, {"x"});
  check.optional_of_rows("inv_rms", inv_rms);
  check.input_matrix("x", x);
  check.optional_of_columns("gamma", gamma);
  check.eps(eps);
  check.workspace(workspace, layer_norm_workspace_bytes(y.rows, y.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  return launch_layer_norm("rms_norm",
                           LayerNorm<T>{y, x, nullptr, inv_rms.data, gamma.data, nullptr, eps, false},
                           workspace, stream);
}

#define RONDO_LAYER_NORM(T)                                                                               \
  template Status layer_norm<T>(MatrixView<T>, VectorView<float>, VectorView<float>, MatrixView<const T>, \
                                VectorView<const float>, VectorView<const float>, float, Workspace,       \
                                cudaStream_t);                                                            \
  template Status rms_norm<T>(MatrixView<T>, VectorView<float>, MatrixView<const T>,                      \
                              VectorView<const float>, float, Workspace, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_LAYER_NORM)

}  // namespace rondo

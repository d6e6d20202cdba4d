// The gradients of gamma and beta are sums over rows, the two sums that dx needs are over columns. So dy and
// x are read by two kernels.

#include <rondo/kernels/norm/layer_norm.h>
#include <rondo/kernels/norm/layer_norm_checks.h>
#include <rondo/kernels/norm/gradient_sums.cuh>
#include <rondo/kernels/reduce/column_sums.cuh>
#include <rondo/kernels/reduce/rows.cuh>

namespace rondo {
namespace {

// Sums over a row of g = gamma * dy and of g * xhat.
struct RowSums {
  float g, product;
};
struct RowMeans {
  float g, product, inv_std;
};

template <class T>
struct LayerNormBackward {
  using Type = T;
  using Part = RowSums;
  using Row = RowMeans;
  static constexpr int kInputs = 2;
  MatrixView<T> dx;
  MatrixView<const T> dy, x;
  const float *mean, *inv_std, *gamma;  // without a mean: RMS normalisation

  __device__ __forceinline__ const T* input(int i, int64_t row) const {
    return i == 0 ? dy.data + row * dy.stride : x.data + row * x.stride;
  }
  __device__ __forceinline__ T* output(int64_t row) const { return dx.data + row * dx.stride; }

  // To g and xhat. Both are products that are added later: no compiler fuses them with the sums.
  template <class Access, class Packs>
  __device__ __forceinline__ void prepare(Packs& in, int64_t row, int col) const {
    const float centre = mean ? mean[row] : 0.0f, inverse = inv_std[row];
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k) in[1].v[k] = fmaf(in[1].v[k] - centre, inverse, 0.0f);
    if (!gamma) return;
    const auto scale = Access::load(gamma + col);
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k) in[0].v[k] = fmaf(in[0].v[k], scale.v[k], 0.0f);
  }
  template <class Team>
  __device__ __forceinline__ Part part(Team& team) const {
    float sums[2];
    team.sums(sums, [](float(&values)[2], float(&to)[2], int) {
      to[0] += values[0];
      to[1] = fmaf(values[0], values[1], to[1]);
    });
    return {sums[0], sums[1]};
  }
  __device__ __forceinline__ Row combine(const Part* parts, int count, int64_t row) const {
    Part all = parts[0];
    for (int i = 1; i < count; ++i) all.g += parts[i].g, all.product += parts[i].product;
    const float cols = static_cast<float>(x.cols);
    return {mean ? all.g / cols : 0.0f, all.product / cols, inv_std[row]};
  }

  template <class Access>
  __device__ __forceinline__ void apply(typename Access::Pack (&in)[2], const Row& of_row, int, bool) const {
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k)
      in[0].v[k] = of_row.inv_std * fmaf(-in[1].v[k], of_row.product, in[0].v[k] - of_row.g);
  }
};

template <class T>
struct RecoverRows {
  static constexpr int kWidest = kWidestValues<T>;
  MatrixView<const T> dy, x;
  const float *mean, *inv_std;

  template <int N>
  struct Channel {
    const RecoverRows& r;
    int col;
    __device__ __forceinline__ norm::Recovered<N> recover(int64_t row) const {
      norm::Recovered<N> values = {load_values<N>(r.dy.data + row * r.dy.stride + col),
                                   load_values<N>(r.x.data + row * r.x.stride + col)};
      const float centre = r.mean ? r.mean[row] : 0.0f, inverse = r.inv_std[row];
      RONDO_SIMD
      for (int k = 0; k < N; ++k) values.xhat.v[k] = (values.xhat.v[k] - centre) * inverse;
      return values;
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {*this, col};
  }
};

// The sums of both gradients, which are stored as floats afterwards, and then what adds them.
int64_t sums_bytes(int64_t cols) {
  return saturating_product({std::max<int64_t>(cols, 0), 2, int64_t{sizeof(double)}});
}

template <class T>
Status parameter_gradients(const char* name, VectorView<float> gamma_gradient,
                           VectorView<float> beta_gradient, const RecoverRows<T>& recover,
                           Workspace workspace, cudaStream_t stream) {
  if (!gamma_gradient.data && !beta_gradient.data) return {};
  const auto& [dy, x, mean, inv_std] = recover;
  int64_t length = dy.cols;
  if (dy.rows > 1) length = std::gcd(length, std::gcd(dy.stride, x.stride));
  auto* const sums = static_cast<double*>(workspace.data);
  const Workspace rest = {sums + 2 * dy.cols, workspace.bytes - sums_bytes(dy.cols)};
  RONDO_RETURN_IF_ERROR(columns::column_sums(name, sums, norm::GradientSummand<RecoverRows<T>>{recover},
                                             dy.rows, dy.cols, values_width<T>(length, dy.data, x.data), rest,
                                             stream));
  return norm::store_parameter_gradients(name, gamma_gradient.data, beta_gradient.data, sums, dy.cols,
                                         stream);
}

template <class T>
Status launch_backward(const char* name, MatrixView<T> dx, VectorView<float> gamma_gradient,
                       VectorView<float> beta_gradient, const RecoverRows<T>& recover, const float* gamma,
                       Workspace workspace, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(parameter_gradients(name, gamma_gradient, beta_gradient, recover, workspace, stream));
  const LayerNormBackward<T> operation = {dx, recover.dy, recover.x, recover.mean, recover.inv_std, gamma};
  return rows::row_operation(name, operation, dx.rows, dx.cols,
                             rows::rows_are_wide<T>({dx, recover.dy, recover.x}, gamma), workspace, stream);
}

}  // namespace

int64_t layer_norm_backward_workspace_bytes(int64_t rows, int64_t cols) {
  const int64_t of_columns = columns::workspace_bytes<double, 2>(rows, std::max<int64_t>(cols, 0));
  const int64_t sums = sums_bytes(cols);
  return std::max(rows::workspace_bytes<LayerNormBackward<float>>(rows, cols),
                  of_columns > INT64_MAX - sums ? INT64_MAX : of_columns + sums);
}

template <ValueType T>
Status layer_norm_backward(MatrixView<T> dx, VectorView<float> gamma_gradient,
                           VectorView<float> beta_gradient, NonDeduced<MatrixView<const T>> dy,
                           const NonDeduced<LayerNormSavedOf<T>>& saved, VectorView<const float> gamma,
                           Workspace workspace, cudaStream_t stream) {
  norm::LayerNormCheck<T> check("layer_norm_backward", "dx", dx);
  check.output("dx", dx, {"dy"});
  check.optional_of_columns("gamma_gradient", gamma_gradient);
  check.optional_of_columns("beta_gradient", beta_gradient);
  check.input_matrix("dy", dy);
  check.input_matrix("saved.x", saved.x);
  check.of_rows("saved.mean", saved.mean);
  check.of_rows("saved.inv_std", saved.inv_std);
  check.optional_of_columns("gamma", gamma);
  check.workspace(workspace, layer_norm_backward_workspace_bytes(dx.rows, dx.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  return launch_backward("layer_norm_backward", dx, gamma_gradient, beta_gradient,
                         RecoverRows<T>{dy, saved.x, saved.mean.data, saved.inv_std.data}, gamma.data,
                         workspace, stream);
}

template <ValueType T>
Status rms_norm_backward(MatrixView<T> dx, VectorView<float> gamma_gradient,
                         NonDeduced<MatrixView<const T>> dy, const NonDeduced<RmsNormSavedOf<T>>& saved,
                         VectorView<const float> gamma, Workspace workspace, cudaStream_t stream) {
  norm::LayerNormCheck<T> check("rms_norm_backward", "dx", dx);
  check.output("dx", dx, {"dy"});
  check.optional_of_columns("gamma_gradient", gamma_gradient);
  check.input_matrix("dy", dy);
  check.input_matrix("saved.x", saved.x);
  check.of_rows("saved.inv_rms", saved.inv_rms);
  check.optional_of_columns("gamma", gamma);
  check.workspace(workspace, layer_norm_backward_workspace_bytes(dx.rows, dx.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  return launch_backward("rms_norm_backward", dx, gamma_gradient, {},
                         RecoverRows<T>{dy, saved.x, nullptr, saved.inv_rms.data}, gamma.data, workspace,
                         stream);
}

#define RONDO_LAYER_NORM_BACKWARD(T)                                                                 \
  template Status layer_norm_backward<T>(MatrixView<T>, VectorView<float>, VectorView<float>,        \
                                         MatrixView<const T>, const LayerNormSavedOf<T>&,            \
                                         VectorView<const float>, Workspace, cudaStream_t);          \
  template Status rms_norm_backward<T>(MatrixView<T>, VectorView<float>, MatrixView<const T>,        \
                                       const RmsNormSavedOf<T>&, VectorView<const float>, Workspace, \
                                       cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_LAYER_NORM_BACKWARD)

}  // namespace rondo

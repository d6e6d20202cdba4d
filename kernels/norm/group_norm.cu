#include <rondo/kernels/norm/group_norm.h>
#include <rondo/kernels/norm/group_norm.cuh>

namespace rondo {
namespace {

using namespace norm;

__global__ void __launch_bounds__(kGroupThreads)
    group_statistics_kernel(float* mean, float* inv_std, GroupShape shape, const double* sums, float eps) {
  const GroupSums total = add_channels(shape, sums, [](int) { return 1.0; });
  if (threadIdx.x != 0) return;
  const double centre = total.of[0] / shape.count();
  // Rounding may make the variance of a constant group slightly negative. NaN stays NaN.
  double variance = fma(-centre, centre, total.of[1] / shape.count());
  if (variance < 0) variance = 0;
  mean[blockIdx.x] = static_cast<float>(centre);
  inv_std[blockIdx.x] = static_cast<float>(1.0 / sqrt(variance + static_cast<double>(eps)));
}

template <class T>
struct NormaliseGroups {
  static constexpr int kWidest = kWidestValues<T>;
  T* y;
  const T* x;
  GroupShape shape;
  const float *mean, *inv_std, *gamma, *beta;

  template <int N>
  struct Channel {
    const NormaliseGroups& n;
    int col;
    GroupStatistics<N> statistics;
    Values<N> gamma, beta;

    __device__ __forceinline__ void row(int64_t row) const {
      const int64_t at = row * n.shape.channels + col;
      Values<N> mean, inverse, value = load_values<N>(n.x + at);
      statistics.load(row, mean, inverse);
      RONDO_SIMD
      for (int k = 0; k < N; ++k)
        value.v[k] = fmaf((value.v[k] - mean.v[k]) * inverse.v[k], gamma.v[k], beta.v[k]);
      store_values<N>(n.y + at, value);
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {*this, col, statistics_of<N>(shape, mean, inv_std, col), load_or<N>(gamma, col, 1),
            load_or<N>(beta, col, 0)};
  }
};

}  // namespace

int64_t group_norm_workspace_bytes(int64_t images, int64_t pixels, int64_t channels) {
  if (images <= 0 || pixels <= 0 || channels <= 0) return 0;
  return saturating_product({images, blocks_of(pixels), 2, channels, sizeof(double)});
}

template <ValueType T>
Status group_norm(ImageView<T> y, VectorView<float> mean, VectorView<float> inv_std,
                  NonDeduced<ImageView<const T>> x, VectorView<const float> gamma,
                  VectorView<const float> beta, int64_t groups, float eps, Workspace workspace,
                  cudaStream_t stream) {
  constexpr const char* kName = "group_norm";
  GroupNormCheck<T> check(kName, "y", y, groups);
  check.output("y", y, {"x"});
  check.statistics("mean", mean);
  check.statistics("inv_std", inv_std);
  check.input_image("x", x);
  check.optional_of_channels("gamma", gamma);
  check.optional_of_channels("beta", beta);
  check.require(eps >= 0 && eps < 1, "eps is ", eps, ", must be at least 0 and below 1");  // false for NaN
  if (check.ok())
    check.workspace(workspace, group_norm_workspace_bytes(y.images, y.height * y.width, y.channels));
  RONDO_RETURN_IF_ERROR(check.status());
  if (y.images == 0) return {};
  const GroupShape shape = group_shape(y.images, y.height * y.width, y.channels, groups);
  auto* const sums = static_cast<double*>(workspace.data);
  RONDO_RETURN_IF_ERROR(add_moments_of_blocks(kName, sums, x.data, shape.rows(), y.channels,
                                              rows_per_block(shape.pixels), stream));
  RONDO_RETURN_IF_ERROR(launch(kName, shape_of_groups(shape), stream, group_statistics_kernel, mean.data,
                               inv_std.data, shape, sums, eps));
  const NormaliseGroups<T> operation = {y.data,       x.data,     shape,    mean.data,
                                        inv_std.data, gamma.data, beta.data};
  return row_map(kName, operation, shape.rows(), y.channels,
                 values_width<T>(y.channels, y.data, x.data, gamma.data, beta.data), stream);
}

#define RONDO_GROUP_NORM(T)                                                                                  \
  template Status group_norm<T>(ImageView<T>, VectorView<float>, VectorView<float>, ImageView<const T>,      \
                                VectorView<const float>, VectorView<const float>, int64_t, float, Workspace, \
                                cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_GROUP_NORM)

}  // namespace rondo

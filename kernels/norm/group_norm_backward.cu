// The sums over the pixels of an image, for each channel, are parts of two results: over the images they are
// the gradients of gamma and beta, and over the channels of a group, times gamma, the means that dx needs.

#include <rondo/kernels/norm/group_norm.h>
#include <rondo/kernels/norm/gradient_sums.cuh>
#include <rondo/kernels/norm/group_norm.cuh>
#include <rondo/kernels/reduce/column_sums.cuh>

namespace rondo {
namespace {

using namespace norm;

template <class T>
struct RecoverGroups {
  static constexpr int kWidest = kWidestValues<T>;
  const T *dy, *x;
  GroupShape shape;
  const float *mean, *inv_std;

  template <int N>
  struct Channel {
    const RecoverGroups& r;
    int col;
    GroupStatistics<N> statistics;

    // xhat is a product that may be subtracted later: no compiler fuses it.
    __device__ __forceinline__ Recovered<N> recover(int64_t row) const {
      Values<N> mean, inverse;
      statistics.load(row, mean, inverse);
      return recover(row, mean, inverse);
    }
    __device__ __forceinline__ Recovered<N> recover(int64_t row, const Values<N>& mean,
                                                    const Values<N>& inverse) const {
      const int64_t at = row * r.shape.channels + col;
      Recovered<N> values = {load_values<N>(r.dy + at), load_values<N>(r.x + at)};
      RONDO_SIMD
      for (int k = 0; k < N; ++k) values.xhat.v[k] = fmaf(values.xhat.v[k] - mean.v[k], inverse.v[k], 0.0f);
      return values;
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {*this, col, statistics_of<N>(shape, mean, inv_std, col)};
  }
};

// The means of gamma * dy and of gamma * dy * xhat over a group of an image.
__global__ void __launch_bounds__(kGroupThreads)
    group_means_kernel(float* mean_g, float* mean_product, GroupShape shape, const double* sums,
                       const float* gamma) {
  const GroupSums total =
      add_channels(shape, sums, [=](int c) { return gamma ? static_cast<double>(gamma[c]) : 1.0; });
  if (threadIdx.x != 0) return;
  mean_g[blockIdx.x] = static_cast<float>(total.of[0] / shape.count());
  mean_product[blockIdx.x] = static_cast<float>(total.of[1] / shape.count());
}

template <class T>
struct GroupsBackward {
  static constexpr int kWidest = kWidestValues<T>;
  RecoverGroups<T> recover;
  T* dx;
  const float *mean_g, *mean_product, *gamma;

  template <int N>
  struct Channel {
    const GroupsBackward& b;
    typename RecoverGroups<T>::template Channel<N> saved;
    GroupStatistics<N> means;
    Values<N> gamma;

    __device__ __forceinline__ void row(int64_t row) const {
      Values<N> mean, inverse, g, product, dx;
      saved.statistics.load(row, mean, inverse);
      means.load(row, g, product);
      const Recovered<N> r = saved.recover(row, mean, inverse);
      RONDO_SIMD
      for (int k = 0; k < N; ++k) {
        const float scaled = fmaf(r.g.v[k], gamma.v[k], -g.v[k]);
        dx.v[k] = inverse.v[k] * fmaf(-r.xhat.v[k], product.v[k], scaled);
      }
      store_values<N>(b.dx + row * b.recover.shape.channels + saved.col, dx);
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {*this, recover.template channel<N>(col),
            statistics_of<N>(recover.shape, mean_g, mean_product, col), load_or<N>(gamma, col, 1)};
  }
};

}  // namespace

int64_t group_norm_backward_workspace_bytes(int64_t images, int64_t pixels, int64_t channels,
                                            int64_t groups) {
  const int64_t of_blocks = group_norm_workspace_bytes(images, pixels, channels);
  const int64_t of_channels = saturating_product({2, std::max<int64_t>(channels, 0), sizeof(double)});
  const int64_t of_groups = saturating_product(
      {2, std::max<int64_t>(images, 0), std::max<int64_t>(groups, 0), int64_t{sizeof(float)}});
  int64_t bytes = 0;
  for (const int64_t more : {of_channels, of_blocks, of_groups})
    bytes = bytes > INT64_MAX - more ? INT64_MAX : bytes + more;
  return bytes;
}

template <ValueType T>
Status group_norm_backward(ImageView<T> dx, VectorView<float> gamma_gradient, VectorView<float> beta_gradient,
                           NonDeduced<ImageView<const T>> dy, const NonDeduced<GroupNormSavedOf<T>>& saved,
                           VectorView<const float> gamma, int64_t groups, Workspace workspace,
                           cudaStream_t stream) {
  constexpr const char* kName = "group_norm_backward";
  GroupNormCheck<T> check(kName, "dx", dx, groups);
  check.output("dx", dx, {"dy"});
  check.optional_of_channels("gamma_gradient", gamma_gradient);
  check.optional_of_channels("beta_gradient", beta_gradient);
  check.input_image("dy", dy);
  check.input_image("saved.x", saved.x);
  check.statistics("saved.mean", saved.mean);
  check.statistics("saved.inv_std", saved.inv_std);
  check.optional_of_channels("gamma", gamma);
  if (check.ok())
    check.workspace(
        workspace, group_norm_backward_workspace_bytes(dx.images, dx.height * dx.width, dx.channels, groups));
  RONDO_RETURN_IF_ERROR(check.status());
  const int64_t pixels = dx.images == 0 ? 1 : dx.height * dx.width, channels = dx.channels;
  const GroupShape shape = group_shape(dx.images, pixels, channels, groups);
  auto* const sums = static_cast<double*>(workspace.data);
  auto* const of_blocks = sums + 2 * channels;
  const int64_t blocks = shape.images * shape.blocks;
  auto* const means = reinterpret_cast<float*>(of_blocks + blocks * 2 * channels);
  const RecoverGroups<T> recover = {dy.data, saved.x.data, shape, saved.mean.data, saved.inv_std.data};
  using Summand = GradientSummand<RecoverGroups<T>>;
  if (shape.images > 0)
    RONDO_RETURN_IF_ERROR(columns::block_sums(kName, of_blocks, Summand{recover}, shape.rows(), channels,
                                              values_width<T>(channels, dy.data, saved.x.data),
                                              rows_per_block(pixels), stream));
  if (gamma_gradient.data || beta_gradient.data) {
    RONDO_RETURN_IF_ERROR(columns::sums_of_blocks<Summand>(kName, sums, of_blocks, blocks, channels, stream));
    RONDO_RETURN_IF_ERROR(
        store_parameter_gradients(kName, gamma_gradient.data, beta_gradient.data, sums, channels, stream));
  }
  if (shape.images == 0) return {};
  RONDO_RETURN_IF_ERROR(launch(kName, shape_of_groups(shape), stream, group_means_kernel, means,
                               means + shape.statistics(), shape, of_blocks, gamma.data));
  const GroupsBackward<T> operation = {recover, dx.data, means, means + shape.statistics(), gamma.data};
  return row_map(kName, operation, shape.rows(), channels,
                 values_width<T>(channels, dx.data, dy.data, saved.x.data, gamma.data), stream);
}

#define RONDO_GROUP_NORM_BACKWARD(T)                                                         \
  template Status group_norm_backward<T>(ImageView<T>, VectorView<float>, VectorView<float>, \
                                         ImageView<const T>, const GroupNormSavedOf<T>&,     \
                                         VectorView<const float>, int64_t, Workspace, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_GROUP_NORM_BACKWARD)

}  // namespace rondo

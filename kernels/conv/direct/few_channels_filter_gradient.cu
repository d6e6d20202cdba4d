// Filter gradient for few channels: few results, each a sum over all pixels of the batch. Bound by the bytes
// of dy.
#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/conv/direct/filter_gradient.cuh>

namespace rondo {
namespace {

template <class T, bool kBias>
__global__ __launch_bounds__(direct::kGradientThreads) void few_channels_filter_gradient_kernel(
    const direct::GradientParameters<T> p) {
  direct::sum_filter_gradient<direct::InChannels::same, kBias>(p);
}

// Of a block, by a thread with vector registers.
template <class T, bool kBias>
__global__ void few_channels_filter_gradient_by_vectors(const direct::GradientParameters<T> p) {
  direct::sum_filter_gradient_by_vectors<direct::kVectorChannels, direct::InChannels::same, kBias>(p);
}

}  // namespace

int64_t few_channels_parts(const ConvGeometry& g) { return direct::gradient_parts(g); }

template <class T>
Status few_channels_filter_gradient(const FilterGradient& to, const T* dy, const T* x, const ConvGeometry& g,
                                    int64_t parts, float* workspace, cudaStream_t stream) {
  if constexpr (kVectorTiles)
    if (use_vector_threads()) {
      const auto kernel = to.db ? few_channels_filter_gradient_by_vectors<T, true>
                                : few_channels_filter_gradient_by_vectors<T, false>;
      return direct::launch_filter_gradient<direct::InChannels::same, true>(
          "few_channels_filter_gradient", kernel, to, dy, x, g, parts, workspace, stream);
    }
  const auto kernel =
      to.db ? few_channels_filter_gradient_kernel<T, true> : few_channels_filter_gradient_kernel<T, false>;
  return direct::launch_filter_gradient<direct::InChannels::same>("few_channels_filter_gradient", kernel, to,
                                                                  dy, x, g, parts, workspace, stream);
}

#define RONDO_FEW_CHANNELS_GRADIENT(T)                                                    \
  template Status few_channels_filter_gradient(const FilterGradient&, const T*, const T*, \
                                               const ConvGeometry&, int64_t, float*, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_FEW_CHANNELS_GRADIENT)
#undef RONDO_FEW_CHANNELS_GRADIENT

}  // namespace rondo

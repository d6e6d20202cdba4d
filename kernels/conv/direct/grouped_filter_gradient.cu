// Filter gradient in groups. A depthwise one is bound by the bytes of x and dy.
#include <rondo/kernels/conv/direct/grouped.h>
#include <rondo/kernels/conv/direct/filter_gradient.cuh>

namespace rondo {
namespace {

using direct::InChannels;

// Two blocks on a multiprocessor leave a thread all the registers that it can have. Without a number, ptxas
// 13.0 keeps to 168 or 128, and spills.
template <class T, InChannels kIn, bool kBias>
__global__ __launch_bounds__(direct::kGradientThreads,
                             2) void grouped_filter_gradient_kernel(const direct::GradientParameters<T> p) {
  direct::sum_filter_gradient<kIn, kBias>(p);
}

// Of a block, by a thread with vector registers.
template <class T, int N, InChannels kIn, bool kBias>
__global__ void grouped_filter_gradient_by_vectors(const direct::GradientParameters<T> p) {
  direct::sum_filter_gradient_by_vectors<N, kIn, kBias>(p);
}

}  // namespace

int64_t grouped_parts(const ConvGeometry& g) { return direct::gradient_parts(g); }

template <class T>
Status grouped_filter_gradient(const FilterGradient& to, const T* dy, const T* x, const ConvGeometry& g,
                               int64_t parts, float* workspace, cudaStream_t stream) {
  if constexpr (kVectorTiles) {
    if (const int channels = direct::vector_channels(g); use_vector_threads() && channels > 0) {
      return direct::with_vector<direct::kVectorChannels>(channels, [&]<int N>() {
        const auto launch = [&]<InChannels kIn>() {
          const auto kernel = to.db ? grouped_filter_gradient_by_vectors<T, N, kIn, true>
                                    : grouped_filter_gradient_by_vectors<T, N, kIn, false>;
          return direct::launch_filter_gradient<kIn, true>("grouped_filter_gradient", kernel, to, dy, x, g,
                                                           parts, workspace, stream);
        };
        return direct::in_channels_of(g) == InChannels::same
                   ? launch.template operator()<InChannels::same>()
                   : launch.template operator()<InChannels::adjacent>();
      });
    }
  }
  const auto launch = [&]<InChannels kIn>() {
    const auto kernel =
        to.db ? grouped_filter_gradient_kernel<T, kIn, true> : grouped_filter_gradient_kernel<T, kIn, false>;
    return direct::launch_filter_gradient<kIn>("grouped_filter_gradient", kernel, to, dy, x, g, parts,
                                               workspace, stream);
  };
  switch (direct::in_channels_of(g)) {
    case InChannels::same:
      return launch.template operator()<InChannels::same>();
    case InChannels::adjacent:
      return launch.template operator()<InChannels::adjacent>();
    case InChannels::any:
      break;
  }
  return launch.template operator()<InChannels::any>();
}

#define RONDO_GROUPED_GRADIENT(T)                                                                         \
  template Status grouped_filter_gradient(const FilterGradient&, const T*, const T*, const ConvGeometry&, \
                                          int64_t, float*, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_GROUPED_GRADIENT)
#undef RONDO_GROUPED_GRADIENT

}  // namespace rondo

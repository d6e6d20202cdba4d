// Filter gradient in groups. A depthwise one is bound by the bytes of x and dy.
#include <rondo/kernels/conv/direct/grouped.h>
#include <rondo/kernels/conv/direct/filter_gradient.cuh>

namespace rondo {
namespace {

using direct::InChannels;

template <class T, InChannels kIn>
__global__ __launch_bounds__(direct::kGradientThreads) void grouped_filter_gradient_kernel(
    const direct::GradientParameters<T> p) {
  direct::sum_filter_gradient<kIn>(p);
}

}  // namespace

int64_t grouped_parts(const ConvGeometry& g) { return direct::gradient_parts(g); }

template <class T>
Status grouped_filter_gradient(float* dw, const T* dy, const T* x, const ConvGeometry& g, int64_t parts,
                               float* workspace, cudaStream_t stream) {
  const InChannels in = direct::in_channels_of(g);
  return direct::launch_filter_gradient<T>(
      "grouped_filter_gradient",
      in == InChannels::same       ? grouped_filter_gradient_kernel<T, InChannels::same>
      : in == InChannels::adjacent ? grouped_filter_gradient_kernel<T, InChannels::adjacent>
                                   : grouped_filter_gradient_kernel<T, InChannels::any>,
      dw, dy, x, g, parts, workspace, stream);
}

#define RONDO_GROUPED_GRADIENT(T)                                                                           \
  template Status grouped_filter_gradient(float*, const T*, const T*, const ConvGeometry&, int64_t, float*, \
                                          cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_GROUPED_GRADIENT)
#undef RONDO_GROUPED_GRADIENT

}  // namespace rondo

// Direct convolution of images with few channels (a first layer). For these an implicit GEMM would multiply
// mostly padding: 3 x 3 x 1 taps fill 9 of the 32 values of a k-tile. conv2d_forward() and
// conv2d_filter_gradient() choose these functions, for any type and math, and pass checked arguments.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>

namespace rondo {

// True for few input channels, no dilation, and a filter bank that fits into the shared memory of a block.
bool has_few_channels(const ConvGeometry& geometry);

// T: float, __nv_bfloat16 or __half. The sums are fp32 and without tensor cores for all.
template <class T>
Status few_channels_forward(T* y, const T* x, const T* filter, const ConvEpilogue<T>& epilogue,
                            const ConvGeometry& geometry, cudaStream_t stream);

// The number of parts that the sum over n,p,q is split into. It depends only on the shape.
int64_t few_channels_parts(const ConvGeometry& geometry);
// `parts` must be few_channels_parts() or 1.
template <class T>
Status few_channels_filter_gradient(const FilterGradient& to, const T* dy, const T* x,
                                    const ConvGeometry& geometry, int64_t parts, float* workspace,
                                    cudaStream_t stream);

}  // namespace rondo

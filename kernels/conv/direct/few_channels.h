// Convolution of images with so few channels (a first layer) that an implicit GEMM would mostly multiply
// padding: 3 x 3 x 1 taps fill 9 of the 32 values of a k-tile. conv2d_forward() and conv2d_filter_gradient()
// choose; these take arguments that have been checked.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>

namespace rondo {

// Few input channels, and a filter bank that fits into the shared memory of a block.
bool has_few_channels(const ConvGeometry& geometry);

Status few_channels_forward(float* y, const float* x, const float* filter, const float* bias, bool relu,
                            const ConvGeometry& geometry, cudaStream_t stream);

// Into how many parts the sum over n,p,q is cut, from the shape alone.
int64_t few_channels_parts(const ConvGeometry& geometry);
// `parts` is that number, or 1.
Status few_channels_filter_gradient(float* dw, const float* dy, const float* x, const ConvGeometry& geometry,
                                    int64_t parts, float* workspace, cudaStream_t stream);

}  // namespace rondo

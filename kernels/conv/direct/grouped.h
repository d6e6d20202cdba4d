// Convolution in groups, depthwise included, as direct sums. In a depthwise convolution each result has r * s
// products, so memory bounds it: an implicit GEMM would multiply mostly zeros. The functions of conv2d.h
// choose these for more than one group, in every type and math, and pass checked arguments.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>

namespace rondo {

// y from x, or dx from dy. T: float, __nv_bfloat16 or __half. Products and
// sums are fp32 and without tensor cores, in the order of taps and channels.
template <class T>
Status grouped_forward(T* y, const T* x, const T* filter, const ConvEpilogue<T>& epilogue,
                       const ConvGeometry& geometry, cudaStream_t stream);
template <class T>
Status grouped_data_gradient(T* dx, const T* dy, const T* filter, const ConvEpilogue<T>& epilogue,
                             const ConvGeometry& geometry, cudaStream_t stream);

// The number of parts that the sum over n,p,q is split into. It depends only on the shape.
int64_t grouped_parts(const ConvGeometry& geometry);
// `parts` must be grouped_parts() or 1.
template <class T>
Status grouped_filter_gradient(const FilterGradient& to, const T* dy, const T* x,
                               const ConvGeometry& geometry, int64_t parts, float* workspace,
                               cudaStream_t stream);

}  // namespace rondo

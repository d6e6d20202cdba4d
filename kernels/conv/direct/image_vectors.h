// Direct convolution for threads with vector registers, where a lane is an image: forward and data gradient
// in fp32. A tile of an implicit GEMM has columns for whole vectors of channels, so 20 channels fill 20 of 32
// lanes. Here the images fill the lanes, and any number of channels fills the registers.
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/gemm/device_properties.h>

namespace rondo {

// Whether the kernel can compute the operation on the device.
bool image_vectors_fit(ConvOperation operation, const ConvGeometry& geometry, const DeviceProperties& device);

// Whether it is quicker there than few_channels_forward() or an implicit GEMM whose sum has one part.
bool prefers_image_vectors(ConvOperation operation, const ConvGeometry& geometry,
                           const DeviceProperties& device);

// y from x, or dx from dy. It adds in the order of an implicit GEMM with one part.
Status conv2d_by_image_vectors(const char* name, ConvOperation operation, float* to, const float* from,
                               const float* filter, const ConvEpilogue<float>& epilogue,
                               const ConvGeometry& geometry, cudaStream_t stream);

}  // namespace rondo

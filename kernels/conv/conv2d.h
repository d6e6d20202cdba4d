// Two-dimensional convolution (as in every neural network: a cross-correlation) and its two gradients, in
// strict fp32.
//
//   y[n,p,q,k]  = relu(bias[k] + sum over r,s,c of x[n,h,w,c] * filter[k,r,s,c])
//   dx[n,h,w,c] = sum over the same terms of dy[n,p,q,k] * filter[k,r,s,c]
//   dw[k,r,s,c] = sum over n,p,q of dy[n,p,q,k] * x[n,h,w,c]
//
//   where h = p * stride_h + r - pad_h, w = q * stride_w + s - pad_w
//
// and x is zero outside its height and width. Source: LeCun et al., "Gradient-based learning applied to
// document recognition", 1998; the names are those of cuDNN (Chetlur et al., 2014).
//
// Layouts: activations packed NHWC, filters packed KRSC; any alignment of whole floats. Channels divisible
//   by 4 and 16-byte pointers make the copies into shared memory four times as wide.
// Empty: no images, or no output channels: nothing is summed. Results that are sums of nothing are written as
//   zeros (dw of an empty batch; dx where no filter reaches; y without input channels is relu(bias)).
// Aliasing: the output may not overlap an input or the workspace.
// Infinities and NaN: a term whose x or dx lies outside the image is zero times the other factor, and kernels
// may
//   leave it out. Where that factor is infinite or NaN (a weight, or for dw a value of dy), the result is NaN
//   or the sum without the term; which of the two is not promised. All other terms count, before the ReLU.
// Numerics: products and sums in fp32, in a fixed order; a product and its sum are rounded once (a fused
//   multiply-add) on GPUs, and on CPUs where the build has the FMA instruction. Winograd's algorithm rounds sums of up
//   to 16 inputs before it multiplies them, and adds fewer products: its errors are about those of the direct sum.
// Determinism: the bits depend on shapes and options, on nothing else.
// Errors: bad argument for negative sizes or padding, strides below 1, a filter larger than the padded input,
//   shapes that do not fit together, null pointers to elements, misalignment, an overlap, a dimension of
//   2^31, an invalid enumerator, the algorithm winograd for a convolution that it cannot do, a workspace too
//   small.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>

namespace rondo {

// direct: the sum as it is defined. winograd: F(2 x 2, 3 x 3), which makes 4 outputs from 16 products instead of 36, for
// 3 x 3 filters with stride 1, padding up to 2 and channels in multiples of 16. automatic: winograd where it saves
// products.
//
// The price of winograd: it adds and subtracts neighbouring values before it multiplies. Sums of values near
// the largest float overflow: values above 2^125 (4e37) give infinity or NaN where the direct sum may be
// finite. An infinity in x makes most of the values of y that see it NaN, where the direct sum is infinite;
// the values that do not see it are the same. For dx and dy it is alike. In dw an infinity in x or dy makes
// all nine taps of its channel NaN or infinite. Where that matters, ask for direct.
enum class ConvAlgorithm { automatic, direct, winograd };

struct Conv2dOptions {
  int64_t stride_h = 1;
  int64_t stride_w = 1;
  int64_t pad_h = 0;  // zeros at the top and at the bottom
  int64_t pad_w = 0;  // zeros on the left and on the right
  ConvAlgorithm algorithm = ConvAlgorithm::automatic;
};

struct Conv2dEpilogue {
  VectorView<const float> bias{};  // one value an output channel; none when its data is null
  bool relu = false;
};

// Rows (columns) of y: floor((size + 2 pad - filter) / stride) + 1; 0 for a filter that does not fit and for
// arguments that conv2d_forward() refuses.
constexpr int64_t conv2d_output_size(int64_t size, int64_t filter, int64_t stride, int64_t pad) {
  constexpr int64_t kMost = int64_t{1} << 61;  // so that size + 2 * pad does not overflow
  if (size < 0 || filter < 1 || stride < 1 || pad < 0 || size > kMost || pad > kMost) return 0;
  return filter > size + 2 * pad ? 0 : (size + 2 * pad - filter) / stride + 1;
}

// Traffic of all three: at least 4 bytes x (|x| + |y| + |filter|).
//
// Workspace: what conv2d_workspace_bytes() returns for the operation: room for the transformed filter of
// Winograd's algorithm, and for the parts of a filter gradient whose sum is split.
[[nodiscard]] Status conv2d_forward(ImageView<float> y, ImageView<const float> x,
                                    FilterView<const float> filter, const Conv2dOptions& options,
                                    const Conv2dEpilogue& epilogue, Workspace workspace, cudaStream_t stream);

[[nodiscard]] Status conv2d_data_gradient(ImageView<float> dx, ImageView<const float> dy,
                                          FilterView<const float> filter, const Conv2dOptions& options,
                                          Workspace workspace, cudaStream_t stream);

[[nodiscard]] Status conv2d_filter_gradient(FilterView<float> dw, ImageView<const float> dy,
                                            ImageView<const float> x, const Conv2dOptions& options,
                                            Workspace workspace, cudaStream_t stream);

struct Conv2dWorkspaceBytes {
  int64_t forward = 0, data_gradient = 0, filter_gradient = 0;
};
// Of a convolution of x with the filter; only the shapes of the views matter. Zeros for shapes that do not fit.
Conv2dWorkspaceBytes conv2d_workspace_bytes(const ImageView<const float>& x,
                                            const FilterView<const float>& filter,
                                            const Conv2dOptions& options);

}  // namespace rondo

// A bound of the workspaces of a convolution of any number of images up to one.
#pragma once

#include <rondo/kernels/conv/conv2d_options.h>
#include <rondo/kernels/core/dtype.h>

#include <concepts>
#include <type_traits>

namespace rondo {

// At least conv2d_workspace_bytes() of x with as many images or fewer. It is more than the largest of them by
// at most most_partial_bytes() (kernels/gemm/split_k.h), and a copy of the filter in tf32 and tf32x3.
Conv2dWorkspaceBytes conv2d_workspace_bound(const ImageView<const float>& x,
                                            const FilterView<const float>& filter,
                                            const Conv2dOptions& options, DType type = DType::float32);
// The same of the views themselves, whose type is that of images and filters.
template <class X, class W>
requires std::same_as<const X, const W> Conv2dWorkspaceBytes
conv2d_workspace_bound(const ImageView<X>& x, const FilterView<W>& filter, const Conv2dOptions& options) {
  return conv2d_workspace_bound(
      ImageView<const float>{nullptr, x.images, x.height, x.width, x.channels},
      FilterView<const float>{nullptr, filter.out_channels, filter.height, filter.width, filter.in_channels},
      options, dtype_of<std::remove_const_t<X>>);
}

}  // namespace rondo

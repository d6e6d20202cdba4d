// A bound of the workspaces of a convolution of any number of images up to one.
#pragma once

#include <rondo/kernels/conv/conv2d_options.h>

namespace rondo {

// At least conv2d_workspace_bytes() of x with as many images or fewer. It is more than the largest of them by
// at most most_partial_bytes() (kernels/gemm/split_k.h), and a copy of the filter in tf32 and tf32x3.
Conv2dWorkspaceBytes conv2d_workspace_bound(const ImageView<const float>& x,
                                            const FilterView<const float>& filter,
                                            const Conv2dOptions& options, DType type = DType::float32);

}  // namespace rondo

// The transposed convolution by the kernels of the data gradient.
#include <rondo/kernels/conv/conv_transpose2d.h>

#include <rondo/kernels/conv/planned_conv.h>

namespace rondo {

template <class T>
Status conv_transpose2d_with_plan(const ConvPlan* wanted, ImageView<T> y, ImageView<const T> x,
                                  FilterView<const T> filter, const Conv2dOptions& options,
                                  const ConvTranspose2dEpilogue& epilogue, Workspace workspace,
                                  cudaStream_t stream) {
  return checked_data_gradient<T>({"conv_transpose2d", "y", "x", "filter"}, wanted, y, x, filter, options,
                                  epilogue.bias, {.relu = epilogue.relu}, workspace, stream);
}

#define RONDO_CONV_TRANSPOSE2D(T)                                                               \
  template Status conv_transpose2d_with_plan(const ConvPlan*, ImageView<T>, ImageView<const T>, \
                                             FilterView<const T>, const Conv2dOptions&,         \
                                             const ConvTranspose2dEpilogue&, Workspace, cudaStream_t);
RONDO_CONV_TRANSPOSE2D(float)
RONDO_CONV_TRANSPOSE2D(__nv_bfloat16)
RONDO_CONV_TRANSPOSE2D(__half)
#undef RONDO_CONV_TRANSPOSE2D

}  // namespace rondo

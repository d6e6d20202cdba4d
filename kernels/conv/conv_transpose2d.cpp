// The transposed convolution by the kernels of the data gradient.
#include <rondo/kernels/conv/conv_transpose2d.h>

#include <rondo/kernels/conv/conv_checks.h>
#include <rondo/kernels/conv/planned_conv.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/counted.h>

namespace rondo {

template <class T>
Status conv_transpose2d_with_plan(const ConvPlan* wanted, ImageView<T> y, ImageView<const T> x,
                                  FilterView<const T> filter, const Conv2dOptions& options,
                                  const ConvTranspose2dEpilogue& epilogue, Workspace workspace,
                                  cudaStream_t stream) {
  constexpr const char* kName = "conv_transpose2d";
  const VectorView<const float>& bias = epilogue.bias;
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_conv2d<T>({kName, "y", "x", "filter"}, y, x, filter, options, &g));
  const ConvProblem problem = {ConvOperation::data_gradient,
                               g,
                               arithmetic_of(dtype_of<T>, options.math),
                               options.algorithm,
                               x.data,
                               filter.data};
  ArgumentCheck check(kName);
  check.output("y", y);
  check.input("x", x);
  check.input("filter", filter);
  check.optional_input("bias", bias);
  if (bias.data)
    check.require(bias.size == g.c, "bias has ", counted(bias.size, "element"),
                  ", must be the channels of y, ", g.c);
  check.workspace(workspace, workspace_bytes(problem, wanted));
  RONDO_RETURN_IF_ERROR(check.status());
  return run_data_gradient<T>(kName, wanted, problem, y.data, x.data, filter.data,
                              {.bias = bias.data, .relu = epilogue.relu}, workspace, stream);
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

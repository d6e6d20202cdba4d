#include <rondo/kernels/conv/planned_conv.h>

#include <rondo/kernels/conv/direct/grouped.h>
#include <rondo/kernels/conv/direct/image_vectors.h>
#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/counted.h>

#include <type_traits>

namespace rondo {

int64_t workspace_bytes(const ConvProblem& problem, const ConvPlan* plan) {
  return plan ? workspace_bytes(problem, *plan) : workspace_bytes(problem);
}

Status find_plan(const char* name, const ConvProblem& problem, const ConvPlan* plan, ConvPlan* found) {
  if (plan) {
    *found = *plan;
    if (problem.geometry.groups > 1 && plan->method != ConvMethod::grouped)
      return bad_argument(name, ": the plan is for one group, the convolution has ", problem.geometry.groups);
    if (plan->method == ConvMethod::image_vectors && problem.arithmetic != Arithmetic::fp32)
      return bad_argument(name, ": the plan is for fp32, the convolution is one of ",
                          name_of(problem.arithmetic));
    if (plan->method != ConvMethod::implicit_gemm || plan->gemm.tile.arithmetic == problem.arithmetic)
      return {};
    return bad_argument(name, ": the tile is one of ", name_of(plan->gemm.tile.arithmetic),
                        ", the convolution one of ", name_of(problem.arithmetic));
  }
  DeviceProperties device;
  RONDO_RETURN_IF_ERROR(device_properties(&device));
  *found = choose_conv_plan(problem, device);
  return {};
}

namespace {

template <class T>
Status run_data_gradient(const char* name, const ConvPlan* wanted, const ConvProblem& problem, T* to,
                         const T* from, const T* filter, const ConvEpilogue<T>& epilogue, Workspace workspace,
                         cudaStream_t stream) {
  const ConvGeometry& g = problem.geometry;
  ConvPlan plan;
  RONDO_RETURN_IF_ERROR(find_plan(name, problem, wanted, &plan));
  if constexpr (std::is_same_v<T, float>) {
    if (plan.method == ConvMethod::winograd)
      return winograd::data_gradient(plan.winograd_tile, to, from, filter, epilogue, g,
                                     static_cast<float*>(workspace.data), stream);
    if (plan.method == ConvMethod::image_vectors)
      return conv2d_by_image_vectors(name, ConvOperation::data_gradient, to, from, filter, epilogue, g,
                                     stream);
  }
  if (plan.method == ConvMethod::grouped) return grouped_data_gradient(to, from, filter, epilogue, g, stream);
  const ImplicitGemmArguments<T> arguments = {to, from, filter, epilogue, g, plan.splits};
  int64_t no_parts = 0;
  return run_implicit_gemm(name, ConvOperation::data_gradient, plan.gemm, arguments, workspace, &no_parts,
                           stream);
}

}  // namespace

template <class T>
Status checked_data_gradient(const ConvNames& names, const ConvPlan* wanted, ImageView<T> to,
                             ImageView<const T> from, FilterView<const T> filter,
                             const Conv2dOptions& options, VectorView<const float> bias,
                             ConvEpilogue<T> epilogue, Workspace workspace, cudaStream_t stream) {
  ConvGeometry g;
  RONDO_RETURN_IF_ERROR(check_conv2d<T>(names, to, from, filter, options, &g));
  const ConvProblem problem = {ConvOperation::data_gradient,
                               g,
                               arithmetic_of(dtype_of<T>, options.math),
                               options.algorithm,
                               from.data,
                               filter.data};
  ArgumentCheck check(names.operation);
  check.output(names.input, to);
  check.input(names.output, from);
  check.input(names.filter, filter);
  check.optional_input("bias", bias);
  if (bias.data)
    check.require(bias.size == g.c, "bias has ", counted(bias.size, "element"), ", must be the channels of ",
                  names.input, ", ", g.c);
  check.workspace(workspace, workspace_bytes(problem, wanted));
  RONDO_RETURN_IF_ERROR(check.status());
  epilogue.bias = bias.data;
  return run_data_gradient<T>(names.operation, wanted, problem, to.data, from.data, filter.data, epilogue,
                              workspace, stream);
}

#define RONDO_DATA_GRADIENT(T)                                                                               \
  template Status checked_data_gradient(const ConvNames&, const ConvPlan*, ImageView<T>, ImageView<const T>, \
                                        FilterView<const T>, const Conv2dOptions&, VectorView<const float>,  \
                                        ConvEpilogue<T>, Workspace, cudaStream_t);
RONDO_DATA_GRADIENT(float)
RONDO_DATA_GRADIENT(__nv_bfloat16)
RONDO_DATA_GRADIENT(__half)
#undef RONDO_DATA_GRADIENT

}  // namespace rondo

#include <rondo/kernels/conv/conv_checks.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/conv/direct/few_channels.h>
#include <rondo/kernels/conv/winograd/winograd.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/profile/conv_algorithms.h>

#include <algorithm>
#include <utility>

namespace rondo::program {

std::vector<ConvKernels> conv_kernels(const ProfileArguments& a, const ImageView<const float>& x,
                                      const ImageView<const float>& y,
                                      const FilterView<const float>& filter) {
  const auto options = [&](ConvAlgorithm algorithm) {
    return Conv2dOptions{a.stride, a.stride, a.pad, a.pad, algorithm, a.math};
  };
  if (a.algorithm == "automatic") return {{a.algorithm, options(ConvAlgorithm::automatic)}};
  if (a.algorithm == "direct") return {{a.algorithm, options(ConvAlgorithm::direct)}};
  const bool all = a.algorithm == "all";
  ConvGeometry g;
  throw_if_error(check_conv2d_shapes({"rondo profile", "x", "y", "filter"}, x, y, filter,
                                     options(ConvAlgorithm::direct), &g));

  std::vector<ConvKernels> kernels;
  const auto add = [&](const char* name, bool possible, const char* needs, ConvKernels added) {
    if (!all && a.algorithm != name) return;
    if (possible)
      kernels.push_back(std::move(added));
    else if (!all)
      throw Error(bad_argument("--algorithm is '", name, "', which needs ", needs));
  };
  add("few_channels", has_few_channels(g), "at most 4 channels, and filters of at most 48 KB",
      {"few_channels", options(ConvAlgorithm::direct)});
  DeviceProperties device;
  throw_if_error(device_properties(&device));
  ConvKernels implicit_gemm = {"implicit_gemm", options(ConvAlgorithm::direct)};
  const auto plan_of = [&](ConvOperation operation) {
    const Arithmetic arithmetic = arithmetic_of(a.type, a.math);
    ConvPlan plan;
    plan.splits = conv2d_splits(operation, g);
    plan.gemm = choose_implicit_gemm_plan(operation, g, arithmetic, nullptr, nullptr, device);
    implicit_gemm.workspace_bytes =
        std::max(implicit_gemm.workspace_bytes, workspace_bytes({operation, g, arithmetic}, plan));
    return plan;
  };
  implicit_gemm.plans = {plan_of(ConvOperation::forward), plan_of(ConvOperation::data_gradient),
                         plan_of(ConvOperation::filter_gradient)};
  add("implicit_gemm", true, "", implicit_gemm);
  add("winograd", winograd::fits(g) && a.math == Math::fp32 && a.type == DType::float32,
      "3 x 3 filters, stride 1, padding up to 2, channels and filters in multiples of 16, the math fp32 and "
      "the type float32",
      {"winograd", options(ConvAlgorithm::winograd)});
  return kernels;
}

}  // namespace rondo::program

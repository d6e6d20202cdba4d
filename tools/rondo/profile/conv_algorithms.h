// The algorithms of a convolution that `rondo profile conv --algorithm` names.
#pragma once

#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/tools/rondo/profile/arguments.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

struct ConvPlans {
  ConvPlan forward, data_gradient, filter_gradient;
};
struct ConvKernels {
  std::string name;
  Conv2dOptions options;
  std::optional<ConvPlans> plans = {};  // none: the library chooses, also between its algorithms
  int64_t workspace_bytes = 0;          // of the plans
};

// One algorithm, or with `all` each that can compute this convolution. Throws a bad_argument Error if the
// algorithm cannot. Choosing between automatic, direct and winograd is left to the library.
std::vector<ConvKernels> conv_kernels(const ProfileArguments& a, const ImageView<const float>& x,
                                      const ImageView<const float>& y, const FilterView<const float>& filter);

}  // namespace rondo::program

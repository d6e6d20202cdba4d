// `rondo profile` in a build for GPUs, which cannot observe kernels but knows the plans of gemm().
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/profile/plan.h>
#include <rondo/tools/rondo/profile/profile_command.h>

namespace rondo::program {

void show_profile(const ProfileArguments& arguments, std::ostream& out, const Terminal&) {
  if (arguments.plan) return show_gemm_plans(arguments, out);
  throw Error(bad_argument(
      "this build runs kernels on GPUs and cannot observe them: the script tools/profile, in "
      "Rondo's source folder, builds one that can and runs it; on a GPU, use Nsight Compute (ncu)"));
}

}  // namespace rondo::program

// `rondo profile` in a build for GPUs, which cannot observe kernels.
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/profile/profile_command.h>

namespace rondo::program {

void show_profile(const ProfileArguments&, std::ostream&, const Terminal&) {
  throw Error(
      bad_argument("this build runs kernels on GPUs and cannot observe them: run tools/profile, which builds "
                   "one that can, "
                   "or Nsight Compute (ncu)"));
}

}  // namespace rondo::program

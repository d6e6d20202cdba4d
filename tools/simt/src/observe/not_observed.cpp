// The functions of simt/observe.h, simt/counted_operations.h and simt/check.h in a build that does not
// observe kernels.
#include <simt/check.h>
#include <simt/counted_operations.h>

#include "../base/observer.h"

namespace simt {

bool can_observe() { return false; }
cudaError_t start_profile(const ProfileOptions&) { return cudaErrorNotSupported; }
std::vector<KernelProfile> stop_profile() { return {}; }
ProgramProfile stop_program_profile() { return {}; }
void refresh_global_memory() {}
cudaError_t start_check() { return cudaErrorNotSupported; }
std::vector<Finding> stop_check() { return {}; }
void observe_whole_program(Runtime&) {}

}  // namespace simt

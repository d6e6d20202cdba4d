#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/cuda/cuda.h>

namespace rondo::program {

int run_cuda(const CudaArguments& arguments, std::ostream&) {
  throw Error(bad_argument("this build is for GPUs, where nvcc compiles '", arguments.files.front(),
                           "'; cmake --preset cpu makes the one with the CPU executor"));
}

}  // namespace rondo::program

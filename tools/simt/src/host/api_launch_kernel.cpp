// Launches of kernels that are named by their addresses.
#include <cuda_runtime_api.h>

#include "../base/device_half.h"
#include "runtime.h"

using namespace simt;

namespace {

cudaError_t launch_kernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                          cudaStream_t stream, bool cooperative) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = cooperative;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelExC(&config, function, arguments);
}

}  // namespace

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return api([&](Runtime&) {
    const auto places = function ? argument_places(function) : std::nullopt;
    require(places.has_value(), cudaErrorInvalidDeviceFunction);
    require(arguments || places->empty(), cudaErrorInvalidValue);
    return launch(config, prepare(function, arguments));
  });
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return launch_kernel(function, grid, block, arguments, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
  return launch_kernel(function, grid, block, arguments, shared, stream, true);
}

// Flags concern caching, which is not simulated.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                   int block_size, size_t shared,
                                                                   unsigned int flags) {
  if (flags > cudaOccupancyDisableCachingOverride) return cudaErrorInvalidValue;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, shared);
}

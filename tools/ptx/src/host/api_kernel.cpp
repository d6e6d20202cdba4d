// Launches as nvcc's host code makes them: <<<>>>, cudaLaunchKernel, cudaLaunchKernelEx.
#include <cuda_runtime_api.h>

#include <vector>

#include "kernel_code.h"
#include "runtime.h"

using namespace simt;

namespace {

cudaError_t launch_kernel(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return api([&](Runtime&) { return launch(config, ptx::prepare(function, arguments)); });
}

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
  return launch_kernel(&config, function, arguments);
}

// Between the two halves of kernel<<<grid, block, shared, stream>>>(arguments).
struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

}  // namespace

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

// A handle of a kernel is the address of its host function.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return launch_kernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared, stream, false);
}

}  // extern "C"

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return launch_kernel(function, grid, block, arguments, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared, cudaStream_t stream) {
  return launch_kernel(function, grid, block, arguments, shared, stream, true);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return launch_kernel(config, function, arguments);
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return api_without_context([&](Runtime&) {
    require(name, cudaErrorInvalidValue);
    *name = ptx::Program::get().kernel_name(function);
    require(*name, cudaErrorInvalidDeviceFunction);
    return cudaSuccess;
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  return api_without_context([&](Runtime&) {
    require(function, cudaErrorInvalidValue);
    require(ptx::Program::get().kernel_name(symbol), cudaErrorInvalidDeviceFunction);
    *function = reinterpret_cast<cudaFunction_t>(const_cast<void*>(symbol));
    return cudaSuccess;
  });
}

// Flags concern caching, which is not simulated.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel,
                                                                   int block_size, size_t shared,
                                                                   unsigned int flags) {
  if (flags > cudaOccupancyDisableCachingOverride) return cudaErrorInvalidValue;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, shared);
}

cudaError_t cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache) {
  return api([&](Runtime&) {
    require(ptx::Program::get().kernel_name(kernel), cudaErrorInvalidDeviceFunction);
    return cudaSuccess;
  });
}

// Clusters of a size share nothing but the multiprocessors here.
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* kernel,
                                           const cudaLaunchConfig_t* config) {
  if (!clusters || !config) return api([](Runtime&) { return cudaErrorInvalidValue; });
  unsigned blocks = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (const auto& size = config->attrs[i].val.clusterDim;
        config->attrs[i].id == cudaLaunchAttributeClusterDimension)
      blocks = size.x * size.y * size.z;
  const dim3 block = config->blockDim;
  int per_multiprocessor = 0, multiprocessors = 0;
  const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &per_multiprocessor, kernel, static_cast<int>(block.x * block.y * block.z), config->dynamicSmemBytes);
  if (error != cudaSuccess) return error;
  const cudaError_t asked =
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, host_thread().device);
  *clusters = blocks == 0 ? 0 : per_multiprocessor * multiprocessors / static_cast<int>(blocks);
  return asked;
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* blocks, const void* kernel,
                                                 const cudaLaunchConfig_t* config) {
  return api([&](Runtime& runtime) {
    require(blocks && config, cudaErrorInvalidValue);
    require(ptx::Program::get().kernel_name(kernel), cudaErrorInvalidDeviceFunction);
    *blocks = static_cast<int>(most_blocks_per_cluster(runtime, kernel));
    return cudaSuccess;
  });
}

// Launches as nvcc's host code makes them, and handles of kernels.
#include <cuda_runtime_api.h>

#include <vector>

#include "kernel_code.h"
#include "runtime.h"

using namespace simt;

namespace {

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
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared, stream);
}

}  // extern "C"

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

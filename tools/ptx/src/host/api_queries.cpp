// Questions that programs of others ask, and the executor's do not.
#include <algorithm>

#include "runtime.h"

using namespace simt;

// The streams of a process are numbered; the legacy stream of each device has the number 0.
cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return api([&](Runtime& runtime) {
    require(id, cudaErrorInvalidValue);
    const std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    *id = static_cast<unsigned long long>(stream->number) << 32 | static_cast<unsigned>(stream->device);
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* kernel, int blocks,
                                                      int block_size) {
  if (!bytes || blocks < 1) return api([](Runtime&) { return cudaErrorInvalidValue; });
  int possible = 0, device = 0;
  cudaFuncAttributes attributes = {};
  cudaDeviceProp properties = {};
  for (const cudaError_t error :
       {cudaOccupancyMaxActiveBlocksPerMultiprocessor(&possible, kernel, block_size, 0),
        cudaFuncGetAttributes(&attributes, kernel), cudaGetDevice(&device),
        cudaGetDeviceProperties(&properties, device)})
    if (error != cudaSuccess) return error;
  const size_t most = std::min(properties.sharedMemPerMultiprocessor / static_cast<size_t>(blocks) -
                                   properties.reservedSharedMemPerBlock,
                               properties.sharedMemPerBlockOptin);
  *bytes = blocks > possible ? 0 : most - attributes.sharedSizeBytes;
  return cudaSuccess;
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

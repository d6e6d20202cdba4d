// Memory in rows, and managed memory.
#include <cuda_runtime_api.h>

#include "operations.h"
#include "runtime.h"

using namespace simt;

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  return api([&](Runtime& runtime) {
    require(pointer && bytes > 0, cudaErrorInvalidValue);
    require(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost, cudaErrorInvalidValue);
    return runtime.memory.allocate(host_thread().device, bytes, pointer, true);
  });
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  constexpr size_t kPitch = 512;
  if (!pointer || !pitch) return api([](Runtime&) { return cudaErrorInvalidValue; });
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  size_t bytes = 0;
  if (__builtin_mul_overflow(*pitch, height, &bytes))
    return api([](Runtime&) { return cudaErrorMemoryAllocation; });
  return cudaMalloc(pointer, bytes);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (!pointer) return api([](Runtime&) { return cudaErrorInvalidValue; });
  *pointer = {nullptr, 0, extent.width, extent.height};
  size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
    return api([](Runtime&) { return cudaErrorMemoryAllocation; });
  return cudaMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, rows);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return api([&](Runtime& runtime) {
    if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
    require(extent.width <= to.pitch, cudaErrorInvalidPitchValue);
    require(extent.depth == 1 || extent.height <= to.ysize, cudaErrorInvalidValue);
    Transfer fill = {.to = to.ptr,
                     .to_pitch = to.pitch,
                     .width = extent.width,
                     .height = extent.height,
                     .depth = extent.depth,
                     .to_slice = to.pitch * to.ysize};
    fill.value = static_cast<unsigned>(value);
    return runtime.submit(stream, fill_operation(runtime, fill), "cudaMemset3DAsync");
  });
}

cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return cudaMemset3DAsync(to, value, extent, nullptr);
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return api([&](Runtime& runtime) {
    if (width == 0 || height == 0) return cudaSuccess;
    require(width <= pitch, cudaErrorInvalidPitchValue);
    Transfer fill = {.to = to, .to_pitch = pitch, .width = width, .height = height};
    fill.value = static_cast<unsigned>(value);
    return runtime.submit(stream, fill_operation(runtime, fill), "cudaMemset2DAsync");
  });
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(to, pitch, value, width, height, nullptr);
}

// The functions of the runtime that take a kernel, by its type or by its address. They make its parameters
// known (simt/launch.h).
#pragma once

#include <cuda_runtime_api.h>
#include <simt/builtins.h>
#include <simt/launch.h>

template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
  simt::detail::name_kernel(kernel);
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*kernel)(Parameters...)) {
  simt::detail::name_kernel(kernel);
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}

template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*kernel)(Parameters...),
                                                          int block_size, size_t shared_bytes) {
  simt::detail::name_kernel(kernel);
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(kernel),
                                                       block_size, shared_bytes);
}

template <class... Parameters>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, void (*kernel)(Parameters...),
                                                                   int block_size, size_t shared_bytes,
                                                                   unsigned int flags) {
  simt::detail::name_kernel(kernel);
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, reinterpret_cast<const void*>(kernel),
                                                                block_size, shared_bytes, flags);
}

template <class... Parameters>
cudaError_t cudaFuncSetCacheConfig(void (*kernel)(Parameters...), cudaFuncCache config) {
  simt::detail::name_kernel(kernel);
  return cudaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), config);
}

template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes = 0, cudaStream_t stream = 0) {
  simt::detail::name_kernel(kernel);
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared_bytes,
                          stream);
}

template <class... Parameters>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                                        void** arguments, size_t shared_bytes = 0, cudaStream_t stream = 0) {
  simt::detail::name_kernel(kernel);
  return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments,
                                     shared_bytes, stream);
}

// The block size with which the most threads of a multiprocessor are busy, the largest of several, and the
// blocks that then fill the device. `shared_bytes_of(block_size)`: the dynamic shared memory of a block.
template <class Kernel, class SharedBytesOf>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* least_grid, int* block_size, Kernel kernel,
                                                           SharedBytesOf shared_bytes_of,
                                                           int block_size_limit = 0) {
  if (!least_grid || !block_size) return cudaErrorInvalidValue;
  int device = 0, multiprocessors = 0;
  cudaFuncAttributes attributes;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel); error != cudaSuccess)
    return error;
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
      error != cudaSuccess)
    return error;
  int most = attributes.maxThreadsPerBlock;
  if (block_size_limit > 0 && block_size_limit < most) most = block_size_limit;
  int busy = 0;
  *least_grid = *block_size = 0;
  for (int size = (most + warpSize - 1) / warpSize * warpSize; size > 0; size -= warpSize) {
    const int threads = size < most ? size : most;
    int blocks = 0;
    const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, kernel, threads, static_cast<size_t>(shared_bytes_of(threads)));
    if (error != cudaSuccess) return error;
    if (blocks * threads <= busy) continue;
    busy = blocks * threads;
    *block_size = threads;
    *least_grid = blocks * multiprocessors;
  }
  return cudaSuccess;
}

template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* least_grid, int* block_size, Kernel kernel,
                                               size_t shared_bytes = 0, int block_size_limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      least_grid, block_size, kernel, [=](int) { return shared_bytes; }, block_size_limit);
}

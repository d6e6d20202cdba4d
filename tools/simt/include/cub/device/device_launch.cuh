// Device-wide algorithms run as a kernel of one thread on the caller's stream. As every launch they are
// ordered with the stream's other work and can be captured, but they are not parallel.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

namespace cub::detail {

// CUB's two-call interface: without storage, returns the required size and does nothing; with storage,
// enqueues the work.
template <class... Parameters>
cudaError_t launch(void* storage, size_t& storage_bytes, size_t needed, cudaStream_t stream,
                   void (*kernel)(Parameters...), std::type_identity_t<Parameters>... arguments) {
  if (storage == nullptr) {
    storage_bytes = needed > 0 ? needed : 1;
    return cudaSuccess;
  }
  if (storage_bytes < needed) return cudaErrorInvalidValue;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace cub::detail

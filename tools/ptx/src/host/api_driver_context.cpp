// The few functions of the driver that programs of the runtime call, besides those of tensor maps.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "runtime.h"

using namespace simt;

CUresult cuInit(unsigned int flags) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }

CUresult cuDriverGetVersion(int* version) { return static_cast<CUresult>(cudaDriverGetVersion(version)); }

CUresult cuCtxGetDevice(CUdevice* device) {
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  if (!host_thread().bound) return CUDA_ERROR_INVALID_CONTEXT;
  *device = host_thread().device;
  return CUDA_SUCCESS;
}

// An error has the same number in both APIs.
CUresult cuGetErrorString(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

// Functions of the driver, which need a current context.
#include <cuda.h>

#include <cstring>

#include "../base/device_half.h"
#include "runtime.h"

using namespace simt;

namespace {

// The error of a driver function that is called now. Unlike a function of the runtime, it binds no context.
CUresult driver_state() {
  const HostThread& thread = host_thread();
  if (thread.in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  try {
    const Runtime& runtime = Runtime::get();
    if (!thread.bound) return CUDA_ERROR_INVALID_CONTEXT;
    const Device& device = *runtime.devices[static_cast<size_t>(thread.device)];
    if (!device.context) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return static_cast<CUresult>(device.failure.load());  // an error has the same number in both APIs
  } catch (const Failure&) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
}

}  // namespace

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version,
                                             unsigned long long, cudaDriverEntryPointQueryResult* result) {
  return api_without_context([&](Runtime&) {
    require(symbol && function, cudaErrorInvalidValue);
    void* const found = std::strcmp(symbol, "cuTensorMapEncodeTiled") == 0
                            ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled)
                        : std::strcmp(symbol, "cuTensorMapEncodeIm2col") == 0
                            ? reinterpret_cast<void*>(&cuTensorMapEncodeIm2col)
                            : nullptr;
    const bool new_enough = version >= 12000;
    *function = new_enough ? found : nullptr;
    if (result)
      *result = !found       ? cudaDriverEntryPointSymbolNotFound
                : new_enough ? cudaDriverEntryPointSuccess
                             : cudaDriverEntryPointVersionNotSufficent;
    return cudaSuccess;
  });
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  if (const CUresult error = driver_state(); error != CUDA_SUCCESS) return error;
  return encode_tiled_map(map, type, rank, address, sizes, strides, box, element_strides, interleave, swizzle,
                          promotion, fill);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower_corner,
                                 const int* upper_corner, cuuint32_t channels_per_pixel,
                                 cuuint32_t pixels_per_column, const cuuint32_t* element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (const CUresult error = driver_state(); error != CUDA_SUCCESS) return error;
  return encode_im2col_map(map, type, rank, address, sizes, strides, lower_corner, upper_corner,
                           channels_per_pixel, pixels_per_column, element_strides, interleave, swizzle,
                           promotion, fill);
}

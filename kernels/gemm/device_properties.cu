#include <rondo/kernels/gemm/device_properties.h>

#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/core/tile_threads.cuh>

#ifdef __SIMT__
#include <simt/settings.h>
#endif

namespace rondo {
namespace {

// The executor takes 1.6 times as long for wgmma as for mma.sync, so it has wgmma only where SIMT_GPU asks
// for the kernels of a GPU.
bool prefers_wgmma() {
#ifdef __SIMT__
  return !simt::settings().gpu.empty();
#else
  return true;
#endif
}

}  // namespace

Status device_properties(DeviceProperties* properties) {
  int device = 0;
  RONDO_CUDA(cudaGetDevice(&device));
  RONDO_CUDA(cudaDeviceGetAttribute(&properties->multiprocessors, cudaDevAttrMultiProcessorCount, device));
  RONDO_CUDA(cudaDeviceGetAttribute(&properties->shared_bytes_per_block,
                                    cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  properties->vectors = kVectorTiles;
  properties->vectors_for_tensor_cores = use_vector_threads();
  int major = 0;
  RONDO_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  properties->wgmma = major == 9 && prefers_wgmma() && check_wgmma("").ok();
  return {};
}

}  // namespace rondo

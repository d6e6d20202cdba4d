// launch(): starts a kernel; all kernels are started through it. It is typed: an argument of the wrong type
// does not compile. It is plain C++, so the CPU executor compiles it too. It converts every failure to a
// Status with the kernel's name. The stream's device must be current, as for every call that starts kernels.
#pragma once

#include <cuda_runtime.h>

#include <rondo/kernels/core/launch_observer.h>
#include <rondo/kernels/core/status.h>

#include <cstdint>
#include <type_traits>

namespace rondo {

// a / b rounded up, for a >= 0 and b > 0. Does not compute a + b - 1, which could overflow.
template <class T>
__host__ __device__ constexpr T ceil_div(T a, T b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

struct LaunchShape {
  int64_t grid_x = 1;
  int64_t grid_y = 1;
  int64_t grid_z = 1;
  int block_x = 1;
  int block_y = 1;
  int64_t shared_bytes = 0;
  int cluster_x = 1;  // blocks of a cluster, which divide grid_x; more than one need sm_90
};

// Blocks of `block` threads that process `items` items, `per_thread` of them in each thread.
inline LaunchShape flat_shape(int64_t items, int block, int per_thread = 1) {
  return {.grid_x = ceil_div<int64_t>(items, int64_t{block} * per_thread), .block_x = block};
}

// Rejects a grid that exceeds CUDA's limits. launch() calls it. An operation that enqueues other work before
// its kernel calls it first.
inline Status check_grid(const char* name, const LaunchShape& shape) {
  if (shape.grid_x <= INT32_MAX && shape.grid_y <= 65535 && shape.grid_z <= 65535) return {};
  return bad_argument(name, ": the grid ", shape.grid_x, " x ", shape.grid_y, " x ", shape.grid_z,
                      " is beyond 2147483647 x 65535 x 65535; split the problem");
}

// Loads `kernel` on the current device. CUDA loads a kernel at its first launch on a device, and that load
// may wait until the device is idle. A kernel that is launched while other work may be blocked must therefore
// be loaded earlier. load() itself may wait too.
//
// load() and launch() are hidden: each of two shared libraries with a copy of Rondo inside has a CUDA runtime
// of its own, which does not have the kernels of the other.
template <class... Parameters>
[[gnu::visibility("hidden")]] Status load(const char* name, void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
  return error == cudaSuccess ? Status() : from_cuda(error, concat("loading the kernel ", name));
}

// Starts `kernel` on `stream`. A grid with a zero side means an empty problem: nothing is launched.
template <class... Parameters>
[[gnu::visibility("hidden")]] Status launch(const char* name, const LaunchShape& shape, cudaStream_t stream,
                                            void (*kernel)(Parameters...),
                                            std::type_identity_t<Parameters>... arguments) {
  if (shape.grid_x == 0 || shape.grid_y == 0 || shape.grid_z == 0) return {};
  RONDO_RETURN_IF_ERROR(check_grid(name, shape));
  constexpr int64_t kWithoutOptIn = 48 << 10;
  if (shape.shared_bytes > kWithoutOptIn) {
    const cudaError_t error = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                   cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   static_cast<int>(shape.shared_bytes));
    if (error != cudaSuccess)
      return from_cuda(error, concat(name, ": ", shape.shared_bytes, " bytes of shared memory per block"));
  }

  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(shape.grid_x), static_cast<unsigned>(shape.grid_y),
                        static_cast<unsigned>(shape.grid_z));
  config.blockDim = dim3(static_cast<unsigned>(shape.block_x), static_cast<unsigned>(shape.block_y), 1);
  config.dynamicSmemBytes = static_cast<size_t>(shape.shared_bytes);
  config.stream = stream;
  cudaLaunchAttribute cluster = {};
  if (shape.cluster_x > 1) {
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(shape.cluster_x), 1, 1};
    config.attrs = &cluster;
    config.numAttrs = 1;
  }
  LaunchObserver* const observer = LaunchObserver::current;
  if (observer) observer->before_launch(name, stream);
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (observer) observer->after_launch();
  if (error == cudaSuccess) return {};
  return from_cuda(error, concat(name, ", ", shape.grid_x, " x ", shape.grid_y, " x ", shape.grid_z,
                                 " blocks of ", shape.block_x * shape.block_y, " threads, ",
                                 shape.shared_bytes, " bytes of shared memory",
                                 shape.cluster_x > 1 ? concat(", clusters of ", shape.cluster_x, " blocks")
                                                     : std::string()));
}

}  // namespace rondo

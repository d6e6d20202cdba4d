#include <rondo/tools/rondo/links/copy_kernel.h>
#include <rondo/kernels/core/launch.cuh>

namespace rondo::program {
namespace {

constexpr int kThreads = 256;
constexpr int kPacks = 4;  // per thread: all loads are issued before the first is used
static_assert(kThreads * kPacks * sizeof(float4) == kCopyMultiple);

__global__ void __launch_bounds__(kThreads)
    copy_kernel(float4* __restrict__ to, const float4* __restrict__ from) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads * kPacks + threadIdx.x;
  float4 packs[kPacks];
#pragma unroll
  for (int i = 0; i < kPacks; ++i) packs[i] = from[first + i * kThreads];
#pragma unroll
  for (int i = 0; i < kPacks; ++i) to[first + i * kThreads] = packs[i];
}

}  // namespace

Status copy_by_kernel(void* to, const void* from, int64_t bytes, cudaStream_t stream) {
  return launch("copy", {.grid_x = bytes / kCopyMultiple, .block_x = kThreads}, stream, copy_kernel,
                static_cast<float4*>(to), static_cast<const float4*>(from));
}

}  // namespace rondo::program

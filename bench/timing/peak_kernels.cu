// Each thread moves kPerThread float4 at a distance of one block width. A warp's accesses are contiguous, and
// all loads of a thread are issued before the first value is used.

#include <rondo/bench/timing/peak_kernels.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/vec.cuh>

#include <cmath>

namespace rondo::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;
static_assert(kThreads * kPerThread * 4 == kStreamMultiple);

// Enough chains to hide the latency of a multiply-add: half of a CPU's vector registers, or 64 registers of a
// GPU.
constexpr int kFmaLanes = kVectorRegisters.count > 0 ? kVectorRegisters.lanes : 4;
constexpr int kFmaRegisters = kVectorRegisters.count > 0 ? kVectorRegisters.count / 2 : 16;

__global__ void __launch_bounds__(kThreads)
    copy_kernel(float4* __restrict__ to, const float4* __restrict__ from) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads * kPerThread + threadIdx.x;
  float4 values[kPerThread];
  for (int v = 0; v < kPerThread; ++v) values[v] = from[first + v * kThreads];
  for (int v = 0; v < kPerThread; ++v) to[first + v * kThreads] = values[v];
}

__global__ void __launch_bounds__(kThreads)
    triad_kernel(float4* __restrict__ to, const float4* __restrict__ a, const float4* __restrict__ b,
                 float factor) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads * kPerThread + threadIdx.x;
  float4 x[kPerThread], y[kPerThread];
  for (int v = 0; v < kPerThread; ++v) {
    x[v] = a[first + v * kThreads];
    y[v] = b[first + v * kThreads];
  }
  for (int v = 0; v < kPerThread; ++v)
    to[first + v * kThreads] = make_float4(fmaf(factor, y[v].x, x[v].x), fmaf(factor, y[v].y, x[v].y),
                                           fmaf(factor, y[v].z, x[v].z), fmaf(factor, y[v].w, x[v].w));
}

__global__ void __launch_bounds__(kThreads)
    read_kernel(float* __restrict__ sums, const float4* __restrict__ from) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads * kPerThread + threadIdx.x;
  float sum = 0;
  for (int v = 0; v < kPerThread; ++v) {
    const float4 value = from[first + v * kThreads];
    sum += (value.x + value.y) + (value.z + value.w);
  }
  // The lanes of a warp are added first: one store per thread would be a sixteenth of the traffic.
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (threadIdx.x % 32 == 0) sums[(static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x) / 32] = sum;
}

__global__ void __launch_bounds__(kFmaThreads) fma_kernel(float* __restrict__ sums, int length) {
  using Chains = Vec<kFmaLanes>;
  Chains chains[kFmaRegisters], half = Chains::zero();
  for (int j = 0; j < kFmaLanes; ++j) half.set(j, 0.5f);
  for (int i = 0; i < kFmaRegisters; ++i)
    for (int j = 0; j < kFmaLanes; ++j) chains[i].set(j, static_cast<float>(threadIdx.x + i + j));
  // Converges to 2 from any start value: no overflow, no denormal numbers.
  for (int step = 0; step < length; ++step) {
    RONDO_UNROLL
    for (int i = 0; i < kFmaRegisters; ++i) {
      chains[i].scale(0.75f);
      chains[i].add(half);
    }
  }
  float sum = 0;
  for (int i = 0; i < kFmaRegisters; ++i)
    for (int j = 0; j < kFmaLanes; ++j) sum += chains[i][j];
  sums[static_cast<int64_t>(blockIdx.x) * kFmaThreads + threadIdx.x] = sum;
}

__global__ void nothing_kernel() {}

LaunchShape stream_shape(int64_t size) { return {.grid_x = size / kStreamMultiple, .block_x = kThreads}; }

const float4* vectors(VectorView<const float> view) { return reinterpret_cast<const float4*>(view.data); }
float4* vectors(VectorView<float> view) { return reinterpret_cast<float4*>(view.data); }

Status check_stream(const char* name, int64_t size, int64_t other) {
  if (size != other) return bad_argument(name, ": sizes ", size, " and ", other, " must be equal");
  if (size % kStreamMultiple != 0)
    return bad_argument(name, ": size ", size, " must be a multiple of ", kStreamMultiple);
  return {};
}

}  // namespace

Status stream_copy(VectorView<float> to, VectorView<const float> from, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_stream("stream_copy", to.size, from.size));
  return launch("stream_copy", stream_shape(to.size), stream, copy_kernel, vectors(to), vectors(from));
}

Status stream_triad(VectorView<float> to, VectorView<const float> a, VectorView<const float> b, float factor,
                    cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_stream("stream_triad", to.size, a.size));
  RONDO_RETURN_IF_ERROR(check_stream("stream_triad", to.size, b.size));
  return launch("stream_triad", stream_shape(to.size), stream, triad_kernel, vectors(to), vectors(a),
                vectors(b), factor);
}

int64_t stream_read_sums(int64_t size) { return size / (kPerThread * 4 * 32); }

Status stream_read(VectorView<float> sums, VectorView<const float> from, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_stream("stream_read", from.size, from.size));
  if (sums.size != stream_read_sums(from.size))
    return bad_argument("stream_read: sums.size is ", sums.size, ", must be ", stream_read_sums(from.size));
  return launch("stream_read", stream_shape(from.size), stream, read_kernel, sums.data, vectors(from));
}

int fma_chains_per_thread() { return kFmaRegisters * kFmaLanes; }

Status fma_chains(VectorView<float> sums, int64_t blocks, int length, cudaStream_t stream) {
  if (sums.size != blocks * kFmaThreads)
    return bad_argument("fma_chains: sums.size is ", sums.size, ", must be ", blocks * kFmaThreads);
  return launch("fma_chains", {.grid_x = blocks, .block_x = kFmaThreads}, stream, fma_kernel, sums.data,
                length);
}

Status empty_kernel(cudaStream_t stream) { return launch("empty_kernel", {}, stream, nothing_kernel); }

}  // namespace rondo::bench

// Two features of compute capability 9.0 and newer, measured before use: programmatic dependent launch (a
// kernel starts while the previous one ends), and vector reductions in global memory.

#include <rondo/bench/support/bench.h>
#include <rondo/bench/timing/row.h>
#include <rondo/kernels/core/launch.cuh>

#include <cmath>
#include <vector>

namespace rondo::bench {
namespace {

// On an older GPU, reports this and measures nothing.
bool has_sm90(benchmark::State& state) {
  int major = 0;
  RONDO_CUDA_THROW(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major < 9) state.SkipWithError("needs compute capability 9.0");
  return major >= 9;
}

// Increments a counter after the previous kernel has finished: the smallest kernel that depends on another.
template <bool Programmatic>
__global__ void chained_kernel(int* counter) {
  if constexpr (Programmatic) {
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
  }
  if (threadIdx.x == 0) ++*counter;
}

template <bool Programmatic>
Status enqueue_chained(int* counter, cudaStream_t stream) {
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = Programmatic ? 1 : 0;
  return from_cuda(cudaLaunchKernelEx(&config, chained_kernel<Programmatic>, counter), "chained kernel");
}

// The time per node of a graph of dependent kernels.
template <bool Programmatic>
void chained_graph_node(benchmark::State& state) {
  if (!has_sm90(state)) return;
  constexpr int kNodes = 1000;
  Buffer<int> counter(std::vector<int>{0});
  Stream stream;
  Row row(
      stream, [&](cudaStream_t s) { return enqueue_chained<Programmatic>(counter.data(), s); }, kNodes);
  row.launch(stream);
  stream.synchronize();
  if (counter.download()[0] != kNodes) return state.SkipWithError("kernels of the chain overtook each other");
  IterationTimes times(state, kNodes);
  while (times.keep_running()) times.add(seconds_of(stream, [&](cudaStream_t s) { row.launch(s); }) / kNodes);
  times.finish();
}
BENCHMARK(chained_graph_node<false>)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(chained_graph_node<true>)->UseManualTime()->Unit(benchmark::kMicrosecond);

// Every block adds its own 62,000 floats (for example the filter gradients of LeNet) to the same memory. The
// order of these sums is not fixed, so Rondo does not use them for results. This measures their cost.
constexpr int kThreads = 256;
constexpr int kFloats = 62000;

__global__ void __launch_bounds__(kThreads) add_vectors_kernel(float4* sums) {
  for (int i = threadIdx.x; i < kFloats / 4; i += kThreads) atomicAdd(&sums[i], make_float4(1, 1, 1, 1));
}

__global__ void __launch_bounds__(kThreads) add_scalars_kernel(float* sums) {
  for (int i = threadIdx.x; i < kFloats; i += kThreads) atomicAdd(&sums[i], 1.0f);
}

// The alternative with a fixed order: every block writes its part, and a second kernel adds the parts.
__global__ void __launch_bounds__(kThreads) write_parts_kernel(float4* parts) {
  float4* own = parts + static_cast<int64_t>(blockIdx.x) * (kFloats / 4);
  for (int i = threadIdx.x; i < kFloats / 4; i += kThreads) own[i] = make_float4(1, 1, 1, 1);
}

__global__ void __launch_bounds__(kThreads) sum_parts_kernel(float* sums, const float* parts, int count) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i >= kFloats) return;
  float sum = 0;
  for (int part = 0; part < count; ++part) sum += parts[static_cast<int64_t>(part) * kFloats + i];
  sums[i] += sum;
}

enum class Way { vectors, scalars, parts };

void add_up_62k_floats(benchmark::State& state, Way way) {
  cudaDeviceProp device;
  RONDO_CUDA_THROW(cudaGetDeviceProperties(&device, 0));
  const int blocks = device.multiProcessorCount;
  Buffer<float> sums(std::vector<float>(kFloats, 0.0f));
  Buffer<float> parts(way == Way::parts ? int64_t{blocks} * kFloats : 0);
  const LaunchShape shape = {.grid_x = blocks, .block_x = kThreads};
  const auto work = [&](cudaStream_t stream) -> Status {
    switch (way) {
      case Way::vectors:
        return launch("add_vectors", shape, stream, add_vectors_kernel,
                      reinterpret_cast<float4*>(sums.data()));
      case Way::scalars:
        return launch("add_scalars", shape, stream, add_scalars_kernel, sums.data());
      case Way::parts:
        RONDO_RETURN_IF_ERROR(launch("write_parts", shape, stream, write_parts_kernel,
                                     reinterpret_cast<float4*>(parts.data())));
        return launch("sum_parts", {.grid_x = ceil_div(kFloats, kThreads), .block_x = kThreads}, stream,
                      sum_parts_kernel, sums.data(), parts.data(), blocks);
    }
    return {};
  };
  run_once(work);
  for (float sum : sums.download())
    if (sum != static_cast<float>(blocks)) return state.SkipWithError("a sum is wrong");
  time_device_work(state, Cache::hot, {.flops = double{kFloats} * blocks}, Bound{}, work);
}
BENCHMARK_CAPTURE(add_up_62k_floats, vectors, Way::vectors)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(add_up_62k_floats, scalars, Way::scalars)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(add_up_62k_floats, parts, Way::parts)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rondo::bench

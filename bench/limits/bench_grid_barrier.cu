// The cost of a barrier over all blocks of a grid with one block per multiprocessor: the price of one kernel
// that does the work of several. It needs concurrent blocks that may spin, so it is for GPUs only.
//
// The barrier is a counter in global memory. Each block adds one with release order, then reads with acquire
// order until all blocks have added. The counter is never reset; the target increases instead. CUDA's
// grid.sync() is timed for comparison.

#include <cooperative_groups.h>
#include <cuda/atomic>

#include <rondo/bench/support/bench.h>
#include <rondo/kernels/core/launch.cuh>

#include <vector>

namespace rondo::bench {
namespace {

constexpr int kThreads = 256;
constexpr int kBarriers = 200;

struct OwnBarrier {
  unsigned* counter;

  __device__ void wait(int number) const {
    __syncthreads();
    if (threadIdx.x == 0) {
      cuda::atomic_ref<unsigned, cuda::thread_scope_device> arrived(*counter);
      const unsigned target = gridDim.x * static_cast<unsigned>(number + 1);
      arrived.fetch_add(1, cuda::memory_order_release);
      while (arrived.load(cuda::memory_order_acquire) < target) {
      }
    }
    __syncthreads();
  }
};

struct CooperativeBarrier {
  unsigned* counter;  // not used by CUDA's barrier

  __device__ void wait(int) const { cooperative_groups::this_grid().sync(); }
};

// In each round every block publishes the round number, waits at the barrier and reads its neighbour's
// number. If the barrier lets a block through too early, the number is wrong.
template <class Barrier>
__global__ void __launch_bounds__(kThreads)
    rounds_kernel(Barrier barrier, volatile int* published, int* errors) {
  const unsigned neighbour = (blockIdx.x + 1) % gridDim.x;
  for (int round = 0; round < kBarriers / 2; ++round) {
    if (threadIdx.x == 0) published[blockIdx.x] = round;
    barrier.wait(2 * round);
    if (threadIdx.x == 0 && published[neighbour] != round) atomicAdd(errors, 1);
    barrier.wait(2 * round + 1);
  }
}

template <class Barrier>
void grid_barrier(benchmark::State& state) {
  cudaDeviceProp device;
  RONDO_CUDA_THROW(cudaGetDeviceProperties(&device, 0));
  const int blocks = device.multiProcessorCount;
  Buffer<int> published(blocks);
  Buffer<unsigned> counter(1);
  Buffer<int> errors(std::vector<int>{0});

  // If not all blocks fit at once, a cooperative launch returns an error instead of hanging.
  cudaLaunchAttribute cooperative = {};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(kThreads);
  config.attrs = &cooperative;
  config.numAttrs = 1;

  Stream stream;
  config.stream = stream;
  IterationTimes times(state, kBarriers);
  while (times.keep_running()) {
    RONDO_CUDA_THROW(cudaMemsetAsync(counter.data(), 0, sizeof(unsigned), stream));
    const double seconds = seconds_of(stream, [&](cudaStream_t) {
      RONDO_CUDA_THROW(cudaLaunchKernelEx(&config, rounds_kernel<Barrier>, Barrier{counter.data()},
                                          static_cast<volatile int*>(published.data()), errors.data()));
    });
    times.add(seconds / kBarriers);
  }
  times.finish();
  if (errors.download()[0] != 0) return state.SkipWithError("a block passed the barrier too early");
  state.counters["blocks"] = blocks;
}
BENCHMARK(grid_barrier<OwnBarrier>)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(grid_barrier<CooperativeBarrier>)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace rondo::bench

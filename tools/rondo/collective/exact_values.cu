#include <rondo/kernels/core/launch.cuh>
#include <rondo/tools/rondo/collective/exact_values.cuh>

namespace rondo::program {
namespace {

constexpr int kThreads = 256;
constexpr int kElements = 8;  // per thread

LaunchShape shape_of(int64_t size) {
  return {.grid_x = ceil_div<int64_t>(size, kThreads * kElements), .block_x = kThreads};
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    fill_kernel(T* data, int64_t size, const __grid_constant__ ExactPlan plan, int rank) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads * kElements + threadIdx.x;
  for (int64_t i = first; i < first + kThreads * kElements && i < size; i += kThreads)
    data[i] = exact::input<T>(plan, rank, i);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    count_kernel(unsigned long long* wrong, const T* output, int64_t size,
                 const __grid_constant__ ExactPlan plan, const __grid_constant__ Origin origin) {
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads * kElements + threadIdx.x;
  unsigned long long mine = 0;
  for (int64_t i = first; i < first + kThreads * kElements && i < size; i += kThreads) {
    const int64_t index = origin.first_index + i % origin.block;
    const T want = plan.kind == ExactKind::moved
                       ? exact::input<T>(plan, origin.first_rank + static_cast<int>(i / origin.block), index)
                       : exact::result<T>(plan, index);
    mine += exact::differs(output[i], want) ? 1 : 0;
  }
  if (mine > 0) atomicAdd(wrong, mine);
}

}  // namespace

Status fill_exact(DataView data, const ExactData& exact, int rank, cudaStream_t stream) {
  return visit(data.dtype, [&](auto element) {
    using T = decltype(element);
    return launch("fill", shape_of(data.size), stream, fill_kernel<T>, static_cast<T*>(data.data), data.size,
                  plan_of<T>(exact), rank);
  });
}

Status count_wrong(unsigned long long* wrong, ConstDataView output, const ExactData& exact,
                   const Origin& origin, cudaStream_t stream) {
  return visit(output.dtype, [&](auto element) {
    using T = decltype(element);
    return launch("count wrong", shape_of(output.size), stream, count_kernel<T>, wrong,
                  static_cast<const T*>(output.data), output.size, plan_of<T>(exact), origin);
  });
}

}  // namespace rondo::program

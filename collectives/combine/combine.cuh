// The kernel behind combine(), for one type. Each type is instantiated in a file of its own, combine_*.cu.
//
// As in elementwise.cuh the data is cut at the 16-byte boundaries of memory: a thread takes packs of 16 bytes
// where all pointers lie alike towards the boundaries, and single elements at the ends and elsewhere. Each
// element is read once from every input and written once to every output, and nothing else is moved: that is
// the whole traffic of a direct all-reduce.
#pragma once

#include <rondo/collectives/combine/combine.h>
#include <rondo/collectives/combine/arithmetic.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>

namespace rondo {
namespace detail {

constexpr int kCombineThreads = 256;
constexpr int kPacksPerThread = 4;

// N elements of any type, in as many 16-byte accesses as they need.
template <int N, class T>
struct Elements {
  static constexpr int kWidth = N * sizeof(T) <= 16 ? N : 16 / static_cast<int>(sizeof(T));
  T v[N];

  __device__ __forceinline__ void load(const T* from) {
#pragma unroll
    for (int i = 0; i < N; i += kWidth) {
      const Pack<T, kWidth> pack = load_pack<kWidth>(from + i);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) v[i + j] = pack.v[j];
    }
  }
  __device__ __forceinline__ void store(T* to) const {
#pragma unroll
    for (int i = 0; i < N; i += kWidth) {
      Pack<T, kWidth> pack;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) pack.v[j] = v[i + j];
      store_pack(to + i, pack);
    }
  }
};

template <class T, Reduction R, int N>
struct Combiner {
  using Math = Arithmetic<T, R>;
  using Accumulator = typename Math::Accumulator;
  using Sums = Elements<N, Accumulator>;

  static __device__ __forceinline__ Sums load(const Combination& c, int input, int64_t begin) {
    Elements<N, T> x;
    x.load(static_cast<const T*>(c.in[input]) + begin);
    Sums wide;
#pragma unroll
    for (int j = 0; j < N; ++j) wide.v[j] = Math::widen(x.v[j]);
    return wide;
  }
  static __device__ __forceinline__ void add(Sums& sums, const Sums& more) {
#pragma unroll
    for (int j = 0; j < N; ++j) sums.v[j] = Math::combine(sums.v[j], more.v[j]);
  }

  static __device__ __forceinline__ Sums left_to_right(const Combination& c, int64_t begin) {
    Sums sums = {};
    int input = 0;
    if (c.partial_in)
      sums.load(static_cast<const Accumulator*>(c.partial_in) + begin);
    else
      sums = load(c, input++, begin);
    for (; input < c.inputs; ++input) add(sums, load(c, input, begin));
    return sums;
  }

  // A binary counter: level k holds the sum of 2^k neighbours, or nothing where bit k of the number of inputs
  // taken so far is 0.
  static __device__ __forceinline__ Sums balanced_tree(const Combination& c, int64_t begin) {
    constexpr int kLevels = 7;  // 2^6 = kMaxRanks
    static_assert(1 << (kLevels - 1) == kMaxRanks);
    Sums level[kLevels] = {};
    for (int input = 0; input < c.inputs; ++input) {
      Sums carry = load(c, input, begin);
      bool carrying = true;
#pragma unroll
      for (int k = 0; k < kLevels; ++k) {
        if (!carrying) continue;
        if (input >> k & 1) {
          add(level[k], carry);
          carry = level[k];
        } else {
          level[k] = carry;
          carrying = false;
        }
      }
    }
    Sums sums = {};
    bool first = true;  // the smallest subtree, which stands furthest to the right
#pragma unroll
    for (int k = 0; k < kLevels; ++k) {
      if (!(c.inputs >> k & 1)) continue;
      if (!first) add(level[k], sums);
      sums = level[k];
      first = false;
    }
    return sums;
  }

  template <SumOrder Order>
  static __device__ __forceinline__ void run(const Combination& c, int64_t begin) {
    const Sums sums = Order == SumOrder::balanced_tree ? balanced_tree(c, begin) : left_to_right(c, begin);
    if (c.partial_out) return sums.store(static_cast<Accumulator*>(c.partial_out) + begin);
    Elements<N, T> result;
#pragma unroll
    for (int j = 0; j < N; ++j) result.v[j] = Math::finish(sums.v[j], c.divisor);
    for (int output = 0; output < c.outputs; ++output) result.store(static_cast<T*>(c.out[output]) + begin);
  }
};

template <class T, Reduction R, SumOrder Order>
__global__ void __launch_bounds__(kCombineThreads)
    combine_kernel(const __grid_constant__ Combination c, int lead, bool packed) {
  constexpr int kWidth = 16 / sizeof(T);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kCombineThreads * kPacksPerThread) + threadIdx.x;
  for (int pack = 0; pack < kPacksPerThread; ++pack) {
    const int64_t begin = (first + pack * kCombineThreads) * kWidth - lead;
    if (packed && begin >= 0 && begin + kWidth <= c.size) {
      Combiner<T, R, kWidth>::template run<Order>(c, begin);
    } else {
      for (int j = 0; j < kWidth; ++j)
        if (begin + j >= 0 && begin + j < c.size) Combiner<T, R, 1>::template run<Order>(c, begin + j);
    }
  }
}

template <class T>
int64_t elements_past_boundary(const void* data) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % 16 / sizeof(T));
}

// Whether a partial result lies so that packs of it begin at a boundary where packs of the data do.
template <class T, class Accumulator>
bool lies_alike(const void* partial, int64_t lead) {
  if (!partial) return true;
  return (reinterpret_cast<uintptr_t>(partial) - static_cast<uintptr_t>(lead) * sizeof(Accumulator)) % 16 ==
         0;
}

template <class T, Reduction R>
Status launch_combine(const char* operation, SumOrder order, const Combination& c, cudaStream_t stream) {
  using Accumulator = typename Arithmetic<T, R>::Accumulator;
  const int64_t lead = elements_past_boundary<T>(c.inputs > 0 ? c.in[0] : c.out[0]);
  bool packed =
      lies_alike<T, Accumulator>(c.partial_in, lead) && lies_alike<T, Accumulator>(c.partial_out, lead);
  for (int i = 0; i < c.inputs; ++i) packed = packed && elements_past_boundary<T>(c.in[i]) == lead;
  for (int i = 0; i < c.outputs; ++i) packed = packed && elements_past_boundary<T>(c.out[i]) == lead;
  LaunchShape shape;
  shape.block_x = kCombineThreads;
  constexpr int64_t kElementsPerBlock = 16 / sizeof(T) * kCombineThreads * kPacksPerThread;
  shape.grid_x = c.size == 0 ? 0 : ceil_div(c.size + lead, kElementsPerBlock);
  // The order of additions matters to floats only.
  if constexpr (!std::is_integral_v<Accumulator> && R != Reduction::min && R != Reduction::max)
    if (order == SumOrder::balanced_tree)
      return launch(operation, shape, stream, combine_kernel<T, R, SumOrder::balanced_tree>, c,
                    static_cast<int>(lead), packed);
  return launch(operation, shape, stream, combine_kernel<T, R, SumOrder::left_to_right>, c,
                static_cast<int>(lead), packed);
}

}  // namespace detail

template <class T>
Status combine_of(const char* operation, Reduction reduction, SumOrder order, const Combination& c,
                  cudaStream_t stream) {
  switch (reduction) {
    case Reduction::product:
      return detail::launch_combine<T, Reduction::product>(operation, order, c, stream);
    case Reduction::min:
      return detail::launch_combine<T, Reduction::min>(operation, order, c, stream);
    case Reduction::max:
      return detail::launch_combine<T, Reduction::max>(operation, order, c, stream);
    case Reduction::average:
      return detail::launch_combine<T, Reduction::average>(operation, order, c, stream);
    case Reduction::sum:
      break;
  }
  return detail::launch_combine<T, Reduction::sum>(operation, order, c, stream);
}

}  // namespace rondo

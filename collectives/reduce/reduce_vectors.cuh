// The kernel of reduce_vectors() for one type. Each type is instantiated in its own file, reduce_<type>.cu.
//
// As in elementwise.cuh, the data is cut at the 16-byte boundaries of memory. A thread processes packs of 16
// bytes if all pointers have the same offset from the boundaries; otherwise, and at the ends, single
// elements. Each element is read once from every input and written once to every output. That is the whole
// traffic of a direct all-reduce.
//
// A thread's kPacksPerThread packs are 512 bytes apart, and those of a warp are contiguous in each round. GPU
// loads are whole cache lines either way. On the CPU executor, which runs one thread after the other, a
// thread then touches one page of each vector and different sets of the cache.
#pragma once

#include <rondo/collectives/reduce/reduce_vectors.h>
#include <rondo/collectives/reduce/arithmetic.cuh>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/core/slots.cuh>

#include <bit>
#include <type_traits>

namespace rondo {
namespace detail {

constexpr int kReduceThreads = 256;
constexpr int kPacksPerThread = 4;
constexpr int kFewVectors = 8;
constexpr int kWarp = 32;

// N elements of any type, moved in as few 16-byte accesses as possible.
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

// ReduceArguments with room for fewer vectors, as a kernel argument. Most launches have few vectors, and
// arguments have a cost: a GPU reads them for every block, and the CPU executor copies them for every thread.
template <int Capacity>
struct Operands {
  static constexpr int kLevels =
      std::bit_width(static_cast<unsigned>(Capacity));  // levels of a tree over the inputs

  explicit Operands(const ReduceArguments& c)
      : inputs(c.inputs),
        outputs(c.outputs),
        divisor(c.divisor),
        size(c.size),
        partial_in(c.partial_in),
        partial_out(c.partial_out) {
    for (int i = 0; i < inputs; ++i) in[i] = c.in[i];
    for (int i = 0; i < outputs; ++i) out[i] = c.out[i];
  }

  int inputs, outputs, divisor;
  int64_t size;
  const void* partial_in;
  void* partial_out;
  const void* in[Capacity] = {};
  void* out[Capacity] = {};
};

template <class T, Reduction R, int N, class Vectors>
struct Reducer {
  using Math = Arithmetic<T, R>;
  using Accumulator = typename Math::Accumulator;
  using Sums = Elements<N, Accumulator>;

  static __device__ __forceinline__ Sums load(const Vectors& c, int input, int64_t begin) {
    Elements<N, T> x;
    x.load(static_cast<const T*>(c.in[input]) + begin);
    Sums wide;
#pragma unroll
    for (int j = 0; j < N; ++j) wide.v[j] = Math::widen(x.v[j]);
    return wide;
  }
  static __device__ __forceinline__ void add(Sums& sums, const Sums& more) {
#pragma unroll
    for (int j = 0; j < N; ++j) sums.v[j] = Math::add(sums.v[j], more.v[j]);
  }

  static __device__ __forceinline__ Sums left_to_right(const Vectors& c, int64_t begin) {
    Sums sums = {};
    int input = 0;
    if (c.partial_in)
      sums.load(static_cast<const Accumulator*>(c.partial_in) + begin);
    else
      sums = load(c, input++, begin);
    for (; input < c.inputs; ++input) add(sums, load(c, input, begin));
    return sums;
  }

  // A binary counter: level k holds the sum of 2^k consecutive inputs if bit k of the number of inputs read
  // so far is set; otherwise it is empty.
  static __device__ __forceinline__ Sums balanced_tree(const Vectors& c, int64_t begin) {
    constexpr int kLevels = Vectors::kLevels;
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
    bool first = true;  // the smallest subtree, which is the rightmost
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
  static __device__ __forceinline__ void run(const Vectors& c, int64_t begin) {
    const Sums sums = Order == SumOrder::balanced_tree ? balanced_tree(c, begin) : left_to_right(c, begin);
    if (c.partial_out) return sums.store(static_cast<Accumulator*>(c.partial_out) + begin);
    Elements<N, T> result;
#pragma unroll
    for (int j = 0; j < N; ++j) result.v[j] = Math::finish(sums.v[j], c.divisor);
    for (int output = 0; output < c.outputs; ++output) result.store(static_cast<T*>(c.out[output]) + begin);
  }
};

// Minimum blocks per multiprocessor, which limits the registers. 0: ptxas decides. Its own choice takes so
// many registers that it spills: on compute capability 10.0 for 16 elements per pack, on 8.6 and 8.9 for
// averages of floats.
template <class T, Reduction R, SumOrder Order>
constexpr int least_blocks() {
  if (sizeof(T) == 1) return 2;
  if (std::is_same_v<T, float> && R == Reduction::average && Order == SumOrder::left_to_right) return 4;
  return 0;
}

template <class T, Reduction R, SumOrder Order, class Vectors>
__global__ void __launch_bounds__(kReduceThreads, (least_blocks<T, R, Order>()))
    reduce_kernel(const __grid_constant__ Vectors c, int lead, bool packed) {
  constexpr int kWidth = 16 / sizeof(T);
  const int64_t warp = static_cast<int64_t>(blockIdx.x) * (kReduceThreads / kWarp) + threadIdx.x / kWarp;
  const int64_t first = warp * (kWarp * kPacksPerThread) + threadIdx.x % kWarp;
  for (int pack = 0; pack < kPacksPerThread; ++pack) {
    const int64_t begin = (first + pack * kWarp) * kWidth - lead;
    slots::visit<kWidth>(
        begin, c.size, packed, [&] { Reducer<T, R, kWidth, Vectors>::template run<Order>(c, begin); },
        [&](int64_t i) { Reducer<T, R, 1, Vectors>::template run<Order>(c, i); });
  }
}

template <class T>
int64_t lead_of(const void* data) {
  return slots::lead_of(static_cast<const T*>(data));
}

// Whether packs of a partial result begin at a 16-byte boundary where packs of the data do.
template <class Accumulator>
bool has_same_boundaries(const void* partial, int64_t lead) {
  if (!partial) return true;
  return (reinterpret_cast<uintptr_t>(partial) - static_cast<uintptr_t>(lead) * sizeof(Accumulator)) % 16 ==
         0;
}

// The order of additions matters only for floats.
template <class T, Reduction R, class Vectors>
auto kernel_of(SumOrder order) {
  using Accumulator = typename Arithmetic<T, R>::Accumulator;
  if constexpr (!std::is_integral_v<Accumulator> && R != Reduction::min && R != Reduction::max)
    if (order == SumOrder::balanced_tree) return reduce_kernel<T, R, SumOrder::balanced_tree, Vectors>;
  return reduce_kernel<T, R, SumOrder::left_to_right, Vectors>;
}

template <class T, Reduction R, class Vectors>
Status launch_reduce(const char* operation, SumOrder order, const Vectors& c, cudaStream_t stream) {
  using Accumulator = typename Arithmetic<T, R>::Accumulator;
  const int64_t lead = lead_of<T>(c.inputs > 0 ? c.in[0] : c.out[0]);
  bool packed = has_same_boundaries<Accumulator>(c.partial_in, lead) &&
                has_same_boundaries<Accumulator>(c.partial_out, lead);
  for (int i = 0; i < c.inputs; ++i) packed = packed && lead_of<T>(c.in[i]) == lead;
  for (int i = 0; i < c.outputs; ++i) packed = packed && lead_of<T>(c.out[i]) == lead;
  constexpr int kPerThread = 16 / sizeof(T) * kPacksPerThread;
  const LaunchShape shape = flat_shape(c.size == 0 ? 0 : c.size + lead, kReduceThreads, kPerThread);
  return launch(operation, shape, stream, kernel_of<T, R, Vectors>(order), c, static_cast<int>(lead), packed);
}

template <class T, Reduction R>
Status launch_reduce(const char* operation, SumOrder order, const ReduceArguments& c, cudaStream_t stream) {
  if (c.inputs <= kFewVectors && c.outputs <= kFewVectors)
    return launch_reduce<T, R>(operation, order, Operands<kFewVectors>(c), stream);
  return launch_reduce<T, R>(operation, order, Operands<kMaxRanks>(c), stream);
}

template <class T, Reduction R>
Status load_reduce() {
  for (const SumOrder order : {SumOrder::left_to_right, SumOrder::balanced_tree}) {
    RONDO_RETURN_IF_ERROR(load("reduce_vectors", kernel_of<T, R, Operands<kFewVectors>>(order)));
    RONDO_RETURN_IF_ERROR(load("reduce_vectors", kernel_of<T, R, Operands<kMaxRanks>>(order)));
  }
  return {};
}

}  // namespace detail

template <class T>
Status reduce_of(const char* operation, Reduction reduction, SumOrder order, const ReduceArguments& c,
                 cudaStream_t stream) {
  switch (reduction) {
    case Reduction::product:
      return detail::launch_reduce<T, Reduction::product>(operation, order, c, stream);
    case Reduction::min:
      return detail::launch_reduce<T, Reduction::min>(operation, order, c, stream);
    case Reduction::max:
      return detail::launch_reduce<T, Reduction::max>(operation, order, c, stream);
    case Reduction::average:
      return detail::launch_reduce<T, Reduction::average>(operation, order, c, stream);
    case Reduction::sum:
      break;
  }
  return detail::launch_reduce<T, Reduction::sum>(operation, order, c, stream);
}

template <class T>
Status load_reduce_of() {
  RONDO_RETURN_IF_ERROR((detail::load_reduce<T, Reduction::sum>()));
  RONDO_RETURN_IF_ERROR((detail::load_reduce<T, Reduction::product>()));
  RONDO_RETURN_IF_ERROR((detail::load_reduce<T, Reduction::min>()));
  RONDO_RETURN_IF_ERROR((detail::load_reduce<T, Reduction::max>()));
  return detail::load_reduce<T, Reduction::average>();
}

}  // namespace rondo

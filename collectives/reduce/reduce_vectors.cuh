// The kernel behind reduce_vectors(), for one type. Each type is instantiated in a file of its own, reduce_*.cu.
//
// As in elementwise.cuh the data is cut at the 16-byte boundaries of memory: a thread takes packs of 16 bytes
// where all pointers lie alike towards the boundaries, and single elements at the ends and elsewhere. Each
// element is read once from every input and written once to every output, and nothing else is moved: that is
// the whole traffic of a direct all-reduce.
//
// A warp's packs are neighbours, kPacksPerThread times 512 bytes: as good as any for a GPU, whose loads are whole
// lines either way, and on the CPU executor, where one thread comes after the other, all that a thread touches of a
// vector lies in one page and in different sets of the cache.
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

// A ReduceArguments with room for fewer vectors, as a kernel's argument. Most launches have few, and arguments are not
// free: a GPU fetches them for every block, and the CPU executor copies them for every thread.
template <int Capacity>
struct Operands {
  static constexpr int kLevels =
      std::bit_width(static_cast<unsigned>(Capacity));  // of a tree over the inputs

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

  // A binary counter: level k holds the sum of 2^k neighbours, or nothing where bit k of the number of inputs
  // taken so far is 0.
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
  static __device__ __forceinline__ void run(const Vectors& c, int64_t begin) {
    const Sums sums = Order == SumOrder::balanced_tree ? balanced_tree(c, begin) : left_to_right(c, begin);
    if (c.partial_out) return sums.store(static_cast<Accumulator*>(c.partial_out) + begin);
    Elements<N, T> result;
#pragma unroll
    for (int j = 0; j < N; ++j) result.v[j] = Math::finish(sums.v[j], c.divisor);
    for (int output = 0; output < c.outputs; ++output) result.store(static_cast<T*>(c.out[output]) + begin);
  }
};

// Blocks of a multiprocessor for which ptxas must leave registers; 0: its own choice, which is too many, so
// that it spills, for 16 elements a pack on 10.0 and for averages of floats on 8.6 and 8.9.
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

// The order of additions matters to floats only.
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
  const int64_t lead = elements_past_boundary<T>(c.inputs > 0 ? c.in[0] : c.out[0]);
  bool packed =
      lies_alike<T, Accumulator>(c.partial_in, lead) && lies_alike<T, Accumulator>(c.partial_out, lead);
  for (int i = 0; i < c.inputs; ++i) packed = packed && elements_past_boundary<T>(c.in[i]) == lead;
  for (int i = 0; i < c.outputs; ++i) packed = packed && elements_past_boundary<T>(c.out[i]) == lead;
  LaunchShape shape;
  shape.block_x = kReduceThreads;
  constexpr int64_t kElementsPerBlock = 16 / sizeof(T) * kReduceThreads * kPacksPerThread;
  shape.grid_x = c.size == 0 ? 0 : ceil_div(c.size + lead, kElementsPerBlock);
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

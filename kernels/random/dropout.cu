// Each thread processes 16 bytes, the elements of one Philox block or of two. Blocks are numbered from the
// first element of the whole batch, so a block may span the boundary of two shards.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/random/dropout.h>
#include <rondo/kernels/random/philox.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/values.cuh>

namespace rondo {
namespace {

constexpr int kThreads = 256;

struct Dropout {
  uint64_t seed;
  uint32_t layer;
  const int64_t* step;
  float probability, factor;

  __device__ PhiloxBlock block(int64_t index) const {
    const uint64_t sequence = static_cast<uint64_t>(layer) << 32 | static_cast<uint32_t>(*step);
    return philox_block(seed, sequence, static_cast<uint64_t>(index));
  }
  __device__ float element(float x, uint32_t word) const {
    return static_cast<float>(word >> 8) * 0x1p-24f < probability ? 0.0f : x * factor;
  }
};

// The elements of a thread.
template <class T>
inline constexpr int kElements = 16 / sizeof(T);

template <class T>
__global__ void __launch_bounds__(kThreads)
    dropout_kernel(T* y, const T* x, int64_t size, int64_t first, bool packed, Dropout dropout) {
  constexpr int N = kElements<T>;
  const int64_t pack = first / N + static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t begin = N * pack - first;
  if (begin >= size) return;
  PhiloxBlock words[N / 4];
#pragma unroll
  for (int i = 0; i < N / 4; ++i) words[i] = dropout.block(pack * (N / 4) + i);
  if (packed && begin >= 0 && begin + N <= size) {
    auto values = load_values<N>(x + begin);
#pragma unroll
    for (int k = 0; k < N; ++k) values.v[k] = dropout.element(values.v[k], words[k / 4].v[k % 4]);
    store_values<N>(y + begin, values);
  } else {
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (begin + k >= 0 && begin + k < size)
        y[begin + k] =
            static_cast<T>(dropout.element(static_cast<float>(x[begin + k]), words[k / 4].v[k % 4]));
  }
}

}  // namespace

template <ValueType T>
Status dropout(VectorView<T> y, NonDeduced<VectorView<const T>> x, float probability,
               const DropoutStream& random, cudaStream_t stream) {
  ArgumentCheck check("dropout");
  check.output("y", y, {"x"});
  check.input("x", x);
  check.same_size("x", x, "y", y);
  check.require(probability >= 0 && probability < 1, "probability is ", probability,
                ", must be at least 0 and below 1");
  check.require(random.first >= 0 && random.first <= kMaxBytes, "random.first is ", random.first,
                ", must be from 0 to 2^57");
  check.input_value("random.step", random.step);
  RONDO_RETURN_IF_ERROR(check.status());
  // Packs begin at the boundaries of Philox blocks.
  constexpr int N = kElements<T>;
  const int64_t lead = random.first % N;
  const bool packed = pack_width<N>(N, y.data - lead, x.data - lead) == N;
  const LaunchShape shape = flat_shape(y.size == 0 ? 0 : y.size + lead, kThreads, N);
  const Dropout operation = {random.seed, random.layer, random.step, probability,
                             1.0f / (1.0f - probability)};
  return launch("dropout", shape, stream, dropout_kernel<T>, y.data, x.data, y.size, random.first, packed,
                operation);
}

#define RONDO_DROPOUT(T) \
  template Status dropout<T>(VectorView<T>, VectorView<const T>, float, const DropoutStream&, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_DROPOUT)

}  // namespace rondo

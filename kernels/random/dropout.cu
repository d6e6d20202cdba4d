// Each thread computes one Philox block and processes the four elements that belong to it. Blocks are
// numbered from the first element of the whole batch, so a block may span the boundary of two shards.

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

template <class T>
__global__ void __launch_bounds__(kThreads)
    dropout_kernel(T* y, const T* x, int64_t size, int64_t first, bool packed, Dropout dropout) {
  const int64_t block = first / 4 + static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t begin = 4 * block - first;
  if (begin >= size) return;
  const PhiloxBlock words = dropout.block(block);
  if (packed && begin >= 0 && begin + 4 <= size) {
    auto values = load_values<4>(x + begin);
#pragma unroll
    for (int k = 0; k < 4; ++k) values.v[k] = dropout.element(values.v[k], words.v[k]);
    store_values<4>(y + begin, values);
  } else {
    for (int k = 0; k < 4; ++k)
      if (begin + k >= 0 && begin + k < size)
        y[begin + k] = static_cast<T>(dropout.element(static_cast<float>(x[begin + k]), words.v[k]));
  }
}

template <class T>
Status launch_dropout(VectorView<T> y, VectorView<const T> x, float probability, const DropoutStream& random,
                      cudaStream_t stream) {
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
  const int64_t lead = random.first % 4;
  // Packs of four elements begin at the boundaries of Philox blocks.
  const bool packed = pack_width(4, y.data - lead, x.data - lead) == 4;
  LaunchShape shape;
  shape.block_x = kThreads;
  shape.grid_x = y.size == 0 ? 0 : ceil_div<int64_t>(y.size + lead, 4 * kThreads);
  const Dropout operation = {random.seed, random.layer, random.step, probability,
                             1.0f / (1.0f - probability)};
  return launch("dropout", shape, stream, dropout_kernel<T>, y.data, x.data, y.size, random.first, packed,
                operation);
}

}  // namespace

Status dropout(VectorView<float> y, VectorView<const float> x, float probability, const DropoutStream& random,
               cudaStream_t stream) {
  return launch_dropout(y, x, probability, random, stream);
}

Status dropout(VectorView<__nv_bfloat16> y, VectorView<const __nv_bfloat16> x, float probability,
               const DropoutStream& random, cudaStream_t stream) {
  return launch_dropout(y, x, probability, random, stream);
}

}  // namespace rondo

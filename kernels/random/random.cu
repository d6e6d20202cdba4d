// Each thread computes four neighbouring elements from one Philox block.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/random/normal.h>
#include <rondo/kernels/random/philox.h>
#include <rondo/kernels/random/random.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>

#include <cmath>

namespace rondo {
namespace {

constexpr int kThreads = 256;

struct Uniform {
  float low, width;

  __device__ float element(uint32_t word) const {
    return fmaf(static_cast<float>(word >> 8) * 0x1p-24f, width, low);
  }
  __device__ Pack<float, 4> operator()(const PhiloxBlock& block) const {
    return {{element(block.v[0]), element(block.v[1]), element(block.v[2]), element(block.v[3])}};
  }
};

struct Normal {
  float mean, stddev;

  __device__ Pack<float, 4> operator()(const PhiloxBlock& block) const {
    const NormalPair a = normal_pair(block.v[0], block.v[1]), b = normal_pair(block.v[2], block.v[3]);
    return {{fmaf(stddev, a.first, mean), fmaf(stddev, a.second, mean), fmaf(stddev, b.first, mean),
             fmaf(stddev, b.second, mean)}};
  }
};

template <class Distribution>
__global__ void __launch_bounds__(kThreads)
    fill_kernel(float* x, int64_t size, bool packed, RandomStream random, Distribution distribution) {
  const int64_t block = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int64_t begin = 4 * block;
  if (begin >= size) return;
  const Pack<float, 4> values =
      distribution(philox_block(random.seed, random.sequence, static_cast<uint64_t>(block)));
  if (packed && begin + 4 <= size) {
    store_pack(x + begin, values);
  } else {
    for (int k = 0; k < 4; ++k)
      if (begin + k < size) x[begin + k] = values.v[k];
  }
}

template <class Distribution>
Status fill(const char* name, VectorView<float> x, RandomStream random, Distribution distribution,
            cudaStream_t stream) {
  return launch(name, flat_shape(x.size, kThreads, 4), stream, fill_kernel<Distribution>, x.data, x.size,
                pack_width(4, x.data) == 4, random, distribution);
}

}  // namespace

Status fill_uniform(VectorView<float> x, float low, float high, RandomStream random, cudaStream_t stream) {
  ArgumentCheck check("fill_uniform");
  check.output("x", x);
  check.require(low <= high && std::isfinite(high - low), "the interval is [", low, ", ", high,
                "), must be finite and low at most high");
  RONDO_RETURN_IF_ERROR(check.status());
  return fill("fill_uniform", x, random, Uniform{low, high - low}, stream);
}

Status fill_normal(VectorView<float> x, float mean, float stddev, RandomStream random, cudaStream_t stream) {
  ArgumentCheck check("fill_normal");
  check.output("x", x);
  check.require(std::isfinite(mean) && std::isfinite(stddev) && stddev >= 0, "the mean is ", mean,
                " and the standard deviation ", stddev,
                ", must be finite and the standard deviation at least 0");
  RONDO_RETURN_IF_ERROR(check.status());
  return fill("fill_normal", x, random, Normal{mean, stddev}, stream);
}

}  // namespace rondo

#include "sums.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <rondo/kernels/core/launch.cuh>

#include <bit>

namespace rondo::stand_in {
namespace {

constexpr int kThreads = 256;

struct Fp32 {
  using Type = float;
  static __device__ float factor(float value) { return value; }
};
struct Tf32 {
  using Type = float;
  // To the nearest value with 10 bits after the binary point.
  static __device__ float factor(float value) {
    return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000u) & ~0x1fffu);
  }
};
template <class T>
struct Narrow {
  using Type = T;
  static __device__ float factor(T value) { return static_cast<float>(value); }
};

template <class A>
__device__ void store(void* data, int64_t index, float sum, float alpha, float beta) {
  using T = typename A::Type;
  T& result = static_cast<T*>(data)[index];
  result = static_cast<T>(alpha * sum + (beta == 0 ? 0.0f : beta * static_cast<float>(result)));
}

template <class A>
__global__ void product_kernel(MatrixProduct p) {
  using T = typename A::Type;
  const int64_t element = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (element >= int64_t{p.m} * p.n) return;
  const int64_t i = element % p.m, j = element / p.m;
  const T* a = static_cast<const T*>(p.a.data) + i * p.a.row;
  const T* b = static_cast<const T*>(p.b.data) + j * p.b.column;
  float sum = 0;
  for (int64_t l = 0; l < p.k; ++l) sum += A::factor(a[l * p.a.column]) * A::factor(b[l * p.b.row]);
  store<A>(p.c.data, i * p.c.row + j * p.c.column, sum, p.alpha, p.beta);
}

__device__ int64_t at(const Tensor& t, int i, int j, int row, int column) {
  return i * t.step[0] + j * t.step[1] + row * t.step[2] + column * t.step[3];
}

// A run of `count` factors that are `step` apart, in each of two tensors.
template <class A>
__device__ float dot(const Tensor& t, int64_t t_at, int64_t t_step, const Tensor& u, int64_t u_at,
                     int64_t u_step, int count) {
  using T = typename A::Type;
  float sum = 0;
  for (int l = 0; l < count; ++l)
    sum += A::factor(static_cast<const T*>(t.data)[t_at + l * t_step]) *
           A::factor(static_cast<const T*>(u.data)[u_at + l * u_step]);
  return sum;
}

template <class A>
__global__ void convolution_kernel(ConvolutionSum s) {
  const Tensor& result = s.sum == Sum::forward ? s.y : s.sum == Sum::data_gradient ? s.x : s.w;
  int64_t element = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  int e[4];
  for (int dim = 3; dim >= 0; --dim) {
    e[dim] = static_cast<int>(element % result.size[dim]);
    element /= result.size[dim];
  }
  if (element > 0) return;
  const int rows = s.w.size[2], columns = s.w.size[3];
  // Of a group: channels of x, channels of y.
  const int group_c = s.w.size[1], group_k = s.w.size[0] / s.groups;
  const auto is_in = [](const Tensor& t, int row, int column) {
    return row >= 0 && row < t.size[2] && column >= 0 && column < t.size[3];
  };
  float sum = 0;
  if (s.sum == Sum::filter_gradient) {
    const int r = (s.is_flipped ? rows - 1 - e[2] : e[2]) * s.dilation[0],
              c = (s.is_flipped ? columns - 1 - e[3] : e[3]) * s.dilation[1];
    const int channel = e[0] / group_k * group_c + e[1];
    // The columns of y whose column of x, q * stride + c - pad, is in the image.
    const int first = s.pad[1] <= c ? 0 : ceil_div(s.pad[1] - c, s.stride[1]);
    const int last = s.x.size[3] - 1 + s.pad[1] - c;
    const int count = last < 0 ? 0 : min(s.y.size[3], last / s.stride[1] + 1) - first;
    for (int n = 0; n < s.x.size[0]; ++n)
      for (int p = 0; p < s.y.size[2]; ++p) {
        const int h = p * s.stride[0] + r - s.pad[0];
        if (h < 0 || h >= s.x.size[2]) continue;
        sum += dot<A>(s.x, at(s.x, n, channel, h, first * s.stride[1] + c - s.pad[1]),
                      s.stride[1] * s.x.step[3], s.y, at(s.y, n, e[0], p, first), s.y.step[3], count);
      }
  } else {
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c) {
        const int row = s.is_flipped ? rows - 1 - r : r, column = s.is_flipped ? columns - 1 - c : c;
        if (s.sum == Sum::forward) {
          const int h = e[2] * s.stride[0] + r * s.dilation[0] - s.pad[0],
                    w = e[3] * s.stride[1] + c * s.dilation[1] - s.pad[1];
          if (is_in(s.x, h, w))
            sum += dot<A>(s.x, at(s.x, e[0], e[1] / group_k * group_c, h, w), s.x.step[1], s.w,
                          at(s.w, e[1], 0, row, column), s.w.step[1], group_c);
        } else {
          const int p = e[2] + s.pad[0] - r * s.dilation[0], q = e[3] + s.pad[1] - c * s.dilation[1];
          const int first_k = e[1] / group_c * group_k;
          if (p % s.stride[0] == 0 && q % s.stride[1] == 0 && is_in(s.y, p / s.stride[0], q / s.stride[1]))
            sum += dot<A>(s.y, at(s.y, e[0], first_k, p / s.stride[0], q / s.stride[1]), s.y.step[1], s.w,
                          at(s.w, first_k, e[1] % group_c, row, column), s.w.step[0], group_k);
        }
      }
  }
  store<A>(result.data, at(result, e[0], e[1], e[2], e[3]), sum, s.alpha, s.beta);
}

template <class Work>
Status enqueue_as(Arithmetic arithmetic, const char* name, int64_t elements, const Work& work,
                  void (*const (&kernels)[4])(Work), cudaStream_t stream) {
  return launch(name, flat_shape(elements, kThreads), stream, kernels[static_cast<int>(arithmetic)], work);
}

}  // namespace

Status enqueue(Arithmetic arithmetic, const MatrixProduct& product, cudaStream_t stream) {
  return enqueue_as(arithmetic, "stand_in_product", int64_t{product.m} * product.n, product,
                    {product_kernel<Fp32>, product_kernel<Tf32>, product_kernel<Narrow<__nv_bfloat16>>,
                     product_kernel<Narrow<__half>>},
                    stream);
}

Status enqueue(Arithmetic arithmetic, const ConvolutionSum& s, cudaStream_t stream) {
  const Tensor& result = s.sum == Sum::forward ? s.y : s.sum == Sum::data_gradient ? s.x : s.w;
  int64_t elements = 1;
  for (const int size : result.size) elements *= size;
  return enqueue_as(arithmetic, "stand_in_convolution", elements, s,
                    {convolution_kernel<Fp32>, convolution_kernel<Tf32>,
                     convolution_kernel<Narrow<__nv_bfloat16>>, convolution_kernel<Narrow<__half>>},
                    stream);
}

}  // namespace rondo::stand_in

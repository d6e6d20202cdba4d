#include "layers.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <rondo/kernels/core/launch.cuh>

namespace rondo::stand_in {
namespace {

constexpr int kThreads = 256;

__device__ int64_t thread_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

template <class T>
__device__ float value(const void* data, int64_t at) {
  return static_cast<float>(static_cast<const T*>(data)[at]);
}
template <class T>
__device__ void set(void* data, int64_t at, float value) {
  static_cast<T*>(data)[at] = static_cast<T>(value);
}

// The element of a tensor by its number, and its index.
struct Element {
  int at[4];
  int64_t index;
};
__device__ Element element_of(const Tensor& t, int64_t number) {
  Element e = {{}, 0};
  for (int dim = 3; dim >= 0; --dim) {
    e.at[dim] = static_cast<int>(number % t.size[dim]);
    number /= t.size[dim];
    e.index += e.at[dim] * t.step[dim];
  }
  return e;
}

// Calls visit(index in x) for the elements of the image in a window.
template <class Visit>
__device__ void visit_window(const Pooling& p, const Element& window, const Visit& visit) {
  for (int r = 0; r < p.window[0]; ++r)
    for (int s = 0; s < p.window[1]; ++s) {
      const int row = window.at[2] * p.stride[0] - p.pad[0] + r,
                col = window.at[3] * p.stride[1] - p.pad[1] + s;
      if (row < 0 || row >= p.of_x.size[2] || col < 0 || col >= p.of_x.size[3]) continue;
      visit(window.at[0] * p.of_x.step[0] + window.at[1] * p.of_x.step[1] + row * p.of_x.step[2] +
            col * p.of_x.step[3]);
    }
}

template <class T>
__global__ void pooling_kernel(Pooling p) {
  const int64_t number = thread_index();
  if (number >= int64_t{p.of_y.size[0]} * p.of_y.size[1] * p.of_y.size[2] * p.of_y.size[3]) return;
  const Element to = element_of(p.of_y, number);
  float sum = 0, most = 0;
  bool has_most = false;
  visit_window(p, to, [&](int64_t at) {
    const float x = value<T>(p.x, at);
    sum += x;
    if (!has_most || x > most) most = x, has_most = true;
  });
  const float area = static_cast<float>(p.window[0] * p.window[1]);
  set<T>(p.y, to.index, p.is_average ? sum / area : most);
}

template <class T>
__global__ void pooling_gradient_kernel(Pooling p) {
  const int64_t number = thread_index();
  if (number >= int64_t{p.of_x.size[0]} * p.of_x.size[1] * p.of_x.size[2] * p.of_x.size[3]) return;
  const Element of = element_of(p.of_x, number);
  const float area = static_cast<float>(p.window[0] * p.window[1]);
  float sum = 0;
  for (int row = 0; row < p.of_y.size[2]; ++row)
    for (int col = 0; col < p.of_y.size[3]; ++col) {
      const int first_row = row * p.stride[0] - p.pad[0], first_col = col * p.stride[1] - p.pad[1];
      if (of.at[2] < first_row || of.at[2] >= first_row + p.window[0] || of.at[3] < first_col ||
          of.at[3] >= first_col + p.window[1])
        continue;
      const Element window = {{of.at[0], of.at[1], row, col},
                              of.at[0] * p.of_y.step[0] + of.at[1] * p.of_y.step[1] + row * p.of_y.step[2] +
                                  col * p.of_y.step[3]};
      int64_t last = -1;  // of equal maxima the last one, which is not Rondo's choice
      if (!p.is_average)
        visit_window(p, window, [&](int64_t at) {
          if (value<T>(p.x, at) == value<T>(p.y, window.index)) last = at;
        });
      if (p.is_average || last == of.index) sum += value<T>(p.dy, window.index);
    }
  set<T>(p.dx, of.index, p.is_average ? sum / area : sum);
}

template <class T>
__global__ void softmax_kernel(Softmax s) {
  const int64_t row = thread_index();
  if (row >= s.rows) return;
  const int64_t begin = row * s.cols, end = begin + s.cols;
  if (s.is_gradient) {
    float sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += value<T>(s.from, i) * (s.is_log ? 1 : value<T>(s.y, i));
    for (int64_t i = begin; i < end; ++i) {
      const float dy = value<T>(s.from, i), y = value<T>(s.y, i);
      set<T>(s.to, i, s.is_log ? dy - expf(y) * sum : y * (dy - sum));
    }
    return;
  }
  float most = value<T>(s.from, begin), sum = 0;
  for (int64_t i = begin; i < end; ++i) most = fmaxf(most, value<T>(s.from, i));
  for (int64_t i = begin; i < end; ++i) sum += expf(value<T>(s.from, i) - most);
  for (int64_t i = begin; i < end; ++i) {
    const float x = value<T>(s.from, i) - most;
    set<T>(s.to, i, s.is_log ? x - logf(sum) : expf(x) / sum);
  }
}

template <class T>
__global__ void batch_norm_kernel(BatchNorm b) {
  const int64_t channel = thread_index();
  if (channel >= b.channels) return;
  const float gamma = value<float>(b.gamma, channel);
  const double rows = b.rows;
  if (!b.dy) {
    double sum = 0, squares = 0;
    for (int row = 0; row < b.rows; ++row) sum += value<T>(b.x, int64_t{row} * b.channels + channel);
    const double mean = sum / rows;
    for (int row = 0; row < b.rows; ++row) {
      const double difference = value<T>(b.x, int64_t{row} * b.channels + channel) - mean;
      squares += difference * difference;
    }
    const double inv_std = 1 / sqrt(squares / rows + b.epsilon);
    set<float>(b.mean, channel, static_cast<float>(mean));
    set<float>(b.inv_std, channel, static_cast<float>(inv_std));
    for (int row = 0; row < b.rows; ++row) {
      const int64_t at = int64_t{row} * b.channels + channel;
      set<T>(
          b.to, at,
          static_cast<float>((value<T>(b.x, at) - mean) * inv_std) * gamma + value<float>(b.beta, channel));
    }
    return;
  }
  const double mean = value<float>(b.mean, channel), inv_std = value<float>(b.inv_std, channel);
  double sum = 0, products = 0;
  for (int row = 0; row < b.rows; ++row) {
    const int64_t at = int64_t{row} * b.channels + channel;
    sum += value<T>(b.dy, at);
    products += value<T>(b.dy, at) * (value<T>(b.x, at) - mean) * inv_std;
  }
  set<float>(b.dbeta, channel, static_cast<float>(sum));
  set<float>(b.dgamma, channel, static_cast<float>(products));
  for (int row = 0; row < b.rows; ++row) {
    const int64_t at = int64_t{row} * b.channels + channel;
    const double xhat = (value<T>(b.x, at) - mean) * inv_std;
    set<T>(b.to, at,
           static_cast<float>(gamma * inv_std * (value<T>(b.dy, at) - sum / rows - xhat * products / rows)));
  }
}

// Starts the kernel of the type.
template <class Work>
Status enqueue_as(DType type, const char* name, int64_t threads, const Work& work,
                  void (*const (&kernels)[3])(Work), cudaStream_t stream) {
  const int which = type == DType::bfloat16 ? 1 : type == DType::float16 ? 2 : 0;
  return launch(name, flat_shape(threads, kThreads), stream, kernels[which], work);
}
int64_t elements(const Tensor& t) { return int64_t{t.size[0]} * t.size[1] * t.size[2] * t.size[3]; }

}  // namespace

Status enqueue(DType type, const Pooling& p, cudaStream_t stream) {
  if (p.is_gradient)
    return enqueue_as(type, "stand_in_pooling_gradient", elements(p.of_x), p,
                      {pooling_gradient_kernel<float>, pooling_gradient_kernel<__nv_bfloat16>,
                       pooling_gradient_kernel<__half>},
                      stream);
  return enqueue_as(type, "stand_in_pooling", elements(p.of_y), p,
                    {pooling_kernel<float>, pooling_kernel<__nv_bfloat16>, pooling_kernel<__half>}, stream);
}

Status enqueue(DType type, const Softmax& s, cudaStream_t stream) {
  return enqueue_as(type, "stand_in_softmax", s.rows, s,
                    {softmax_kernel<float>, softmax_kernel<__nv_bfloat16>, softmax_kernel<__half>}, stream);
}

Status enqueue(DType type, const BatchNorm& b, cudaStream_t stream) {
  return enqueue_as(type, "stand_in_batch_norm", b.channels, b,
                    {batch_norm_kernel<float>, batch_norm_kernel<__nv_bfloat16>, batch_norm_kernel<__half>},
                    stream);
}

}  // namespace rondo::stand_in

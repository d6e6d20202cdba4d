// A stand-in for cuDNN: the functions that the peers call. Above 400 lines because all of them share the
// descriptors, which are opaque to the callers.
#include <cudnn.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "layers.h"
#include "sums.h"

using rondo::stand_in::Arithmetic;
using rondo::stand_in::Sum;
using rondo::stand_in::Tensor;

// A tensor or a filter: the sizes are [n, c, h, w] or [k, c, r, s] in both formats.
struct Shape4d {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int size[4] = {};  // zeros: the descriptor has not been set

  cudnnStatus_t set(cudnnTensorFormat_t in_format, cudnnDataType_t in_type, int n, int c, int h, int w) {
    if (std::min({n, c, h, w}) < 1) return CUDNN_STATUS_BAD_PARAM;
    if (in_format != CUDNN_TENSOR_NCHW && in_format != CUDNN_TENSOR_NHWC) return CUDNN_STATUS_NOT_SUPPORTED;
    *this = {in_type, in_format, {n, c, h, w}};
    return CUDNN_STATUS_SUCCESS;
  }
  Tensor tensor(const void* data) const {
    const int64_t c = size[1], h = size[2], w = size[3];
    Tensor t = {const_cast<void*>(data), {size[0], size[1], size[2], size[3]}, {c * h * w, h * w, w, 1}};
    if (format == CUDNN_TENSOR_NHWC) t.step[1] = 1, t.step[2] = w * c, t.step[3] = c;
    return t;
  }
};
struct cudnnTensorStruct : Shape4d {};
struct cudnnFilterStruct : Shape4d {};
struct cudnnConvolutionStruct {
  int pad[2] = {}, stride[2] = {}, dilation[2] = {};  // zero strides: has not been set
  cudnnConvolutionMode_t mode = CUDNN_CONVOLUTION;
  cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  int groups = 1;
};
struct cudnnPoolingStruct {
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  int window[2] = {}, pad[2] = {}, stride[2] = {};  // zero windows: has not been set
};
struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace {

// Algorithms 0 and 1 of each pass compute; the others are not supported. Algorithm 1 needs a workspace, and
// more of it with any other math type than the default, so that both have to be those that were found.
size_t workspace_bytes(int algorithm, cudnnMathType_t math) {
  return algorithm == 0 ? 0 : math == CUDNN_DEFAULT_MATH ? 4096 : 8192;
}

struct Problem {
  Sum sum;
  const Shape4d *x, *w, *y;
  const cudnnConvolutionStruct* convolution;
};

cudnnStatus_t check(cudnnHandle_t handle, const Problem& problem) {
  if (!handle) return CUDNN_STATUS_BAD_PARAM;
  const auto& [sum, x, w, y, convolution] = problem;
  if (!x || !w || !y || !convolution || convolution->stride[0] == 0) return CUDNN_STATUS_BAD_PARAM;
  // A descriptor that has not been set has no elements and fails here, too.
  if (x->size[0] == 0 || w->size[0] == 0 || x->size[0] != y->size[0] ||
      x->size[1] != w->size[1] * convolution->groups || y->size[1] != w->size[0] ||
      w->size[0] % convolution->groups != 0 || x->type != w->type || x->type != y->type)
    return CUDNN_STATUS_BAD_PARAM;
  for (const int dim : {0, 1}) {
    const int in = x->size[2 + dim] + 2 * convolution->pad[dim],
              filter = (w->size[2 + dim] - 1) * convolution->dilation[dim] + 1;
    if (in < filter || y->size[2 + dim] != 1 + (in - filter) / convolution->stride[dim])
      return CUDNN_STATUS_BAD_PARAM;
  }
  if (x->format != w->format || x->format != y->format || x->type == CUDNN_DATA_DOUBLE ||
      convolution->compute_type != CUDNN_DATA_FLOAT)
    return CUDNN_STATUS_NOT_SUPPORTED;
  return CUDNN_STATUS_SUCCESS;
}

// The results of all algorithms, with the requested math type and with the default, fastest first, failures
// last. Each layout is the fastest for some convolutions of each type, and the default math type, which
// permits tf32, for all.
template <class Perf>
cudnnStatus_t find(cudnnHandle_t handle, const Problem& problem, int requested, int* returned,
                   Perf* results) {
  if (requested < 1 || !returned || !results) return CUDNN_STATUS_BAD_PARAM;
  if (const cudnnStatus_t status = check(handle, problem); status != CUDNN_STATUS_SUCCESS) return status;
  // It allocates memory and waits for kernels, which a capture does not permit.
  if (cudaDeviceSynchronize() != cudaSuccess) return CUDNN_STATUS_EXECUTION_FAILED;
  const bool is_narrow = problem.x->type != CUDNN_DATA_FLOAT,
             is_nhwc = problem.x->format == CUDNN_TENSOR_NHWC;
  const bool nhwc_is_faster = is_narrow != (problem.sum == Sum::data_gradient);
  const int fastest = problem.sum == Sum::filter_gradient ? 0 : 1;
  std::vector<Perf> found;
  for (const cudnnMathType_t math : {CUDNN_DEFAULT_MATH, problem.convolution->math}) {
    if (!found.empty() && math == CUDNN_DEFAULT_MATH) continue;
    for (const int algorithm : {0, 1, 3}) {
      const float time = (is_nhwc == nhwc_is_faster ? 1.0f : 2.0f) + (algorithm == fastest ? 0.0f : 0.5f) +
                         (math == CUDNN_DEFAULT_MATH ? 0.0f : 0.1f);
      const bool computes = algorithm < 3;
      found.push_back({static_cast<decltype(Perf::algo)>(algorithm),
                       computes ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED,
                       computes ? time : -1.0f,
                       computes ? workspace_bytes(algorithm, math) : 0,
                       CUDNN_DETERMINISTIC,
                       math,
                       {}});
    }
  }
  std::ranges::stable_sort(found, [](const Perf& a, const Perf& b) {
    return a.status != b.status ? a.status == CUDNN_STATUS_SUCCESS : a.time < b.time;
  });
  *returned = std::min(requested, static_cast<int>(found.size()));
  std::copy_n(found.begin(), *returned, results);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t run(cudnnHandle_t handle, const Problem& problem, int algorithm, const void* alpha,
                  const void* x, const void* w, const void* y, const void* workspace, size_t bytes,
                  const void* beta) {
  if (const cudnnStatus_t status = check(handle, problem); status != CUDNN_STATUS_SUCCESS) return status;
  const cudnnConvolutionStruct& c = *problem.convolution;
  if (algorithm != 0 && algorithm != 1) return CUDNN_STATUS_NOT_SUPPORTED;
  const size_t needed = workspace_bytes(algorithm, c.math);
  if (!alpha || !beta || !x || !w || !y || bytes < needed || (needed > 0 && !workspace))
    return CUDNN_STATUS_BAD_PARAM;
  const Arithmetic arithmetic = problem.x->type == CUDNN_DATA_BFLOAT16 ? Arithmetic::bf16
                                : problem.x->type == CUDNN_DATA_HALF   ? Arithmetic::fp16
                                : c.math == CUDNN_FMA_MATH             ? Arithmetic::fp32
                                                                       : Arithmetic::tf32;
  const rondo::Status enqueued = enqueue(arithmetic,
                                         rondo::stand_in::ConvolutionSum{problem.sum,
                                                                         problem.x->tensor(x),
                                                                         problem.w->tensor(w),
                                                                         problem.y->tensor(y),
                                                                         {c.pad[0], c.pad[1]},
                                                                         {c.stride[0], c.stride[1]},
                                                                         {c.dilation[0], c.dilation[1]},
                                                                         c.groups,
                                                                         c.mode == CUDNN_CONVOLUTION,
                                                                         *static_cast<const float*>(alpha),
                                                                         *static_cast<const float*>(beta)},
                                         handle->stream);
  return enqueued.ok() ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

// ---- Layers ----

bool is_set(const Shape4d* tensor) { return tensor && tensor->size[0] > 0; }
bool is_same(const Shape4d* a, const Shape4d* b) {
  return is_set(a) && is_set(b) && a->type == b->type && std::equal(a->size, a->size + 4, b->size);
}
bool has_ones(const void* alpha, const void* beta) {
  return alpha && beta && *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
}
rondo::DType type_of(const Shape4d& tensor) {
  return tensor.type == CUDNN_DATA_BFLOAT16 ? rondo::DType::bfloat16
         : tensor.type == CUDNN_DATA_HALF   ? rondo::DType::float16
                                            : rondo::DType::float32;
}
cudnnStatus_t from_rondo(const rondo::Status& status) {
  return status.ok() ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

cudnnStatus_t run_pooling(cudnnHandle_t handle, const cudnnPoolingStruct* p, const Shape4d* x,
                          const Shape4d* y, const rondo::stand_in::Pooling& data, const void* alpha,
                          const void* beta) {
  if (!handle || !p || p->window[0] == 0 || !is_set(x) || !is_set(y) || x->type != y->type || !data.x ||
      !data.y || (data.is_gradient && (!data.dy || !data.dx)))
    return CUDNN_STATUS_BAD_PARAM;
  if (x->size[0] != y->size[0] || x->size[1] != y->size[1]) return CUDNN_STATUS_BAD_PARAM;
  for (const int dim : {0, 1})
    if (y->size[2 + dim] != 1 + (x->size[2 + dim] + 2 * p->pad[dim] - p->window[dim]) / p->stride[dim])
      return CUDNN_STATUS_BAD_PARAM;
  // The stand-in computes these only.
  if (!has_ones(alpha, beta) ||
      (p->mode != CUDNN_POOLING_MAX_DETERMINISTIC && p->mode != CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING))
    return CUDNN_STATUS_NOT_SUPPORTED;
  rondo::stand_in::Pooling pooling = data;
  pooling.of_x = x->tensor(data.x), pooling.of_y = y->tensor(data.y);
  pooling.is_average = p->mode != CUDNN_POOLING_MAX_DETERMINISTIC;
  for (const int dim : {0, 1})
    pooling.window[dim] = p->window[dim], pooling.pad[dim] = p->pad[dim],
    pooling.stride[dim] = p->stride[dim];
  return from_rondo(enqueue(type_of(*x), pooling, handle->stream));
}

cudnnStatus_t run_softmax(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,
                          const Shape4d* y, const rondo::stand_in::Softmax& data, const void* alpha,
                          const void* beta) {
  if (!handle || !is_set(y) || !data.from || !data.to || (data.is_gradient && !data.y))
    return CUDNN_STATUS_BAD_PARAM;
  if (!has_ones(alpha, beta) || mode != CUDNN_SOFTMAX_MODE_INSTANCE || y->format != CUDNN_TENSOR_NCHW)
    return CUDNN_STATUS_NOT_SUPPORTED;
  rondo::stand_in::Softmax softmax = data;
  softmax.rows = y->size[0], softmax.cols = y->size[1] * y->size[2] * y->size[3];
  softmax.is_log = algorithm == CUDNN_SOFTMAX_LOG;
  return from_rondo(enqueue(type_of(*y), softmax, handle->stream));
}

cudnnStatus_t run_norm(cudnnHandle_t handle, cudnnBatchNormMode_t mode, const Shape4d* x,
                       const Shape4d* channels, const rondo::stand_in::BatchNorm& data, const void* alpha,
                       const void* beta) {
  if (!handle || !is_set(x) || !is_set(channels) || channels->type != CUDNN_DATA_FLOAT ||
      channels->size[0] != 1 || channels->size[1] != x->size[1] || channels->size[2] != x->size[2] ||
      channels->size[3] != x->size[3] || !data.x || !data.to || !data.gamma || !data.mean || !data.inv_std)
    return CUDNN_STATUS_BAD_PARAM;
  if (!has_ones(alpha, beta) || mode != CUDNN_BATCHNORM_PER_ACTIVATION) return CUDNN_STATUS_NOT_SUPPORTED;
  rondo::stand_in::BatchNorm norm = data;
  norm.rows = x->size[0], norm.channels = x->size[1] * x->size[2] * x->size[3];
  return from_rondo(enqueue(type_of(*x), norm, handle->stream));
}

template <class T>
cudnnStatus_t create(T** made) {
  if (!made) return CUDNN_STATUS_BAD_PARAM;
  *made = new T;
  return CUDNN_STATUS_SUCCESS;
}
template <class T>
cudnnStatus_t destroy(T* made) {
  delete made;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

// Also in C, because another signature than that of the header is then an error and not an overload.
extern "C" {

size_t cudnnGetVersion() { return 0; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "unknown";
  }
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return create(handle); }
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUDNN_STATUS_BAD_PARAM;
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) { return create(tensor); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) { return destroy(tensor); }
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  return tensor ? tensor->set(format, type, n, c, h, w) : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) { return create(filter); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) { return destroy(filter); }
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return filter ? filter->set(format, type, k, c, h, w) : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) { return create(made); }
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t made) { return destroy(made); }
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution, int pad_h, int pad_w,
                                              int stride_h, int stride_w, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t compute_type) {
  if (!convolution || std::min(pad_h, pad_w) < 0 ||
      std::min({stride_h, stride_w, dilation_h, dilation_w}) < 1)
    return CUDNN_STATUS_BAD_PARAM;
  *convolution = {{pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}, mode, compute_type};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math) {
  if (!convolution) return CUDNN_STATUS_BAD_PARAM;
  convolution->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convolution, int groups) {
  if (!convolution || groups < 1) return CUDNN_STATUS_BAD_PARAM;
  convolution->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                   cudnnFilterDescriptor_t w,
                                                   cudnnConvolutionDescriptor_t convolution,
                                                   cudnnTensorDescriptor_t y, int requested, int* returned,
                                                   cudnnConvolutionFwdAlgoPerf_t* results) {
  return find(handle, {Sum::forward, x, w, y, convolution}, requested, returned, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t handle, cudnnFilterDescriptor_t w,
                                                        cudnnTensorDescriptor_t dy,
                                                        cudnnConvolutionDescriptor_t convolution,
                                                        cudnnTensorDescriptor_t dx, int requested,
                                                        int* returned,
                                                        cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return find(handle, {Sum::data_gradient, dx, w, dy, convolution}, requested, returned, results);
}
cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(cudnnHandle_t handle, cudnnTensorDescriptor_t x,
                                                          cudnnTensorDescriptor_t dy,
                                                          cudnnConvolutionDescriptor_t convolution,
                                                          cudnnFilterDescriptor_t dw, int requested,
                                                          int* returned,
                                                          cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return find(handle, {Sum::filter_gradient, x, dw, dy, convolution}, requested, returned, results);
}

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_desc,
                                      const void* x, cudnnFilterDescriptor_t w_desc, const void* w,
                                      cudnnConvolutionDescriptor_t convolution,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t bytes,
                                      const void* beta, cudnnTensorDescriptor_t y_desc, void* y) {
  return run(handle, {Sum::forward, x_desc, w_desc, y_desc, convolution}, algorithm, alpha, x, w, y,
             workspace, bytes, beta);
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           cudnnFilterDescriptor_t w_desc, const void* w,
                                           cudnnTensorDescriptor_t dy_desc, const void* dy,
                                           cudnnConvolutionDescriptor_t convolution,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t bytes, const void* beta, cudnnTensorDescriptor_t dx_desc,
                                           void* dx) {
  return run(handle, {Sum::data_gradient, dx_desc, w_desc, dy_desc, convolution}, algorithm, alpha, dx, w, dy,
             workspace, bytes, beta);
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             cudnnTensorDescriptor_t x_desc, const void* x,
                                             cudnnTensorDescriptor_t dy_desc, const void* dy,
                                             cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace,
                                             size_t bytes, const void* beta, cudnnFilterDescriptor_t dw_desc,
                                             void* dw) {
  return run(handle, {Sum::filter_gradient, x_desc, dw_desc, dy_desc, convolution}, algorithm, alpha, x, dw,
             dy, workspace, bytes, beta);
}

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* made) { return create(made); }
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t made) { return destroy(made); }
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int height, int width, int pad_h, int pad_w,
                                          int stride_h, int stride_w) {
  if (!pooling || std::min({height, width, stride_h, stride_w}) < 1 || std::min(pad_h, pad_w) < 0)
    return CUDNN_STATUS_BAD_PARAM;
  *pooling = {mode, {height, width}, {pad_h, pad_w}, {stride_h, stride_w}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha,
                                  cudnnTensorDescriptor_t x_desc, const void* x, const void* beta,
                                  cudnnTensorDescriptor_t y_desc, void* y) {
  return run_pooling(handle, pooling, x_desc, y_desc, {.x = x, .y = y}, alpha, beta);
}
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha,
                                   cudnnTensorDescriptor_t y_desc, const void* y,
                                   cudnnTensorDescriptor_t dy_desc, const void* dy,
                                   cudnnTensorDescriptor_t x_desc, const void* x, const void* beta,
                                   cudnnTensorDescriptor_t dx_desc, void* dx) {
  if (!is_same(y_desc, dy_desc) || !is_same(x_desc, dx_desc)) return CUDNN_STATUS_BAD_PARAM;
  return run_pooling(handle, pooling, x_desc, y_desc,
                     {.x = x, .y = const_cast<void*>(y), .dy = dy, .dx = dx, .is_gradient = true}, alpha,
                     beta);
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void* alpha, cudnnTensorDescriptor_t x_desc,
                                  const void* x, const void* beta, cudnnTensorDescriptor_t y_desc, void* y) {
  if (!is_same(x_desc, y_desc)) return CUDNN_STATUS_BAD_PARAM;
  return run_softmax(handle, algorithm, mode, y_desc, {.from = x, .to = y}, alpha, beta);
}
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                   cudnnSoftmaxMode_t mode, const void* alpha, cudnnTensorDescriptor_t y_desc,
                                   const void* y, cudnnTensorDescriptor_t dy_desc, const void* dy,
                                   const void* beta, cudnnTensorDescriptor_t dx_desc, void* dx) {
  if (!is_same(y_desc, dy_desc) || !is_same(y_desc, dx_desc)) return CUDNN_STATUS_BAD_PARAM;
  return run_softmax(handle, algorithm, mode, y_desc, {.from = dy, .to = dx, .y = y, .is_gradient = true},
                     alpha, beta);
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
                                                     const void* alpha, const void* beta,
                                                     cudnnTensorDescriptor_t x_desc, const void* x,
                                                     cudnnTensorDescriptor_t y_desc, void* y,
                                                     cudnnTensorDescriptor_t channels, const void* gamma,
                                                     const void* bias, double, void*, void*, double epsilon,
                                                     void* mean, void* inv_std) {
  if (!is_same(x_desc, y_desc) || !bias) return CUDNN_STATUS_BAD_PARAM;
  return run_norm(
      handle, mode, x_desc, channels,
      {.x = x, .to = y, .gamma = gamma, .beta = bias, .mean = mean, .inv_std = inv_std, .epsilon = epsilon},
      alpha, beta);
}
cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha_data, const void* beta_data,
    const void* alpha_parameters, const void* beta_parameters, cudnnTensorDescriptor_t x_desc, const void* x,
    cudnnTensorDescriptor_t dy_desc, const void* dy, cudnnTensorDescriptor_t dx_desc, void* dx,
    cudnnTensorDescriptor_t channels, const void* gamma, void* dgamma, void* dbeta, double epsilon,
    const void* mean, const void* inv_std) {
  if (!is_same(x_desc, dy_desc) || !is_same(x_desc, dx_desc) || !dy || !dgamma || !dbeta)
    return CUDNN_STATUS_BAD_PARAM;
  if (!has_ones(alpha_parameters, beta_parameters)) return CUDNN_STATUS_NOT_SUPPORTED;
  return run_norm(handle, mode, x_desc, channels,
                  {.x = x,
                   .to = dx,
                   .gamma = gamma,
                   .mean = const_cast<void*>(mean),
                   .inv_std = const_cast<void*>(inv_std),
                   .dy = dy,
                   .dgamma = dgamma,
                   .dbeta = dbeta,
                   .epsilon = epsilon},
                  alpha_data, beta_data);
}

}  // extern "C"

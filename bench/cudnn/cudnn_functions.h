// The functions of cuDNN that the benchmarks call, as a table of pointers, so that they can be loaded at run
// time. Source: "cuDNN Library", NVIDIA, version 9, the legacy API. bench/vendor/linked_cudnn.h compares the
// signatures, the values and the layout of CudnnPerf with the header of cuDNN, where it is installed.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace rondo::bench {

// Values of cuDNN's enumerations, without the prefix CUDNN_.
namespace cudnn {
inline constexpr int DATA_FLOAT = 0, DATA_HALF = 2, DATA_BFLOAT16 = 9;
inline constexpr int TENSOR_NCHW = 0, TENSOR_NHWC = 1;
inline constexpr int DEFAULT_MATH = 0, TENSOR_OP_MATH = 1, FMA_MATH = 3;
inline constexpr int CROSS_CORRELATION = 1;
inline constexpr int POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1, POOLING_MAX_DETERMINISTIC = 3;
inline constexpr int PROPAGATE_NAN = 1;
inline constexpr int SOFTMAX_ACCURATE = 1, SOFTMAX_LOG = 2, SOFTMAX_MODE_INSTANCE = 0;
inline constexpr int BATCHNORM_PER_ACTIVATION = 0;
}  // namespace cudnn

// cudnnConvolutionFwdAlgoPerf_t and those of the gradients, which have the same layout.
struct CudnnPerf {
  int algorithm, status;
  float milliseconds;
  size_t memory;
  int determinism, math;
  int reserved[3];
};

// Handles and descriptors are void*, enumerations int. The order of the parameters is that of cuDNN.
struct CudnnFunctions {
  using Create = int (*)(void** object);
  using Destroy = int (*)(void* object);
  using FindAlgorithm = int (*)(void* handle, void* first, void* second, void* convolution, void* result,
                                int requested, int* returned, CudnnPerf* found);
  using Convolve = int (*)(void* handle, const void* alpha, void* first_descriptor, const void* first,
                           void* second_descriptor, const void* second, void* convolution, int algorithm,
                           void* workspace, size_t workspace_bytes, const void* beta, void* result_descriptor,
                           void* result);

  size_t (*version)() = nullptr;
  const char* (*error_string)(int status) = nullptr;
  Create create = nullptr;
  Destroy destroy = nullptr;
  int (*set_stream)(void* handle, cudaStream_t stream) = nullptr;

  Create create_tensor = nullptr;
  Destroy destroy_tensor = nullptr;
  int (*set_tensor)(void* tensor, int format, int type, int n, int c, int h, int w) = nullptr;
  Create create_filter = nullptr;
  Destroy destroy_filter = nullptr;
  int (*set_filter)(void* filter, int type, int format, int k, int c, int r, int s) = nullptr;

  Create create_convolution = nullptr;
  Destroy destroy_convolution = nullptr;
  int (*set_convolution)(void* convolution, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                         int dilation_w, int mode, int type) = nullptr;
  int (*set_math)(void* convolution, int math) = nullptr;
  int (*set_groups)(void* convolution, int groups) = nullptr;
  FindAlgorithm find_forward = nullptr;          // x, filter, y
  FindAlgorithm find_data_gradient = nullptr;    // filter, dy, dx
  FindAlgorithm find_filter_gradient = nullptr;  // x, dy, dw
  Convolve forward = nullptr;
  Convolve data_gradient = nullptr;
  Convolve filter_gradient = nullptr;

  Create create_pooling = nullptr;
  Destroy destroy_pooling = nullptr;
  int (*set_pooling)(void* pooling, int mode, int nan, int height, int width, int pad_h, int pad_w,
                     int stride_h, int stride_w) = nullptr;
  int (*pool)(void* handle, void* pooling, const void* alpha, void* x_descriptor, const void* x,
              const void* beta, void* y_descriptor, void* y) = nullptr;
  int (*pool_gradient)(void* handle, void* pooling, const void* alpha, void* y_descriptor, const void* y,
                       void* dy_descriptor, const void* dy, void* x_descriptor, const void* x,
                       const void* beta, void* dx_descriptor, void* dx) = nullptr;

  int (*softmax)(void* handle, int algorithm, int mode, const void* alpha, void* x_descriptor, const void* x,
                 const void* beta, void* y_descriptor, void* y) = nullptr;
  int (*softmax_gradient)(void* handle, int algorithm, int mode, const void* alpha, void* y_descriptor,
                          const void* y, void* dy_descriptor, const void* dy, const void* beta,
                          void* dx_descriptor, void* dx) = nullptr;

  int (*batch_norm)(void* handle, int mode, const void* alpha, const void* beta, void* x_descriptor,
                    const void* x, void* y_descriptor, void* y, void* channels_descriptor, const void* scale,
                    const void* bias, double average_factor, void* running_mean, void* running_variance,
                    double epsilon, void* mean, void* inv_std) = nullptr;
  int (*batch_norm_gradient)(void* handle, int mode, const void* alpha_data, const void* beta_data,
                             const void* alpha_parameters, const void* beta_parameters, void* x_descriptor,
                             const void* x, void* dy_descriptor, const void* dy, void* dx_descriptor,
                             void* dx, void* channels_descriptor, const void* scale, void* dscale,
                             void* dbias, double epsilon, const void* mean, const void* inv_std) = nullptr;
};

// X(member of CudnnFunctions, name in the library)
#define RONDO_CUDNN_FUNCTIONS(X)                                       \
  X(version, cudnnGetVersion)                                          \
  X(error_string, cudnnGetErrorString)                                 \
  X(create, cudnnCreate)                                               \
  X(destroy, cudnnDestroy)                                             \
  X(set_stream, cudnnSetStream)                                        \
  X(create_tensor, cudnnCreateTensorDescriptor)                        \
  X(destroy_tensor, cudnnDestroyTensorDescriptor)                      \
  X(set_tensor, cudnnSetTensor4dDescriptor)                            \
  X(create_filter, cudnnCreateFilterDescriptor)                        \
  X(destroy_filter, cudnnDestroyFilterDescriptor)                      \
  X(set_filter, cudnnSetFilter4dDescriptor)                            \
  X(create_convolution, cudnnCreateConvolutionDescriptor)              \
  X(destroy_convolution, cudnnDestroyConvolutionDescriptor)            \
  X(set_convolution, cudnnSetConvolution2dDescriptor)                  \
  X(set_math, cudnnSetConvolutionMathType)                             \
  X(set_groups, cudnnSetConvolutionGroupCount)                         \
  X(find_forward, cudnnFindConvolutionForwardAlgorithm)                \
  X(find_data_gradient, cudnnFindConvolutionBackwardDataAlgorithm)     \
  X(find_filter_gradient, cudnnFindConvolutionBackwardFilterAlgorithm) \
  X(forward, cudnnConvolutionForward)                                  \
  X(data_gradient, cudnnConvolutionBackwardData)                       \
  X(filter_gradient, cudnnConvolutionBackwardFilter)                   \
  X(create_pooling, cudnnCreatePoolingDescriptor)                      \
  X(destroy_pooling, cudnnDestroyPoolingDescriptor)                    \
  X(set_pooling, cudnnSetPooling2dDescriptor)                          \
  X(pool, cudnnPoolingForward)                                         \
  X(pool_gradient, cudnnPoolingBackward)                               \
  X(softmax, cudnnSoftmaxForward)                                      \
  X(softmax_gradient, cudnnSoftmaxBackward)                            \
  X(batch_norm, cudnnBatchNormalizationForwardTraining)                \
  X(batch_norm_gradient, cudnnBatchNormalizationBackward)

// `find` returns the address of a function by its name, or null. Throws a bad_argument Error with the first
// name that it does not find.
CudnnFunctions find_cudnn(const std::function<void*(const std::string& name)>& find);

// The Status of cuDNN's, with the name of the function: bad_argument for what it does not support, or
// device_failed.
Status from_cudnn(const CudnnFunctions& functions, int status, const char* what);

int cudnn_type(DType type);  // of float32, bfloat16 and float16

// Throws a bad_argument Error if the size is 2^31 or more: cuDNN's sizes are ints.
int cudnn_size(int64_t size);

// A handle or a descriptor. Throws an Error if it cannot be created.
class CudnnObject {
 public:
  CudnnObject(const CudnnFunctions& functions, CudnnFunctions::Create create,
              CudnnFunctions::Destroy destroy);
  ~CudnnObject() { static_cast<void>(destroy_(value_)); }
  CudnnObject(const CudnnObject&) = delete;
  CudnnObject& operator=(const CudnnObject&) = delete;
  operator void*() const { return value_; }

 private:
  CudnnFunctions::Destroy destroy_;
  void* value_ = nullptr;
};

}  // namespace rondo::bench

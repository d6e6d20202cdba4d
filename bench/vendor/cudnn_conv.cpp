#include <rondo/bench/vendor/cudnn_conv.h>

#include <array>
#include <limits>

namespace rondo::bench {

// An algorithm that cuDNN has timed.
struct Candidate {
  int algorithm = 0;
  size_t workspace = 0;
  float milliseconds = std::numeric_limits<float>::infinity();
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;    // with which it was timed
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;  // of the search
};

namespace {

Status from_cudnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  return Status(StatusCode::device_failed, concat(what, ": ", cudnnGetErrorString(status)));
}

#define RONDO_CUDNN(call) throw_if_error(from_cudnn((call), #call))

// The fastest result of cudnnFind... Results may have a different math type from the requested one; these are
// skipped.
template <class Performance, class Find>
Candidate fastest(cudnnMathType_t math, Find&& find) {
  std::array<Performance, 10> found;
  int count = 0;
  Candidate best;
  best.status = find(static_cast<int>(found.size()), &count, found.data());
  if (best.status != CUDNN_STATUS_SUCCESS) return best;
  for (int i = 0; i < count; ++i) {
    const Performance& candidate = found[static_cast<size_t>(i)];
    if (candidate.status != CUDNN_STATUS_SUCCESS || candidate.time >= best.milliseconds) continue;
    if (math == CUDNN_FMA_MATH && candidate.mathType != CUDNN_FMA_MATH) continue;
    best = {static_cast<int>(candidate.algo), candidate.memory, candidate.time, candidate.mathType};
  }
  return best;
}

}  // namespace

struct CudnnConv::Choice {
  Choice() {
    RONDO_CUDNN(cudnnCreateTensorDescriptor(&x));
    RONDO_CUDNN(cudnnCreateTensorDescriptor(&y));
    RONDO_CUDNN(cudnnCreateFilterDescriptor(&filter));
    RONDO_CUDNN(cudnnCreateConvolutionDescriptor(&convolution));
  }
  ~Choice() {
    cudnnDestroyTensorDescriptor(x);
    cudnnDestroyTensorDescriptor(y);
    cudnnDestroyFilterDescriptor(filter);
    cudnnDestroyConvolutionDescriptor(convolution);
  }
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

  Channels channels = Channels::last;
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t filter = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  Candidate algorithm;
};

std::unique_ptr<CudnnConv::Choice> CudnnConv::choose(const ConvLayer& l, ConvMath math, Channels channels) {
  const auto size = [](int64_t value) { return static_cast<int>(value); };
  const cudnnTensorFormat_t format = channels == Channels::last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
  const cudnnMathType_t math_type = math == ConvMath::fp32   ? CUDNN_FMA_MATH
                                    : math == ConvMath::tf32 ? CUDNN_DEFAULT_MATH  // which permits tf32
                                                             : CUDNN_TENSOR_OP_MATH;
  const cudnnDataType_t type = math == ConvMath::bf16   ? CUDNN_DATA_BFLOAT16
                               : math == ConvMath::fp16 ? CUDNN_DATA_HALF
                                                        : CUDNN_DATA_FLOAT;
  auto made = std::make_unique<Choice>();
  made->channels = channels;
  RONDO_CUDNN(cudnnSetTensor4dDescriptor(made->x, format, type, size(l.n), size(l.c), size(l.h), size(l.w)));
  RONDO_CUDNN(
      cudnnSetTensor4dDescriptor(made->y, format, type, size(l.n), size(l.k), size(l.p()), size(l.q())));
  RONDO_CUDNN(
      cudnnSetFilter4dDescriptor(made->filter, type, format, size(l.k), size(l.c), size(l.r), size(l.s)));
  RONDO_CUDNN(cudnnSetConvolution2dDescriptor(made->convolution, size(l.pad), size(l.pad), size(l.stride),
                                              size(l.stride), 1, 1, CUDNN_CROSS_CORRELATION,
                                              CUDNN_DATA_FLOAT));
  RONDO_CUDNN(cudnnSetConvolutionMathType(made->convolution, math_type));

  switch (op_) {
    case ConvOp::forward:
      made->algorithm =
          fastest<cudnnConvolutionFwdAlgoPerf_t>(math_type, [&](int asked, int* count, auto* found) {
            return cudnnFindConvolutionForwardAlgorithm(handle_.value, made->x, made->filter,
                                                        made->convolution, made->y, asked, count, found);
          });
      break;
    case ConvOp::data_gradient:
      made->algorithm =
          fastest<cudnnConvolutionBwdDataAlgoPerf_t>(math_type, [&](int asked, int* count, auto* found) {
            return cudnnFindConvolutionBackwardDataAlgorithm(handle_.value, made->filter, made->y,
                                                             made->convolution, made->x, asked, count, found);
          });
      break;
    case ConvOp::filter_gradient:
      made->algorithm =
          fastest<cudnnConvolutionBwdFilterAlgoPerf_t>(math_type, [&](int asked, int* count, auto* found) {
            return cudnnFindConvolutionBackwardFilterAlgorithm(
                handle_.value, made->x, made->y, made->convolution, made->filter, asked, count, found);
          });
      break;
  }
  RONDO_CUDNN(cudnnSetConvolutionMathType(made->convolution, made->algorithm.math));
  return made;
}

CudnnConv::CudnnConv(const ConvLayer& layer, ConvOp op, ConvMath math) : op_(op) {
  RONDO_CUDNN(cudnnCreate(&handle_.value));
  best_ = choose(layer, math, Channels::first);
  std::unique_ptr<Choice> other = choose(layer, math, Channels::last);
  if (other->algorithm.milliseconds < best_->algorithm.milliseconds) best_ = std::move(other);
  if (best_->algorithm.milliseconds == std::numeric_limits<float>::infinity())
    throw Error(Status(StatusCode::device_failed, concat("cuDNN has no algorithm for ", layer.name, ": ",
                                                         cudnnGetErrorString(best_->algorithm.status))));
  workspace_ = Buffer<unsigned char>(static_cast<int64_t>(best_->algorithm.workspace));
}

CudnnConv::~CudnnConv() = default;

Channels CudnnConv::channels() const { return best_->channels; }

std::string CudnnConv::label() const {
  return concat(best_->channels == Channels::last ? "NHWC" : "NCHW", ", algorithm ",
                best_->algorithm.algorithm);
}

Status CudnnConv::run(void* x, void* y, void* filter, cudaStream_t stream) {
  const float one = 1, zero = 0;
  const Choice& c = *best_;
  const size_t bytes = static_cast<size_t>(workspace_.bytes());
  RONDO_RETURN_IF_ERROR(from_cudnn(cudnnSetStream(handle_.value, stream), "cudnnSetStream"));
  switch (op_) {
    case ConvOp::forward:
      return from_cudnn(cudnnConvolutionForward(handle_.value, &one, c.x, x, c.filter, filter, c.convolution,
                                                static_cast<cudnnConvolutionFwdAlgo_t>(c.algorithm.algorithm),
                                                workspace_.data(), bytes, &zero, c.y, y),
                        "cudnnConvolutionForward");
    case ConvOp::data_gradient:
      return from_cudnn(
          cudnnConvolutionBackwardData(handle_.value, &one, c.filter, filter, c.y, y, c.convolution,
                                       static_cast<cudnnConvolutionBwdDataAlgo_t>(c.algorithm.algorithm),
                                       workspace_.data(), bytes, &zero, c.x, x),
          "cudnnConvolutionBackwardData");
    case ConvOp::filter_gradient:
      return from_cudnn(
          cudnnConvolutionBackwardFilter(handle_.value, &one, c.x, x, c.y, y, c.convolution,
                                         static_cast<cudnnConvolutionBwdFilterAlgo_t>(c.algorithm.algorithm),
                                         workspace_.data(), bytes, &zero, c.filter, filter),
          "cudnnConvolutionBackwardFilter");
  }
  return {};
}

}  // namespace rondo::bench

#include <rondo/bench/cudnn/cudnn_conv.h>

#include <array>
#include <limits>

namespace rondo::bench {

// An algorithm that cuDNN has timed.
struct Candidate {
  int algorithm = 0;
  size_t workspace = 0;
  float milliseconds = std::numeric_limits<float>::infinity();
  int math = cudnn::DEFAULT_MATH;  // with which it was timed
  int status = 0;                  // of the search
};

namespace {

// The fastest result of cudnnFind... Results may have a different math type from the requested one; these are
// skipped.
template <class Find>
Candidate fastest(int math, Find&& find) {
  std::array<CudnnPerf, 10> found;
  int count = 0;
  Candidate best;
  best.status = find(static_cast<int>(found.size()), &count, found.data());
  if (best.status != 0) return best;
  for (int i = 0; i < count; ++i) {
    const CudnnPerf& candidate = found[static_cast<size_t>(i)];
    if (candidate.status != 0 || candidate.milliseconds >= best.milliseconds) continue;
    if (math == cudnn::FMA_MATH && candidate.math != cudnn::FMA_MATH) continue;
    best = {candidate.algorithm, candidate.memory, candidate.milliseconds, candidate.math};
  }
  return best;
}

}  // namespace

struct CudnnConv::Choice {
  explicit Choice(const CudnnFunctions& f)
      : x(f, f.create_tensor, f.destroy_tensor),
        y(f, f.create_tensor, f.destroy_tensor),
        filter(f, f.create_filter, f.destroy_filter),
        convolution(f, f.create_convolution, f.destroy_convolution) {}

  Channels channels = Channels::last;
  CudnnObject x, y, filter, convolution;
  Candidate algorithm;
};

std::unique_ptr<CudnnConv::Choice> CudnnConv::choose(const ConvLayer& l, ConvMath math, Channels channels) {
  const auto size = cudnn_size;
  const auto check = [&](int status, const char* what) { throw_if_error(from_cudnn(cudnn_, status, what)); };
  const int format = channels == Channels::last ? cudnn::TENSOR_NHWC : cudnn::TENSOR_NCHW;
  const int math_type = math == ConvMath::fp32   ? cudnn::FMA_MATH
                        : math == ConvMath::tf32 ? cudnn::DEFAULT_MATH  // which permits tf32
                                                 : cudnn::TENSOR_OP_MATH;
  const int type = math == ConvMath::bf16   ? cudnn::DATA_BFLOAT16
                   : math == ConvMath::fp16 ? cudnn::DATA_HALF
                                            : cudnn::DATA_FLOAT;
  auto made = std::make_unique<Choice>(cudnn_);
  made->channels = channels;
  check(cudnn_.set_tensor(made->x, format, type, size(l.n), size(l.c), size(l.h), size(l.w)),
        "cudnnSetTensor4dDescriptor of x");
  check(cudnn_.set_tensor(made->y, format, type, size(l.n), size(l.k), size(l.p()), size(l.q())),
        "cudnnSetTensor4dDescriptor of y");
  check(cudnn_.set_filter(made->filter, type, format, size(l.k), size(l.group_channels()), size(l.r),
                          size(l.s)),
        "cudnnSetFilter4dDescriptor");
  check(
      cudnn_.set_convolution(made->convolution, size(l.pad), size(l.pad), size(l.stride), size(l.stride),
                             size(l.dilation), size(l.dilation), cudnn::CROSS_CORRELATION, cudnn::DATA_FLOAT),
      "cudnnSetConvolution2dDescriptor");
  check(cudnn_.set_math(made->convolution, math_type), "cudnnSetConvolutionMathType");
  check(cudnn_.set_groups(made->convolution, size(l.groups)), "cudnnSetConvolutionGroupCount");
  made->algorithm = fastest(math_type, [&](int requested, int* count, CudnnPerf* found) {
    switch (op_) {
      case ConvOp::data_gradient:
        return cudnn_.find_data_gradient(handle_, made->filter, made->y, made->convolution, made->x,
                                         requested, count, found);
      case ConvOp::filter_gradient:
        return cudnn_.find_filter_gradient(handle_, made->x, made->y, made->convolution, made->filter,
                                           requested, count, found);
      case ConvOp::forward:
        break;
    }
    return cudnn_.find_forward(handle_, made->x, made->filter, made->convolution, made->y, requested, count,
                               found);
  });
  check(cudnn_.set_math(made->convolution, made->algorithm.math), "cudnnSetConvolutionMathType");
  return made;
}

CudnnConv::CudnnConv(const CudnnFunctions& functions, const ConvLayer& layer, ConvOp op, ConvMath math)
    : cudnn_(functions), op_(op), handle_(functions, functions.create, functions.destroy) {
  best_ = choose(layer, math, Channels::first);
  std::unique_ptr<Choice> other = choose(layer, math, Channels::last);
  if (other->algorithm.milliseconds < best_->algorithm.milliseconds) best_ = std::move(other);
  if (best_->algorithm.milliseconds == std::numeric_limits<float>::infinity())
    throw Error(bad_argument("cuDNN has no algorithm for the convolution ", layer.name, ": ",
                             cudnn_.error_string(best_->algorithm.status)));
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
  const int algorithm = c.algorithm.algorithm;
  void* const workspace = workspace_.data();
  const size_t bytes = static_cast<size_t>(workspace_.bytes());
  RONDO_RETURN_IF_ERROR(from_cudnn(cudnn_, cudnn_.set_stream(handle_, stream), "cudnnSetStream"));
  switch (op_) {
    case ConvOp::data_gradient:
      return from_cudnn(cudnn_,
                        cudnn_.data_gradient(handle_, &one, c.filter, filter, c.y, y, c.convolution,
                                             algorithm, workspace, bytes, &zero, c.x, x),
                        "cudnnConvolutionBackwardData");
    case ConvOp::filter_gradient:
      return from_cudnn(cudnn_,
                        cudnn_.filter_gradient(handle_, &one, c.x, x, c.y, y, c.convolution, algorithm,
                                               workspace, bytes, &zero, c.filter, filter),
                        "cudnnConvolutionBackwardFilter");
    case ConvOp::forward:
      break;
  }
  return from_cudnn(cudnn_,
                    cudnn_.forward(handle_, &one, c.x, x, c.filter, filter, c.convolution, algorithm,
                                   workspace, bytes, &zero, c.y, y),
                    "cudnnConvolutionForward");
}

}  // namespace rondo::bench

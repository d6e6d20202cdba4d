#include <rondo/bench/cudnn/cudnn_calls.h>
#include <rondo/bench/cudnn/cudnn_conv.h>
#include <rondo/bench/operators/conv.h>

#include <memory>

namespace rondo::bench {
namespace {

using Id = OperandId<uint8_t>;  // of an operand by its number, as a pointer to bytes

constexpr float kOne = 1, kZero = 0;

// A handle, and two tensors: of what is read and of what is written, or of x and of y.
struct Context {
  explicit Context(const CudnnFunctions& functions)
      : f(functions),
        handle(f, f.create, f.destroy),
        x(f, f.create_tensor, f.destroy_tensor),
        y(f, f.create_tensor, f.destroy_tensor) {}

  void set(void* tensor, int format, DType type, int64_t n, int64_t c, int64_t h, int64_t w) const {
    throw_if_error(from_cudnn(f,
                              f.set_tensor(tensor, format, cudnn_type(type), cudnn_size(n), cudnn_size(c),
                                           cudnn_size(h), cudnn_size(w)),
                              "cudnnSetTensor4dDescriptor"));
  }
  // Runs call() on the stream.
  template <class Call>
  Status on(cudaStream_t stream, const char* name, const Call& call) const {
    RONDO_RETURN_IF_ERROR(from_cudnn(f, f.set_stream(handle, stream), "cudnnSetStream"));
    return from_cudnn(f, call(), name);
  }

  CudnnFunctions f;
  CudnnObject handle, x, y;
};

// ---- Convolutions ----

ConvMath conv_math(const OperatorRequest& r) {
  if (r.type == DType::bfloat16) return ConvMath::bf16;
  if (r.type == DType::float16) return ConvMath::fp16;
  // tf32x3 has the accuracy of fp32, and is compared with it.
  return r.math == Math::tf32 ? ConvMath::tf32 : ConvMath::fp32;
}

void make_conv(OperatorCall& call, const CudnnFunctions& functions, const OperatorRequest& request) {
  ConvLayer layer = conv_layer(request);
  layer.name = call.name.c_str();
  const ConvOp op = conv_op(request.pass);
  const auto conv = std::make_shared<CudnnConv>(functions, layer, op, conv_math(request));
  call.plan = conv->label();
  call.enqueue = [conv, op](const Operands& o, cudaStream_t stream) {
    return conv->run(o[Id{0}], o[Id{1}], o[Id{op == ConvOp::filter_gradient ? size_t{3} : 2}], stream);
  };
  call.is_right = [request, channels = conv->channels()](const HostOperands& host) {
    if (request.type == DType::bfloat16)
      return is_conv<__nv_bfloat16, __nv_bfloat16>(request, channels, host);
    if (request.type == DType::float16) return is_conv<__half, __half>(request, channels, host);
    return is_conv<float, float>(request, channels, host);
  };
}

// ---- Pooling ----

void make_pool(OperatorCall& call, const CudnnFunctions& functions, const OperatorRequest& request) {
  struct Pooling : Context {
    explicit Pooling(const CudnnFunctions& functions)
        : Context(functions), window(f, f.create_pooling, f.destroy_pooling) {}
    CudnnObject window;
  };
  const bool average = request.kind == "avg";
  if (!average && request.kind != "max")
    throw Error(bad_argument("cuDNN has pooling of the kinds avg and max, not ", request.kind));
  const Shape& s = request.shape;
  if (!average && s["dilation"] != 1)
    throw Error(bad_argument("cuDNN's pooling has no dilation, and dilation is ", s["dilation"]));
  const int64_t window = s["window"], stride = s["stride"] == 0 ? window : s["stride"], pad = s["pad"];
  const auto pooled = [&](int64_t side) { return (side + 2 * pad - window) / stride + 1; };
  const auto pooling = std::make_shared<Pooling>(functions);
  pooling->set(pooling->x, cudnn::TENSOR_NHWC, request.type, s["n"], s["c"], s["h"], s["w"]);
  pooling->set(pooling->y, cudnn::TENSOR_NHWC, request.type, s["n"], s["c"], pooled(s["h"]), pooled(s["w"]));
  const int side = cudnn_size(window), padding = cudnn_size(pad), step = cudnn_size(stride);
  throw_if_error(
      from_cudnn(functions,
                 functions.set_pooling(pooling->window,
                                       average ? cudnn::POOLING_AVERAGE_COUNT_INCLUDE_PADDING
                                               : cudnn::POOLING_MAX_DETERMINISTIC,
                                       cudnn::PROPAGATE_NAN, side, side, padding, padding, step, step),
                 "cudnnSetPooling2dDescriptor"));
  if (request.pass == "forward") {
    call.enqueue = [pooling](const Operands& o, cudaStream_t stream) {
      const Pooling& p = *pooling;
      return p.on(stream, "cudnnPoolingForward",
                  [&] { return p.f.pool(p.handle, p.window, &kOne, p.x, o[Id{0}], &kZero, p.y, o[Id{1}]); });
    };
    return;
  }
  // dy, x, y and dx. The gradient of an average depends on neither x nor y, which have no elements then:
  // cuDNN is given tensors of the same shapes.
  call.enqueue = [pooling, average](const Operands& o, cudaStream_t stream) {
    const Pooling& p = *pooling;
    return p.on(stream, "cudnnPoolingBackward", [&] {
      return p.f.pool_gradient(p.handle, p.window, &kOne, p.y, o[Id{average ? size_t{0} : 2}], p.y, o[Id{0}],
                               p.x, o[Id{average ? size_t{3} : 1}], &kZero, p.x, o[Id{3}]);
    });
  };
}

// ---- Softmax ----

void make_softmax(OperatorCall& call, const CudnnFunctions& functions, const OperatorRequest& request) {
  const auto context = std::make_shared<Context>(functions);
  context->set(context->x, cudnn::TENSOR_NCHW, request.type, request.shape["rows"], request.shape["cols"], 1,
               1);
  const int algorithm = request.kind == "log_softmax" ? cudnn::SOFTMAX_LOG : cudnn::SOFTMAX_ACCURATE;
  const bool forward = request.pass == "forward";
  call.enqueue = [context, algorithm, forward](const Operands& o, cudaStream_t stream) {
    const Context& c = *context;
    if (forward)
      return c.on(stream, "cudnnSoftmaxForward", [&] {
        return c.f.softmax(c.handle, algorithm, cudnn::SOFTMAX_MODE_INSTANCE, &kOne, c.x, o[Id{0}], &kZero,
                           c.x, o[Id{1}]);
      });
    return c.on(stream, "cudnnSoftmaxBackward", [&] {  // dy, y and dx
      return c.f.softmax_gradient(c.handle, algorithm, cudnn::SOFTMAX_MODE_INSTANCE, &kOne, c.x, o[Id{1}],
                                  c.x, o[Id{0}], &kZero, c.x, o[Id{2}]);
    });
  };
}

// ---- Batch normalisation ----

void make_norm(OperatorCall& call, const CudnnFunctions& functions, const OperatorRequest& request) {
  if (request.kind != "batch")
    throw Error(bad_argument("cuDNN has a function for the kind batch of norm, not for ", request.kind));
  struct Normalisation : Context {
    using Context::Context;
    Buffer<float> parameters;  // the gradients of gamma and beta
  };
  constexpr double kEps = 1e-5f;
  const int64_t rows = request.shape["rows"], channels = request.shape["channels"];
  const auto norm = std::make_shared<Normalisation>(functions);
  norm->set(norm->x, cudnn::TENSOR_NCHW, request.type, rows, channels, 1, 1);
  norm->set(norm->y, cudnn::TENSOR_NCHW, DType::float32, 1, channels, 1, 1);
  const bool forward = request.pass == "forward";
  if (!forward) norm->parameters = Buffer<float>(2 * channels);
  // x, dy, y (or dx), gamma, beta, mean and inv_std. The running statistics are not requested.
  call.enqueue = [=](const Operands& o, cudaStream_t stream) {
    Normalisation& b = *norm;
    if (forward)
      return b.on(stream, "cudnnBatchNormalizationForwardTraining", [&] {
        return b.f.batch_norm(b.handle, cudnn::BATCHNORM_PER_ACTIVATION, &kOne, &kZero, b.x, o[Id{0}], b.x,
                              o[Id{2}], b.y, o[Id{3}], o[Id{4}], 0, nullptr, nullptr, kEps, o[Id{5}],
                              o[Id{6}]);
      });
    return b.on(stream, "cudnnBatchNormalizationBackward", [&] {
      return b.f.batch_norm_gradient(b.handle, cudnn::BATCHNORM_PER_ACTIVATION, &kOne, &kZero, &kOne, &kZero,
                                     b.x, o[Id{0}], b.x, o[Id{1}], b.x, o[Id{2}], b.y, o[Id{3}],
                                     b.parameters.data(), b.parameters.data() + channels, kEps, o[Id{5}],
                                     o[Id{6}]);
    });
  };
}

}  // namespace

OperatorCall cudnn_call(const CudnnFunctions& functions, const std::string& operation,
                        const OperatorRequest& request) {
  const std::pair<const char*, void (*)(OperatorCall&, const CudnnFunctions&, const OperatorRequest&)>
      made[] = {{"conv", make_conv}, {"pool", make_pool}, {"softmax", make_softmax}, {"norm", make_norm}};
  for (const auto& [name, make] : made)
    if (operation == name) {
      OperatorRequest any = request;
      any.any_maximum = true;
      OperatorCall call = make_call(operation, any);
      make(call, functions, request);
      return call;
    }
  throw Error(bad_argument("cuDNN has no function for ", operation));
}

}  // namespace rondo::bench

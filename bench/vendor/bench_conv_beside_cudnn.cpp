// The convolutions of LeNet and of ResNet-18 (for 28 x 28 images), layer by layer, compared with cuDNN: the
// same shapes, N(0, 1) data, in the same process. cuDNN may choose layout and algorithm; Rondo uses NHWC and
// strict fp32.

#include <rondo/bench/support/bench.h>
#include <rondo/bench/vendor/conv_sample.h>
#include <rondo/bench/vendor/cudnn_conv.h>

#include <string>

namespace rondo::bench {
namespace {

// name, images, height, width, channels, output channels, filter rows and columns, stride, padding
constexpr ConvLayer kLayers[] = {
    {"lenet_conv1", 256, 28, 28, 1, 20, 3, 3, 1, 0},
    {"lenet_conv2", 256, 13, 13, 20, 50, 5, 5, 1, 0},
    {"resnet_stem", 256, 28, 28, 1, 64, 3, 3, 1, 1},
    {"resnet_64", 256, 28, 28, 64, 64, 3, 3, 1, 1},
    {"resnet_64_128", 256, 28, 28, 64, 128, 3, 3, 2, 1},
    {"resnet_shortcut", 256, 28, 28, 64, 128, 1, 1, 2, 0},
    {"resnet_128", 256, 14, 14, 128, 128, 3, 3, 1, 1},
    {"resnet_256", 256, 7, 7, 256, 256, 3, 3, 1, 1},
    {"resnet_512", 256, 4, 4, 512, 512, 3, 3, 1, 1},
};

// All three tensors. The one that `op` writes is filled with NaN.
struct Tensors {
  Tensors(const ConvLayer& layer, ConvOp op)
      : x(normal_buffer(layer.x_size(), 1)),
        y(normal_buffer(layer.y_size(), 2)),
        filter(normal_buffer(layer.filter_size(), 3)) {
    Buffer<float>& result = op == ConvOp::forward ? y : op == ConvOp::data_gradient ? x : filter;
    result.fill_bytes(0xff);
  }
  bool are_right(const ConvLayer& layer, ConvOp op, Channels channels, double rounding) const {
    return is_convolution(layer, op, channels, x.download(), y.download(), filter.download(), rounding);
  }
  double bytes() const { return static_cast<double>(x.bytes() + y.bytes() + filter.bytes()); }

  Buffer<float> x, y, filter;
};

void by_cudnn(benchmark::State& state, const ConvLayer& layer, ConvOp op, ConvMath math) {
  CudnnConv peer(layer, op, math);
  Tensors tensors(layer, op);
  const auto work = [&](cudaStream_t stream) {
    return peer.run(tensors.x.data(), tensors.y.data(), tensors.filter.data(), stream);
  };
  Stream stream;
  throw_if_error(work(stream));
  stream.synchronize();
  if (!tensors.are_right(layer, op, peer.channels(), math == ConvMath::fp32 ? 0x1p-24 : 0x1p-11))
    return state.SkipWithError("the convolution is wrong");
  const Work done = {.flops = layer.flops(), .bytes = tensors.bytes()};
  time_device_work(state, Cache::hot, done, math == ConvMath::fp32 ? bound_of(done) : Bound{}, work);
  state.SetLabel(math == ConvMath::fp32 ? concat("of ", bound_of(done).name, ", ", peer.label())
                                        : peer.label());
}

void by_rondo(benchmark::State& state, const ConvLayer& l, ConvOp op, ConvAlgorithm algorithm) {
  Tensors tensors(l, op);
  const ImageView<float> x = {tensors.x.data(), l.n, l.h, l.w, l.c};
  const ImageView<float> y = {tensors.y.data(), l.n, l.p(), l.q(), l.k};
  const FilterView<float> filter = {tensors.filter.data(), l.k, l.r, l.s, l.c};
  const Conv2dOptions options = {
      .stride_h = l.stride, .stride_w = l.stride, .pad_h = l.pad, .pad_w = l.pad, .algorithm = algorithm};
  const Conv2dWorkspaceBytes bytes = conv2d_workspace_bytes(x, filter, options);
  Buffer<unsigned char> memory(std::max({bytes.forward, bytes.data_gradient, bytes.filter_gradient}));
  const Workspace workspace = {memory.data(), memory.bytes()};
  const auto work = [&](cudaStream_t stream) -> Status {
    switch (op) {
      case ConvOp::forward:
        return conv2d_forward(y, x, filter, options, {}, workspace, stream);
      case ConvOp::data_gradient:
        return conv2d_data_gradient(x, y, filter, options, workspace, stream);
      case ConvOp::filter_gradient:
        return conv2d_filter_gradient(filter, y, x, options, workspace, stream);
    }
    return {};
  };
  Stream stream;
  throw_if_error(work(stream));
  stream.synchronize();
  if (!tensors.are_right(l, op, Channels::last, 0x1p-24))
    return state.SkipWithError("the convolution is wrong");
  time_device_work(state, Cache::hot, {.flops = l.flops(), .bytes = tensors.bytes()}, work);
}

template <class F>
void add(const std::string& name, F&& body) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [body](benchmark::State& state) {
                                 try {
                                   body(state);
                                 } catch (const Error& error) {
                                   state.SkipWithError(error.what());
                                 }
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

const bool kRegistered = [] {
  for (const ConvLayer& layer : kLayers)
    for (const auto& [op, name] : {std::pair{ConvOp::forward, "forward"},
                                   {ConvOp::data_gradient, "data_gradient"},
                                   {ConvOp::filter_gradient, "filter_gradient"}}) {
      // The input gradient of a network's first layer is not needed.
      if (op == ConvOp::data_gradient && layer.c == 1) continue;
      const std::string tail = concat("/", layer.name, "/", name);
      add("rondo" + tail,
          [=](benchmark::State& state) { by_rondo(state, layer, op, ConvAlgorithm::automatic); });
      add("rondo_direct" + tail,
          [=](benchmark::State& state) { by_rondo(state, layer, op, ConvAlgorithm::direct); });
      add("cudnn_fp32" + tail, [=](benchmark::State& state) { by_cudnn(state, layer, op, ConvMath::fp32); });
      add("cudnn_tf32" + tail, [=](benchmark::State& state) { by_cudnn(state, layer, op, ConvMath::tf32); });
    }
  return true;
}();

}  // namespace
}  // namespace rondo::bench

// The three convolutions on the layers of LeNet and of a ResNet for 28 x 28 images. Where Winograd's
// algorithm is selected, the direct algorithm is also timed. FLOPs are those of the definition, so a share
// may be above 1.

#include <rondo/bench/support/bench.h>
#include <rondo/bench/vendor/conv_sample.h>
#include <rondo/kernels/conv/conv2d.h>

#include <algorithm>
#include <string>

namespace rondo::bench {
namespace {

struct Convolution {
  ConvLayer layer;
  ConvAlgorithm algorithm;
  Buffer<float> x, y, filter, scratch;

  Convolution(const ConvLayer& in_layer, ConvAlgorithm in_algorithm)
      : layer(in_layer),
        algorithm(in_algorithm),
        x(normal_buffer(layer.x_size(), 1)),
        y(normal_buffer(layer.y_size(), 2)),
        filter(normal_buffer(layer.filter_size(), 3)),
        scratch(workspace_bytes() / static_cast<int64_t>(sizeof(float))) {}

  ImageView<float> x_view() { return {x.data(), layer.n, layer.h, layer.w, layer.c}; }
  ImageView<float> y_view() { return {y.data(), layer.n, layer.p(), layer.q(), layer.k}; }
  FilterView<float> filter_view() { return {filter.data(), layer.k, layer.r, layer.s, layer.c}; }

  Conv2dOptions options() const { return {layer.stride, layer.stride, layer.pad, layer.pad, algorithm}; }
  int64_t workspace_bytes() {
    const Conv2dWorkspaceBytes bytes = conv2d_workspace_bytes(x_view(), filter_view(), options());
    return std::max({bytes.forward, bytes.data_gradient, bytes.filter_gradient});
  }

  Status run(ConvOp op, cudaStream_t stream) {
    const Workspace workspace = {scratch.data(), scratch.bytes()};
    switch (op) {
      case ConvOp::forward:
        return conv2d_forward(y_view(), x_view(), filter_view(), options(), {}, workspace, stream);
      case ConvOp::data_gradient:
        return conv2d_data_gradient(x_view(), y_view(), filter_view(), options(), workspace, stream);
      case ConvOp::filter_gradient:
        return conv2d_filter_gradient(filter_view(), y_view(), x_view(), options(), workspace, stream);
    }
    return bad_argument("no such operation");
  }
};

void time_convolution(benchmark::State& state, const ConvLayer& layer, ConvOp op, ConvAlgorithm algorithm) {
  Convolution convolution(layer, algorithm);
  Stream stream;
  throw_if_error(convolution.run(op, stream));
  stream.synchronize();
  if (!is_convolution(layer, op, Channels::last, convolution.x.download(), convolution.y.download(),
                      convolution.filter.download(), 0x1p-24))
    return state.SkipWithError("the convolution is wrong");
  const Work work = {
      .flops = layer.flops(),
      .bytes = 4.0 * static_cast<double>(layer.x_size() + layer.y_size() + layer.filter_size())};
  time_device_work(state, Cache::hot, work, [&](cudaStream_t on) { return convolution.run(op, on); });
}

constexpr ConvLayer kLayers[] = {
    {"lenet1", 8, 28, 28, 1, 20, 3, 3, 1, 0},
    {"lenet2", 8, 13, 13, 20, 50, 5, 5, 1, 0},
    {"lenet1", 256, 28, 28, 1, 20, 3, 3, 1, 0},
    {"lenet2", 256, 13, 13, 20, 50, 5, 5, 1, 0},
    {"resnet_stage1", 32, 28, 28, 64, 64, 3, 3, 1, 1},
    {"resnet_stage2_down", 32, 28, 28, 64, 128, 3, 3, 2, 1},
    {"resnet_stage2", 32, 14, 14, 128, 128, 3, 3, 1, 1},
    {"resnet_stage3", 32, 7, 7, 256, 256, 3, 3, 1, 1},
    {"resnet_stage4", 32, 4, 4, 512, 512, 3, 3, 1, 1},
};

const bool registered = [] {
  constexpr std::pair<const char*, ConvOp> kOps[] = {{"forward", ConvOp::forward},
                                                     {"data_gradient", ConvOp::data_gradient},
                                                     {"filter_gradient", ConvOp::filter_gradient}};
  for (const ConvLayer& layer : kLayers)
    for (const auto& [name, op] : kOps) {
      const std::string full_name = concat("conv2d_", name, "/", layer.name, "/images:", layer.n);
      const auto add = [&](const std::string& as, ConvAlgorithm algorithm) {
        benchmark::RegisterBenchmark(as.c_str(),
                                     [&layer, op = op, algorithm](benchmark::State& state) {
                                       time_convolution(state, layer, op, algorithm);
                                     })
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      };
      add(full_name, ConvAlgorithm::automatic);
      const ImageView<const float> x = {nullptr, layer.n, layer.h, layer.w, layer.c};
      const FilterView<const float> filter = {nullptr, layer.k, layer.r, layer.s, layer.c};
      const Conv2dOptions options = {layer.stride, layer.stride, layer.pad, layer.pad};
      if (conv2d_workspace_bytes(x, filter, options).forward > 0)  // the direct algorithm needs none
        add(full_name + "/direct", ConvAlgorithm::direct);
    }
  return true;
}();

}  // namespace
}  // namespace rondo::bench

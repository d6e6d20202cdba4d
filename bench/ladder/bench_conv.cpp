// The three convolutions on the layers of LeNet and of a ResNet for 28 x 28 images, in every arithmetic.
// Where Winograd's algorithm is selected, the direct algorithm is also timed; and for few channels the filter
// gradient with that of the bias, whose sums have no bytes and hardly any work of their own. FLOPs are those
// of the definition, so a share may be above 1.

#include <rondo/bench/ladder/convolution.h>
#include <rondo/bench/support/bench.h>

#include <string>
#include <type_traits>
#include <utility>

namespace rondo::bench {
namespace {

template <class T>
void time_convolution(benchmark::State& state, const ConvLayer& layer, ConvOp op, ConvAlgorithm algorithm,
                      Math math, bool with_bias) {
  Convolution<T> convolution(layer, algorithm, math, with_bias);
  const double rounding = sizeof(T) == 2 ? 0x1p-8 : math == Math::tf32 ? 0x1p-11 : 0x1p-24;
  if (!convolution.is_right(op, rounding)) return state.SkipWithError("the convolution is wrong");
  const Work work = convolution.work(layer);
  const bool strict = std::is_same_v<T, float> && math == Math::fp32;
  time_device_work(state, Cache::hot, work, strict ? bound_of(work) : Bound{},
                   [&](cudaStream_t on) { return convolution.run(op, on); });
}

constexpr ConvLayer kLayers[] = {
    {"lenet1", 8, 28, 28, 1, 20, 3, 3, 1, 0},
    {"lenet2", 8, 13, 13, 20, 50, 5, 5, 1, 0},
    {"lenet1", 256, 28, 28, 1, 20, 3, 3, 1, 0},
    {"lenet2", 256, 13, 13, 20, 50, 5, 5, 1, 0},
    {"resnet_stage1", 32, 28, 28, 64, 64, 3, 3, 1, 1},
    {"resnet_stage2_down", 32, 28, 28, 64, 128, 3, 3, 2, 1},
    {"resnet_stage2_shortcut", 32, 28, 28, 64, 128, 1, 1, 2, 0},
    {"resnet_stage2", 32, 14, 14, 128, 128, 3, 3, 1, 1},
    {"resnet_stage3_down", 32, 14, 14, 128, 256, 3, 3, 2, 1},
    {"resnet_stage3_shortcut", 32, 14, 14, 128, 256, 1, 1, 2, 0},
    {"resnet_stage3", 32, 7, 7, 256, 256, 3, 3, 1, 1},
    {"resnet_stage4_down", 32, 7, 7, 256, 512, 3, 3, 2, 1},
    {"resnet_stage4_shortcut", 32, 7, 7, 256, 512, 1, 1, 2, 0},
    {"resnet_stage4", 32, 4, 4, 512, 512, 3, 3, 1, 1},
};

// "conv2d_forward/lenet1/images:8", with tensor cores "conv2d_forward/lenet1/images:8/bf16".
template <class T>
void add(const std::string& name, const ConvLayer& layer, ConvOp op, ConvAlgorithm algorithm, Math math,
         bool with_bias = false) {
  benchmark::RegisterBenchmark(
      name.c_str(),
      [=](benchmark::State& state) { time_convolution<T>(state, layer, op, algorithm, math, with_bias); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

const bool registered = register_on_device([] {
  const bool has_tf32 = check_math("", Math::tf32).ok(),
             has_bf16 = check_factor_type("", DType::bfloat16).ok(),
             has_fp16 = check_factor_type("", DType::float16).ok();
  for (const ConvLayer& layer : kLayers)
    for (const auto& [operation, op] : {std::pair{"forward", ConvOp::forward},
                                        {"data_gradient", ConvOp::data_gradient},
                                        {"filter_gradient", ConvOp::filter_gradient}}) {
      const std::string name = concat("conv2d_", operation, "/", layer.name, "/images:", layer.n);
      add<float>(name, layer, op, ConvAlgorithm::automatic, Math::fp32);
      const Conv2dOptions options = {layer.stride, layer.stride, layer.pad, layer.pad};
      const auto bytes = [&](ConvAlgorithm algorithm) {
        Conv2dOptions with = options;
        with.algorithm = algorithm;
        return conv2d_workspace_bytes({nullptr, layer.n, layer.h, layer.w, layer.c},
                                      {nullptr, layer.k, layer.r, layer.s, layer.c}, with)
            .forward;
      };
      // Winograd's algorithm has transformed filters in its workspace.
      const bool direct_is_automatic = bytes(ConvAlgorithm::automatic) == bytes(ConvAlgorithm::direct);
      if (!direct_is_automatic) add<float>(name + "/direct", layer, op, ConvAlgorithm::direct, Math::fp32);
      if (has_tf32) {
        add<float>(name + "/tf32", layer, op, ConvAlgorithm::automatic, Math::tf32);
        add<float>(name + "/tf32x3", layer, op, ConvAlgorithm::automatic, Math::tf32x3);
      }
      if (has_bf16) add<__nv_bfloat16>(name + "/bf16", layer, op, ConvAlgorithm::automatic, Math::fp32);
      if (op == ConvOp::filter_gradient && layer.c <= 4)
        add<float>(name + "/bias", layer, op, ConvAlgorithm::automatic, Math::fp32, true);
      if (has_fp16) add<__half>(name + "/fp16", layer, op, ConvAlgorithm::automatic, Math::fp32);
    }
});

}  // namespace
}  // namespace rondo::bench

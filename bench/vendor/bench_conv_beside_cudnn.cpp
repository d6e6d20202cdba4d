// The convolutions of LeNet and of ResNet-18 (for 28 x 28 images), layer by layer, compared with cuDNN in the
// same type and arithmetic: the same shapes, N(0, 1) data, in the same process. cuDNN may choose layout and
// algorithm; Rondo uses NHWC. The share of Rondo is relative to cuDNN, timed in turns with it; of
// Math::tf32x3, which has the accuracy of fp32, relative to strict fp32. In 16-bit types Rondo's filter
// gradient is float, as training needs it, and cuDNN's has 16 bits.

#include <rondo/bench/cudnn/cudnn_conv.h>
#include <rondo/bench/ladder/convolution.h>
#include <rondo/bench/support/bench.h>
#include <rondo/bench/vendor/conv_layers.h>
#include <rondo/bench/vendor/linked_cudnn.h>
#include <rondo/bench/vendor/loaded_library.h>
#include <rondo/kernels/runtime/platform.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace rondo::bench {
namespace {

const char* name_of(ConvMath math) {
  constexpr const char* kNames[] = {"fp32", "tf32", "bf16", "fp16"};
  return kNames[static_cast<int>(math)];
}

double rounding_of(ConvMath math) {
  constexpr double kRounding[] = {0x1p-24, 0x1p-11, 0x1p-8, 0x1p-11};
  return kRounding[static_cast<int>(math)];
}

// cuDNN's convolution of the last row, or a new one. The rows that need the same follow each other, and cuDNN
// times its algorithms whenever it is asked for the fastest.
CudnnConv& cudnn(const ConvLayer& layer, ConvOp op, ConvMath math) {
  struct Last {
    std::string key;
    std::unique_ptr<CudnnConv> convolution;
  };
  // Never destroyed: CUDA must not be called after main().
  static Last& last = *new Last;
  const std::string key = concat(layer.name, "/", static_cast<int>(op), "/", name_of(math));
  if (last.key != key) {
    last = {};
    last.convolution = std::make_unique<CudnnConv>(find_cudnn(linked_cudnn), layer, op, math);
    last.key = key;
  }
  return *last.convolution;
}

template <class T>
void by_cudnn(benchmark::State& state, const ConvLayer& layer, ConvOp op, ConvMath math) {
  CudnnConv& peer = cudnn(layer, op, math);
  ConvTensors<T> tensors(layer);
  tensors.result(op).fill_bytes(0xff);  // NaN
  const auto work = [&](cudaStream_t stream) {
    return peer.run(tensors.x.data(), tensors.y.data(), tensors.filter.data(), stream);
  };
  run_once(work);
  if (!is_convolution(layer, op, peer.channels(), tensors.as_floats(tensors.x), tensors.as_floats(tensors.y),
                      tensors.as_floats(tensors.filter), rounding_of(math)))
    return state.SkipWithError("the convolution is wrong");
  const Work done = tensors.work(layer);
  time_device_work(state, Cache::hot, done, math == ConvMath::fp32 ? bound_of(done) : Bound{}, work);
  state.SetLabel(math == ConvMath::fp32 ? concat("of ", bound_of(done).name, ", ", peer.label())
                                        : peer.label());
}

// Rondo's arithmetic, and cuDNN's that it is compared with.
struct Arithmetic {
  const char* name;  // "tf32x3"
  Math math;
  ConvMath peer;
  ConvAlgorithm algorithm = ConvAlgorithm::automatic;
};

template <class T>
void by_rondo(benchmark::State& state, const ConvLayer& layer, ConvOp op, const Arithmetic& arithmetic) {
  Convolution<T> ours(layer, arithmetic.algorithm, arithmetic.math);
  CudnnConv& of_cudnn = cudnn(layer, op, arithmetic.peer);
  if (!ours.is_right(op, rounding_of(arithmetic.peer)))
    return state.SkipWithError("the convolution is wrong");
  const Peer peer = {concat("cuDNN ", name_of(arithmetic.peer)), [&](cudaStream_t on) {
                       return of_cudnn.run(ours.x.data(), ours.y.data(), ours.filter.data(), on);
                     }};
  time_beside(state, ours.work(layer), peer, [&](cudaStream_t on) { return ours.run(op, on); });
}

template <class T>
void add_rondo(const std::string& tail, const ConvLayer& layer, ConvOp op, const Arithmetic& arithmetic) {
  add_benchmark(concat("rondo_", arithmetic.name, tail),
                [=](benchmark::State& state) { by_rondo<T>(state, layer, op, arithmetic); });
}
template <class T>
void add_cudnn(const std::string& tail, const ConvLayer& layer, ConvOp op, ConvMath math) {
  add_benchmark(concat("cudnn_", name_of(math), tail),
                [=](benchmark::State& state) { by_cudnn<T>(state, layer, op, math); });
}

// "rondo_bf16/resnet_64/forward" and "cudnn_bf16/resnet_64/forward". What the device does not have is left
// out.
const bool kRegistered = register_on_device([] {
  unsetenv("NVIDIA_TF32_OVERRIDE");  // it replaces the arithmetic that a row names
  benchmark::AddCustomContext("cudnn_version", concat(cudnnGetVersion()));
  benchmark::AddCustomContext("cudnn_library", loaded_library("cudnnGetVersion"));
  const bool has_tf32 = check_math("", Math::tf32).ok(),
             has_bf16 = check_factor_type("", DType::bfloat16).ok(),
             has_fp16 = check_factor_type("", DType::float16).ok();
  for (ConvLayer layer : kConvLayers) {
    // The CPU executor would take minutes for the images that keep a GPU busy.
    if (std::string(platform()) == "cpu") layer.n = 2;
    for (const auto& [op, name] : {std::pair{ConvOp::forward, "forward"},
                                   {ConvOp::data_gradient, "data_gradient"},
                                   {ConvOp::filter_gradient, "filter_gradient"}}) {
      // The input gradient of a network's first layer is not needed.
      if (op == ConvOp::data_gradient && layer.c == 1) continue;
      const std::string tail = concat("/", layer.name, "/", name);
      add_rondo<float>(tail, layer, op, {"fp32", Math::fp32, ConvMath::fp32});
      add_rondo<float>(tail, layer, op, {"fp32_direct", Math::fp32, ConvMath::fp32, ConvAlgorithm::direct});
      add_cudnn<float>(tail, layer, op, ConvMath::fp32);
      if (has_tf32) {
        add_rondo<float>(tail, layer, op, {"tf32x3", Math::tf32x3, ConvMath::fp32});
        add_rondo<float>(tail, layer, op, {"tf32", Math::tf32, ConvMath::tf32});
        add_cudnn<float>(tail, layer, op, ConvMath::tf32);
      }
      if (has_bf16) {
        add_rondo<__nv_bfloat16>(tail, layer, op, {"bf16", Math::fp32, ConvMath::bf16});
        add_cudnn<__nv_bfloat16>(tail, layer, op, ConvMath::bf16);
      }
      if (has_fp16) {
        add_rondo<__half>(tail, layer, op, {"fp16", Math::fp32, ConvMath::fp16});
        add_cudnn<__half>(tail, layer, op, ConvMath::fp16);
      }
    }
  }
});

}  // namespace
}  // namespace rondo::bench

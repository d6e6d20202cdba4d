// An epoch of LeNet, with the trainer and with the lesson nn/lenet_from_scratch.cpp. It uses random images
// and needs no data set; `rondo train lenet` times the real one.

#include <rondo/bench/support/bench.h>
#include <rondo/bench/timing/inputs.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/models/models.h>

#include <cmath>

namespace rondo::bench {
namespace {

FashionMnist random_images(int64_t count) {
  bench::Random random(1);
  FashionMnist data;
  data.train_count = count;
  data.test_count = 1;
  data.train_images.resize(static_cast<size_t>(count * FashionMnist::kImageBytes));
  data.train_labels.resize(static_cast<size_t>(count));
  data.test_images.resize(FashionMnist::kImageBytes);
  data.test_labels.resize(1);
  for (uint8_t& pixel : data.train_images) pixel = static_cast<uint8_t>(random.below(256));
  for (uint8_t& label : data.train_labels) label = static_cast<uint8_t>(random.below(FashionMnist::kClasses));
  return data;
}

// Multiply-adds of the four layers with weights, per image. Training computes each three times (output,
// gradient of the weights, gradient of the input), except the input gradient of the first layer.
constexpr double kFirstLayer = 26.0 * 26 * 20 * (3 * 3);
constexpr double kOtherLayers = 9.0 * 9 * 50 * (5 * 5 * 20) + 800.0 * 128 + 128.0 * 10;
constexpr double kTrainingFlops = 2 * (2 * kFirstLayer + 3 * kOtherLayers);

constexpr int kEpochs = 2;  // the first loads kernels and touches memory; the second is timed

EpochReport by_lesson(const FashionMnist& data, const std::vector<int>& devices) {
  lenet::Observer no_observer;
  return lenet::train(data, {.devices = devices, .epochs = kEpochs}, no_observer).epochs.back();
}

EpochReport by_trainer(const FashionMnist& data, const std::vector<int>& devices) {
  nn::DataParallel model(nn::lenet(10, nn::weight_init("normal")), {28, 28, 1},
                         {.devices = devices, .batch = 256});
  nn::Sgd sgd(model);
  return nn::fit(model, sgd, data, {.epochs = kEpochs, .learning_rate = nn::LearningRate::constant(0.2)})
      .epochs.back();
}

template <auto train>
void lenet_epoch(benchmark::State& state) {
  const int64_t samples = state.range(0);
  const FashionMnist data = random_images(samples);
  const std::vector<int> devices = devices_for(static_cast<int>(state.range(1)));
  IterationTimes times(state);
  while (times.keep_running()) {
    try {
      const EpochReport epoch = train(data, devices);
      // With weights near zero and random labels the loss stays near the logarithm of the number of classes.
      if (!(std::abs(epoch.train_loss - std::log(10.0)) < 0.5))
        return state.SkipWithError("the loss is wrong");
      times.add(epoch.seconds);
    } catch (const Error& error) {
      return state.SkipWithError(error.what());
    }
  }
  const double images = static_cast<double>(samples), seconds = times.finish();
  state.counters["images/s"] = images / seconds;
  state.counters["FLOP/s"] = kTrainingFlops * images / seconds;
  state.counters["share"] = bound_of({.flops = kTrainingFlops * images}).seconds / seconds;
  state.SetLabel("of fp32 FMA peak");
}
void arguments(benchmark::internal::Benchmark* epoch) {
  epoch->ArgNames({"samples", "ranks"})
      ->ArgsProduct({{512, 4096, 60000}, {1, 2}})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}
BENCHMARK(lenet_epoch<by_trainer>)->Name("lenet_epoch")->Apply(arguments);
BENCHMARK(lenet_epoch<by_lesson>)->Name("lenet_from_scratch_epoch")->Apply(arguments);

}  // namespace
}  // namespace rondo::bench

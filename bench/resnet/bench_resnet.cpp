// A training step of ResNet-18 on images of 28 x 28: forward, cross-entropy, backward, plain SGD, with
// nn::DataParallel. All steps use the same random batch, so its loss must fall. resnet_beside_pytorch times
// the same step with PyTorch.

#include <rondo/bench/support/bench.h>
#include <rondo/bench/timing/inputs.h>
#include <rondo/nn/diagnostics/summary.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/train/data_parallel.h>

#include <chrono>
#include <vector>

namespace rondo::bench {
namespace {

constexpr nn::Shape kImage = {28, 28, 1};
constexpr int kClasses = 10;

struct Batch {
  std::vector<float> images;
  std::vector<int32_t> labels;
};

Batch random_batch(int64_t size) {
  bench::Random random(1);
  Batch batch;
  for (int64_t i = 0; i < size * 28 * 28; ++i) batch.images.push_back(static_cast<float>(random.normal()));
  for (int64_t i = 0; i < size; ++i) batch.labels.push_back(static_cast<int32_t>(random.below(kClasses)));
  return batch;
}

void resnet18_step(benchmark::State& state) {
  const Batch batch = random_batch(state.range(0));
  try {
    nn::DataParallel model(
        nn::resnet18(kClasses), kImage,
        {.devices = devices_for(static_cast<int>(state.range(1))), .batch = state.range(0)});
    nn::Sgd sgd(model, {.learning_rate = 0.01f});
    const auto step = [&] {  // returns the loss of the batch before the update
      model.train_step(batch.images, batch.labels, sgd);
      return model.take_loss_stats().loss;
    };
    const double first_loss = step();
    step();  // two steps touch the memory and capture the step; later steps replay it

    IterationTimes times(state);
    double loss = 0;
    while (times.keep_running()) {
      const auto begin = std::chrono::steady_clock::now();
      loss = step();
      times.add(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    if (!(loss < first_loss)) return state.SkipWithError("the loss has not fallen");

    const double seconds = times.finish();
    // Forward, weight gradient and input gradient have the same number of FLOPs. The omitted input gradient
    // of the first layer is about a thousandth of the total.
    const double flops =
        3 * nn::summarise(model.graph(), state.range(0)).flops * static_cast<double>(state.range(0));
    state.counters["images/s"] = static_cast<double>(state.range(0)) / seconds;
    state.counters["FLOP/s"] = flops / seconds;
    state.counters["share"] = bound_of({.flops = flops}).seconds / seconds;
    state.SetLabel("of fp32 FMA peak");
  } catch (const Error& error) {
    return state.SkipWithError(error.what());
  }
}
BENCHMARK(resnet18_step)
    ->ArgNames({"batch", "ranks"})
    ->ArgsProduct({{2, 32}, {1, 2}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rondo::bench

// A destroyed optimizer waits for the steps that use its memory, and does not rely on cudaFree() to wait. The
// linker replaces cudaFree() (--wrap, CMakeLists.txt), under the mangled name from the executor's headers.
#include <gtest/gtest.h>

#include <rondo/nn/train/data_parallel.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/compare.h>

#include <chrono>
#include <memory>
#include <thread>

cudaError_t real_free(void* pointer) asm("__real__Z8cudaFreePv");
cudaError_t free_wrapped(void* pointer) asm("__wrap__Z8cudaFreePv");

namespace {
rondo::nn::DataParallel* watched = nullptr;
int freed = 0, freed_in_flight = 0;
}  // namespace

cudaError_t free_wrapped(void* pointer) {
  if (watched && pointer) {
    ++freed;
    for (const cudaStream_t stream : watched->streams().streams())
      if (cudaStreamQuery(stream) != cudaSuccess) ++freed_in_flight;
    static_cast<void>(cudaGetLastError());
  }
  return real_free(pointer);
}

namespace rondo::nn {
namespace {

using test::kSmallInput;
using test::parameters_of;

// Takes four steps; the last are replays that begin late. If goes_at_once, the optimizer is destroyed before
// that.
std::vector<float> trained(int ranks, bool adam, bool goes_at_once) {
  DataParallel model(test::small_network(), kSmallInput, {.devices = test::spread(ranks), .batch = 12});
  std::unique_ptr<Optimizer> optimizer;
  if (adam)
    optimizer = std::make_unique<Adam>(model);
  else
    optimizer = std::make_unique<Sgd>(model, Sgd::Options{.momentum = 0.9f});
  model.train_step(test::normal_values(12 * kSmallInput.size(), 1), test::some_labels(12, 4), *optimizer);
  model.streams().synchronize();
  RONDO_CUDA_THROW(cudaLaunchHostFunc(
      model.streams().stream(0), [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); },
      nullptr));
  for (int step = 0; step < 3; ++step) model.repeat_step(*optimizer);
  if (goes_at_once) {
    watched = &model;
    optimizer.reset();
    watched = nullptr;
  }
  return parameters_of(model);
}

TEST(OptimizerLifetime, TheStepsEndBeforeTheMemoryGoes) {
  for (const int ranks : {1, 3})
    for (const bool adam : {false, true}) {
      SCOPED_TRACE(concat(ranks, " ranks", adam ? ", Adam" : ", SGD"));
      freed = freed_in_flight = 0;
      EXPECT_TRUE(test::all_equal_bits(trained(ranks, adam, true), trained(ranks, adam, false)));
      EXPECT_EQ(freed, ranks * (adam ? 4 : 2));
      EXPECT_EQ(freed_in_flight, 0);
    }
}

}  // namespace
}  // namespace rondo::nn

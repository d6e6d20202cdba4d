// DataParallel's step gives the same result recorded or not, in parts or whole, from host or device memory.
#include <gtest/gtest.h>

#include <rondo/kernels/data/permutation.h>
#include <rondo/nn/data/device_images.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/nn/train/fixed_batch.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/late_copies.h>
#include <rondo/tests/support/random_order.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::distance;
using test::kSmallInput;
using test::normal_values;
using test::parameters_of;
using test::small_network;
using test::small_options;
using test::some_labels;

// No batch norm: it normalises over each micro-batch, so a batch in several parts gives another result.
AnyModule without_batch_norm() {
  return Sequential{Conv2d(6, 3, {.padding = 1}),
                    ReLU(),
                    MaxPool2d(2),
                    Flatten(),
                    Dropout(0.2f),
                    Linear(16),
                    ReLU(),
                    Linear(4)};
}

// Batches of several sizes, each repeated often enough to be recorded and replayed.
void train_on_all_sizes(DataParallel& model, Optimizer& optimizer) {
  test::take_steps(model, optimizer, {12, 12, 7, 12, 7, 2, 7, 12, 2, 2, 12, 5, 11, 10, 9, 8, 12, 7});
}

// With a trace, steps are enqueued call by call; without one, they are replayed. The results must agree.
TEST(TrainingStep, ReplayedIsAsEnqueued) {
  for (int ranks : {1, 3})
    for (const bool adam : {false, true}) {
      SCOPED_TRACE(concat(ranks, " ranks", adam ? ", Adam" : ", SGD"));
      std::vector<float> parameters[2];
      double losses[2];
      for (const bool traced : {false, true}) {
        DataParallel model(small_network(), kSmallInput, small_options(ranks));
        const std::unique_ptr<Optimizer> optimizer = test::make_optimizer(model, adam);
        Trace trace(model.options().devices);
        if (traced) model.set_trace(&trace);
        train_on_all_sizes(model, *optimizer);
        parameters[traced] = parameters_of(model);
        losses[traced] = model.take_loss_stats().loss;
        EXPECT_EQ(differing_values(model), 0);
      }
      EXPECT_TRUE(all_equal_bits(parameters[0], parameters[1]));
      EXPECT_EQ(losses[0], losses[1]);
    }
}

TEST(TrainingStep, ReplayedInAnyOrderOfTheDevices) {
  std::vector<float> first;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    DataParallelOptions options = small_options(3);
    options.micro_batches = 2;
    DataParallel model(small_network(), kSmallInput, options);
    Sgd sgd(model, {.learning_rate = 0.05f, .momentum = 0.9f});
    const test::RandomOrder order(seed);
    train_on_all_sizes(model, sgd);
    const std::vector<float> after = parameters_of(model);
    if (first.empty()) first = after;
    EXPECT_TRUE(all_equal_bits(after, first)) << "seed " << seed;
  }
}

// A recorded step belongs to its optimizer, even if another one is created at the same address.
TEST(TrainingStep, AnotherOptimizerIsAnotherStep) {
  DataParallel model(small_network(), kSmallInput, small_options(2));
  const std::vector<float> x = normal_values(12 * kSmallInput.size(), 1);
  std::optional<Sgd> sgd;
  for (const float rate : {0.05f, 0.0f}) {
    sgd.emplace(model, Sgd::Options{.learning_rate = rate});
    for (int step = 0; step < 3; ++step) model.train_step(x, some_labels(12, 4), *sgd);
    const std::vector<float> before = parameters_of(model);
    for (int step = 0; step < 3; ++step) model.train_step(x, some_labels(12, 4), *sgd);
    EXPECT_EQ(all_equal_bits(parameters_of(model), before) == testing::AssertionSuccess(), rate == 0.0f);
  }
}

// The parameters after some steps with each setting changed alone. The optimizers' kernels have tests of what
// a setting means.
template <class Optimizer, class Settings>
void expect_every_setting_matters(const std::vector<Settings>& cases) {
  std::vector<std::vector<float>> after;
  for (const Settings& settings : cases) {
    DataParallel model(small_network(), kSmallInput, small_options(2));
    Optimizer optimizer(model, settings);
    const std::vector<float> x = normal_values(12 * kSmallInput.size(), 1);
    for (int step = 0; step < 3; ++step) model.train_step(x, some_labels(12, 4), optimizer);
    after.push_back(parameters_of(model));
    for (size_t other = 0; other + 1 < after.size(); ++other)
      EXPECT_FALSE(all_equal_bits(after.back(), after[other]))
          << "case " << after.size() - 1 << " and case " << other;
  }
}

TEST(TrainingStep, EverySettingOfAnOptimizerMatters) {
  expect_every_setting_matters<Sgd, Sgd::Options>(
      {{.learning_rate = 0.05f},
       {.learning_rate = 0.04f},
       {.learning_rate = 0.05f, .weight_decay = 0.1f},
       {.learning_rate = 0.05f, .momentum = 0.9f},
       {.learning_rate = 0.05f, .momentum = 0.9f, .nesterov = true}});
  expect_every_setting_matters<Adam, Adam::Options>({{},
                                                     {.learning_rate = 2e-3f},
                                                     {.beta1 = 0.8f},
                                                     {.beta2 = 0.9f},
                                                     {.eps = 1e-3f},
                                                     {.weight_decay = 0.1f},
                                                     {.weight_decay = 0.1f, .decoupled = true}});
}

// `take_steps` gives the same result replayed and (with a trace) enqueued call by call. Its kinds of steps
// alternate, three of each, so that each kind is recorded before the next appears.
template <class Steps>
void expect_replayed_as_enqueued(Steps take_steps) {
  std::vector<float> parameters[2];
  for (const bool traced : {false, true}) {
    DataParallel model(small_network(), kSmallInput, small_options(2));
    Sgd sgd(model, {.learning_rate = 0.02f});
    Trace trace(model.options().devices);
    if (traced) model.set_trace(&trace);
    take_steps(model, sgd);
    parameters[traced] = parameters_of(model);
  }
  EXPECT_TRUE(all_equal_bits(parameters[0], parameters[1]));
}

// The same samples with labels and with target values, from host memory.
TEST(TrainingStep, AnotherLossIsAnotherStep) {
  const std::vector<float> x = normal_values(12 * kSmallInput.size(), 1), targets = normal_values(12 * 4, 2);
  const std::vector<int32_t> labels = some_labels(12, 4);
  for (const bool first_by_label : {true, false})
    expect_replayed_as_enqueued([&](DataParallel& model, Optimizer& optimizer) {
      for (int step = 0; step < 12; ++step)
        if ((step / 3 % 2 == 0) == first_by_label)
          model.train_step(x, labels, optimizer);
        else
          model.train_step(x, targets, optimizer);
    });
}

TEST(TrainingStep, AnotherSourceIsAnotherStep) {
  expect_replayed_as_enqueued([](DataParallel& model, Optimizer& optimizer) {
    test::FixedBatch one(model, normal_values(12 * kSmallInput.size(), 1), some_labels(12, 4));
    test::FixedBatch other(model, normal_values(12 * kSmallInput.size(), 2), std::vector<int32_t>(12, 3));
    for (int step = 0; step < 12; ++step) model.train_step(step / 3 % 2 == 0 ? one : other, optimizer);
    model.streams().synchronize();
  });
}

TEST(TrainingStep, PiecesAddUpToTheBatch) {
  std::vector<float> whole;
  for (int ranks : {1, 2, 5})
    for (int64_t pieces : {1, 2, 3, 12}) {
      SCOPED_TRACE(concat(ranks, " ranks, ", pieces, " pieces"));
      DataParallelOptions options = small_options(ranks);
      options.micro_batches = pieces;
      DataParallel model(without_batch_norm(), kSmallInput, options);
      Sgd sgd(model, {.learning_rate = 0.05f, .momentum = 0.9f});
      train_on_all_sizes(model, sgd);
      const std::vector<float> after = parameters_of(model);
      if (whole.empty()) whole = after;
      EXPECT_LE(distance(after, whole), 2e-5);
      EXPECT_EQ(differing_values(model), 0);
      const LossStats loss_stats = model.take_loss_stats();
      EXPECT_EQ(loss_stats.rows, 149);
      const int64_t shard = (12 + ranks - 1) / ranks;
      EXPECT_EQ(model.replicas()[0].max_batch(), (shard + pieces - 1) / pieces) << "the memory it takes";
      EXPECT_EQ(model.predict(normal_values(29 * kSmallInput.size(), 3)).size(), 29u * 4);
    }
}

TEST(TrainingStep, PiecesOfARegressionHaveTheirTargets) {
  const std::vector<float> x = normal_values(12 * kSmallInput.size(), 1), targets = normal_values(12 * 4, 2);
  std::vector<float> whole;
  for (int64_t pieces : {1, 2, 5}) {
    DataParallelOptions options = small_options(2);
    options.micro_batches = pieces;
    DataParallel model(without_batch_norm(), kSmallInput, options);
    Sgd sgd(model, {.learning_rate = 0.02f});
    for (int step = 0; step < 3; ++step) model.train_step(x, targets, sgd);
    const std::vector<float> after = parameters_of(model);
    if (whole.empty()) whole = after;
    EXPECT_LE(distance(after, whole), 2e-5) << pieces;
  }
}

// Batch norm over the ranks divides the sums of each piece by the samples of that piece. Of 5 samples two
// ranks have the pieces {0}, {1} and {2}, {3, 4}; one rank has the same {0, 2} and {1, 3, 4}.
TEST(TrainingStep, NormsCountTheSamplesOfTheirPiece) {
  const auto size = static_cast<size_t>(kSmallInput.size());
  const std::vector<float> x = normal_values(5 * kSmallInput.size(), 1);
  const std::vector<int32_t> labels = some_labels(5, 4);
  const auto trained = [&](int ranks, const std::vector<size_t>& order) {
    DataParallelOptions options = small_options(ranks);
    options.micro_batches = 2;
    DataParallel model(Sequential{Conv2d(6, 3), BatchNorm2d(), ReLU(), Flatten(), Linear(4)}, kSmallInput,
                       options);
    Sgd sgd(model, {.learning_rate = 0.05f});
    std::vector<float> ordered;
    std::vector<int32_t> of_ordered;
    for (const size_t sample : order) {
      const auto from = x.begin() + static_cast<std::ptrdiff_t>(sample * size);
      ordered.insert(ordered.end(), from, from + static_cast<std::ptrdiff_t>(size));
      of_ordered.push_back(labels[sample]);
    }
    for (int step = 0; step < 3; ++step) model.train_step(ordered, of_ordered, sgd);
    return parameters_of(model);
  };
  EXPECT_LE(distance(trained(2, {0, 1, 2, 3, 4}), trained(1, {0, 2, 1, 3, 4})), 2e-5);
}

// Every device computes the whole batch, with the same bits as one device.
TEST(TrainingStep, ReplicatedIsTheSameOnEveryDevice) {
  std::vector<float> one;
  for (int ranks : {1, 3}) {
    DataParallelOptions options = small_options(ranks);
    options.placement = BatchPlacement::replicated;
    DataParallel model(small_network(), kSmallInput, options);
    Sgd sgd(model, {.learning_rate = 0.05f});
    train_on_all_sizes(model, sgd);
    EXPECT_EQ(differing_values(model), 0);
    const LossStats loss_stats = model.take_loss_stats();
    EXPECT_EQ(loss_stats.rows, 149) << "every sample counts once";
    if (one.empty()) one = parameters_of(model);
    EXPECT_TRUE(all_equal_bits(parameters_of(model), one));
    const std::vector<float> x = normal_values(29 * kSmallInput.size(), 3);
    EXPECT_EQ(model.evaluate(x, some_labels(29, 4)).rows, 29);
  }
}

TEST(TrainingStep, RepeatedOnTheSameBatch) {
  std::vector<float> parameters[2];
  const std::vector<float> x = normal_values(9 * kSmallInput.size(), 1), y = normal_values(9 * 4, 2);
  for (const bool repeated : {false, true}) {
    DataParallel model(small_network(), kSmallInput, small_options(2));
    Sgd sgd(model, {.learning_rate = 0.01f});
    EXPECT_THROW(model.repeat_step(sgd), Error);
    model.train_step(x, y, sgd);
    for (int step = 0; step < 4; ++step) {
      if (repeated)
        model.repeat_step(sgd);
      else
        model.train_step(x, y, sgd);
    }
    parameters[repeated] = parameters_of(model);
  }
  EXPECT_TRUE(all_equal_bits(parameters[0], parameters[1]));
}

// The host overwrites each batch right after the call.
TEST(TrainingStep, TheBatchMayBeOverwrittenAtOnce) {
  const test::LateCopies late;
  for (const bool by_label : {true, false}) {
    std::vector<float> parameters[2];
    for (const bool overwritten : {false, true}) {
      DataParallel model(small_network(), kSmallInput, small_options(2));
      Sgd sgd(model, {.learning_rate = 0.05f});
      for (uint64_t step = 1; step <= 5; ++step) {
        std::vector<float> x = normal_values(12 * kSmallInput.size(), step),
                           targets = normal_values(12 * 4, 100 + step);
        std::vector<int32_t> labels = some_labels(12, 4);
        if (by_label)
          model.train_step(x, labels, sgd);
        else
          model.train_step(x, targets, sgd);
        if (!overwritten) model.streams().synchronize();
        std::fill(x.begin(), x.end(), 100.0f);
        std::fill(targets.begin(), targets.end(), 100.0f);
        std::fill(labels.begin(), labels.end(), 3);
      }
      parameters[overwritten] = parameters_of(model);
    }
    EXPECT_TRUE(all_equal_bits(parameters[0], parameters[1])) << (by_label ? "labels" : "targets");
  }
}

// Batches drawn on the devices equal those drawn on the host.
TEST(TrainingStep, FromTheDevicesAsFromTheHost) {
  const test::LateCopies late;
  const FashionMnist data = test::small_data(50, 21);
  const auto floats = [](std::span<const uint8_t> bytes) {
    std::vector<float> values;
    for (uint8_t byte : bytes) values.push_back(static_cast<float>(byte) * (1.0f / 255.0f));
    return values;
  };
  DataParallelOptions options = small_options(3);
  DataParallel on_device(lenet(), {28, 28, 1}, options), from_host(lenet(), {28, 28, 1}, options);
  Sgd device_sgd(on_device), host_sgd(from_host);
  const DeviceImages images(on_device, data.train_images, data.train_labels);
  const DeviceImages tests(on_device, data.test_images, data.test_labels);
  ShuffledBatches batches(on_device, images, 12, 9);
  EXPECT_EQ(batches.steps(), 5);
  EXPECT_TRUE(batches.done()) << "no epoch has begun";
  EXPECT_THROW(on_device.train_step(batches, device_sgd), Error);

  std::set<std::vector<int32_t>> orders;
  for (const int64_t epoch : {int64_t{1}, int64_t{2}, (int64_t{1} << 32) + 1}) {
    const Permutation element(50, 9, static_cast<uint64_t>(epoch));
    std::vector<int32_t> order;
    for (int32_t i = 0; i < 50; ++i) order.push_back(element(i));
    orders.insert(order);
    batches.begin_epoch(epoch);
    for (int64_t begin = 0; begin < 50; begin += 12) {
      const int64_t size = std::min<int64_t>(12, 50 - begin);
      ASSERT_FALSE(batches.done());
      EXPECT_EQ(batches.next_batch(), size);
      on_device.train_step(batches, device_sgd);
      std::vector<float> x;
      std::vector<int32_t> labels;
      for (int64_t i = begin; i < begin + size; ++i) {
        const auto sample = static_cast<size_t>(order[static_cast<size_t>(i)]);
        const std::vector<float> image = floats(std::span(data.train_images).subspan(sample * 784, 784));
        x.insert(x.end(), image.begin(), image.end());
        labels.push_back(data.train_labels[sample]);
      }
      from_host.train_step(x, labels, host_sgd);
    }
    EXPECT_TRUE(batches.done());
  }
  EXPECT_EQ(orders.size(), 3u) << "every epoch has its own order";
  EXPECT_TRUE(all_equal_bits(parameters_of(on_device), parameters_of(from_host)));

  const std::vector<int32_t> labels(data.test_labels.begin(), data.test_labels.end());
  const LossStats device = on_device.evaluate(tests),
                  host = from_host.evaluate(floats(data.test_images), labels);
  EXPECT_EQ(device.loss, host.loss);
  EXPECT_EQ(device.correct, host.correct);
  EXPECT_EQ(device.rows, 21);
}

// An epoch resumed in the middle continues with the remaining samples.
TEST(TrainingStep, AnEpochGoesOnWhereItStopped) {
  const test::LateCopies late;
  const FashionMnist data = test::small_data(50, 1);
  std::vector<float> parameters[2];
  for (const bool stopped : {false, true}) {
    DataParallel model(lenet(), {28, 28, 1}, small_options(2));
    Sgd sgd(model);
    const DeviceImages images(model, data.train_images, data.train_labels);
    ShuffledBatches batches(model, images, 12, 9);
    batches.begin_epoch(4);
    while (!batches.done()) {
      if (stopped && batches.step() == 3) {
        batches.begin_epoch(5);
        batches.begin_epoch(4, 3);
      }
      model.train_step(batches, sgd);
    }
    parameters[stopped] = parameters_of(model);
    EXPECT_THROW(batches.begin_epoch(4, 6), Error);
    batches.begin_epoch(4, 5);
    EXPECT_TRUE(batches.done());
  }
  EXPECT_TRUE(all_equal_bits(parameters[0], parameters[1]));
}

TEST(TrainingStep, PhasesAddUpToATime) {
  DataParallelOptions options = small_options(2);
  options.micro_batches = 3;
  DataParallel model(small_network(), kSmallInput, options);
  Sgd sgd(model);
  const std::vector<float> x = normal_values(12 * kSmallInput.size(), 1);
  for (int step = 0; step < 3; ++step) model.train_step(x, some_labels(12, 4), sgd);
  // The phases of the last step are within the time of the step on the host's clock, and most of it. Other
  // work of the machine may spoil a measurement: only the last of the three micro-batches is timed, and
  // counts three times.
  double sum = 0, step = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    model.streams().synchronize();
    const auto begin = std::chrono::steady_clock::now();
    model.train_step(x, some_labels(12, 4), sgd);
    model.streams().synchronize();
    step = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const PhaseSeconds phases = model.phases();
    for (const double seconds : phases) EXPECT_GT(seconds, 0);
    sum = std::accumulate(phases.begin(), phases.end(), 0.0);
    if (sum >= 0.2 * step && sum <= 1.001 * step) return;  // events count microseconds, in float
  }
  FAIL() << "the phases add up to " << sum << " s of a step of " << step << " s";
}

TEST(TrainingStep, ANetworkWithoutParametersHasNothingToTrain) {
  DataParallel model(Flatten(), {2, 2, 1}, small_options(2));
  EXPECT_EQ(model.evaluate(normal_values(12 * 4, 1), some_labels(12, 4)).rows, 12);
  const std::string refused = "optimizer: the network has no parameters, must have at least one to train";
  EXPECT_EQ(test::error_of([&] { Sgd sgd(model); }), refused);
  EXPECT_EQ(test::error_of([&] { Adam adam(model); }), refused);
}

TEST(TrainingStep, ImagesBelongToTheirModel) {
  const FashionMnist data = test::small_data(20, 5);
  DataParallel one(lenet(), {28, 28, 1}, small_options(1)), two(lenet(), {28, 28, 1}, small_options(2));
  Sgd sgd(two);
  const DeviceImages images(one, data.train_images, data.train_labels);
  EXPECT_THROW(two.evaluate(images), Error);
  EXPECT_THROW(ShuffledBatches(two, images, 4, 1), Error);
  ShuffledBatches batches(one, images, 4, 1);
  batches.begin_epoch(1);
  EXPECT_THROW(two.train_step(batches, sgd), Error);
  EXPECT_EQ(one.evaluate(images).rows, 20);
}

TEST(TrainingStep, RefusesWhatDoesNotFit) {
  DataParallelOptions options = small_options(2);
  options.micro_batches = 13;
  EXPECT_EQ(test::error_of([&] { DataParallel(small_network(), kSmallInput, options); }),
            "DataParallel: micro_batches is 13, must be at least 1 and at most 12, the batch");
  DataParallel model(lenet(), {28, 28, 1}, small_options(2));
  const std::vector<uint8_t> bytes(784 * 3), labels(3);
  EXPECT_EQ(
      test::error_of([&] { DeviceImages(model, bytes, std::span(labels).first(2)); }),
      "DeviceImages: there are 2352 bytes and 2 labels, must be 784 bytes for each of at least one label");
  const FashionMnist data = test::small_data(20, 1);
  const DeviceImages images(model, data.train_images, data.train_labels);
  EXPECT_EQ(test::error_of([&] { ShuffledBatches(model, images, 0, 0); }),
            "ShuffledBatches: the batch is 0, must be at least 1");
  ShuffledBatches batches(model, images, 13, 0);
  batches.begin_epoch(1);
  Sgd sgd(model);
  EXPECT_EQ(test::error_of([&] { model.train_step(batches, sgd); }),
            "DataParallel: the batch has 13 samples, must have 1 to 12");
}

// A label from the host is checked there: on the device the loss would be NaN. Nothing changes.
TEST(TrainingStep, RefusesLabelsOutOfRange) {
  DataParallel model(small_network(), kSmallInput, small_options(2));
  Sgd sgd(model);
  const std::vector<float> x = normal_values(12 * kSmallInput.size(), 1);
  std::vector<uint8_t> bytes(x.size()), byte_labels(12, 3);
  const std::vector<float> before = parameters_of(model);
  for (const int32_t bad : {4, -1, INT32_MAX, INT32_MIN}) {
    std::vector<int32_t> labels = some_labels(12, 4);
    labels[7] = bad;
    const std::string refused = concat("DataParallel: the label of sample 7 is ", bad,
                                       ", must be 0 to 3, for the network's 4 outputs");
    EXPECT_EQ(test::error_of([&] { model.train_step(x, labels, sgd); }), refused);
    EXPECT_EQ(test::error_of([&] { model.evaluate(x, labels); }), refused);
  }
  byte_labels[11] = 4;
  EXPECT_EQ(test::error_of([&] { DeviceImages(model, bytes, byte_labels); }),
            "DeviceImages: the label of sample 11 is 4, must be 0 to 3, for the network's 4 outputs");
  EXPECT_TRUE(all_equal_bits(parameters_of(model), before));
  model.train_step(x, some_labels(12, 4), sgd);
  EXPECT_EQ(model.take_loss_stats().rows, 12);
}

}  // namespace
}  // namespace rondo::nn

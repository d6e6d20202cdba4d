// Augmented and normalised images in training: the same on any number of devices and after a resume, and
// never in an evaluation.
#include <gtest/gtest.h>

#include <rondo/nn/data/device_images.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>

#include <cmath>

namespace rondo::nn {
namespace {

constexpr Shape kColourImage = {6, 5, 3};
constexpr int64_t kNumbered = 30;
constexpr Augmentation kAll = {.padding = 2, .flip = 0.5f, .erase = 0.5f};

// Images of random bytes. The label of each is its number, or its number modulo `classes`.
struct Numbered {
  explicit Numbered(int64_t count, int64_t classes = kNumbered) {
    test::Random random(static_cast<uint64_t>(count));
    for (int64_t i = 0; i < count * kColourImage.size(); ++i)
      bytes.push_back(static_cast<uint8_t>(random.below(256)));
    for (int64_t i = 0; i < count; ++i) labels.push_back(static_cast<uint8_t>(i % classes));
  }
  operator ImageSet() const { return {kColourImage, bytes, labels}; }

  std::vector<uint8_t> bytes, labels;
};

DataParallelOptions on_ranks(int ranks, int64_t batch) {
  DataParallelOptions options;
  options.devices = test::spread(ranks);
  options.batch = batch;
  return options;
}

struct Epoch {
  std::vector<float> x;
  std::vector<int32_t> labels;
};

// The images of an epoch in the order in which the steps take them.
Epoch epoch_of(const Numbered& set, int ranks, int64_t batch, int64_t epoch,
               const Augmentation& augmentation) {
  DataParallel model(Sequential{Flatten(), Linear(kNumbered)}, kColourImage, on_ranks(ranks, batch));
  const DeviceImages images(model, set.bytes, set.labels);
  ShuffledBatches batches(model, images, batch, 5, augmentation);
  batches.begin_epoch(epoch);
  Epoch all;
  while (!batches.done()) {
    const int64_t count = batches.next_batch();
    for (size_t rank = 0; rank < static_cast<size_t>(ranks); ++rank) {
      Replica& replica = model.replicas()[rank];
      const Shard shard = shard_of(count, static_cast<int64_t>(rank), ranks);
      const DeviceScope scope(replica.device());
      if (shard.size > 0) {
        Buffer<int32_t> labels(shard.size);
        replica.set_batch(shard.size, shard.first);
        batches.load(replica, rank, shard, {{labels.data(), shard.size}, {}});
        RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream()));
        std::vector<float> x(static_cast<size_t>(shard.size * kColourImage.size()));
        RONDO_CUDA_THROW(
            cudaMemcpy(x.data(), replica.input().as(), x.size() * sizeof(float), cudaMemcpyDeviceToHost));
        all.x.insert(all.x.end(), x.begin(), x.end());
        const std::vector<int32_t> of_shard = labels.download();
        all.labels.insert(all.labels.end(), of_shard.begin(), of_shard.end());
      }
      batches.advance(replica, rank);
    }
    batches.step_taken();
  }
  return all;
}

// All images by number, from one call of the kernel.
std::vector<float> augmented_images(const Numbered& set, int64_t epoch, const Augmentation& augmentation) {
  const auto [height, width, channels] = kColourImage;
  const Stream stream;
  const Buffer<uint8_t> images(set.bytes), labels(set.labels);
  const Buffer<float> scale(std::vector<float>(3, 1.0f / 255.0f)), shift(std::vector<float>(3));
  const Buffer<int64_t> zero(std::vector<int64_t>{0}), number(std::vector<int64_t>{epoch});
  Buffer<float> x(kNumbered * kColourImage.size());
  Buffer<int32_t> to_labels(kNumbered);
  throw_if_error(
      gather_augmented_batch({x.data(), kNumbered, height, width, channels}, {to_labels.data(), kNumbered},
                             {images.data(), kNumbered, height, width, channels}, {labels.data(), kNumbered},
                             {}, {zero.data(), kNumbered, 0}, {scale.data(), channels},
                             {shift.data(), channels}, augmentation, {5, number.data()}, stream));
  stream.synchronize();
  return x.download();
}

TEST(AugmentedImages, AreTheSameOnAnyNumberOfReplicasAndForAnyBatch) {
  const Numbered set(kNumbered);
  for (const int64_t epoch : {1, 2}) {
    const std::vector<float> by_number = augmented_images(set, epoch, kAll);
    std::vector<int32_t> order;
    for (int ranks : {1, 2, 3})
      for (const int64_t batch : {4, 7, 30}) {
        SCOPED_TRACE(concat("epoch ", epoch, ", ", ranks, " replicas, batch ", batch));
        const Epoch taken = epoch_of(set, ranks, batch, epoch, kAll);
        if (order.empty()) order = taken.labels;
        EXPECT_EQ(taken.labels, order);
        std::vector<float> want;
        for (const int32_t number : taken.labels) {
          const auto first = by_number.begin() + number * kColourImage.size();
          want.insert(want.end(), first, first + kColourImage.size());
        }
        EXPECT_TRUE(test::all_equal_bits(taken.x, want));
      }
  }
  EXPECT_FALSE(test::all_equal_bits(augmented_images(set, 1, kAll), augmented_images(set, 2, kAll)));
}

AnyModule three_classes() { return Sequential{Conv2d(4, 3), ReLU(), Flatten(), Linear(3)}; }

struct ThreeClasses {
  explicit ThreeClasses(int ranks) : model(three_classes(), kColourImage, on_ranks(ranks, 8)), sgd(model) {}
  DataParallel model;
  Sgd sgd;
};

class StopsAfter : public FitObserver {
 public:
  explicit StopsAfter(int64_t steps) : left_(steps) {}
  bool stop() override { return --left_ == 0; }

 private:
  int64_t left_;
};

TEST(AugmentedImages, AreTheSameAfterAResume) {
  const Numbered train(60, 3), unseen(20, 3);
  FitOptions options = {.epochs = 2, .seed = 4, .learning_rate = LearningRate::constant(0.05)};
  options.augmentation = kAll;
  options.normalize = normalize_of(train);
  for (int ranks : {1, 3}) {
    ThreeClasses straight(ranks);
    fit(straight.model, straight.sgd, {train, unseen}, options);
    for (const int64_t steps : {3, 8, 12}) {  // 8 steps an epoch
      const test::TemporaryDirectory folder;
      FitOptions saving = options;
      saving.checkpoint = folder / "checkpoint";
      {
        ThreeClasses first(ranks);
        StopsAfter stop(steps);
        ASSERT_EQ(fit(first.model, first.sgd, {train, unseen}, saving, stop).end, FitResult::End::stopped);
      }
      ThreeClasses second(ranks);
      saving.from = load_checkpoint(folder / "checkpoint", second.model, second.sgd);
      fit(second.model, second.sgd, {train, unseen}, saving);
      EXPECT_TRUE(
          test::all_equal_bits(test::parameters_of(second.model), test::parameters_of(straight.model)))
          << ranks << " ranks, stopped after step " << steps;
    }
    ThreeClasses plain(ranks);
    options.augmentation = {};
    fit(plain.model, plain.sgd, {train, unseen}, options);
    options.augmentation = kAll;
    EXPECT_FALSE(test::all_equal_bits(test::parameters_of(plain.model), test::parameters_of(straight.model)));
  }
}

// The images of an evaluation are normalised, and not augmented.
TEST(AugmentedImages, AreNotThoseOfAnEvaluation) {
  const Numbered train(60, 3), unseen(50, 3);
  const Normalize normalize = {{0.4f, 0.5f, 0.6f}, {0.2f, 0.3f, 0.4f}},
                  means_differ = {{0.4f, 0.5f, 0.6f}, {0.2f, 0.2f, 0.2f}};
  for (const Normalize& n : {Normalize(), normalize, means_differ}) {
    ThreeClasses trained(2);
    FitOptions options = {.epochs = 1, .learning_rate = LearningRate::constant(0.02)};
    options.augmentation = {.padding = 3, .flip = 1, .erase = 1};
    options.normalize = n;
    const FitResult result = fit(trained.model, trained.sgd, {train, unseen}, options);
    std::vector<float> values;
    for (size_t i = 0; i < unseen.bytes.size(); ++i) {
      const double value = unseen.bytes[i] / 255.0;
      values.push_back(
          static_cast<float>(n.mean.empty() ? value : (value - n.mean[i % 3]) / n.stddev[i % 3]));
    }
    const std::vector<int32_t> labels(unseen.labels.begin(), unseen.labels.end());
    const LossStats from_host = trained.model.evaluate(values, labels),
                    from_device =
                        trained.model.evaluate(DeviceImages(trained.model, unseen.bytes, unseen.labels, n));
    EXPECT_NEAR(from_device.loss, from_host.loss, 1e-3 * from_host.loss);
    EXPECT_EQ(result.epochs[0].test_accuracy, static_cast<double>(from_device.correct) / 50);
    EXPECT_EQ(from_device.correct, from_host.correct);
  }
}

// The variance times the square of the number of bytes does not fit in 64 bits.
TEST(NormalizeOf, TakesManyBytes) {
  std::vector<uint8_t> bytes(32'000'000);
  for (size_t i = 1; i < bytes.size(); i += 2) bytes[i] = 255;
  const std::vector<uint8_t> labels(2);
  const Normalize n = normalize_of({{1, static_cast<int64_t>(bytes.size()) / 2, 1}, bytes, labels});
  EXPECT_EQ(n.mean[0], 0.5f);
  EXPECT_EQ(n.stddev[0], 0.5f);
}

TEST(NormalizeOf, IsTheMeanAndDeviationOfEachChannel) {
  const Numbered set(11);
  const Normalize n = normalize_of(set);
  ASSERT_EQ(n.mean.size(), 3u);
  ASSERT_EQ(n.stddev.size(), 3u);
  for (size_t c = 0; c < 3; ++c) {
    double sum = 0, count = 0, squares = 0;
    for (size_t i = c; i < set.bytes.size(); i += 3) sum += set.bytes[i] / 255.0, ++count;
    for (size_t i = c; i < set.bytes.size(); i += 3)
      squares += std::pow(set.bytes[i] / 255.0 - sum / count, 2);
    EXPECT_NEAR(n.mean[c], sum / count, 1e-7);
    EXPECT_NEAR(n.stddev[c], std::sqrt(squares / count), 1e-7);
  }
  Numbered grey_blue(2);
  for (size_t i = 2; i < grey_blue.bytes.size(); i += 3) grey_blue.bytes[i] = 17;
  EXPECT_EQ(test::error_of([&] { normalize_of(grey_blue); }),
            "normalize_of: all values of channel 2 are equal, must differ: its standard deviation is 0");
  EXPECT_EQ(test::error_of([] {
              normalize_of(ImageSet{kColourImage, {}, {}});
            }),
            "normalize_of: there are no images, must be at least one");
}

TEST(AugmentedImages, RefuseWhatDoesNotFit) {
  const Numbered set(12, 3);
  ThreeClasses trained(1);
  const auto refusal = [&](auto change) {
    FitOptions options;
    change(options);
    return test::error_of([&] { fit(trained.model, trained.sgd, {set, set}, options); });
  };
  EXPECT_EQ(refusal([](FitOptions& o) { o.augmentation.padding = 5; }),
            "fit: the crop's padding is 5, must be at least 0 and below the image's sides, 6 x 5");
  EXPECT_EQ(refusal([](FitOptions& o) { o.augmentation.flip = 2; }),
            "fit: the probability of a flip is 2, must be 0 to 1");
  EXPECT_EQ(refusal([](FitOptions& o) { o.augmentation.erase = -1; }),
            "fit: the probability of erasing is -1, must be 0 to 1");
  EXPECT_EQ(
      refusal([](FitOptions& o) {
        o.normalize = {{0.5f, 0.5f}, {1, 1}};
      }),
      "fit: there are 2 means and 2 standard deviations, must be one of each, or 3, one for each channel");
  EXPECT_EQ(
      refusal([](FitOptions& o) {
        o.normalize = {{0.5f}, {}};
      }),
      "fit: there are 1 mean and 0 standard deviations, must be one of each, or 3, one for each channel");
  EXPECT_EQ(refusal([](FitOptions& o) {
              o.normalize = {{0.5f}, {0}};
            }),
            "fit: mean 0.5 and standard deviation 0, must be finite, also their quotient, and the standard "
            "deviation at least 1e-6");
  DataParallel vectors(Linear(3), {1, 1, 90}, on_ranks(1, 8));
  const DeviceImages images(vectors, set.bytes, set.labels);
  EXPECT_EQ(test::error_of([&] { ShuffledBatches(vectors, images, 8, 1, {.flip = 0.5f}); }),
            "ShuffledBatches: augmentation changes images, the network's input is a vector of 90");
}

}  // namespace
}  // namespace rondo::nn

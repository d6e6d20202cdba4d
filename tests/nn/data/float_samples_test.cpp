// Data sets of floats: the same training as bytes of the same values, with the same bits on any number of
// devices.
#include <gtest/gtest.h>

#include <rondo/nn/data/device_images.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rondo::nn {
namespace {

constexpr Shape kFloatImage = {6, 5, 3};
constexpr int64_t kFloatClasses = 3;

struct FloatImages {
  // Of random bytes, each times `unit`.
  FloatImages(int64_t count, float unit) {
    test::Random random(static_cast<uint64_t>(count));
    for (int64_t i = 0; i < count * kFloatImage.size(); ++i) {
      bytes.push_back(static_cast<uint8_t>(random.below(256)));
      floats.push_back(static_cast<float>(bytes.back()) * unit);
    }
    for (int64_t i = 0; i < count; ++i) labels.push_back(static_cast<uint8_t>(i % kFloatClasses));
  }
  ImageSet of_bytes() const { return {kFloatImage, bytes, labels}; }
  ImageSet of_floats() const { return {kFloatImage, floats, labels}; }

  std::vector<uint8_t> bytes, labels;
  std::vector<float> floats;
};

AnyModule network_of_floats() {
  return Sequential{Conv2d(4, 3), ReLU(), Dropout(0.2f), Flatten(), Linear(kFloatClasses)};
}

struct FloatTraining {
  FitResult result;
  std::vector<float> parameters;
};

FloatTraining trained_on(const DataSet& data, int ranks, const Augmentation& augmentation,
                         const Normalize& normalize) {
  DataParallel model(network_of_floats(), kFloatImage,
                     with_device_count_invariance({.devices = test::spread(ranks), .batch = 16}));
  Adam adam(model);
  FitOptions options = {.epochs = 2, .seed = 4, .learning_rate = LearningRate::constant(1e-2)};
  options.augmentation = augmentation;
  options.normalize = normalize;
  options.verify = true;
  FitResult result = fit(model, adam, data, options);
  EXPECT_EQ(result.differing_values, 0);
  return {std::move(result), test::parameters_of(model)};
}

// Bytes b, and floats b / 255 or b. The means and deviations are exact in float, in units of 1 / 255, too.
TEST(FloatSamples, TrainAsBytesOfTheSameValuesOnAnyNumberOfDevices) {
  const Normalize per_channel = {{0.25f, 0.5f, 0.75f}, {0.5f, 0.25f, 2}};
  Normalize of_raw = per_channel;
  for (float& value : of_raw.mean) value *= 255;
  for (float& value : of_raw.stddev) value *= 255;
  const FloatImages shares(60, 1.0f / 255.0f), unseen_shares(21, 1.0f / 255.0f), raw(60, 1),
      unseen_raw(21, 1);
  const struct {
    const FloatImages &train, &test;
    Normalize of_bytes, of_floats;
  } cases[] = {{shares, unseen_shares, {}, {}},
               {raw, unseen_raw, per_channel, of_raw},
               {raw, unseen_raw, {{0.5f}, {0.25f}}, {{127.5f}, {63.75f}}}};
  for (const auto& [train, unseen, of_bytes, of_floats] : cases)
    for (const Augmentation& augmentation :
         {Augmentation{}, Augmentation{.padding = 2, .flip = 0.5f, .erase = 0.5f}}) {
      const FloatTraining want = trained_on({train.of_bytes(), unseen.of_bytes()}, 1, augmentation, of_bytes);
      for (const int ranks : {1, 2, 3}) {
        SCOPED_TRACE(
            concat(ranks, " devices, ", of_bytes.mean.size(), " means, padding ", augmentation.padding));
        const FloatTraining found =
            trained_on({train.of_floats(), unseen.of_floats()}, ranks, augmentation, of_floats);
        EXPECT_TRUE(test::all_equal_bits(found.parameters, want.parameters));
        EXPECT_EQ(found.result.epochs.back().test_accuracy, want.result.epochs.back().test_accuracy);
      }
    }
}

// A table of values that no byte can have: negative ones, and columns of other sizes.
TEST(FloatSamples, AreRowsOfATable) {
  constexpr int64_t kColumns = 4, kRows = 300;
  std::vector<float> table;
  std::vector<uint8_t> labels;
  for (int64_t i = 0; i < kRows; ++i) {
    const std::vector<float> noise = test::normal_values(kColumns, static_cast<uint64_t>(i) + 1);
    const int64_t label = i % 2;
    labels.push_back(static_cast<uint8_t>(label));
    const float side = label == 0 ? -2.0f : 2.0f;
    table.insert(table.end(), {1000 + 50 * (noise[0] + side), noise[1], -3 + 0.01f * noise[2], noise[3]});
  }
  const ImageSet all = {{1, 1, kColumns}, table, labels};
  FitOptions options = {.epochs = 3, .learning_rate = LearningRate::constant(0.1)};
  options.normalize = normalize_of(all);
  DataParallel model(Linear(2), {1, 1, kColumns}, {.devices = test::spread(2), .batch = 32});
  Sgd sgd(model);
  EXPECT_GT(fit(model, sgd, {all, all}, options).epochs.back().test_accuracy, 0.95);
  // Without normalisation the network's input has the table's bits.
  const DeviceImages images(model, table, labels);
  Replica& replica = model.replicas()[0];
  const DeviceScope scope(replica.device());
  Buffer<int32_t> to(2);
  replica.set_batch(2, 0);
  images.gather(replica, 0, {5, 2}, {to.data(), 2});
  std::vector<float> found(2 * kColumns);
  RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream()));
  RONDO_CUDA_THROW(
      cudaMemcpy(found.data(), replica.input().as(), found.size() * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT_TRUE(test::all_equal_bits(
      found, std::vector<float>(table.begin() + 5 * kColumns, table.begin() + 7 * kColumns)));
}

TEST(SampleLabels, OfInt32TrainAsBytesDo) {
  const FloatImages train(60, 1), unseen(21, 1);
  const auto wide = [](const FloatImages& images) {
    return std::vector<int32_t>(images.labels.begin(), images.labels.end());
  };
  const std::vector<int32_t> train_labels = wide(train), unseen_labels = wide(unseen);
  for (const Augmentation& augmentation : {Augmentation{}, Augmentation{.padding = 2, .flip = 0.5f}}) {
    const FloatTraining want = trained_on({train.of_bytes(), unseen.of_bytes()}, 1, augmentation, {});
    const FloatTraining found =
        trained_on({{kFloatImage, train.bytes, train_labels}, {kFloatImage, unseen.bytes, unseen_labels}}, 2,
                   augmentation, {});
    EXPECT_TRUE(test::all_equal_bits(found.parameters, want.parameters));
    EXPECT_EQ(found.result.epochs.back().test_accuracy, want.result.epochs.back().test_accuracy);
  }
}

// A network that learns 300 classes of one sample by heart predicts each of them.
TEST(SampleLabels, CanBeMoreThan256) {
  constexpr int64_t kColumns = 16, kClasses = 300;
  const std::vector<float> table = test::normal_values(kClasses * kColumns, 1);
  std::vector<int32_t> labels(kClasses);
  std::iota(labels.begin(), labels.end(), 0);
  DataParallel model(Linear(kClasses), {1, 1, kColumns}, {.devices = test::spread(2), .batch = 60});
  Adam adam(model);
  const ImageSet all = {{1, 1, kColumns}, table, labels};
  const FitOptions options = {.epochs = 60, .learning_rate = LearningRate::constant(0.1)};
  EXPECT_GT(fit(model, adam, {all, all}, options).epochs.back().test_accuracy, 0.95);
  const std::vector<float> outputs = model.predict(table);
  int64_t correct = 0;
  for (int64_t i = 0; i < kClasses; ++i) {
    const auto of_sample = std::span(outputs).subspan(static_cast<size_t>(i * kClasses), kClasses);
    correct += std::ranges::max_element(of_sample) - of_sample.begin() == i;
  }
  EXPECT_GT(correct, 285);
  for (const int32_t bad : {300, -1}) {
    labels[7] = bad;
    EXPECT_EQ(test::error_of([&] { DeviceImages(model, table, labels); }),
              concat("DeviceImages: the label of sample 7 is ", bad,
                     ", must be 0 to 299, for the network's 300 outputs"));
  }
}

TEST(FloatSamples, ThatAreNotFiniteAreNamed) {
  const FloatImages good(12, 1);
  DataParallel model(network_of_floats(), kFloatImage, {.batch = 6});
  Sgd sgd(model);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    FloatImages spoilt = good;
    // Image 7, row 4, column 3, channel 2.
    spoilt.floats[static_cast<size_t>(7 * kFloatImage.size() + (4 * 5 + 3) * 3 + 2)] = bad;
    const std::string why =
        concat("the value at [image 7, row 4, column 3, channel 2] is ", bad, ", must be finite");
    EXPECT_EQ(test::error_of([&] {
                fit(model, sgd, {spoilt.of_floats(), good.of_floats()}, {});
              }),
              "fit: the training images: " + why);
    EXPECT_EQ(test::error_of([&] {
                fit(model, sgd, {good.of_floats(), spoilt.of_floats()}, {});
              }),
              "fit: the test images: " + why);
    EXPECT_EQ(test::error_of([&] { DeviceImages(model, spoilt.floats, spoilt.labels); }),
              "DeviceImages: " + why);
  }
  DataParallel rows(Linear(kFloatClasses), {1, 1, 90}, {.batch = 6});
  std::vector<float> table = good.floats;
  table.back() = -INFINITY;
  EXPECT_EQ(test::error_of([&] { DeviceImages(rows, table, good.labels); }),
            "DeviceImages: the value at [sample 11, element 89] is -inf, must be finite");
  EXPECT_EQ(
      test::error_of([&] { DeviceImages(rows, std::span(table).first(91), good.labels); }),
      "DeviceImages: there are 91 values and 12 labels, must be 90 values for each of at least one label");
}

TEST(FloatSamples, NormaliseByTheirMeanAndDeviation) {
  constexpr int64_t kCount = 1000;
  std::vector<float> values = test::normal_values(2 * kCount, 3);
  for (size_t i = 0; i < values.size(); i += 2) values[i] = 1e6f + values[i];  // rounded to 1 / 16
  const std::vector<uint8_t> labels(kCount);
  const Normalize n = normalize_of({{1, 1, 2}, values, labels});
  for (size_t c = 0; c < 2; ++c) {
    double sum = 0, squares = 0;
    for (size_t i = c; i < values.size(); i += 2) sum += double{values[i]};
    for (size_t i = c; i < values.size(); i += 2) squares += std::pow(double{values[i]} - sum / kCount, 2);
    EXPECT_NEAR(n.mean[c], sum / kCount, 1e-7 * std::abs(sum / kCount) + 1e-9);
    EXPECT_NEAR(n.stddev[c], std::sqrt(squares / kCount), 1e-6);
  }
  for (size_t i = 1; i < values.size(); i += 2) values[i] = 0.1f;
  EXPECT_EQ(test::error_of([&] {
              normalize_of({{1, 1, 2}, values, labels});
            }),
            "normalize_of: all values of channel 1 are equal, must differ: its standard deviation is 0");
}

// normalize_of() and check_normalize() accept the same.
TEST(FloatSamples, NormalizeOfRefusesWhatFitWould) {
  const auto refusal = [](const SampleValues& values, size_t count) {
    const std::vector<uint8_t> labels(count);
    return test::error_of([&] { normalize_of({{1, 1, 1}, values, labels}); });
  };
  const std::vector<float> near = {0, 1e-6f, 0, 1e-6f}, far = {-3e38f, -3e38f, -3e38f, 3e38f};
  EXPECT_NE(refusal(near, 4).find("normalize_of: channel 0 has the mean 5e-07 and the standard deviation "),
            std::string::npos);
  const std::vector<uint8_t> labels(4);
  check_normalize("", normalize_of({{1, 1, 1}, far, labels}), 1);
  std::vector<uint8_t> bytes(size_t{1} << 24);
  bytes[5] = 1;  // a deviation of 2^-12 / 255
  EXPECT_NE(refusal(bytes, bytes.size()).find("normalize_of: channel 0 has the mean "), std::string::npos);
}

}  // namespace
}  // namespace rondo::nn

// The operators of batches: orders, gathered samples, counters, columns and fills. The file exceeds 400 lines
// because the tests of orders and of gathered samples share the permutation.
#include <gtest/gtest.h>

#include <rondo/kernels/data/augmented_batch.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/data/columns.h>
#include <rondo/kernels/data/fill.h>
#include <rondo/kernels/data/permutation.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>

namespace rondo::test {
namespace {

std::vector<int32_t> permutation(int32_t size, uint64_t seed, uint64_t epoch) {
  const Permutation element(size, seed, epoch);
  std::vector<int32_t> order;
  for (int32_t i = 0; i < size; ++i) order.push_back(element(i));
  return order;
}

TEST(Permutation, HoldsEveryElementOnce) {
  for (int32_t size : {1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 100, 255, 256, 257, 1000, 10'000}) {
    std::vector<int32_t> order = permutation(size, 42, 1);
    std::sort(order.begin(), order.end());
    std::vector<int32_t> all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
  }
}

// Values of a second implementation of the definition. A run that resumes from a checkpoint needs the same
// order, so the order must not change from version to version.
TEST(Permutation, KnownAnswers) {
  EXPECT_EQ(permutation(12, 42, 1), (std::vector<int32_t>{3, 0, 4, 6, 7, 8, 1, 9, 11, 10, 2, 5}));
  const uint64_t high = uint64_t{1} << 32;
  const auto elements = [&](int32_t size, const std::vector<int32_t>& places) {
    const Permutation element(size, 5 + 6 * high, 3 + 4 * high);
    std::vector<int32_t> found;
    for (const int32_t place : places) found.push_back(element(place));
    return found;
  };
  EXPECT_EQ(elements(60'000, {0, 1, 2, 29'999, 59'998, 59'999}),
            (std::vector<int32_t>{25158, 57921, 45028, 52850, 19828, 37010}));
  EXPECT_EQ(elements(INT32_MAX, {0, 1, INT32_MAX / 2, INT32_MAX - 1}),
            (std::vector<int32_t>{1742473090, 1892318844, 1729660139, 1774841646}));
}

// At the largest size every element is in range, and places 0 ... 999 hold different elements.
TEST(Permutation, LargestSize) {
  const Permutation element(INT32_MAX, 1, 2);
  std::map<int32_t, int> seen;
  for (int32_t i = 0; i < 1000; ++i) {
    ASSERT_GE(element(i), 0);
    ASSERT_LT(element(i), INT32_MAX);
    ++seen[element(i)];
  }
  EXPECT_EQ(seen.size(), 1000u);
}

template <class Counts>
double chi_square_deviations(const Counts& counts, double cells, double total) {
  const double expected = total / cells;
  double chi = (cells - static_cast<double>(counts.size())) * expected;  // cells with a count of 0
  for (const auto& [cell, count] : counts) chi += (count - expected) * (count - expected) / expected;
  return (chi - (cells - 1)) / std::sqrt(2 * (cells - 1));
}

TEST(Permutation, EveryPermutationOfAFewElementsComesEquallyOften) {
  double permutations = 1;
  for (int32_t size = 2; size <= 6; ++size) {
    permutations *= size;
    const auto epochs = static_cast<uint64_t>(permutations * (size == 6 ? 30 : 100));
    std::map<std::vector<int32_t>, int> counts;
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) ++counts[permutation(size, 7, epoch)];
    EXPECT_LT(std::abs(chi_square_deviations(counts, permutations, static_cast<double>(epochs))), 4) << size;
  }
}

TEST(Permutation, EveryElementComesEquallyOftenToEveryPlace) {
  const int32_t size = 37, epochs = 4000;
  std::map<std::pair<int32_t, int32_t>, int> counts;
  std::map<int32_t, int> neighbours;  // difference of the elements at places 0 and 1
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const std::vector<int32_t> order = permutation(size, 8, epoch);
    for (int32_t place = 0; place < size; ++place) ++counts[{place, order[static_cast<size_t>(place)]}];
    ++neighbours[(order[1] - order[0] + size) % size];
  }
  EXPECT_LT(std::abs(chi_square_deviations(counts, size * size, 1.0 * size * epochs)), 4);
  EXPECT_LT(std::abs(chi_square_deviations(neighbours, size - 1, epochs)), 4);
}

TEST(Permutation, ChangesWithSeedAndEpoch) {
  EXPECT_NE(permutation(1000, 1, 1), permutation(1000, 1, 2));
  EXPECT_NE(permutation(1000, 1, 1), permutation(1000, 2, 1));
  EXPECT_NE(permutation(1000, 1, 1), permutation(1000, 1, 1 + (uint64_t{1} << 32)));
  EXPECT_NE(permutation(1000, 1, 1), permutation(1000, 1 + (uint64_t{1} << 32), 1));
}

TEST(Shuffle, WritesThePermutationOfTheEpochOnTheDevice) {
  const Stream stream;
  for (const int32_t size : {0, 1, 127, 128, 129, 3000}) {
    const GuardedBuffer<int64_t> epoch(std::vector<int64_t>{5});
    GuardedBuffer<int32_t> order(size, 1);
    ASSERT_TRUE(ok(shuffle(order.view(), 42, epoch.data(), stream)));
    EXPECT_EQ(order.download(), permutation(size, 42, 5)) << size;
  }
}

// S: uint8_t or float.
template <class S = uint8_t>
struct DataSet {
  int64_t samples, height, width, channels;
  std::vector<S> images;
  std::vector<uint8_t> labels;

  int64_t sample_size() const { return height * width * channels; }
};

template <class S = uint8_t>
DataSet<S> random_data(int64_t samples, int64_t height, int64_t width, int64_t channels) {
  DataSet<S> data = {samples, height, width, channels, {}, {}};
  Random random(1);
  for (int64_t i = 0; i < samples * data.sample_size(); ++i)
    data.images.push_back(static_cast<S>(static_cast<uint8_t>(random.next())));
  if constexpr (std::is_same_v<S, float>) data.images = normal_values(samples * data.sample_size(), 2);
  for (int64_t i = 0; i < samples; ++i) data.labels.push_back(static_cast<uint8_t>(random.next()));
  return data;
}

struct Batch {
  std::vector<float> x;
  std::vector<int32_t> labels;
};

constexpr float kScale = 1 / (255 * 0.353f), kShift = -0.286f / 0.353f;

struct Request {
  std::vector<int32_t> order;  // empty: no order is passed
  int64_t step, batch, first, shard;
  int x_offset = 0, image_offset = 0;
  int64_t order_size = -1;  // negative: the whole order
};

template <class S>
Batch gather(const DataSet<S>& data, const Request& request) {
  const Stream stream;
  const GuardedBuffer<S> images(data.images, request.image_offset);
  const GuardedBuffer<uint8_t> labels(data.labels);
  const GuardedBuffer<int32_t> order(request.order);
  const GuardedBuffer<int64_t> step(std::vector<int64_t>{request.step});
  GuardedBuffer<float> x(request.shard * data.sample_size(), request.x_offset);
  GuardedBuffer<int32_t> y(request.shard);
  VectorView<const int32_t> order_view = {order.data(),
                                          request.order_size < 0 ? order.size() : request.order_size};
  if (request.order.empty()) order_view = {};
  const ImageView<const S> stored = {images.data(), data.samples, data.height, data.width, data.channels};
  EXPECT_TRUE(ok(gather_batch({x.data(), request.shard, data.height, data.width, data.channels}, y.view(),
                              stored, {labels.data(), data.samples}, order_view,
                              {step.data(), request.batch, request.first}, kScale, kShift, stream)));
  return {x.download(), y.download()};
}

// The batch of `samples`, computed on the host; -1 stands for a sample that does not exist.
template <class S>
Batch expected(const DataSet<S>& data, const std::vector<int64_t>& samples) {
  Batch want;
  for (const int64_t sample : samples) {
    want.labels.push_back(sample < 0 ? -1 : data.labels[static_cast<size_t>(sample)]);
    for (int64_t j = 0; j < data.sample_size(); ++j)
      want.x.push_back(
          std::fma(static_cast<float>(data.images[static_cast<size_t>(sample * data.sample_size() + j)]),
                   kScale, kShift));
  }
  return want;
}

// Sizes for every pack width, each with aligned and misaligned arrays. The result must be exact to the last
// bit.
template <class S>
void expect_normalised_samples_of_the_order() {
  for (const auto& [height, width, channels] :
       {std::array<int64_t, 3>{28, 28, 1}, {5, 7, 1}, {3, 2, 3}, {1, 1, 1}, {32, 32, 3}})
    for (const auto& [x_offset, image_offset] : {std::pair{0, 0}, {1, 0}, {2, 0}, {0, 1}, {0, 2}}) {
      const DataSet<S> data = random_data<S>(20, height, width, channels);
      const std::vector<int32_t> order = permutation(20, 3, 0);
      const Batch batch = gather(data, {order, 2, 6, 1, 4, x_offset, image_offset});
      std::vector<int64_t> samples;
      for (size_t i = 0; i < 4; ++i) samples.push_back(order[2 * 6 + 1 + i]);
      const Batch want = expected(data, samples);
      EXPECT_TRUE(all_equal_bits(batch.x, want.x))
          << height << " x " << width << " x " << channels << ", offsets " << x_offset << ' ' << image_offset;
      EXPECT_EQ(batch.labels, want.labels);
    }
}

TEST(GatherBatch, NormalisesTheSamplesOfTheOrder) { expect_normalised_samples_of_the_order<uint8_t>(); }
TEST(GatherBatch, NormalisesTheFloatsOfTheOrder) { expect_normalised_samples_of_the_order<float>(); }

// Of the scale 1 and the shift -0, in every type of x.
template <class T>
void expect_floats_keep_their_bits() {
  const std::vector<float> values = {0.0f, -0.0f, 1, -2.5f, 0x1p-149f, -0x1p-130f, 0x1.fffffep127f, 3};
  const Stream stream;
  const GuardedBuffer<float> images(values);
  const GuardedBuffer<uint8_t> labels(1);
  const GuardedBuffer<int64_t> step(std::vector<int64_t>{0});
  GuardedBuffer<T> x(8);
  GuardedBuffer<int32_t> y(1);
  const ImageView<const float> stored = {images.data(), 1, 1, 1, 8};
  ASSERT_TRUE(ok(gather_batch<T>({x.data(), 1, 1, 1, 8}, y.view(), stored, {labels.data(), 1}, {},
                                 {step.data(), 1, 0}, 1, -0.0f, stream)));
  std::vector<T> want;
  for (const float value : values) want.push_back(static_cast<T>(value));
  EXPECT_TRUE(all_equal_bits(x.download(), want));
}

// Values that no byte has, at every element of an order.
TEST(GatherBatch, LabelsCanBeInt32) {
  const std::vector<int32_t> values = {999, 0, 255, 256, INT32_MAX, -7}, order = {5, 3, 4, 0, 2, 1};
  const Stream stream;
  const GuardedBuffer<uint8_t> images(std::vector<uint8_t>(6 * 3));
  GuardedBuffer<int32_t> labels(values), by(order);
  const GuardedBuffer<int64_t> step(std::vector<int64_t>{0});
  GuardedBuffer<float> scale(std::vector<float>{1}), shift(std::vector<float>{0});
  const ImageView<const uint8_t> stored = {images.data(), 6, 3, 1, 1};
  for (const bool augmented : {false, true}) {
    GuardedBuffer<float> x(6 * 3);
    GuardedBuffer<int32_t> y(6);
    const ImageView<float> to = {x.data(), 6, 3, 1, 1};
    const BatchPosition position = {step.data(), 6, 0};
    ASSERT_TRUE(
        ok(augmented ? gather_augmented_batch(to, y.view(), stored, labels.view(), by.view(), position,
                                              scale.view(), shift.view(), {}, {0, step.data()}, stream)
                     : gather_batch(to, y.view(), stored, labels.view(), by.view(), position, 1, 0, stream)));
    EXPECT_EQ(y.download(), (std::vector<int32_t>{-7, 256, INT32_MAX, 999, 255, 0})) << augmented;
  }
}

TEST(GatherBatch, FloatsKeepTheirBits) {
  expect_floats_keep_their_bits<float>();
  expect_floats_keep_their_bits<__nv_bfloat16>();
  expect_floats_keep_their_bits<__half>();
}

// Bytes, and floats of the same values.
TEST(GatherBatch, FloatsAreAsBytes) {
  const DataSet data = random_data(9, 5, 7, 3);
  const DataSet<float> floats = {9, 5, 7, 3, {data.images.begin(), data.images.end()}, data.labels};
  const Request request = {permutation(9, 3, 0), 1, 4, 1, 3};
  EXPECT_TRUE(all_equal_bits(gather(floats, request).x, gather(data, request).x));
}

TEST(GatherBatch, WithoutAnOrderTakesTheSamplesInStorageOrder) {
  const DataSet data = random_data(20, 4, 4, 1);
  const Batch batch = gather(data, {{}, 3, 5, 2, 3});
  const Batch want = expected(data, {17, 18, 19});
  EXPECT_TRUE(all_equal_bits(batch.x, want.x));
  EXPECT_EQ(batch.labels, want.labels);
}

// The shards of an epoch together are the epoch.
TEST(GatherBatch, ShardsCoverTheEpochOnce) {
  const DataSet data = random_data(23, 1, 1, 1);
  const std::vector<int32_t> order = permutation(23, 9, 9);
  std::vector<int32_t> labels;
  for (int64_t step = 0; step < 5; ++step)
    for (const auto& [first, shard] : {std::pair<int64_t, int64_t>{0, 2}, {2, 2}, {4, 1}}) {
      const Batch batch = gather(data, {order, step, 5, first, shard});
      labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    }
  std::vector<int32_t> want;
  for (const int32_t sample : order) want.push_back(data.labels[static_cast<size_t>(sample)]);
  want.resize(25, -1);  // the epoch ends in the middle of the last batch
  EXPECT_EQ(labels, want);
}

TEST(GatherBatch, ASampleThatDoesNotExistIsMarked) {
  const DataSet data = random_data(4, 2, 2, 1);
  const auto expect_only = [&](const Request& request, const std::vector<int64_t>& samples) {
    const Batch batch = gather(data, request);
    for (size_t i = 0; i < samples.size(); ++i) {
      if (samples[i] >= 0) {
        EXPECT_EQ(batch.labels[i], data.labels[static_cast<size_t>(samples[i])]);
        continue;
      }
      EXPECT_EQ(batch.labels[i], -1) << "sample " << i;
      for (size_t j = 0; j < 4; ++j) EXPECT_TRUE(std::isnan(batch.x[4 * i + j])) << "sample " << i;
    }
  };
  expect_only({{0, -1, 4, 3}, 0, 4, 0, 4}, {0, -1, -1, 3});
  expect_only({{3, 2}, 0, 4, 0, 4}, {3, 2, -1, -1});
  // Elements beyond order_size are not part of the order.
  Request short_order = {{0, 1, 2, 3}, 0, 4, 0, 4};
  short_order.order_size = 2;
  expect_only(short_order, {0, 1, -1, -1});
  expect_only({{}, 1, 3, 0, 3}, {3, -1, -1});
  expect_only({{}, -1, 3, 0, 3}, {-1, -1, -1});
  // Steps whose first position is 0, or near it, in 64 bits.
  for (const int64_t step : {int64_t{1} << 62, (int64_t{1} << 62) + 1, INT64_MAX, INT64_MIN})
    expect_only({{}, step, 4, 0, 4}, {-1, -1, -1, -1});
}

TEST(GatherBatch, AnEmptyShardWritesNothing) {
  const DataSet data = random_data(4, 2, 2, 1);
  EXPECT_TRUE(gather(data, {{}, 0, 3, 3, 0}).labels.empty());
}

// A captured graph of one step that is launched repeatedly.
TEST(Advance, MovesOnToTheNextBatch) {
  const Stream stream;
  const DataSet data = random_data(6, 1, 1, 1);
  const GuardedBuffer<uint8_t> images(data.images), image_labels(data.labels);
  GuardedBuffer<int64_t> step(std::vector<int64_t>{0});
  GuardedBuffer<float> x(2);
  GuardedBuffer<int32_t> labels(2);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(ok(gather_batch({x.data(), 2, 1, 1, 1}, labels.view(), {images.data(), 6, 1, 1, 1},
                                {image_labels.data(), 6}, {}, {step.data(), 2, 0}, kScale, kShift, stream)));
    ASSERT_TRUE(ok(advance(step.data(), 1, stream)));
    EXPECT_EQ(labels.download(), (std::vector<int32_t>{data.labels[2 * i], data.labels[2 * i + 1]}));
  }
  ASSERT_TRUE(ok(advance(step.data(), -3, stream)));
  EXPECT_EQ(step.download()[0], 0);
}

TEST(Data, BadArguments) {
  const Stream stream;
  GuardedBuffer<int32_t> order(4), labels(2);
  GuardedBuffer<int64_t> counter(2);
  GuardedBuffer<float> memory(2 * 4);
  GuardedBuffer<uint8_t> bytes(4 * 4), byte_labels(4);
  auto* misaligned = reinterpret_cast<int64_t*>(reinterpret_cast<char*>(counter.data()) + 4);
  EXPECT_TRUE(refused(shuffle({nullptr, 4}, 0, counter.data(), stream), "shuffle: order is null"));
  EXPECT_TRUE(refused(shuffle({order.data(), -1}, 0, counter.data(), stream), "order.size is -1"));
  EXPECT_TRUE(refused(shuffle({order.data(), int64_t{1} << 31}, 0, counter.data(), stream), "2147483648"));
  EXPECT_TRUE(refused(shuffle(order.view(), 0, nullptr, stream), "epoch is null"));
  EXPECT_TRUE(refused(shuffle(order.view(), 0, misaligned, stream), "epoch is at"));
  EXPECT_TRUE(refused(advance(nullptr, 1, stream), "advance: counter is null"));
  EXPECT_TRUE(refused(advance(misaligned, 1, stream), "counter is at"));

  const ImageView<float> x = {memory.data(), 2, 2, 2, 1};
  const ImageView<const uint8_t> images = {bytes.data(), 4, 2, 2, 1};
  const VectorView<const uint8_t> image_labels = byte_labels.view();
  const BatchPosition at = {counter.data(), 2, 0};
  const auto call = [&](ImageView<float> to, VectorView<int32_t> to_labels, ImageView<const uint8_t> from,
                        VectorView<const uint8_t> from_labels, VectorView<const int32_t> by,
                        BatchPosition position) {
    return gather_batch(to, to_labels, from, from_labels, by, position, 1, 0, stream);
  };
  const VectorView<int32_t> y = labels.view();
  EXPECT_TRUE(refused(call({nullptr, 2, 2, 2, 1}, y, images, image_labels, order.view(), at),
                      "gather_batch: x is null"));
  EXPECT_TRUE(refused(call(x, {nullptr, 2}, images, image_labels, order.view(), at), "labels is null"));
  EXPECT_TRUE(refused(call(x, y, {nullptr, 4, 2, 2, 1}, image_labels, order.view(), at), "images is null"));
  EXPECT_TRUE(refused(call(x, y, images, {nullptr, 4}, order.view(), at), "image_labels is null"));
  EXPECT_TRUE(refused(call(x, y, images, image_labels, {order.data(), -2}, at), "order.size is -2"));
  EXPECT_TRUE(
      refused(call(x, y, images, image_labels, order.view(), {nullptr, 2, 0}), "position.step is null"));
  EXPECT_TRUE(
      refused(call(x, y, images, image_labels, order.view(), {misaligned, 2, 0}), "position.step is at"));
  EXPECT_TRUE(
      refused(call({memory.data(), -2, 2, 2, 1}, y, images, image_labels, {}, at), "x is -2 x 2 x 2 x 1"));
  EXPECT_TRUE(refused(call({memory.data(), 2, 1, 2, 1}, y, images, image_labels, {}, at),
                      "a sample of x is 1 x 2 x 1"));
  EXPECT_TRUE(refused(call({memory.data(), 2, 2, 1, 1}, y, images, image_labels, {}, at),
                      "a sample of x is 2 x 1 x 1"));
  EXPECT_TRUE(refused(call({memory.data(), 2, 2, 2, 2}, y, images, image_labels, {}, at),
                      "a sample of x is 2 x 2 x 2"));
  EXPECT_TRUE(refused(call(x, {labels.data(), 1}, images, image_labels, {}, at),
                      "labels.size is 1, must be x.images = 2"));
  EXPECT_TRUE(
      refused(call(x, y, images, {byte_labels.data(), 3}, {}, at), "image_labels.size is 3, must be"));
  EXPECT_TRUE(refused(call(x, y, images, image_labels, {}, {counter.data(), 2, 1}),
                      "the shard is 2 samples from 1 on, must lie inside the batch of 2"));
  EXPECT_TRUE(refused(call(x, y, images, image_labels, {}, {counter.data(), 9, -1}), "2 samples from -1 on"));
}

TEST(CopyColumns, CopiesOnlyTheGivenColumns) {
  const Stream stream;
  for (const auto& [rows, cols] :
       {std::pair<int64_t, int64_t>{0, 3}, {5, 0}, {1, 1}, {7, 5}, {3000, 1}, {401, 17}}) {
    SCOPED_TRACE(concat(rows, " x ", cols));
    const int64_t to_stride = cols + 3, from_stride = cols + 2;
    const std::vector<float> before = normal_values(rows * to_stride, 1),
                             values = normal_values(rows * from_stride, 2);
    GuardedBuffer<float> to(before, 1);
    const GuardedBuffer<float> from(values, 2);
    ASSERT_TRUE(ok(
        copy_columns(to.matrix(rows, cols, to_stride, 2), from.matrix(rows, cols, from_stride, 1), stream)));
    std::vector<float> want = before;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        want[static_cast<size_t>(i * to_stride + 2 + j)] =
            values[static_cast<size_t>(i * from_stride + 1 + j)];
    EXPECT_TRUE(all_equal_bits(to.download(), want));
    EXPECT_TRUE(all_equal_bits(from.download(), values));
  }
}

TEST(CopyColumns, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> memory(12);
  const MatrixView<float> m = {memory.data(), 2, 3, 3};
  const MatrixView<float> bad[] = {{nullptr, 2, 3, 3}, {memory.data(), -2, 3, 3}, {memory.data(), 2, 3, 2}};
  const char* why[] = {"is null with 6 elements", "is -2 x 3", "stride is 2, must be at least cols = 3"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(
        refused(copy_columns(bad[i], m, stream), concat("copy_columns: to", i == 2 ? "." : " ", why[i])));
    EXPECT_TRUE(
        refused(copy_columns(m, bad[i], stream), concat("copy_columns: from", i == 2 ? "." : " ", why[i])));
  }
  EXPECT_TRUE(refused(copy_columns({memory.data(), 3, 2, 2}, m, stream), "from is 2 x 3, must be 3 x 2"));
  auto* const misaligned = reinterpret_cast<float*>(reinterpret_cast<char*>(memory.data()) + 1);
  EXPECT_TRUE(refused(copy_columns({misaligned, 2, 3, 3}, m, stream), "to is at"));
}

TEST(Fill, SetsEveryElementToTheValuesBits) {
  const Stream stream;
  const float payload = std::bit_cast<float>(0x7fc12345u);
  for (const float value : {0.0f, -0.0f, 1.0f, 0.1f, 1e-45f, -INFINITY, payload})
    for (const int64_t size : {0, 1, 3, 4, 5, 1023, 1024, 70'001})
      for (const int offset : {0, 1, 2, 3}) {
        SCOPED_TRACE(concat(value, ", ", size, " elements at ", offset));
        GuardedBuffer<float> x(size, offset);
        ASSERT_TRUE(ok(fill(x.view(), value, stream)));
        EXPECT_TRUE(all_equal_bits(x.download(), std::vector<float>(static_cast<size_t>(size), value)));
      }
}

TEST(Fill, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> memory(4);
  auto* const misaligned = reinterpret_cast<float*>(reinterpret_cast<char*>(memory.data()) + 1);
  EXPECT_TRUE(refused(fill({nullptr, 4}, 0, stream), "fill: x is null"));
  EXPECT_TRUE(refused(fill({memory.data(), -1}, 0, stream), "fill: x.size is -1"));
  EXPECT_TRUE(refused(fill({misaligned, 2}, 0, stream), "fill: x is at"));
  EXPECT_TRUE(ok(fill({nullptr, 0}, 0, stream)));
}

}  // namespace
}  // namespace rondo::test

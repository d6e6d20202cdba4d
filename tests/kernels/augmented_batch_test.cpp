// gather_augmented_batch() against its definition, written a second time: pad, crop, flip, normalise, erase,
// one after the other, on an image in host memory.
#include <gtest/gtest.h>

#include <rondo/kernels/data/augmented_batch.h>
#include <rondo/kernels/random/philox.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <array>
#include <cmath>

namespace rondo::test {
namespace {

struct Size {
  int64_t height, width, channels;
  int64_t bytes() const { return height * width * channels; }
};

// A data set with a scale and a shift for each channel.
struct Data {
  Data(int64_t samples, Size image) : samples(samples), size(image) {
    Random random(static_cast<uint64_t>(samples + image.bytes()));
    for (int64_t i = 0; i < samples * image.bytes(); ++i)
      bytes.push_back(static_cast<uint8_t>(random.next()));
    for (int64_t i = 0; i < samples; ++i) labels.push_back(static_cast<uint8_t>(i + 1));
    for (int64_t c = 0; c < image.channels; ++c) {
      scale.push_back(1.0f / (255 * (0.2f + 0.1f * static_cast<float>(c))));
      shift.push_back(-0.5f - 0.25f * static_cast<float>(c));
    }
  }

  int64_t samples;
  Size size;
  std::vector<uint8_t> bytes, labels;
  std::vector<float> scale, shift;
  std::vector<float> floats = {};  // stored instead of the bytes, if not empty

  float value(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    return floats.empty() ? static_cast<float>(bytes[at]) : floats[at];
  }
  template <class S>
  const std::vector<S>& stored() const {
    if constexpr (std::is_same_v<S, float>)
      return floats;
    else
      return bytes;
  }
};

struct Request {
  Augmentation augmentation;
  uint64_t seed = 0;
  int64_t epoch = 0;
  std::vector<int32_t> order;
  int64_t step = 0, batch = 0, first = 0, shard = 0;
  int offset = 0;
};

struct Gathered {
  std::vector<float> x;
  std::vector<int32_t> labels;
};

template <class S>
Gathered gather_stored(const Data& data, const Request& r) {
  const Stream stream;
  const GuardedBuffer<S> images(data.stored<S>(), r.offset);
  const GuardedBuffer<uint8_t> labels(data.labels);
  const GuardedBuffer<float> scale(data.scale), shift(data.shift);
  const GuardedBuffer<int32_t> order(r.order);
  const GuardedBuffer<int64_t> step(std::vector<int64_t>{r.step}), epoch(std::vector<int64_t>{r.epoch});
  const auto [height, width, channels] = data.size;
  GuardedBuffer<float> x(r.shard * data.size.bytes(), r.offset);
  GuardedBuffer<int32_t> y(r.shard);
  const VectorView<const int32_t> by =
      r.order.empty() ? VectorView<const int32_t>() : VectorView<const int32_t>{order.data(), order.size()};
  const ImageView<const S> stored = {images.data(), data.samples, height, width, channels};
  EXPECT_TRUE(ok(gather_augmented_batch({x.data(), r.shard, height, width, channels}, y.view(), stored,
                                        {labels.data(), data.samples}, by, {step.data(), r.batch, r.first},
                                        {scale.data(), channels}, {shift.data(), channels}, r.augmentation,
                                        {r.seed, epoch.data()}, stream)));
  return {x.download(), y.download()};
}

Gathered gather(const Data& data, const Request& r) {
  return data.floats.empty() ? gather_stored<uint8_t>(data, r) : gather_stored<float>(data, r);
}

double share(uint32_t word) { return static_cast<double>(word >> 8) / 16777216.0; }
int64_t place(uint32_t word, int64_t places) {
  return static_cast<int64_t>((static_cast<uint64_t>(word) * static_cast<uint64_t>(places)) >> 32);
}

struct Rectangle {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

// The words of an image: block `number` of its sequence.
PhiloxBlock words_of(const Request& r, int64_t sample, uint32_t number) {
  return philox4x32_10({{static_cast<uint32_t>(sample), 0x80000000u + number, static_cast<uint32_t>(r.epoch),
                         static_cast<uint32_t>(r.epoch >> 32)}},
                       r.seed);
}

// In double precision: sides that are within rounding of a half could differ, none of those tested does.
Rectangle rectangle_of(const Request& r, Size size, int64_t sample) {
  const Augmentation& a = r.augmentation;
  const auto pixels = static_cast<double>(size.height * size.width);
  for (uint32_t attempt = 1; attempt <= 10; ++attempt) {
    const PhiloxBlock w = words_of(r, sample, attempt);
    const double area = pixels * (a.min_area + share(w.v[0]) * (a.max_area - double{a.min_area}));
    const double low = std::log(double{a.min_ratio}), high = std::log(double{a.max_ratio});
    const double ratio = std::exp(low + share(w.v[1]) * (high - low));
    const auto rows = static_cast<int64_t>(std::lround(std::sqrt(area * ratio)));
    const auto columns = static_cast<int64_t>(std::lround(std::sqrt(area / ratio)));
    if (rows < size.height && columns < size.width)
      return {place(w.v[2], size.height - rows + 1), place(w.v[3], size.width - columns + 1), rows, columns};
  }
  return {};
}

std::vector<float> augmented(const Data& data, const Request& r, int64_t sample) {
  const Augmentation& a = r.augmentation;
  const auto [height, width, channels] = data.size;
  const PhiloxBlock words = words_of(r, sample, 0);
  // Pad.
  const int64_t padded_width = width + 2 * a.padding;
  std::vector<float> padded(static_cast<size_t>((height + 2 * a.padding) * padded_width * channels));
  for (int64_t h = 0; h < height; ++h)
    for (int64_t i = 0; i < width * channels; ++i)
      padded[static_cast<size_t>(((h + a.padding) * padded_width + a.padding) * channels + i)] =
          data.value(sample * data.size.bytes() + h * width * channels + i);
  // Crop and flip.
  const int64_t top = place(words.v[0], 2 * a.padding + 1), left = place(words.v[1], 2 * a.padding + 1);
  std::vector<float> image;
  for (int64_t h = 0; h < height; ++h)
    for (int64_t w = 0; w < width; ++w)
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t column = share(words.v[2]) < a.flip ? width - 1 - w : w;
        const auto from = static_cast<size_t>(((top + h) * padded_width + left + column) * channels + c);
        image.push_back(
            std::fma(padded[from], data.scale[static_cast<size_t>(c)], data.shift[static_cast<size_t>(c)]));
      }
  // Erase.
  if (share(words.v[3]) < a.erase) {
    const Rectangle hole = rectangle_of(r, data.size, sample);
    for (int64_t h = hole.top; h < hole.top + hole.height; ++h)
      for (int64_t i = hole.left * channels; i < (hole.left + hole.width) * channels; ++i)
        image[static_cast<size_t>(h * width * channels + i)] = 0;
  }
  return image;
}

Gathered expected(const Data& data, const Request& r) {
  Gathered want;
  for (int64_t i = 0; i < r.shard; ++i) {
    const int64_t position = r.step * r.batch + r.first + i;
    const int64_t sample = r.order.empty() ? position : r.order[static_cast<size_t>(position)];
    const std::vector<float> image = augmented(data, r, sample);
    want.x.insert(want.x.end(), image.begin(), image.end());
    want.labels.push_back(data.labels[static_cast<size_t>(sample)]);
  }
  return want;
}

std::vector<int32_t> backwards(int32_t size) {
  std::vector<int32_t> order;
  for (int32_t i = size; i > 0; --i) order.push_back(i - 1);
  return order;
}

void expect_definition(const Data& data, const Request& r) {
  const Gathered is = gather(data, r), want = expected(data, r);
  EXPECT_TRUE(all_equal_bits(is.x, want.x))
      << data.size.height << " x " << data.size.width << " x " << data.size.channels << ", padding "
      << r.augmentation.padding << ", flip " << r.augmentation.flip << ", erase " << r.augmentation.erase
      << ", offset " << r.offset;
  EXPECT_EQ(is.labels, want.labels);
}

TEST(AugmentedBatch, IsItsDefinition) {
  const std::vector<Augmentation> all = {{},
                                         {.padding = 2},
                                         {.flip = 1},
                                         {.flip = 0.5f},
                                         {.erase = 1},
                                         {.padding = 1, .flip = 0.5f, .erase = 0.5f},
                                         {.padding = 2,
                                          .flip = 0.25f,
                                          .erase = 0.75f,
                                          .min_area = 0.5f,
                                          .max_area = 1,
                                          .min_ratio = 0.5f,
                                          .max_ratio = 8}};
  for (const Size& size : {Size{28, 28, 1}, {32, 32, 3}, {5, 7, 2}, {3, 4, 5}, {9, 8, 8}}) {
    Data data(40, size);
    for (const bool of_floats : {false, true}) {
      if (of_floats) data.floats = normal_values(40 * size.bytes(), 3);
      for (const Augmentation& augmentation : all)
        for (const int offset : {0, 1})
          expect_definition(data, {augmentation, 7, 3, backwards(40), 1, 20, 2, 18, offset});
    }
  }
}

TEST(AugmentedBatch, SeedsAndEpochsOf64Bits) {
  const Data data(10, {8, 8, 3});
  const Augmentation augmentation = {.padding = 3, .flip = 0.5f, .erase = 0.5f};
  const int64_t high = int64_t{1} << 32;
  for (const auto& [seed, epoch] : {std::pair<uint64_t, int64_t>{0, 0},
                                    {5, high},
                                    {5 * (uint64_t{1} << 40), 2 * high + 1},
                                    {~uint64_t{0}, 1}})
    expect_definition(data, {augmentation, seed, epoch, {}, 0, 10, 0, 10});
}

// The values of another program: a training that goes on from a checkpoint needs the same images.
TEST(AugmentedBatch, KnownAnswers) {
  Data data(2, {4, 4, 1});
  for (size_t i = 0; i < data.bytes.size(); ++i) data.bytes[i] = static_cast<uint8_t>(i + 1);
  data.scale = {1};
  data.shift = {0};
  const Augmentation augmentation = {.padding = 1, .flip = 0.5f, .erase = 0.5f};
  EXPECT_EQ(gather(data, {augmentation, 23, 2, {}, 0, 2, 0, 2}).x,
            (std::vector<float>{0, 0, 0, 0, 4, 3,  0, 0,  8, 7,  0, 0,  12, 11, 10, 9,
                                0, 0, 0, 0, 0, 20, 0, 18, 0, 24, 0, 22, 0,  28, 27, 26}));
}

// The image depends neither on its place in the batch nor on the batch and its shards.
TEST(AugmentedBatch, AnImageDependsOnItsIndexAlone) {
  const Data data(12, {6, 6, 3});
  const Augmentation augmentation = {.padding = 2, .flip = 0.5f, .erase = 0.5f};
  const std::vector<float> whole = gather(data, {augmentation, 3, 1, {}, 0, 12, 0, 12}).x;
  const auto image = [&](const std::vector<float>& of, size_t number) {
    const auto bytes = data.size.bytes();
    const auto first = of.begin() + static_cast<int64_t>(number) * bytes;
    return std::vector<float>(first, first + bytes);
  };
  for (int64_t batch : {1, 2, 3, 4, 6})
    for (int64_t step = 0; step < 12 / batch; ++step)
      for (int64_t first = 0; first < batch; ++first) {
        const std::vector<float> x =
            gather(data, {augmentation, 3, 1, backwards(12), step, batch, first, 1}).x;
        EXPECT_TRUE(all_equal_bits(x, image(whole, static_cast<size_t>(11 - step * batch - first))));
      }
  EXPECT_FALSE(all_equal_bits(gather(data, {augmentation, 3, 2, {}, 0, 12, 0, 12}).x, whole)) << "epoch";
  EXPECT_FALSE(all_equal_bits(gather(data, {augmentation, 4, 1, {}, 0, 12, 0, 12}).x, whole)) << "seed";
}

// Over many images every offset is equally frequent, a share `flip` is flipped, and a share `erase` has a
// rectangle whose area is within its limits.
TEST(AugmentedBatch, FollowsItsDistribution) {
  constexpr int64_t kSamples = 6000, kSide = 16;
  Data data(kSamples, {kSide, kSide, 1});
  data.scale = {1};
  data.shift = {1};  // an erased pixel is 0, and no other
  // Row and column of one pixel in the result.
  const auto find = [&](const float* image, float value) {
    for (int64_t i = 0; i < kSide * kSide; ++i)
      if (image[i] == value) return std::pair(i / kSide, i % kSide);
    return std::pair(int64_t{-1}, int64_t{-1});
  };
  for (int64_t i = 0; i < kSamples; ++i) {
    std::fill_n(data.bytes.begin() + i * kSide * kSide, kSide * kSide, uint8_t{1});
    data.bytes[static_cast<size_t>(i * kSide * kSide + 7 * kSide + 5)] = 99;
  }
  const std::vector<float> x =
      gather(data, {{.padding = 2, .flip = 0.25f}, 1, 1, {}, 0, kSamples, 0, kSamples}).x;
  std::array<std::array<int, 5>, 5> offsets = {};
  int flipped = 0;
  for (int64_t i = 0; i < kSamples; ++i) {
    const auto [row, column] = find(x.data() + i * kSide * kSide, 100);
    ASSERT_TRUE(row >= 5 && row <= 9) << row;
    const bool is_flipped = column > 7;  // 5 -+ 2, or 10 -+ 2
    flipped += is_flipped;
    ++offsets[static_cast<size_t>(row - 5)][static_cast<size_t>(is_flipped ? column - 8 : column - 3)];
  }
  EXPECT_NEAR(flipped / double{kSamples}, 0.25, 0.025);
  for (const auto& row : offsets)
    for (const int count : row) EXPECT_NEAR(count, kSamples / 25, 70);

  const std::vector<float> erased = gather(data, {{.erase = 0.75f}, 2, 1, {}, 0, kSamples, 0, kSamples}).x;
  int with_hole = 0;
  double area = 0;
  for (int64_t i = 0; i < kSamples; ++i) {
    const auto zeros =
        std::count(erased.begin() + i * kSide * kSide, erased.begin() + (i + 1) * kSide * kSide, 0.f);
    with_hole += zeros > 0;
    area += static_cast<double>(zeros) / (kSide * kSide);
    EXPECT_LE(zeros, 0.40 * kSide * kSide);
  }
  EXPECT_NEAR(with_hole / double{kSamples}, 0.75, 0.025);
  EXPECT_NEAR(area / with_hole, (0.02 + 0.33) / 2, 0.01);
}

TEST(AugmentedBatch, ASampleThatDoesNotExistIsMarked) {
  const Data data(3, {2, 2, 1});
  const Gathered batch = gather(data, {{.padding = 1}, 1, 1, {0, -1, 3, 2}, 0, 4, 0, 4});
  EXPECT_EQ(batch.labels, (std::vector<int32_t>{1, -1, -1, 3}));
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(batch.x[i]), i / 4 == 1 || i / 4 == 2) << i;
}

TEST(AugmentedBatch, RefusesOptionsOutsideTheirRange) {
  const Stream stream;
  GuardedBuffer<float> x(12), scale(3), shift(3);
  GuardedBuffer<int32_t> labels(1);
  const GuardedBuffer<uint8_t> bytes(12), classes(1);
  const GuardedBuffer<int64_t> zero(std::vector<int64_t>{0});
  const auto call = [&](const Augmentation& augmentation, int64_t scales = 3, int64_t shifts = 3) {
    return gather_augmented_batch({x.data(), 1, 2, 2, 3}, labels.view(), {bytes.data(), 1, 2, 2, 3},
                                  {classes.data(), 1}, {}, {zero.data(), 1, 0}, {scale.data(), scales},
                                  {shift.data(), shifts}, augmentation, {0, zero.data()}, stream);
  };
  const float nan = NAN;
  EXPECT_TRUE(refused(call({}, 2), "gather_augmented_batch: scale.size is 2, must be images.channels = 3"));
  EXPECT_TRUE(refused(call({}, 3, 1), "shift.size is 1, must be images.channels = 3"));
  for (const int64_t padding : {-1, 2})
    EXPECT_TRUE(refused(call({.padding = padding}),
                        concat("the crop's padding is ", padding,
                               ", must be at least 0 and below the image's sides, 2 x 2")));
  for (const float bad : {-0.5f, 1.5f, nan}) {
    EXPECT_TRUE(refused(call({.flip = bad}), "the probability of a flip is"));
    EXPECT_TRUE(refused(call({.erase = bad}), "the probability of erasing is"));
  }
  EXPECT_TRUE(refused(call({.min_area = 0}), "the erased area is 0 to 0.33"));
  EXPECT_TRUE(refused(call({.max_area = 1.5f}), "the erased area is 0.02 to 1.5"));
  EXPECT_TRUE(refused(call({.min_area = 0.5f}), "the erased area is 0.5 to 0.33"));
  EXPECT_TRUE(refused(call({.min_area = nan}), "the erased area is"));
  EXPECT_TRUE(refused(call({.min_ratio = 0}), "the ratio of the erased sides is 0 to 3.3"));
  EXPECT_TRUE(refused(call({.min_ratio = 4}), "the ratio of the erased sides is 4 to 3.3"));
  EXPECT_TRUE(refused(call({.max_ratio = 1025}), "the ratio of the erased sides is 0.3 to 1025"));
  EXPECT_TRUE(ok(call({.padding = 1, .flip = 1, .erase = 1, .min_area = 1, .max_area = 1})));
}

}  // namespace
}  // namespace rondo::test

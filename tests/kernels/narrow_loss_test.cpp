// Losses and batches of images in bfloat16 and float16: their bits must be those of the float32 operator,
// rounded, and within one rounding of the result in double precision.
#include <gtest/gtest.h>

#include <rondo/kernels/data/augmented_batch.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/tests/kernels/narrow_operands.h>

#include <algorithm>
#include <cmath>

namespace rondo::test {
namespace {

template <class Narrow>
class NarrowLosses : public NarrowOperands<Narrow> {};
TYPED_TEST_SUITE(NarrowLosses, NarrowTypes, NameOfType);

template <class Narrow>
class NarrowBatches : public NarrowOperands<Narrow> {};
TYPED_TEST_SUITE(NarrowBatches, NarrowTypes, NameOfType);

// The gradient of a row of the cross-entropy in double precision.
std::vector<double> reference_gradient(const float* logits, int64_t classes, int32_t label, double scale) {
  const double largest = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (int64_t j = 0; j < classes; ++j) sum += std::exp(logits[j] - largest);
  std::vector<double> gradient;
  for (int64_t j = 0; j < classes; ++j)
    gradient.push_back((std::exp(logits[j] - largest) / sum - (j == label)) * scale);
  return gradient;
}

TYPED_TEST(NarrowLosses, CrossEntropy) {
  Random& random = this->random;
  for (int draw = 0; draw < 60; ++draw) {
    this->aligned = draw % 2 == 0;
    // Rows that allow the widest accesses, or those of 8 bytes.
    const int64_t multiple = draw % 4 == 0 ? 8 : draw % 8 == 2 ? 4 : 1;
    const int64_t most = draw < 30 ? 64 : draw < 50 ? 1100 : 4000;
    const int64_t before = draw < 57 ? 0 : 8192;  // the last rows have several parts
    const int64_t classes = before + multiple * this->side(most / multiple);
    const int64_t rows = classes > 64 ? 1 + random.below(4) : this->side(300);
    const int64_t stride = classes + multiple * random.below(3),
                  to_stride = classes + multiple * random.below(3);
    const bool in_place = random.below(3) == 0;
    SCOPED_TRACE(concat(rows, " x ", classes, ", strides ", stride, " and ", to_stride,
                        in_place ? ", in place" : "", this->aligned ? ", aligned" : ""));
    auto logits = this->input(rows * stride);
    Operand<TypeParam> gradient(Floats(static_cast<size_t>(rows * to_stride)), this->offset());
    const Floats values = logits.wide.download();
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < rows; ++i)
      labels.push_back(static_cast<int32_t>(random.below(20) == 0 ? -1 : random.below(classes)));
    const GuardedBuffer<int32_t> dev_labels(labels);
    GuardedBuffer<unsigned char> scratch(softmax_cross_entropy_workspace_bytes(rows, classes));
    const float scale = 1 / static_cast<float>(rows);
    LossStats stats[2];
    this->run([&]<class T>(T) {
      GuardedBuffer<LossStats> loss_stats(std::vector<LossStats>(1));
      const MatrixView<T> z = {of<T>(logits).data(), rows, classes, stride},
                          dz = in_place ? z : MatrixView<T>{of<T>(gradient).data(), rows, classes, to_stride};
      const Status status = softmax_cross_entropy(dz, loss_stats.data(), z, {dev_labels.data(), rows}, scale,
                                                  scratch.workspace(), this->stream);
      stats[sizeof(T) == 2] = loss_stats.download()[0];
      return status;
    });
    if (std::isnan(stats[0].loss))
      EXPECT_TRUE(std::isnan(stats[1].loss));
    else
      EXPECT_EQ(stats[1].loss, stats[0].loss);
    EXPECT_EQ(stats[1].correct, stats[0].correct);
    EXPECT_EQ(stats[1].rows, rows);
    EXPECT_EQ(stats[1].bad_labels, std::count(labels.begin(), labels.end(), -1));
    auto& to = in_place ? logits : gradient;
    EXPECT_TRUE(to.agrees());
    const Floats got = as_floats(to.narrow.download());
    for (int64_t i = 0; i < rows; ++i) {
      if (labels[static_cast<size_t>(i)] < 0) continue;
      const auto begin = got.begin() + i * (in_place ? stride : to_stride);
      const std::vector<double> want =
          reference_gradient(values.data() + i * stride, classes, labels[static_cast<size_t>(i)], scale);
      ASSERT_TRUE(all_within(Floats(begin, begin + classes), want,
                             [&](size_t j) {
                               return rounding_error<TypeParam>(want[j]) + 2e-6 * std::abs(want[j]) +
                                      2e-7 * scale;
                             }))
          << "row " << i;
    }
  }
}

TYPED_TEST(NarrowLosses, SquaredError) {
  for (int draw = 0; draw < 40; ++draw) {
    this->aligned = draw % 2 == 0;
    const int64_t rows = this->side(300), cols = this->side(40), size = rows * cols;
    const bool in_place = this->random.below(2) == 0;
    SCOPED_TRACE(concat(rows, " x ", cols, in_place ? ", in place" : "", this->aligned ? ", aligned" : ""));
    auto prediction = this->input(size), gradient = this->output(size);
    const Floats values = prediction.wide.download(), targets = normal_values(size, this->random.next());
    const GuardedBuffer<float> target(targets, this->offset());
    GuardedBuffer<unsigned char> scratch(squared_error_workspace_bytes(rows, cols));
    auto& to = in_place ? prediction : gradient;
    double loss[2] = {};
    this->run([&]<class T>(T) {
      GuardedBuffer<LossStats> loss_stats(std::vector<LossStats>(1));
      const Status status = squared_error(matrix(of<T>(to).data(), rows, cols), loss_stats.data(),
                                          matrix<const T>(of<T>(prediction).data(), rows, cols),
                                          matrix<const float>(target.data(), rows, cols), 0.25f,
                                          scratch.workspace(), this->stream);
      loss[sizeof(T) == 2] = loss_stats.download()[0].loss;
      return status;
    });
    EXPECT_EQ(loss[1], loss[0]);
    EXPECT_TRUE(to.agrees());
    std::vector<double> want;
    for (size_t i = 0; i < values.size(); ++i) want.push_back(0.5 * (double{values[i]} - targets[i]));
    EXPECT_TRUE(all_within(as_floats(to.narrow.download()), want, [&](size_t i) {
      return rounding_error<TypeParam>(want[i]) + 1e-7 * std::abs(want[i]);
    }));
  }
}

TYPED_TEST(NarrowBatches, HaveTheBitsOfFloat32Rounded) {
  Random& random = this->random;
  for (int draw = 0; draw < 40; ++draw) {
    this->aligned = draw % 2 == 0;
    const int64_t samples = 7, shard = 4, h = this->side(9), w = this->side(9), c = this->side(40),
                  size = h * w * c;
    SCOPED_TRACE(concat(h, " x ", w, " x ", c, this->aligned ? ", aligned" : ""));
    std::vector<uint8_t> bytes(static_cast<size_t>(samples * size)), classes = {0, 1, 2, 3, 4, 5, 6};
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.below(256));
    const std::vector<int32_t> order = {3, 0, 6, 5, 1, 2, 4}, in_shard(order.begin() + 2, order.begin() + 6);
    const GuardedBuffer<uint8_t> images(bytes, this->offset()), image_labels(classes);
    const GuardedBuffer<int32_t> dev_order(order);
    const GuardedBuffer<int64_t> step(std::vector<int64_t>{0});
    auto x = this->output(shard * size);
    GuardedBuffer<int32_t> labels(shard);
    const float scale = 1 / (255 * 0.35f), shift = -0.29f / 0.35f;
    this->run([&]<class T>(T) {
      return gather_batch(ImageView<T>{of<T>(x).data(), shard, h, w, c}, labels.view(),
                          {images.data(), samples, h, w, c}, {image_labels.data(), samples},
                          {dev_order.data(), samples}, {step.data(), samples, 2}, scale, shift, this->stream);
    });
    EXPECT_TRUE(x.agrees());
    EXPECT_EQ(labels.download(), in_shard);
    std::vector<double> want;
    for (const int32_t sample : in_shard)
      for (int64_t i = 0; i < size; ++i)
        want.push_back(double{scale} * bytes[static_cast<size_t>(sample * size + i)] + double{shift});
    EXPECT_TRUE(all_within(as_floats(x.narrow.download()), want, [&](size_t i) {
      return rounding_error<TypeParam>(want[i]) + 1e-7 * std::abs(want[i]);
    }));
    const GuardedBuffer<float> floats(normal_values(samples * size, random.next()), this->offset());
    this->run([&]<class T>(T) {
      return gather_batch(ImageView<T>{of<T>(x).data(), shard, h, w, c}, labels.view(),
                          ImageView<const float>{floats.data(), samples, h, w, c},
                          {image_labels.data(), samples}, {dev_order.data(), samples},
                          {step.data(), samples, 2}, scale, shift, this->stream);
    });
    EXPECT_TRUE(x.agrees()) << "of floats";
  }
}

TYPED_TEST(NarrowBatches, WithAugmentationHaveTheBitsOfFloat32Rounded) {
  Random& random = this->random;
  for (int draw = 0; draw < 24; ++draw) {
    this->aligned = draw % 2 == 0;
    const int64_t samples = 5, h = 1 + this->side(9), w = 1 + this->side(9), c = this->channels(draw / 2),
                  size = h * w * c;
    SCOPED_TRACE(concat(h, " x ", w, " x ", c, this->aligned ? ", aligned" : ""));
    std::vector<uint8_t> bytes(static_cast<size_t>(samples * size));
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.below(256));
    const GuardedBuffer<uint8_t> images(bytes, this->offset()), image_labels(std::vector<uint8_t>(5));
    const GuardedBuffer<float> scale(std::vector<float>(static_cast<size_t>(c), 0.011f)),
        shift(std::vector<float>(static_cast<size_t>(c), -0.83f));
    const GuardedBuffer<int64_t> zero(std::vector<int64_t>{0});
    auto x = this->output(samples * size);
    GuardedBuffer<int32_t> labels(samples);
    const GuardedBuffer<float> floats(normal_values(samples * size, random.next()), this->offset());
    const auto augmented = [&]<class T, class S>(T, const S* from) {
      return gather_augmented_batch(
          ImageView<T>{of<T>(x).data(), samples, h, w, c}, labels.view(),
          ImageView<const S>{from, samples, h, w, c}, {image_labels.data(), samples}, {},
          {zero.data(), samples, 0}, {scale.data(), c}, {shift.data(), c},
          {.padding = 1, .flip = 0.5f, .erase = 0.5f}, {9, zero.data()}, this->stream);
    };
    this->run([&](auto t) { return augmented(t, images.data()); });
    EXPECT_TRUE(x.agrees());
    this->run([&](auto t) { return augmented(t, floats.data()); });
    EXPECT_TRUE(x.agrees()) << "of floats";
  }
}

TYPED_TEST(NarrowBatches, ASampleThatDoesNotExistIsNan) {
  const GuardedBuffer<uint8_t> images(std::vector<uint8_t>(16)), image_labels(std::vector<uint8_t>(2));
  const GuardedBuffer<int64_t> step(std::vector<int64_t>{0});
  GuardedBuffer<TypeParam> x(24);
  GuardedBuffer<int32_t> labels(3);
  ASSERT_TRUE(
      ok(gather_batch(ImageView<TypeParam>{x.data(), 3, 1, 1, 8}, labels.view(), {images.data(), 2, 1, 1, 8},
                      {image_labels.data(), 2}, {}, {step.data(), 3, 0}, 1, 0.5f, this->stream)));
  EXPECT_EQ(labels.download(), (std::vector<int32_t>{0, 0, -1}));
  const Floats values = as_floats(x.download());
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(std::isnan(values[i]), i >= 16) << i;
}

}  // namespace
}  // namespace rondo::test

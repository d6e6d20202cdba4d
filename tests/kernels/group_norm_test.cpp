// Group normalisation against its definition in double precision, with its gradients.
#include <gtest/gtest.h>

#include <rondo/kernels/norm/group_norm.h>
#include <rondo/tests/kernels/narrow_operands.h>
#include <rondo/tests/kernels/row_operands.h>
#include <rondo/tests/support/compare.h>

#include <array>
#include <cmath>

namespace rondo::test {
namespace {

constexpr float kEps = 1e-5f;

struct Images {
  int64_t count, height, width, channels, groups;
  int64_t size() const { return count * height * width * channels; }
  int64_t pixels() const { return height * width; }
  template <class T>
  ImageView<T> view(T* data) const {
    return {data, count, height, width, channels};
  }
  // Of the element at `i`: image * groups + group, and the channel.
  size_t group_of(size_t i) const {
    const auto at = static_cast<int64_t>(i), image = at / (pixels() * channels);
    return static_cast<size_t>(image * groups + at % channels / (channels / groups));
  }
  size_t channel_of(size_t i) const { return i % static_cast<size_t>(channels); }
};
std::ostream& operator<<(std::ostream& out, const Images& i) {
  return out << i.count << " x " << i.height << " x " << i.width << " x " << i.channels << ", " << i.groups
             << " groups";
}

// One group, a group for each channel, groups across accesses, blocks of rows: one for each image of a prime
// number of pixels, several for each of many.
const std::vector<Images> kImages = {{1, 1, 1, 1, 1},   {2, 1, 1, 2, 1},    {2, 3, 5, 6, 2},
                                     {3, 7, 7, 32, 32}, {2, 4, 4, 64, 32},  {1, 9, 9, 33, 3},
                                     {2, 8, 8, 128, 1}, {1, 31, 37, 12, 4}, {1, 1, 1031, 16, 2},
                                     {2, 40, 40, 8, 4}, {1, 5, 4, 520, 8}};

struct Statistics {
  Doubles mean, inv_std;
};

Statistics statistics_of(const Images& images, const Doubles& x) {
  const auto groups = static_cast<size_t>(images.count * images.groups);
  const double count = static_cast<double>(images.pixels() * images.channels / images.groups);
  Statistics s = {Doubles(groups), Doubles(groups)};
  for (size_t i = 0; i < x.size(); ++i) s.mean[images.group_of(i)] += x[i] / count;
  for (size_t i = 0; i < x.size(); ++i)
    s.inv_std[images.group_of(i)] += std::pow(x[i] - s.mean[images.group_of(i)], 2) / count;
  for (double& value : s.inv_std) value = 1 / std::sqrt(value + double{kEps});
  return s;
}

template <class T>
class GroupNormTest : public testing::Test {
 protected:
  void expect_right(const Images& images, bool affine, int64_t offset, bool in_place, double deviations) {
    SCOPED_TRACE(concat(images, affine ? ", affine" : "", in_place ? ", in place" : "", ", offset ", offset));
    const auto size = static_cast<size_t>(images.size()), channels = static_cast<size_t>(images.channels);
    std::vector<T> x_values, dy_values;
    Doubles x, dy;
    for (size_t i = 0; i < size; ++i) {
      x_values.push_back(static_cast<T>(static_cast<float>(2 * random.normal() + 2 * deviations)));
      dy_values.push_back(static_cast<T>(static_cast<float>(random.normal())));
      x.push_back(static_cast<double>(static_cast<float>(x_values.back())));
      dy.push_back(static_cast<double>(static_cast<float>(dy_values.back())));
    }
    Floats scale(channels, 1), shift(channels, 0);
    if (affine)
      scale = normal_values(images.channels, random.next()),
      shift = normal_values(images.channels, random.next());
    const GuardedBuffer<float> gamma(scale, offset), beta(shift, offset);
    const VectorView<const float> gamma_view = {affine ? gamma.data() : nullptr,
                                                affine ? images.channels : 0},
                                  beta_view = {affine ? beta.data() : nullptr, affine ? images.channels : 0};
    const int64_t groups = images.count * images.groups;
    const GuardedBuffer<T> dev_x(x_values, offset);
    GuardedBuffer<T> y(x_values, offset), dx(dy_values, offset);
    const GuardedBuffer<T> apart(dy_values, offset);
    GuardedBuffer<float> mean(groups, offset), inv_std(groups, offset), dgamma(images.channels),
        dbeta(images.channels);
    GuardedBuffer<unsigned char> workspace(
        group_norm_workspace_bytes(images.count, images.pixels(), images.channels)),
        backward_workspace(group_norm_backward_workspace_bytes(images.count, images.pixels(), images.channels,
                                                               images.groups));
    ASSERT_TRUE(ok(group_norm(images.view(y.data()), mean.view(), inv_std.view(),
                              images.view<const T>(in_place ? y.data() : dev_x.data()), gamma_view, beta_view,
                              images.groups, kEps, workspace.workspace(), stream)));
    ASSERT_TRUE(ok(group_norm_backward(
        images.view(dx.data()), dgamma.view(), dbeta.view(),
        images.view<const T>(in_place ? dx.data() : apart.data()),
        GroupNormSavedOf<T>{images.view(dev_x.data()), {mean.data(), groups}, {inv_std.data(), groups}},
        gamma_view, images.groups, backward_workspace.workspace(), stream)));

    const Statistics want = statistics_of(images, x);
    EXPECT_TRUE(all_near(mean.download(), want.mean, 1e-6, 1e-6));
    EXPECT_TRUE(all_near(inv_std.download(), want.inv_std, 0, 1e-6));
    const double count = static_cast<double>(images.pixels() * images.channels / images.groups);
    Doubles xhat, want_y, want_dgamma(channels), want_dbeta(channels), sizes(channels),
        mean_g(static_cast<size_t>(groups)), mean_gx(static_cast<size_t>(groups));
    double worst = 0;  // the rounding of the mean counts in units of the deviation
    for (size_t g = 0; g < want.mean.size(); ++g)
      worst = std::max(worst, std::abs(want.mean[g]) * want.inv_std[g]);
    const double relative = 0x1p-21 + 0x1p-23 * worst;
    for (size_t i = 0; i < size; ++i) {
      const size_t c = images.channel_of(i), g = images.group_of(i);
      xhat.push_back((x[i] - want.mean[g]) * want.inv_std[g]);
      want_y.push_back(xhat[i] * scale[c] + shift[c]);
      want_dgamma[c] += dy[i] * xhat[i], want_dbeta[c] += dy[i];
      sizes[c] += std::abs(dy[i]) * (1 + std::abs(xhat[i]));
      mean_g[g] += dy[i] * scale[c] / count, mean_gx[g] += dy[i] * scale[c] * xhat[i] / count;
    }
    EXPECT_TRUE(all_within(y.download(), want_y, [&](size_t i) {
      const size_t c = images.channel_of(i);
      return rounding_of<T>(want_y[i]) + relative * (1 + std::abs(xhat[i])) * std::abs(scale[c]) +
             0x1p-23 * std::abs(shift[c]);
    })) << "y";
    EXPECT_TRUE(all_within(dbeta.download(), want_dbeta, [&](size_t c) { return 1e-7 * sizes[c]; }));
    EXPECT_TRUE(all_within(dgamma.download(), want_dgamma, [&](size_t c) { return relative * sizes[c]; }));
    Doubles want_dx;
    for (size_t i = 0; i < size; ++i) {
      const size_t g = images.group_of(i);
      want_dx.push_back(want.inv_std[g] *
                        (dy[i] * scale[images.channel_of(i)] - mean_g[g] - xhat[i] * mean_gx[g]));
    }
    EXPECT_TRUE(all_within(dx.download(), want_dx, [&](size_t i) {
      const double x_size = 1 + std::abs(xhat[i]);
      return rounding_of<T>(want_dx[i]) + 16 * relative * want.inv_std[images.group_of(i)] * x_size * x_size;
    })) << "dx";
  }

  Random random{5};
  Stream stream;
};
using Types = testing::Types<float, __nv_bfloat16, __half>;
TYPED_TEST_SUITE(GroupNormTest, Types, NameOfType);

TYPED_TEST(GroupNormTest, MatchesTheDefinition) {
  for (const Images& images : kImages)
    for (const bool affine : {false, true}) this->expect_right(images, affine, 0, affine, 0.5);
}

TYPED_TEST(GroupNormTest, MatchesTheDefinitionOfDrawnShapes) {
  for (int draw = 0; draw < 30; ++draw) {
    const int64_t groups = 1 + this->random.below(6),
                  per_group = 1 + this->random.below(draw % 3 == 0 ? 40 : 8);
    const Images images = {1 + this->random.below(3), 1 + this->random.below(20), 1 + this->random.below(20),
                           groups * per_group, groups};
    this->expect_right(images, draw % 4 != 0, this->random.below(9), draw % 3 == 0, this->random.normal());
  }
}

// The gradients against central differences of the definition.
TEST(GroupNorm, GradientsMatchFiniteDifferences) {
  constexpr double kStep = 1e-5;
  const Stream stream;
  for (const Images& images : {Images{2, 2, 3, 4, 2}, Images{1, 3, 3, 6, 1}, Images{1, 4, 2, 3, 3}}) {
    SCOPED_TRACE(concat(images));
    const int64_t groups = images.count * images.groups;
    const Floats x_values = normal_values(images.size(), 1), dy_values = normal_values(images.size(), 2),
                 gamma_values = normal_values(images.channels, 3);
    Doubles x = to_double(x_values), gamma = to_double(gamma_values), beta(gamma.size());
    const auto loss = [&] {
      const Statistics s = statistics_of(images, x);
      double sum = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t g = images.group_of(i), c = images.channel_of(i);
        sum += dy_values[i] * ((x[i] - s.mean[g]) * s.inv_std[g] * gamma[c] + beta[c]);
      }
      return sum;
    };
    const auto slopes = [&](Doubles& parameters) {
      Doubles all;
      for (double& parameter : parameters) {
        const double value = parameter;
        parameter = value + kStep;
        const double above = loss();
        parameter = value - kStep;
        all.push_back((above - loss()) / (2 * kStep));
        parameter = value;
      }
      return all;
    };
    const GuardedBuffer<float> dev_x(x_values), dy(dy_values), dev_gamma(gamma_values);
    GuardedBuffer<float> y(images.size()), dx(images.size()), mean(groups), inv_std(groups),
        dgamma(images.channels), dbeta(images.channels);
    GuardedBuffer<unsigned char> workspace(
        group_norm_backward_workspace_bytes(images.count, images.pixels(), images.channels, images.groups));
    const VectorView<const float> gamma_view = {dev_gamma.data(), images.channels};
    ASSERT_TRUE(ok(group_norm(images.view(y.data()), mean.view(), inv_std.view(), images.view(dev_x.data()),
                              gamma_view, {}, images.groups, kEps, workspace.workspace(), stream)));
    ASSERT_TRUE(
        ok(group_norm_backward(images.view(dx.data()), dgamma.view(), dbeta.view(), images.view(dy.data()),
                               {images.view(dev_x.data()), mean.view(), inv_std.view()}, gamma_view,
                               images.groups, workspace.workspace(), stream)));
    EXPECT_TRUE(all_near(dx.download(), slopes(x), 1e-5, 1e-5));
    EXPECT_TRUE(all_near(dgamma.download(), slopes(gamma), 1e-5, 1e-5));
    EXPECT_TRUE(all_near(dbeta.download(), slopes(beta), 1e-5, 1e-5));
  }
}

// The bits of an image do not depend on the others.
TEST(GroupNorm, ImagesAreIndependent) {
  const Stream stream;
  const Images all = {3, 30, 30, 24, 6}, one = {1, 30, 30, 24, 6};
  Floats values = normal_values(all.size(), 1);
  values[0] = std::numeric_limits<float>::quiet_NaN();
  const GuardedBuffer<float> x(values);
  GuardedBuffer<float> y(all.size()), alone(one.size()), mean(18), inv_std(18);
  GuardedBuffer<unsigned char> workspace(group_norm_workspace_bytes(3, 900, 24));
  ASSERT_TRUE(ok(group_norm(all.view(y.data()), mean.view(), inv_std.view(), all.view(x.data()), {}, {}, 6,
                            kEps, workspace.workspace(), stream)));
  ASSERT_TRUE(
      ok(group_norm(one.view(alone.data()), {mean.data(), 6}, {inv_std.data(), 6},
                    one.view(x.data() + one.size()), {}, {}, 6, kEps, workspace.workspace(), stream)));
  const Floats got = y.download(), want = alone.download();
  EXPECT_TRUE(all_equal_bits(Floats(got.begin() + one.size(), got.begin() + 2 * one.size()), want));
  for (size_t i = 0; i < static_cast<size_t>(one.size()); ++i)
    ASSERT_EQ(std::isnan(got[i]), i % 24 < 4) << i;  // only the group of the NaN
}

TEST(GroupNorm, EachParameterGradientMayBeOmitted) {
  const Stream stream;
  const Images images = {2, 5, 5, 12, 3};
  const GuardedBuffer<float> x(normal_values(images.size(), 1)), dy(normal_values(images.size(), 2));
  GuardedBuffer<float> mean(normal_values(6, 3)), inv_std(Floats(6, 1));
  GuardedBuffer<unsigned char> workspace(group_norm_backward_workspace_bytes(2, 25, 12, 3));
  const auto gradients = [&](bool of_gamma, bool of_beta) {
    GuardedBuffer<float> dx(images.size()), dgamma(12), dbeta(12);
    EXPECT_TRUE(ok(group_norm_backward(images.view(dx.data()), of_gamma ? dgamma.view() : VectorView<float>{},
                                       of_beta ? dbeta.view() : VectorView<float>{}, images.view(dy.data()),
                                       {images.view(x.data()), mean.view(), inv_std.view()}, {}, 3,
                                       workspace.workspace(), stream)));
    return std::array{dx.download(), dgamma.download(), dbeta.download()};
  };
  const auto both = gradients(true, true), gamma = gradients(true, false), beta = gradients(false, true);
  EXPECT_TRUE(all_equal_bits(gamma[1], both[1]));
  EXPECT_TRUE(all_equal_bits(beta[2], both[2]));
  for (const auto& one : {gamma, beta, gradients(false, false)}) EXPECT_TRUE(all_equal_bits(one[0], both[0]));
}

TEST(GroupNorm, WithoutImagesTheParameterGradientsAreZero) {
  const Stream stream;
  GuardedBuffer<float> dgamma(4), dbeta(4);
  GuardedBuffer<unsigned char> workspace(group_norm_backward_workspace_bytes(0, 9, 4, 2));
  const ImageView<float> none = {nullptr, 0, 3, 3, 4};
  ASSERT_TRUE(ok(group_norm(none, {}, {}, none, {}, {}, 2, kEps, {}, stream)));
  ASSERT_TRUE(ok(group_norm_backward(none, dgamma.view(), dbeta.view(), none, {none, {}, {}}, {}, 2,
                                     workspace.workspace(), stream)));
  EXPECT_EQ(dgamma.download(), Floats(4));
  EXPECT_EQ(dbeta.download(), Floats(4));
}

TEST(GroupNorm, GroupsMustDivideTheChannels) {
  const Stream stream;
  GuardedBuffer<float> x(60), y(60), mean(4), inv_std(4);
  GuardedBuffer<unsigned char> workspace(group_norm_workspace_bytes(1, 10, 6));
  const auto call = [&](int64_t groups) {
    return group_norm(ImageView<float>{y.data(), 1, 2, 5, 6}, {mean.data(), groups}, {inv_std.data(), groups},
                      {x.data(), 1, 2, 5, 6}, {}, {}, groups, kEps, workspace.workspace(), stream);
  };
  EXPECT_TRUE(refused(call(4), "groups is 4, must divide the number of channels, 6"));
  EXPECT_TRUE(refused(call(0), "groups is 0, must be at least 1"));
  EXPECT_TRUE(refused(call(-2), "groups is -2, must be at least 1"));
}

}  // namespace
}  // namespace rondo::test

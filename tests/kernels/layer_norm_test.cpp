// Layer and RMS normalisation against their definitions in double precision, with their gradients.
#include <gtest/gtest.h>

#include <rondo/kernels/norm/layer_norm.h>
#include <rondo/tests/kernels/narrow_operands.h>
#include <rondo/tests/kernels/row_operands.h>
#include <rondo/tests/support/compare.h>

#include <cmath>

namespace rondo::test {
namespace {

enum class Form { layer_norm, rms_norm };
constexpr Form kForms[] = {Form::layer_norm, Form::rms_norm};
constexpr float kEps = 1e-5f;

// A row in double precision.
struct RowReference {
  double mean = 0, inv_std = 0;
  Doubles xhat;

  RowReference(Form form, const Doubles& x) {
    const auto count = static_cast<double>(x.size());
    double squares = 0;
    if (form == Form::layer_norm)
      for (const double value : x) mean += value / count;
    for (const double value : x) squares += (value - mean) * (value - mean) / count;
    inv_std = 1 / std::sqrt(squares + double{kEps});
    for (const double value : x) xhat.push_back((value - mean) * inv_std);
  }
  // dx of `g`, the gradient of xhat.
  Doubles gradient(Form form, const Doubles& g) const {
    double mean_g = 0, mean_gx = 0;
    for (size_t j = 0; j < g.size(); ++j) {
      mean_g += form == Form::layer_norm ? g[j] / static_cast<double>(g.size()) : 0;
      mean_gx += g[j] * xhat[j] / static_cast<double>(g.size());
    }
    Doubles dx;
    for (size_t j = 0; j < g.size(); ++j) dx.push_back(inv_std * (g[j] - mean_g - xhat[j] * mean_gx));
    return dx;
  }
};

struct Options {
  bool affine = true;  // with gamma and beta
  double mean = 0.5;   // of x, in standard deviations
  int64_t offset = 0;  // of all operands
  bool in_place = false;
};

template <class T>
class LayerNormTest : public testing::Test {
 protected:
  // The gradients and the statistics, too, are within a few roundings of the definition.
  void expect_right(Form form, int64_t rows, int64_t cols, int64_t stride, const Options& options) {
    SCOPED_TRACE(concat(rows, " x ", cols, ", stride ", stride, ", offset ", options.offset,
                        form == Form::layer_norm ? ", layer" : ", rms", options.affine ? ", affine" : ""));
    const auto c = static_cast<size_t>(cols);
    auto x = Rows<T>::drawn(rows, cols, stride, random, 2, 2 * options.mean);
    x.offset = options.offset, x.in_place = options.in_place;
    auto dy = Rows<T>::drawn(rows, cols, stride, random, 1);
    dy.offset = options.offset, dy.in_place = options.in_place;
    Floats scale(c, 1), shift(c, 0);
    if (options.affine)
      scale = normal_values(cols, random.next()), shift = normal_values(cols, random.next());
    if (form == Form::rms_norm) shift.assign(c, 0);
    const GuardedBuffer<float> gamma(scale, options.offset), beta(shift, options.offset);
    const VectorView<const float> gamma_view = {options.affine ? gamma.data() : nullptr,
                                                options.affine ? cols : 0},
                                  beta_view = {options.affine ? beta.data() : nullptr,
                                               options.affine ? cols : 0};
    GuardedBuffer<float> mean(rows, options.offset), inv_std(rows, options.offset), dgamma(cols), dbeta(cols);
    GuardedBuffer<unsigned char> workspace(layer_norm_workspace_bytes(rows, cols)),
        backward_workspace(layer_norm_backward_workspace_bytes(rows, cols));
    const Rows<T> y = x.changed([&](MatrixView<T> to, MatrixView<const T> from) {
      return form == Form::layer_norm
                 ? layer_norm(to, mean.view(), inv_std.view(), from, gamma_view, beta_view, kEps,
                              workspace.workspace(), stream)
                 : rms_norm(to, inv_std.view(), from, gamma_view, kEps, workspace.workspace(), stream);
    });
    const GuardedBuffer<T> dev_x(x.values, options.offset);
    const MatrixView<const T> x_view = dev_x.matrix(rows, cols, stride);
    const Rows<T> dx = dy.changed([&](MatrixView<T> to, MatrixView<const T> from) {
      return form == Form::layer_norm ? layer_norm_backward(to, dgamma.view(), dbeta.view(), from,
                                                            {x_view, mean.view(), inv_std.view()}, gamma_view,
                                                            backward_workspace.workspace(), stream)
                                      : rms_norm_backward(to, dgamma.view(), from, {x_view, inv_std.view()},
                                                          gamma_view, backward_workspace.workspace(), stream);
    });

    const Floats got_mean = form == Form::layer_norm ? mean.download() : Floats(static_cast<size_t>(rows), 0);
    const Floats got_inv = inv_std.download();
    const double relative_std = 0x1p-20 * (1 + std::abs(options.mean));
    Doubles want_dgamma(c), want_dbeta(c), dgamma_size(c), dbeta_size(c);
    double most = 0;
    for (int64_t i = 0; i < rows; ++i) {
      const RowReference want(form, x.row(i));
      ASSERT_NEAR(got_mean[static_cast<size_t>(i)], want.mean, 1e-6 * (1 + std::abs(want.mean)));
      ASSERT_NEAR(got_inv[static_cast<size_t>(i)] / want.inv_std, 1, relative_std);
      // The rounding of the mean counts in units of the row's deviation, which may be small.
      const double relative = relative_std + 0x1p-23 * std::abs(want.mean) * want.inv_std;
      most = std::max(most, relative);
      Doubles want_y, g = dy.row(i);
      double size = 0;
      for (size_t j = 0; j < c; ++j) {
        want_y.push_back(want.xhat[j] * scale[j] + shift[j]);
        want_dbeta[j] += g[j], dbeta_size[j] += std::abs(g[j]);
        want_dgamma[j] += g[j] * want.xhat[j];
        dgamma_size[j] += std::abs(g[j]) * (1 + std::abs(want.xhat[j]));
        g[j] *= scale[j];
        size = std::max(size, std::abs(g[j]));
      }
      ASSERT_TRUE(all_within(y.row(i), want_y,
                             [&](size_t j) {
                               return rounding_of<T>(want_y[j]) +
                                      relative * (1 + std::abs(want.xhat[j])) * std::abs(scale[j]) +
                                      0x1p-23 * std::abs(shift[j]);
                             }))
          << "y, row " << i;
      const Doubles want_dx = want.gradient(form, g);
      ASSERT_TRUE(all_within(dx.row(i), want_dx,
                             [&](size_t j) {
                               return rounding_of<T>(want_dx[j]) + 2 * relative * want.inv_std * size *
                                                                       (1 + std::abs(want.xhat[j])) *
                                                                       (1 + std::abs(want.xhat[j]));
                             }))
          << "dx, row " << i;
    }
    ASSERT_TRUE(all_within(dgamma.download(), want_dgamma, [&](size_t j) {
      return most * dgamma_size[j] + 1e-7 * std::abs(want_dgamma[j]);
    }));
    if (form == Form::layer_norm) {
      ASSERT_TRUE(all_within(dbeta.download(), want_dbeta,
                             [&](size_t j) { return 1e-7 * (dbeta_size[j] + std::abs(want_dbeta[j])); }));
    }
  }

  Random random{5};
  Stream stream;
};
using Types = testing::Types<float, __nv_bfloat16, __half>;
TYPED_TEST_SUITE(LayerNormTest, Types, NameOfType);

TYPED_TEST(LayerNormTest, MatchesTheDefinitionAtTheBordersOfItsTiles) {
  for (const auto& [rows, cols] : kRowShapes)
    for (const Form form : kForms)
      this->expect_right(form, rows, cols, cols + rows % 3, {.affine = rows % 2 == 1});
}

TYPED_TEST(LayerNormTest, MatchesTheDefinitionOfDrawnShapes) {
  for (int draw = 0; draw < 50; ++draw) {
    const int64_t cols = 1 + this->random.below(draw < 20 ? 140 : draw < 42 ? 1500 : 20000);
    const int64_t rows = 1 + this->random.below(cols < 50 ? 1200 : cols < 200 ? 70 : 4);
    this->expect_right(kForms[draw % 2], rows, cols, cols + this->random.below(3) * this->random.below(20),
                       {draw % 5 != 0, this->random.normal(), this->random.below(9), draw % 3 == 0});
  }
}

// A float sum of squares would lose all bits of the variance.
TEST(LayerNorm, KeepsTheVarianceWithALargeMean) {
  const Stream stream;
  for (const int64_t cols : {3, 100, 1000, 5000, 8192, 50000}) {
    Floats values = normal_values(cols, 1);
    for (float& value : values) value += 1000;
    const GuardedBuffer<float> x(values);
    GuardedBuffer<float> y(cols), mean(1), inv_std(1);
    GuardedBuffer<unsigned char> workspace(layer_norm_workspace_bytes(1, cols));
    ASSERT_TRUE(ok(layer_norm(matrix(y.data(), 1, cols), mean.view(), inv_std.view(),
                              matrix(x.data(), 1, cols), {}, {}, kEps, workspace.workspace(), stream)));
    const RowReference want(Form::layer_norm, to_double(values));
    EXPECT_NEAR(mean.download()[0] / want.mean, 1, 0x1p-23) << cols;
    EXPECT_NEAR(inv_std.download()[0] / want.inv_std, 1, 0x1p-18) << cols;
  }
}

TEST(LayerNorm, AConstantRowGivesBeta) {
  const Stream stream;
  for (const int64_t cols : {1, 100, 1000, 5000, 20000}) {
    const Floats shift = normal_values(cols, 2);
    const GuardedBuffer<float> x(Floats(static_cast<size_t>(cols), 12345.678f)), beta(shift);
    GuardedBuffer<float> y(cols);
    GuardedBuffer<unsigned char> workspace(layer_norm_workspace_bytes(1, cols));
    ASSERT_TRUE(ok(layer_norm(matrix(y.data(), 1, cols), {}, {}, matrix(x.data(), 1, cols), {},
                              {beta.data(), cols}, kEps, workspace.workspace(), stream)));
    EXPECT_TRUE(all_near(y.download(), to_double(shift), 0.35))
        << cols;  // a rounding of the mean / sqrt(eps)
  }
}

TEST(LayerNorm, NanAndInfinityStayInTheirRow) {
  const Stream stream;
  for (const int64_t cols : {2, 100, 1000, 5000, 20000})
    for (const Form form : kForms)
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity}) {
        const Floats values = normal_values(3 * cols, 1);
        const auto run = [&](const Floats& from) {
          const GuardedBuffer<float> x(from);
          GuardedBuffer<float> y(3 * cols);
          GuardedBuffer<unsigned char> workspace(layer_norm_workspace_bytes(3, cols));
          const MatrixView<const float> in = matrix(x.data(), 3, cols);
          const MatrixView<float> out = matrix(y.data(), 3, cols);
          EXPECT_TRUE(ok(form == Form::layer_norm
                             ? layer_norm(out, {}, {}, in, {}, {}, kEps, workspace.workspace(), stream)
                             : rms_norm(out, {}, in, {}, kEps, workspace.workspace(), stream)));
          return y.download();
        };
        Floats spoilt = values;
        spoilt[static_cast<size_t>(2 * cols - 1)] = bad;
        const Floats clean = run(values), got = run(spoilt);
        EXPECT_TRUE(std::isnan(got[static_cast<size_t>(2 * cols - 1)]));
        for (int64_t j = 0; j < cols; ++j) {
          const auto k = static_cast<size_t>(j);
          ASSERT_EQ(got[k], clean[k]);
          ASSERT_EQ(got[k + static_cast<size_t>(2 * cols)], clean[k + static_cast<size_t>(2 * cols)]);
        }
      }
}

// The gradients against central differences of the definition: the two share no formula.
TEST(LayerNorm, GradientsMatchFiniteDifferences) {
  constexpr int64_t kRows = 3;
  constexpr double kStep = 1e-5;
  const Stream stream;
  for (const int64_t cols : {2, 7, 60, 300})
    for (const Form form : kForms) {
      SCOPED_TRACE(cols);
      const auto c = static_cast<size_t>(cols);
      const Floats x_values = normal_values(kRows * cols, 1), dy_values = normal_values(kRows * cols, 2),
                   gamma_values = normal_values(cols, 3);
      Doubles x = to_double(x_values), gamma = to_double(gamma_values), beta(c);
      const auto loss = [&] {
        double sum = 0;
        for (size_t i = 0; i < kRows; ++i) {
          const RowReference row(form, Doubles(x.begin() + static_cast<long>(i * c),
                                               x.begin() + static_cast<long>((i + 1) * c)));
          for (size_t j = 0; j < c; ++j) sum += dy_values[i * c + j] * (row.xhat[j] * gamma[j] + beta[j]);
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
      const GuardedBuffer<float> dev_x(x_values), dev_dy(dy_values), dev_gamma(gamma_values);
      GuardedBuffer<float> y(kRows * cols), mean(kRows), inv_std(kRows), dx(kRows * cols), dgamma(cols),
          dbeta(cols);
      GuardedBuffer<unsigned char> workspace(layer_norm_backward_workspace_bytes(kRows, cols));
      const MatrixView<const float> x_view = matrix(dev_x.data(), kRows, cols),
                                    dy_view = matrix(dev_dy.data(), kRows, cols);
      const MatrixView<float> y_view = matrix(y.data(), kRows, cols),
                              dx_view = matrix(dx.data(), kRows, cols);
      if (form == Form::layer_norm) {
        ASSERT_TRUE(ok(layer_norm(y_view, mean.view(), inv_std.view(), x_view, {dev_gamma.data(), cols}, {},
                                  kEps, {}, stream)));
        ASSERT_TRUE(ok(layer_norm_backward(dx_view, dgamma.view(), dbeta.view(), dy_view,
                                           {x_view, mean.view(), inv_std.view()}, {dev_gamma.data(), cols},
                                           workspace.workspace(), stream)));
        EXPECT_TRUE(all_near(dbeta.download(), slopes(beta), 1e-5, 1e-5));
      } else {
        ASSERT_TRUE(ok(rms_norm(y_view, inv_std.view(), x_view, {dev_gamma.data(), cols}, kEps, {}, stream)));
        ASSERT_TRUE(ok(rms_norm_backward(dx_view, dgamma.view(), dy_view, {x_view, inv_std.view()},
                                         {dev_gamma.data(), cols}, workspace.workspace(), stream)));
      }
      // Two columns have a deviation as small as their difference: inv_std is up to 300.
      EXPECT_TRUE(all_near(dx.download(), slopes(x), 2e-5, 2e-4));
      EXPECT_TRUE(all_near(dgamma.download(), slopes(gamma), 1e-5, 1e-5));
    }
}

TEST(LayerNorm, WithoutRowsTheParameterGradientsAreZero) {
  const Stream stream;
  GuardedBuffer<float> dgamma(5), dbeta(5);
  GuardedBuffer<unsigned char> workspace(layer_norm_backward_workspace_bytes(0, 5));
  const MatrixView<float> none = {nullptr, 0, 5, 5};
  ASSERT_TRUE(ok(layer_norm(none, {}, {}, none, {}, {}, kEps, {}, stream)));
  ASSERT_TRUE(ok(layer_norm_backward(none, dgamma.view(), dbeta.view(), none, {none, {}, {}}, {},
                                     workspace.workspace(), stream)));
  EXPECT_EQ(dgamma.download(), Floats(5));
  EXPECT_EQ(dbeta.download(), Floats(5));
}

// The same on every device, with the tiles of a GPU and with those of vectors.
TEST(LayerNorm, HasTheBitsOfEveryDevice) {
  const Stream stream;
  constexpr int64_t kRows = 2;
  uint64_t hash = 14695981039346656037u;
  for (const int64_t cols : {5, 128, 130, 1000, 1024, 5000, 8192, 30001}) {
    const int64_t size = kRows * cols;
    const GuardedBuffer<float> x(exact_values(size, 7)), dy(exact_values(size, 8)),
        gamma(exact_values(cols, 9)), beta(exact_values(cols, 10));
    GuardedBuffer<float> y(size), dx(size), mean(kRows), inv_std(kRows), dgamma(cols), dbeta(cols);
    GuardedBuffer<unsigned char> workspace(layer_norm_backward_workspace_bytes(kRows, cols));
    ASSERT_TRUE(ok(layer_norm(matrix(y.data(), kRows, cols), mean.view(), inv_std.view(),
                              matrix(x.data(), kRows, cols), {gamma.data(), cols}, {beta.data(), cols}, kEps,
                              workspace.workspace(), stream)));
    ASSERT_TRUE(ok(layer_norm_backward(matrix(dx.data(), kRows, cols), dgamma.view(), dbeta.view(),
                                       matrix(dy.data(), kRows, cols),
                                       {matrix(x.data(), kRows, cols), mean.view(), inv_std.view()},
                                       {gamma.data(), cols}, workspace.workspace(), stream)));
    for (const GuardedBuffer<float>* of : {&y, &dx, &mean, &inv_std, &dgamma, &dbeta})
      hash = hash_of(of->download(), hash);
  }
  EXPECT_EQ(hash, 10763434293317115306u);
}

}  // namespace
}  // namespace rondo::test

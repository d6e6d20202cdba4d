// Operators on bfloat16 data. They compute with floats, in the order in which the float32 operators do, and
// round a result once. So on the same values the bits must be those of the float32 operator, rounded to
// nearest even; other tests compare the float32 operators with double precision. Sizes and alignments are
// drawn, each operand with its own, and include tails and misalignment by one element.
#include <gtest/gtest.h>

#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/random/dropout.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/tests/support/bfloat16.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rondo::test {
namespace {

using Bf16 = __nv_bfloat16;
using Floats = std::vector<float>;

// An operand in both types, with the same values.
struct Operand {
  Operand(const Floats& values, int64_t offset)
      : narrow(rounded(values), offset), wide(as_floats(rounded(values)), offset) {}
  Operand(int64_t size, int64_t offset) : narrow(size, offset), wide(size, offset) {}

  template <class T>
  GuardedBuffer<T>& of() {
    if constexpr (std::is_same_v<T, float>)
      return wide;
    else
      return narrow;
  }
  testing::AssertionResult agrees() const {
    return all_equal_bits(as_floats(narrow.download()), as_floats(rounded(wide.download())));
  }

  GuardedBuffer<Bf16> narrow;
  GuardedBuffer<float> wide;
};

class BfloatOperators : public testing::Test {
 protected:
  Operand input(int64_t size, bool positive = false) {
    Floats values = normal_values(size, random.next());
    if (positive)
      for (float& value : values) value = std::max(value, 0.0f);
    return {values, random.below(9)};
  }
  Operand output(int64_t size) { return {size, random.below(9)}; }
  // 1 and sizes around the widths of an access are drawn more often than others.
  int64_t side(int64_t most) {
    constexpr int64_t kOften[] = {1, 2, 7, 8, 9, 16, 17, 32};
    const int64_t often = kOften[random.below(8)];
    return random.below(2) == 0 && often <= most ? often : 1 + random.below(most);
  }
  // Runs operation(T{}) for both types.
  template <class Operation>
  void run(Operation operation) {
    ASSERT_TRUE(ok(operation(float{})));
    ASSERT_TRUE(ok(operation(Bf16{})));
  }

  Random random{11};
  Stream stream;
};

TEST_F(BfloatOperators, Elementwise) {
  for (int draw = 0; draw < 60; ++draw) {
    const int64_t size = draw == 0 ? 0 : draw < 30 ? side(70) : side(9000);
    Operand a = input(size), b = input(size), y = input(size, true), out = output(size), sum = output(size);
    const bool relu_after = random.below(2) == 0;
    run([&]<class T>(T) { return relu(out.of<T>().view(), a.of<T>().view(), stream); });
    EXPECT_TRUE(out.agrees()) << "relu of " << size;
    run([&]<class T>(T) {
      return relu_backward(out.of<T>().view(), a.of<T>().view(), y.of<T>().view(), stream);
    });
    EXPECT_TRUE(out.agrees()) << "relu_backward of " << size;
    run([&]<class T>(T) {
      return add(sum.of<T>().view(), a.of<T>().view(), b.of<T>().view(), relu_after, stream);
    });
    EXPECT_TRUE(sum.agrees()) << "add of " << size;
    run([&]<class T>(T) { return add(a.of<T>().view(), a.of<T>().view(), b.of<T>().view(), false, stream); });
    EXPECT_TRUE(a.agrees()) << "add of " << size << " in place";
    const DropoutStream drops = {5, 3, nullptr, random.below(9)};
    const GuardedBuffer<int64_t> step(std::vector<int64_t>{7});
    run([&]<class T>(T) {
      DropoutStream of_step = drops;
      of_step.step = step.data();
      return dropout(out.of<T>().view(), b.of<T>().view(), 0.3f, of_step, stream);
    });
    EXPECT_TRUE(out.agrees()) << "dropout of " << size << " from " << drops.first;
  }
}

TEST_F(BfloatOperators, Cast) {
  for (int draw = 0; draw < 60; ++draw) {
    const int64_t size = draw == 0 ? 0 : side(5000);
    const Floats values = normal_values(size, random.next());
    const GuardedBuffer<float> x(values, random.below(9));
    GuardedBuffer<Bf16> narrow(size, random.below(9));
    GuardedBuffer<float> back(size, random.below(9));
    ASSERT_TRUE(ok(cast(narrow.view(), {x.data(), size}, stream)));
    ASSERT_TRUE(ok(cast(back.view(), narrow.view(), stream)));
    const Floats got = back.download();
    EXPECT_TRUE(all_equal_bits(got, as_floats(rounded(values)))) << size;
    for (size_t i = 0; i < values.size(); ++i)  // half a unit of 8 significant bits
      ASSERT_LE(std::abs(got[i] - values[i]), std::abs(values[i]) * 0x1p-8f);
  }
}

TEST_F(BfloatOperators, CastOfSpecialValues) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Floats x = {0.0f, -0.0f, kInfinity, -kInfinity, 3.4e38f, 1 + 0x1p-8f, 1 + 3 * 0x1p-8f, 1e-45f};
  const GuardedBuffer<float> in(x);
  GuardedBuffer<Bf16> out(8);
  ASSERT_TRUE(ok(cast(out.view(), {in.data(), 8}, stream)));
  EXPECT_TRUE(all_equal_bits(as_floats(out.download()),
                             {0.0f, -0.0f, kInfinity, -kInfinity, kInfinity, 1.0f, 1 + 0x1p-6f, 0.0f}));
  const GuardedBuffer<float> nan(Floats{NAN});
  GuardedBuffer<Bf16> still_nan(1);
  ASSERT_TRUE(ok(cast(still_nan.view(), {nan.data(), 1}, stream)));
  EXPECT_TRUE(std::isnan(static_cast<float>(still_nan.download()[0])));
}

TEST_F(BfloatOperators, BiasGradient) {
  for (int draw = 0; draw < 40; ++draw) {
    const int64_t rows = draw == 0 ? 0 : side(1500), cols = side(70), stride = cols + random.below(10);
    const int64_t size = std::max<int64_t>((rows - 1) * stride + cols, 0);
    Operand dy = input(size);
    GuardedBuffer<float> wide(cols), narrow(cols), scratch(bias_gradient_workspace_bytes(rows, cols) / 4);
    const auto run_into = [&]<class T>(GuardedBuffer<float>& db, T) {
      return bias_gradient(db.view(), MatrixView<const T>{dy.of<T>().data(), rows, cols, stride}, 0,
                           scratch.workspace(), stream);
    };
    ASSERT_TRUE(ok(run_into(wide, float{})));
    ASSERT_TRUE(ok(run_into(narrow, Bf16{})));
    EXPECT_TRUE(all_equal_bits(narrow.download(), wide.download())) << rows << " x " << cols;
  }
}

TEST_F(BfloatOperators, BatchNorm) {
  for (int draw = 0; draw < 40; ++draw) {
    const int64_t rows = side(1100), cols = side(70), size = rows * cols;
    const bool with_relu = random.below(2) == 0, with_residual = random.below(2) == 0;
    SCOPED_TRACE(concat(rows, " x ", cols, with_relu ? ", relu" : "", with_residual ? ", residual" : ""));
    Operand x = input(size), residual = input(size), dy = input(size), y = output(size), dx = output(size),
            dr = output(size);
    GuardedBuffer<float> gamma(normal_values(cols, 1)), beta(normal_values(cols, 2)), mean(cols),
        inv_std(cols), scratch(batch_norm_workspace_bytes(rows, cols) / 4), dgamma(cols), dbeta(cols);
    GuardedBuffer<double> sums(2 * cols);
    const auto as_matrix = [&]<class T>(Operand& operand, T) {
      return matrix(operand.of<T>().data(), rows, cols);
    };
    std::vector<double> sums_of_x[2], sums_of_dy[2];
    Floats gradients[2];
    run([&]<class T>(T type) -> Status {
      constexpr size_t kNarrow = sizeof(T) == 2;
      RONDO_RETURN_IF_ERROR(batch_norm_sums(sums.view(), as_matrix(x, type), scratch.workspace(), stream));
      sums_of_x[kNarrow] = sums.download();
      RONDO_RETURN_IF_ERROR(
          batch_norm_statistics(mean.view(), inv_std.view(), {}, sums.view(), rows, 1e-5f, stream));
      BatchNormEpilogueOf<T> epilogue{.relu = with_relu};
      if (with_residual) epilogue.residual = as_matrix(residual, type);
      RONDO_RETURN_IF_ERROR(batch_norm(as_matrix(y, type), as_matrix(x, type), mean.view(), inv_std.view(),
                                       gamma.view(), beta.view(), epilogue, stream));
      BatchNormSavedOf<T> saved = {as_matrix(x, type), mean.view(), inv_std.view()};
      if (with_relu) saved.y = as_matrix(y, type);
      RONDO_RETURN_IF_ERROR(batch_norm_backward_sums(
          sums.view(), dgamma.view(), dbeta.view(), as_matrix(dy, type), saved, scratch.workspace(), stream));
      sums_of_dy[kNarrow] = sums.download();
      gradients[kNarrow] = dgamma.download();
      MatrixView<T> residual_gradient;
      if (with_residual) residual_gradient = as_matrix(dr, type);
      return batch_norm_backward(as_matrix(dx, type), residual_gradient, as_matrix(dy, type), saved,
                                 gamma.view(), sums.view(), rows, stream);
    });
    EXPECT_EQ(sums_of_x[1], sums_of_x[0]);
    EXPECT_TRUE(y.agrees());
    EXPECT_EQ(sums_of_dy[1], sums_of_dy[0]);
    EXPECT_TRUE(all_equal_bits(gradients[1], gradients[0]));
    EXPECT_TRUE(dx.agrees());
    if (with_residual) {
      EXPECT_TRUE(dr.agrees());
    }
  }
}

TEST_F(BfloatOperators, Pooling) {
  for (int draw = 0; draw < 60; ++draw) {
    const bool common = random.below(3) == 0;  // the window that has a kernel of its own
    PoolWindow window;
    if (!common)
      window = {1 + random.below(3), 1 + random.below(3), 1 + random.below(3), 1 + random.below(3)};
    if (!common) window.pad_h = random.below(window.height / 2 + 1);
    const int64_t images = 1 + random.below(5), h = 3 + random.below(8), w = 3 + random.below(8),
                  c = side(40);
    const int64_t p = pooled_size(h, window.height, window.stride_h, window.pad_h),
                  q = pooled_size(w, window.width, window.stride_w, window.pad_w);
    const AverageOver over = random.below(2) == 0 ? AverageOver::window : AverageOver::image;
    SCOPED_TRACE(concat(images, " x ", h, " x ", w, " x ", c, ", window ", window.height, " x ", window.width,
                        ", stride ", window.stride_h, " x ", window.stride_w, ", padding ", window.pad_h));
    Operand x = input(images * h * w * c, true), dy = input(images * p * q * c),
            y = output(images * p * q * c), dx = output(images * h * w * c);
    const auto image = [&]<class T>(Operand& operand, T) {
      return ImageView<T>{operand.of<T>().data(), images, h, w, c};
    };
    const auto pooled = [&]<class T>(Operand& operand, T) {
      return ImageView<T>{operand.of<T>().data(), images, p, q, c};
    };
    run([&](auto t) { return avg_pool(pooled(y, t), image(x, t), window, over, stream); });
    EXPECT_TRUE(y.agrees()) << "avg_pool";
    run([&](auto t) { return avg_pool_backward(image(dx, t), pooled(dy, t), window, over, stream); });
    EXPECT_TRUE(dx.agrees()) << "avg_pool_backward";
    run([&](auto t) {
      return avg_pool_relu_backward(image(dx, t), pooled(dy, t), image(x, t), window, over, stream);
    });
    EXPECT_TRUE(dx.agrees()) << "avg_pool_relu_backward";
    run([&](auto t) { return max_pool(pooled(y, t), image(x, t), window, stream); });
    EXPECT_TRUE(y.agrees()) << "max_pool";
    run([&](auto t) {
      return max_pool_backward(image(dx, t), pooled(dy, t), pooled(y, t), image(x, t), window, stream);
    });
    EXPECT_TRUE(dx.agrees()) << "max_pool_backward";
  }
}

TEST_F(BfloatOperators, FirstNonfinite) {
  for (const float bad : {NAN, std::numeric_limits<float>::infinity(), 3.4e38f, 3.3e38f}) {
    Floats values = normal_values(5000, 1);
    values[4321] = bad;
    const GuardedBuffer<Bf16> x(rounded(values), 3);
    GuardedBuffer<unsigned long long> index(1);
    ASSERT_TRUE(ok(first_nonfinite(index.view(), {x.data(), 5000}, false, stream)));
    EXPECT_EQ(index.download()[0], bad == 3.3e38f ? kAllFinite : 4321u);
  }
}

TEST_F(BfloatOperators, BadArguments) {
  GuardedBuffer<Bf16> a(4), b(4);
  GuardedBuffer<float> c(4);
  EXPECT_TRUE(refused(cast(a.view(), {nullptr, 4}, stream), "cast: x is null"));
  EXPECT_TRUE(refused(cast(a.view(), {c.data(), 3}, stream), "cast: y.size is 4, must be x.size = 3"));
  EXPECT_TRUE(refused(relu(a.view(), {b.data(), -4}, stream), "relu: x.size is -4"));
  EXPECT_TRUE(refused(add(a.view(), b.view(), {a.data() + 1, 3}, false, stream), "add: b.size is 3"));
}

}  // namespace
}  // namespace rondo::test

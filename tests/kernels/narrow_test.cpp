// Operators on bfloat16 and float16 data, whose bits must be those of the float32 operator, rounded. Other
// tests compare the float32 operators with double precision. The file exceeds 400 lines because its operators
// share their drawn operands.
#include <gtest/gtest.h>

#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/add_bias.h>
#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/activation/gelu.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/activation/sigmoid.h>
#include <rondo/kernels/norm/batch_norm.h>
#include <rondo/kernels/pool/adaptive_pool.h>
#include <rondo/kernels/pool/max_unpool.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/random/dropout.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/tests/kernels/narrow_operands.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <string>

namespace rondo::test {
namespace {

// The functions of float32, bfloat16 and float16 that the headers declare.
std::set<std::string> operators_on_values() {
  const std::regex declaration(
      R"(template <(?:ValueType|InputType)[^>]*>\s*\[\[nodiscard\]\]\s+Status\s+(\w+)\()");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(RONDO_KERNELS_FOLDER)) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (std::sregex_iterator match(text.begin(), text.end(), declaration), end; match != end; ++match)
      names.insert((*match)[1]);
  }
  return names;
}

// The tests that compare 16-bit operators with float32 are those that use narrow_operands.h.
TEST(NarrowOperatorsTest, CoversAllOperatorsOnValues) {
  std::string tests;
  for (const auto& entry : std::filesystem::directory_iterator(RONDO_KERNEL_TESTS_FOLDER)) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.find("/narrow_operands.h>") != std::string::npos) tests += text;
  }
  const std::set<std::string> names = operators_on_values();
  EXPECT_GT(names.size(), 15u);
  for (const std::string& name : names)
    EXPECT_TRUE(std::regex_search(tests, std::regex("\\b" + name + R"((<[^>]*>)?\()")))
        << name << " must be compared with its results on float32, in narrow_test.cpp";
}

template <class Narrow>
class NarrowOperators : public NarrowOperands<Narrow> {};
TYPED_TEST_SUITE(NarrowOperators, NarrowTypes, NameOfType);

TYPED_TEST(NarrowOperators, Elementwise) {
  Random& random = this->random;
  for (int draw = 0; draw < 60; ++draw) {
    this->aligned = draw % 2 == 0;
    const int64_t size = draw == 0 ? 0 : draw < 30 ? this->side(70) : this->side(9000);
    auto a = this->input(size), b = this->input(size), y = this->input(size, true), out = this->output(size),
         sum = this->output(size);
    const bool relu_after = random.below(2) == 0;
    this->run([&]<class T>(T) { return relu(of<T>(out).view(), of<T>(a).view(), this->stream); });
    EXPECT_TRUE(out.agrees()) << "relu of " << size;
    this->run([&]<class T>(T) {
      return relu_backward(of<T>(out).view(), of<T>(a).view(), of<T>(y).view(), this->stream);
    });
    EXPECT_TRUE(out.agrees()) << "relu_backward of " << size;
    this->run([&]<class T>(T) { return gelu(of<T>(out).view(), of<T>(a).view(), this->stream); });
    EXPECT_TRUE(out.agrees()) << "gelu of " << size;
    this->run([&]<class T>(T) { return gelu_tanh(of<T>(out).view(), of<T>(a).view(), this->stream); });
    EXPECT_TRUE(out.agrees()) << "gelu_tanh of " << size;
    this->run([&]<class T>(T) { return sigmoid(of<T>(out).view(), of<T>(a).view(), this->stream); });
    EXPECT_TRUE(out.agrees()) << "sigmoid of " << size;
    this->run([&]<class T>(T) {
      return gelu_backward(of<T>(out).view(), of<T>(a).view(), of<T>(y).view(), this->stream);
    });
    EXPECT_TRUE(out.agrees()) << "gelu_backward of " << size;
    this->run([&]<class T>(T) {
      return gelu_tanh_backward(of<T>(out).view(), of<T>(a).view(), of<T>(y).view(), this->stream);
    });
    EXPECT_TRUE(out.agrees()) << "gelu_tanh_backward of " << size;
    this->run([&]<class T>(T) {
      return sigmoid_backward(of<T>(out).view(), of<T>(a).view(), of<T>(y).view(), this->stream);
    });
    EXPECT_TRUE(out.agrees()) << "sigmoid_backward of " << size;
    this->run([&]<class T>(T) {
      return add(of<T>(sum).view(), of<T>(a).view(), of<T>(b).view(), relu_after, this->stream);
    });
    EXPECT_TRUE(sum.agrees()) << "add of " << size;
    this->run([&]<class T>(T) {
      return add(of<T>(a).view(), of<T>(a).view(), of<T>(b).view(), false, this->stream);
    });
    EXPECT_TRUE(a.agrees()) << "add of " << size << " in place";
    const DropoutStream drops = {5, 3, nullptr, this->aligned ? 8 * random.below(3) : random.below(9)};
    const GuardedBuffer<int64_t> step(std::vector<int64_t>{7});
    this->run([&]<class T>(T) {
      DropoutStream of_step = drops;
      of_step.step = step.data();
      return dropout(of<T>(out).view(), of<T>(b).view(), 0.3f, of_step, this->stream);
    });
    EXPECT_TRUE(out.agrees()) << "dropout of " << size << " from " << drops.first;
  }
}

TYPED_TEST(NarrowOperators, Cast) {
  for (int draw = 0; draw < 60; ++draw) {
    this->aligned = draw % 2 == 0;
    const int64_t size = draw == 0 ? 0 : this->side(5000);
    Floats values = normal_values(size, this->random.next());
    if (draw % 3 == 0)
      for (float& value : values) value *= 1e-7f;  // below the normal values of float16
    const GuardedBuffer<float> x(values, this->offset());
    GuardedBuffer<TypeParam> narrow(size, this->offset());
    GuardedBuffer<float> back(size, this->offset());
    ASSERT_TRUE(ok(cast(narrow.view(), {x.data(), size}, this->stream)));
    ASSERT_TRUE(ok(cast(back.view(), narrow.view(), this->stream)));
    const Floats got = back.download();
    EXPECT_TRUE(all_equal_bits(got, as_floats(rounded<TypeParam>(values)))) << size;
    EXPECT_TRUE(
        all_within(got, to_double(values), [&](size_t i) { return rounding_error<TypeParam>(values[i]); }));
  }
}

// The columns: a value, and what it becomes.
template <class T>
std::vector<std::pair<float, float>> special_values();
template <>
std::vector<std::pair<float, float>> special_values<__nv_bfloat16>() {
  return {{3.4e38f, kInfinity}, {-3.4e38f, -kInfinity}, {3.38e38f, 0x1.fcp127f},
          {1 + 0x1p-8f, 1.0f},  {1e-45f, 0.0f},         {1 + 3 * 0x1p-8f, 1 + 0x1p-6f}};
}
template <>
std::vector<std::pair<float, float>> special_values<__half>() {
  return {{65520.0f, kInfinity},  {-65520.0f, -kInfinity}, {65519.0f, 65504.0f},
          {1 + 0x1p-11f, 1.0f},   {0x1p-24f, 0x1p-24f},    {0x1p-25f, 0.0f},
          {0x1.8p-24f, 0x1p-23f}, {-1e-9f, -0.0f},         {1 + 3 * 0x1p-11f, 1 + 0x1p-9f}};
}

TYPED_TEST(NarrowOperators, CastOfSpecialValues) {
  Floats x = {0.0f, -0.0f, kInfinity, -kInfinity}, want = x;
  for (const auto& [value, result] : special_values<TypeParam>()) {
    x.push_back(value);
    want.push_back(result);
  }
  const GuardedBuffer<float> in(x);
  GuardedBuffer<TypeParam> out(in.size());
  ASSERT_TRUE(ok(cast(out.view(), {in.data(), in.size()}, this->stream)));
  EXPECT_TRUE(all_equal_bits(as_floats(out.download()), want));
  const GuardedBuffer<float> nan(Floats{NAN});
  GuardedBuffer<TypeParam> still_nan(1);
  ASSERT_TRUE(ok(cast(still_nan.view(), {nan.data(), 1}, this->stream)));
  EXPECT_TRUE(std::isnan(static_cast<float>(still_nan.download()[0])));
}

TYPED_TEST(NarrowOperators, BiasGradient) {
  for (int draw = 0; draw < 40; ++draw) {
    this->aligned = draw % 2 == 0;
    const int64_t rows = draw == 0 ? 0 : this->side(1500), cols = this->side(70),
                  stride = cols + this->random.below(10);
    const int64_t size = std::max<int64_t>((rows - 1) * stride + cols, 0);
    auto dy = this->input(size);
    GuardedBuffer<float> wide(cols), narrow(cols), scratch(bias_gradient_workspace_bytes(rows, cols) / 4);
    const auto run_into = [&]<class T>(GuardedBuffer<float>& db, T) {
      return bias_gradient(db.view(), MatrixView<const T>{of<T>(dy).data(), rows, cols, stride}, 0,
                           scratch.workspace(), this->stream);
    };
    ASSERT_TRUE(ok(run_into(wide, float{})));
    ASSERT_TRUE(ok(run_into(narrow, TypeParam{})));
    EXPECT_TRUE(all_equal_bits(narrow.download(), wide.download())) << rows << " x " << cols;
  }
}

TYPED_TEST(NarrowOperators, AddBias) {
  for (int draw = 0; draw < 30; ++draw) {
    this->aligned = draw % 2 == 0;
    const int64_t rows = this->side(90), cols = this->side(70);
    auto x = this->input(rows * cols), y = this->output(rows * cols);
    const GuardedBuffer<float> bias(normal_values(cols, 1));
    this->run([&]<class T>(T) {
      return add_bias(matrix(of<T>(y).data(), rows, cols), matrix<const T>(of<T>(x).data(), rows, cols),
                      {bias.data(), cols}, this->stream);
    });
    EXPECT_TRUE(y.agrees()) << rows << " x " << cols;
  }
}

TYPED_TEST(NarrowOperators, BatchNorm) {
  for (int draw = 0; draw < 40; ++draw) {
    this->aligned = draw % 2 == 0;
    const int64_t rows = this->side(1100), cols = this->side(70), size = rows * cols;
    const bool with_relu = this->random.below(2) == 0, with_residual = this->random.below(2) == 0;
    SCOPED_TRACE(concat(rows, " x ", cols, with_relu ? ", relu" : "", with_residual ? ", residual" : ""));
    auto x = this->input(size), residual = this->input(size), dy = this->input(size), y = this->output(size),
         dx = this->output(size), dr = this->output(size);
    std::optional<Operand<TypeParam>> saved_y;  // a small positive float may be 0 in 16 bits
    GuardedBuffer<float> gamma(normal_values(cols, 1)), beta(normal_values(cols, 2)), mean(cols),
        inv_std(cols), scratch(batch_norm_workspace_bytes(rows, cols) / 4), dgamma(cols), dbeta(cols);
    GuardedBuffer<double> sums(2 * cols);
    const auto as_matrix = [&]<class T>(Operand<TypeParam>& operand, T) {
      return matrix(of<T>(operand).data(), rows, cols);
    };
    std::vector<double> sums_of_x[2], sums_of_dy[2];
    Floats gradients[2];
    this->run([&]<class T>(T type) -> Status {
      constexpr size_t kNarrow = sizeof(T) == 2;
      const cudaStream_t stream = this->stream;
      RONDO_RETURN_IF_ERROR(batch_norm_sums(sums.view(), as_matrix(x, type), scratch.workspace(), stream));
      sums_of_x[kNarrow] = sums.download();
      RONDO_RETURN_IF_ERROR(
          batch_norm_statistics(mean.view(), inv_std.view(), {}, sums.view(), rows, 1e-5f, stream));
      BatchNormEpilogueOf<T> epilogue{.relu = with_relu};
      if (with_residual) epilogue.residual = as_matrix(residual, type);
      RONDO_RETURN_IF_ERROR(batch_norm(as_matrix(y, type), as_matrix(x, type), mean.view(), inv_std.view(),
                                       gamma.view(), beta.view(), epilogue, stream));
      if (!saved_y) saved_y.emplace(y.wide.download(), this->offset());
      BatchNormSavedOf<T> saved = {as_matrix(x, type), mean.view(), inv_std.view()};
      if (with_relu) saved.y = as_matrix(*saved_y, type);
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

// An operand as images.
template <class Narrow>
struct ImagesOf {
  int64_t images, height, width, channels;
  template <class T>
  ImageView<T> operator()(Operand<Narrow>& operand, T) const {
    return {of<T>(operand).data(), images, height, width, channels};
  }
};

TYPED_TEST(NarrowOperators, Pooling) {
  Random& random = this->random;
  for (int draw = 0; draw < 96; ++draw) {
    const bool common = draw % 3 == 0;  // the window that has a kernel of its own
    this->aligned = draw / 3 % 2 == 0;
    const AverageOver over = draw / 24 % 2 == 0 ? AverageOver::window : AverageOver::image;
    PoolWindow window;
    if (!common)
      window = {1 + random.below(3), 1 + random.below(3), 1 + random.below(3), 1 + random.below(3)};
    if (!common) {
      window.pad_h = random.below(window.height);
      window.pad_right = random.below(window.width);
      window.ceil_mode = random.below(2) == 1;
    }
    const int64_t images = 1 + random.below(5), h = 3 + random.below(8), w = 3 + random.below(8);
    const int64_t c = this->channels(draw / 6);
    const int64_t p = pooled_height(h, window), q = pooled_width(w, window);
    SCOPED_TRACE(concat(images, " x ", h, " x ", w, " x ", c, ", window ", window.height, " x ", window.width,
                        ", stride ", window.stride_h, " x ", window.stride_w, ", padding ", window.pad_h,
                        " and ", window.right(), window.ceil_mode ? ", ceil mode" : ""));
    auto x = this->input(images * h * w * c, true), dy = this->input(images * p * q * c),
         y = this->output(images * p * q * c), dx = this->output(images * h * w * c);
    const ImagesOf<TypeParam> image = {images, h, w, c}, pooled = {images, p, q, c};
    const cudaStream_t stream = this->stream;
    this->run([&](auto t) { return avg_pool(pooled(y, t), image(x, t), window, over, stream); });
    EXPECT_TRUE(y.agrees()) << "avg_pool";
    this->run([&](auto t) { return avg_pool_backward(image(dx, t), pooled(dy, t), window, over, stream); });
    EXPECT_TRUE(dx.agrees()) << "avg_pool_backward";
    this->run([&](auto t) {
      return avg_pool_relu_backward(image(dx, t), pooled(dy, t), image(x, t), window, over, stream);
    });
    EXPECT_TRUE(dx.agrees()) << "avg_pool_relu_backward";
    this->run([&](auto t) { return max_pool(pooled(y, t), image(x, t), window, stream); });
    EXPECT_TRUE(y.agrees()) << "max_pool";
    this->run([&](auto t) {
      return max_pool_backward(image(dx, t), pooled(dy, t), pooled(y, t), image(x, t), window, stream);
    });
    EXPECT_TRUE(dx.agrees()) << "max_pool_backward";
  }
}

TYPED_TEST(NarrowOperators, MaxPoolingWithDilation) {
  Random& random = this->random;
  for (int draw = 0; draw < 24; ++draw) {
    this->aligned = draw % 2 == 0;
    const int64_t images = 1 + random.below(3), h = 7 + random.below(8), w = 7 + random.below(8);
    const int64_t c = this->channels(draw / 2);
    const PoolWindow window = {.height = 2 + random.below(2),
                               .width = 1 + random.below(3),
                               .stride_h = 1 + random.below(3),
                               .stride_w = 1 + random.below(3),
                               .pad_h = random.below(2),
                               .dilation_h = 1 + random.below(3),
                               .dilation_w = 2};
    const int64_t p = pooled_height(h, window), q = pooled_width(w, window);
    SCOPED_TRACE(concat(images, " x ", h, " x ", w, " x ", c, ", window ", window.height, " x ", window.width,
                        ", stride ", window.stride_h, " x ", window.stride_w, ", dilation ",
                        window.dilation_h, " x ", window.dilation_w));
    auto x = this->input(images * h * w * c, true), dy = this->input(images * p * q * c),
         y = this->output(images * p * q * c), dx = this->output(images * h * w * c);
    const ImagesOf<TypeParam> image = {images, h, w, c}, pooled = {images, p, q, c};
    this->run([&](auto t) { return max_pool(pooled(y, t), image(x, t), window, this->stream); });
    EXPECT_TRUE(y.agrees()) << "max_pool";
    this->run([&](auto t) {
      return max_pool_backward(image(dx, t), pooled(dy, t), pooled(y, t), image(x, t), window, this->stream);
    });
    EXPECT_TRUE(dx.agrees()) << "max_pool_backward";
  }
}

// The indices are those of float32, and what follows from them is, too.
TYPED_TEST(NarrowOperators, PoolingWithIndices) {
  Random& random = this->random;
  for (int draw = 0; draw < 72; ++draw) {
    this->aligned = draw / 3 % 2 == 0;
    PoolWindow window;  // every third time the one that has kernels of its own
    if (draw % 3 != 0)
      window = {1 + random.below(3), 1 + random.below(3), 1 + random.below(3), 1 + random.below(3)};
    if (draw % 3 == 1) window.dilation_h = 1 + random.below(3), window.dilation_w = 2;
    const int64_t images = 1 + random.below(5), h = 5 + random.below(8), w = 5 + random.below(8);
    const int64_t c = this->channels(draw / 6);
    const int64_t p = pooled_height(h, window), q = pooled_width(w, window);
    SCOPED_TRACE(concat(images, " x ", h, " x ", w, " x ", c, ", window ", window.height, " x ", window.width,
                        ", stride ", window.stride_h, " x ", window.stride_w, ", dilation ",
                        window.dilation_h, " x ", window.dilation_w));
    auto x = this->input(images * h * w * c, true), dy = this->input(images * p * q * c),
         y = this->output(images * p * q * c), dx = this->output(images * h * w * c);
    GuardedBuffer<int32_t> of_float(images * p * q * c, this->offset()),
        of_narrow(images * p * q * c, this->offset());
    const ImagesOf<TypeParam> image = {images, h, w, c}, pooled = {images, p, q, c};
    const auto indices = [&]<class T>(T) {
      return ImageView<int32_t>{(std::is_same_v<T, float> ? of_float : of_narrow).data(), images, p, q, c};
    };
    const cudaStream_t stream = this->stream;
    this->run(
        [&](auto t) { return max_pool_with_indices(pooled(y, t), indices(t), image(x, t), window, stream); });
    EXPECT_TRUE(y.agrees()) << "max_pool_with_indices";
    EXPECT_EQ(of_narrow.download(), of_float.download());
    this->run([&](auto t) {
      return max_pool_with_indices_backward(image(dx, t), pooled(dy, t), indices(t), window, stream);
    });
    EXPECT_TRUE(dx.agrees()) << "max_pool_with_indices_backward";
    this->run([&](auto t) { return max_unpool(image(dx, t), pooled(dy, t), indices(t), window, stream); });
    EXPECT_TRUE(dx.agrees()) << "max_unpool";
    this->run(
        [&](auto t) { return max_unpool_backward(pooled(y, t), image(x, t), indices(t), window, stream); });
    EXPECT_TRUE(y.agrees()) << "max_unpool_backward";
    this->run([&](auto t) { return adaptive_avg_pool(pooled(y, t), image(x, t), stream); });
    EXPECT_TRUE(y.agrees()) << "adaptive_avg_pool";
    this->run([&](auto t) { return adaptive_avg_pool_backward(image(dx, t), pooled(dy, t), stream); });
    EXPECT_TRUE(dx.agrees()) << "adaptive_avg_pool_backward";
    this->run([&](auto t) { return adaptive_max_pool(pooled(y, t), indices(t), image(x, t), stream); });
    EXPECT_TRUE(y.agrees()) << "adaptive_max_pool";
    EXPECT_EQ(of_narrow.download(), of_float.download());
    this->run(
        [&](auto t) { return adaptive_max_pool_backward(image(dx, t), pooled(dy, t), indices(t), stream); });
    EXPECT_TRUE(dx.agrees()) << "adaptive_max_pool_backward";
  }
}

// Finds each element of an array that begins and ends inside a slot, and the first of two.
TYPED_TEST(NarrowOperators, FirstNonfinite) {
  constexpr int64_t kSize = 3001;
  const float largest = std::is_same_v<TypeParam, __half> ? 65504.0f : 3.38e38f;
  for (const float bad : {NAN, kInfinity, -kInfinity, 3.4e38f, largest})
    for (const int64_t offset : {0, 3})
      for (const size_t at : {0, 1, 7, 8, 1023, 2048, 2999, 3000}) {
        Floats values = normal_values(kSize, 1);
        values[at] = bad;
        values[3000] = bad;
        const GuardedBuffer<TypeParam> x(rounded<TypeParam>(values), offset);
        GuardedBuffer<unsigned long long> index(1);
        ASSERT_TRUE(
            ok(first_nonfinite<const TypeParam>(index.view(), {x.data(), kSize}, false, this->stream)));
        EXPECT_EQ(index.download()[0], bad == largest ? kAllFinite : at) << bad << ", offset " << offset;
      }
}

TYPED_TEST(NarrowOperators, BadArguments) {
  GuardedBuffer<TypeParam> a(4), b(4);
  GuardedBuffer<float> c(4);
  const cudaStream_t stream = this->stream;
  EXPECT_TRUE(refused(cast(a.view(), {nullptr, 4}, stream), "cast: x is null"));
  EXPECT_TRUE(refused(cast(a.view(), {c.data(), 3}, stream), "cast: y.size is 4, must be x.size = 3"));
  EXPECT_TRUE(refused(relu(a.view(), {b.data(), -4}, stream), "relu: x.size is -4"));
  EXPECT_TRUE(refused(add(a.view(), b.view(), {a.data() + 1, 3}, false, stream), "add: b.size is 3"));
}

}  // namespace
}  // namespace rondo::test

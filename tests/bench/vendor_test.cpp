// The parts of bench/vendor that need neither a GPU nor the vendor's libraries: the arguments for a
// column-major library, the checks of a product and of a convolution, and the list of convolutions.

#include <gtest/gtest.h>

#include <rondo/bench/ladder/product.h>
#include <rondo/bench/operators/column_major_gemm.h>
#include <rondo/bench/vendor/conv_layers.h>
#include <rondo/bench/vendor/loaded_library.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/kernels/reference/conv_reference.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace rondo::bench {
namespace {

// ---- The arguments of cuBLAS ----

// Three sizes, all different, and vectors as matrices.
constexpr GemmShape kSizes[] = {{5, 7, 3}, {4, 2, 6}, {1, 6, 5}, {6, 1, 5}, {3, 4, 1}};

std::vector<ProductShape> product_shapes() {
  std::vector<ProductShape> shapes;
  for (const GemmShape& size : kSizes)
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) shapes.push_back({size, transpose_a, transpose_b});
  return shapes;
}

std::string name_of(const ProductShape& shape) {
  return concat(shape.size.m, " x ", shape.size.n, " x ", shape.size.k, ", ", shape.layout());
}

// Element (row, col) of a column-major matrix, with both checks that a library makes: of the leading
// dimension, and of the extent of the array.
float& element(std::vector<float>& values, int64_t rows, int64_t ld, int64_t row, int64_t col) {
  EXPECT_GE(ld, rows);
  return values.at(static_cast<size_t>(row + col * ld));
}

// The result of the library, read by the definition in BLAS. `a` and `b` are what the pointers refer to.
std::vector<float> column_major_product(const ColumnMajorGemm<float>& gemm, std::vector<float> a,
                                        std::vector<float> b, const float* a_pointer, int64_t result_size) {
  std::vector<float>& first = gemm.first == a_pointer ? a : b;
  std::vector<float>& second = gemm.second == a_pointer ? a : b;
  std::vector<float> result(static_cast<size_t>(result_size), std::numeric_limits<float>::quiet_NaN());
  for (int64_t i = 0; i < gemm.m; ++i)
    for (int64_t j = 0; j < gemm.n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < gemm.k; ++l) {
        const float x = gemm.transpose_first ? element(first, gemm.k, gemm.first_ld, l, i)
                                             : element(first, gemm.m, gemm.first_ld, i, l);
        const float y = gemm.transpose_second ? element(second, gemm.n, gemm.second_ld, j, l)
                                              : element(second, gemm.k, gemm.second_ld, l, j);
        sum += static_cast<double>(x) * static_cast<double>(y);
      }
      element(result, gemm.m, gemm.result_ld, i, j) = static_cast<float>(sum);
    }
  return result;
}

TEST(ColumnMajorGemm, IsTheRowMajorProduct) {
  for (const ProductShape& shape : product_shapes()) {
    SCOPED_TRACE(name_of(shape));
    const auto [m, n, k] = shape.size;
    // Small whole numbers, so that every sum is exact.
    std::vector<float> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n));
    Random random(1);
    for (float& value : a) value = static_cast<float>(random.below(19) - 9);
    for (float& value : b) value = static_cast<float>(random.below(19) - 9);
    const auto at = [](const std::vector<float>& values, int64_t cols, int64_t row, int64_t col) {
      return values[static_cast<size_t>(row * cols + col)];
    };
    std::vector<float> expected;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += (shape.transpose_a ? at(a, m, l, i) : at(a, k, i, l)) *
                 (shape.transpose_b ? at(b, k, j, l) : at(b, n, l, j));
        expected.push_back(sum);
      }
    const ColumnMajorGemm<float> gemm = column_major_gemm<float>(shape, a.data(), b.data());
    EXPECT_EQ(column_major_product(gemm, a, b, a.data(), m * n), expected);
  }
}

// The check of the benchmark accepts what a column-major library computes, and nothing else.
TEST(ColumnMajorGemm, TheBenchmarkAcceptsOnlyThisProduct) {
  for (const ProductShape& shape : product_shapes()) {
    SCOPED_TRACE(name_of(shape));
    Product<float> product(shape);
    const std::vector<float> a = product.a.download(), b = product.b.download();
    const ColumnMajorGemm<float> gemm = column_major_gemm<float>(shape, a.data(), b.data());
    const std::vector<float> right = column_major_product(gemm, a, b, a.data(), product.c.size());
    product.c = Buffer<float>(right);
    EXPECT_TRUE(product.is_right(Math::fp32));
    std::vector<float> wrong = right;
    wrong.back() += 0.01f * (1 + std::abs(wrong.back()));
    product.c = Buffer<float>(wrong);
    EXPECT_FALSE(product.is_right(Math::fp32));
    product.c.fill_bytes(0xff);  // NaN
    EXPECT_FALSE(product.is_right(Math::fp32));
  }
}

TEST(LoadedLibrary, IsTheFileWithTheFunction) {
  EXPECT_NE(loaded_library("getpid").find("libc"), std::string::npos) << loaded_library("getpid");
  EXPECT_EQ(loaded_library("rondo_no_such_function"), "linked into the program");
}

// ---- The check of a convolution ----

constexpr ConvLayer kSmall[] = {
    {"padded", 3, 6, 5, 4, 7, 3, 3, 1, 1},      {"unpadded", 2, 9, 8, 3, 5, 5, 4, 1, 0},
    {"strided", 3, 7, 10, 4, 6, 3, 3, 2, 1},    {"shortcut", 3, 7, 6, 5, 8, 1, 1, 2, 0},
    {"one_channel", 4, 8, 7, 1, 6, 3, 3, 1, 0},
};
constexpr ConvOp kOps[] = {ConvOp::forward, ConvOp::data_gradient, ConvOp::filter_gradient};

struct Tensors {
  std::vector<float> x, y, filter;  // NHWC and KRSC

  std::vector<float>& result(ConvOp op) {
    return op == ConvOp::forward ? y : op == ConvOp::data_gradient ? x : filter;
  }
};

// The tensors of a layer with the result of `op` in double precision.
Tensors tensors_of(const ConvLayer& l, ConvOp op) {
  const test::ConvCase conv = {l.n, l.h, l.w, l.c, l.k, l.r, l.s, {l.stride, l.stride, l.pad, l.pad}};
  Tensors t = {normal_values(l.x_size(), 1), normal_values(l.y_size(), 2), normal_values(l.filter_size(), 3)};
  const std::vector<double> result =
      op == ConvOp::forward ? conv2d_sums(conv, test::in_double(t.x), test::in_double(t.filter))
      : op == ConvOp::data_gradient
          ? conv2d_data_gradient_sums(conv, test::in_double(t.y), test::in_double(t.filter))
          : conv2d_filter_gradient_sums(conv, test::in_double(t.y), test::in_double(t.x));
  t.result(op).assign(result.begin(), result.end());
  return t;
}

// From [image, row, column, channel] to [image, channel, row, column].
std::vector<float> channels_first(const std::vector<float>& last, int64_t rows, int64_t cols, int64_t depth) {
  std::vector<float> first;
  const int64_t images = static_cast<int64_t>(last.size()) / (rows * cols * depth);
  for (int64_t image = 0; image < images; ++image)
    for (int64_t channel = 0; channel < depth; ++channel)
      for (int64_t pixel = 0; pixel < rows * cols; ++pixel)
        first.push_back(last[static_cast<size_t>((image * rows * cols + pixel) * depth + channel)]);
  return first;
}

bool is_right(const ConvLayer& l, ConvOp op, Channels channels, const Tensors& t, double rounding = 0x1p-24) {
  if (channels == Channels::last) return is_convolution(l, op, channels, t.x, t.y, t.filter, rounding);
  return is_convolution(l, op, channels, channels_first(t.x, l.h, l.w, l.c),
                        channels_first(t.y, l.p(), l.q(), l.k), channels_first(t.filter, l.r, l.s, l.c),
                        rounding);
}

template <class F>
void for_all_convolutions(F&& body) {
  for (const ConvLayer& layer : kSmall)
    for (const ConvOp op : kOps)
      for (const Channels channels : {Channels::last, Channels::first}) {
        SCOPED_TRACE(concat(layer.name, ", operation ", static_cast<int>(op),
                            channels == Channels::last ? ", channels last" : ", channels first"));
        body(layer, op, channels);
      }
}

TEST(IsConvolution, AcceptsTheReference) {
  for_all_convolutions([](const ConvLayer& layer, ConvOp op, Channels channels) {
    EXPECT_TRUE(is_right(layer, op, channels, tensors_of(layer, op)));
  });
}

TEST(IsConvolution, RefusesOtherResults) {
  for_all_convolutions([](const ConvLayer& layer, ConvOp op, Channels channels) {
    const Tensors right = tensors_of(layer, op);
    Tensors wrong = right;
    for (float& value : wrong.result(op)) value *= 1.01f;
    EXPECT_FALSE(is_right(layer, op, channels, wrong)) << "all values 1 % too large";
    wrong = right;
    std::vector<float>& rotated = wrong.result(op);
    std::rotate(rotated.begin(), rotated.begin() + 1, rotated.end());
    EXPECT_FALSE(is_right(layer, op, channels, wrong)) << "each value in the place of the next";
    wrong = right;
    std::ranges::fill(wrong.result(op), std::numeric_limits<float>::quiet_NaN());
    EXPECT_FALSE(is_right(layer, op, channels, wrong)) << "NaN";
    // The order of the channels is that of the tensors; with one channel x and filter have both orders.
    if (layer.c == 1) return;
    Tensors other = right;
    if (channels == Channels::last)
      other = {channels_first(right.x, layer.h, layer.w, layer.c),
               channels_first(right.y, layer.p(), layer.q(), layer.k),
               channels_first(right.filter, layer.r, layer.s, layer.c)};
    EXPECT_FALSE(is_convolution(layer, op, channels, other.x, other.y, other.filter, 0x1p-24))
        << "the channels elsewhere";
  });
}

TEST(IsConvolution, AllowsTheRoundingOfTheType) {
  for_all_convolutions([](const ConvLayer& layer, ConvOp op, Channels channels) {
    Tensors rounded = tensors_of(layer, op);
    for (float& value : rounded.result(op)) value = __bfloat162float(__float2bfloat16(value));
    EXPECT_TRUE(is_right(layer, op, channels, rounded, 0x1p-8));
    EXPECT_FALSE(is_right(layer, op, channels, rounded, 0x1p-24));
  });
}

// ---- The list of convolutions ----

// "28 x 28 x 64 to 14 x 14 x 128 by 3 x 3"
std::string text(int64_t h, int64_t w, int64_t c, int64_t p, int64_t q, int64_t k, int64_t r, int64_t s) {
  return concat(h, " x ", w, " x ", c, " to ", p, " x ", q, " x ", k, " by ", r, " x ", s);
}

TEST(ConvLayers, AreThoseOfLeNetAndResNet18) {
  std::set<std::string> of_models, listed, names;
  for (const char* name : {"lenet", "resnet18"}) {
    const nn::NamedModel model = nn::model(name);
    const nn::Graph graph = nn::make_graph(model.network, model.input);
    for (const nn::Graph::Node& node : graph.nodes()) {
      if (!node.op->description().starts_with("conv ")) continue;
      const nn::Shape in = graph.value(node.inputs.at(0)).shape, out = graph.value(node.output).shape;
      const std::vector<int64_t>& filter =
          graph.parameters()[static_cast<size_t>(node.parameters.at(0))].shape;  // KRSC
      of_models.insert(text(in.height, in.width, in.channels, out.height, out.width, out.channels,
                            filter.at(1), filter.at(2)));
    }
  }
  for (const ConvLayer& l : kConvLayers) {
    listed.insert(text(l.h, l.w, l.c, l.p(), l.q(), l.k, l.r, l.s));
    EXPECT_TRUE(names.insert(l.name).second) << l.name;
  }
  EXPECT_EQ(listed, of_models);
  EXPECT_EQ(listed.size(), std::size(kConvLayers));
}

}  // namespace
}  // namespace rondo::bench

// The bits of the kernels of direct/: the same on every device, with threads of a GPU and with those that
// have vector registers. The hashes are of one of them; conv_direct_on_t4 runs the others.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/conv2d.h>
#include <rondo/tests/kernels/reference/conv_reference.h>
#include <rondo/tests/kernels/row_operands.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/narrow.h>
#include <rondo/tests/support/status_checks.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace rondo::test {
namespace {

// Values without functions of a math library, whose sums depend on their order.
template <class T>
std::vector<T> thirds(int64_t count, uint64_t seed) {
  std::vector<T> values;
  for (const float value : exact_values(count, seed)) values.push_back(static_cast<T>(value / 3));
  return values;
}

// A hash of y, of dx, dw and the gradient of the bias with and without old values.
template <class T>
uint64_t hash_of_passes(const ConvCase& c, uint64_t hash) {
  const Stream stream;
  const GuardedBuffer<T> x(thirds<T>(c.x_size(), 1)), filter(thirds<T>(c.filter_size(), 2)),
      dy(thirds<T>(c.y_size(), 3));
  const GuardedBuffer<float> bias(thirds<float>(c.k, 4));
  const Conv2dWorkspaceBytes bytes = workspace_bytes(c);
  GuardedBuffer<float> scratch(std::max({bytes.forward, bytes.data_gradient, bytes.filter_gradient_bias}) /
                               4);
  GuardedBuffer<T> y(c.y_size()), dx(thirds<T>(c.x_size(), 5));
  GuardedBuffer<float> dw(thirds<float>(c.filter_size(), 6)), without_db(thirds<float>(c.filter_size(), 6)),
      db(thirds<float>(c.k, 7));
  EXPECT_TRUE(
      ok(conv2d_forward(y_view(c, y.data()), x_view(c, x.data()), filter_view(c, filter.data()), c.options,
                        {.bias = {bias.data(), c.k}, .relu = true}, scratch.workspace(), stream)));
  hash = hash_of(y.download(), hash);
  for (const float beta : {0.0f, 0.5f}) {
    // In 16 bits, dx of few channels is a product by tensor cores, whose rounding no document says.
    if (c.options.groups > 1 || sizeof(T) == 4) {
      EXPECT_TRUE(
          ok(conv2d_data_gradient(x_view(c, dx.data()), y_view(c, dy.data()), filter_view(c, filter.data()),
                                  c.options, {.beta = beta}, scratch.workspace(), stream)));
    }
    EXPECT_TRUE(ok(conv2d_filter_gradient(
        filter_view(c, dw.data()), y_view(c, dy.data()), x_view(c, x.data()), c.options,
        {.beta = beta, .bias_gradient = db.view()}, scratch.workspace(), stream)));
    EXPECT_TRUE(ok(conv2d_filter_gradient(filter_view(c, without_db.data()), y_view(c, dy.data()),
                                          x_view(c, x.data()), c.options, {.beta = beta}, scratch.workspace(),
                                          stream)));
    EXPECT_TRUE(all_equal_bits(without_db.download(), dw.download())) << "without the bias";
    hash = hash_of(dx.download(), hash_of(dw.download(), hash_of(db.download(), hash)));
  }
  return hash;
}

template <class T>
uint64_t hash_of_cases(std::initializer_list<ConvCase> cases) {
  uint64_t hash = 14695981039346656037u;
  for (const ConvCase& c : cases) {
    SCOPED_TRACE(testing::PrintToString(c));
    hash = hash_of_passes<T>(c, hash);
  }
  return hash;
}

template <class T>
uint64_t hash_of_few_channels() {
  return hash_of_cases<T>({{37, 12, 13, 1, 20, 3, 3},
                           {5, 9, 10, 3, 33, 5, 4, {.stride_w = 2, .pad_h = 2, .pad_w = 1}},
                           {3, 40, 7, 4, 70, 3, 3, {.pad_h = 1}}});
}

// Fewer channels than a vector, vectors with a rest, strides, dilation, padding of single sides.
template <class T>
uint64_t hash_of_depthwise() {
  return hash_of_cases<T>(
      {{2, 6, 7, 3, 3, 3, 3, {.pad_w = 1, .groups = 3}},
       {3, 9, 21, 13, 13, 3, 3, {.pad_h = 1, .pad_w = 1, .groups = 13}},
       {2, 12, 11, 40, 40, 5, 2, {.stride_h = 2, .stride_w = 3, .pad_h = 2, .groups = 40}},
       {1,
        13,
        15,
        75,
        75,
        3,
        3,
        {.pad_w = 2, .dilation_h = 2, .dilation_w = 3, .groups = 75, .pad_right = 4}}});
}

// Groups of 2 to 64 channels, also of different numbers.
template <class T>
uint64_t hash_of_groups() {
  return hash_of_cases<T>({{2, 7, 15, 8, 8, 3, 3, {.pad_h = 1, .pad_w = 1, .groups = 4}},
                           {2, 7, 9, 24, 12, 3, 3, {.stride_w = 2, .groups = 3}},
                           {1, 6, 14, 32, 64, 3, 3, {.pad_h = 1, .pad_w = 1, .groups = 4}},
                           {1, 5, 12, 128, 64, 2, 3, {.pad_w = 2, .dilation_w = 2, .groups = 2}},
                           {2, 5, 5, 9, 18, 3, 3, {.pad_h = 2, .groups = 3}}});
}

TEST(DirectConvolutions, HaveTheBitsOfEveryDevice) {
#if defined(__SIMT__) && defined(__x86_64__) && !defined(__FMA__)
  GTEST_SKIP() << "this build has no fused multiply-adds";
#endif
  EXPECT_EQ(hash_of_few_channels<float>(), 14803389148494284501u);
  EXPECT_EQ(hash_of_few_channels<__half>(), 12191199311052066597u);
  EXPECT_EQ(hash_of_depthwise<float>(), 1866803693416734664u);
  EXPECT_EQ(hash_of_depthwise<__half>(), 5863548351943240200u);
  EXPECT_EQ(hash_of_groups<float>(), 1192971921748591689u);
  EXPECT_EQ(hash_of_groups<__half>(), 5076809763172006646u);
}

}  // namespace
}  // namespace rondo::test

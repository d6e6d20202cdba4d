// Drawn products of every arithmetic (drawn_products.h) against double precision.
#include <gtest/gtest.h>

#include <rondo/tests/kernels/drawn_products.h>
#include <rondo/tests/kernels/reference/gemm_reference.h>
#include <rondo/tests/support/compare.h>

#include <string>
#include <vector>

namespace rondo::test {
namespace {

template <class A>
class DrawnTensorProducts : public testing::Test {
 protected:
  using Draws = ProductDraws<A>;
  using C = typename A::C;

  void SetUp() override {
    if (!Draws::supported()) GTEST_SKIP() << "the device has no such products";
  }

  static void check(const ProductDraw& d) {
    const auto [m, n, k] = d.shape;
    const ProductInputs in = Draws::inputs(d);
    const std::vector<C> all = Draws::compute(d, in);
    const GemmReference expected = Draws::reference(d, in);
    std::vector<C> got, gaps, gaps_before;
    for (size_t i = 0; i < all.size(); ++i) {
      const bool inside = static_cast<int64_t>(i) % in.c_stride < n;
      (inside ? got : gaps).push_back(all[i]);
      if (!inside) gaps_before.push_back(static_cast<C>(in.c[i]));
    }
    ASSERT_TRUE(Draws::within_the_bound(got, expected, d.options.alpha == 0 ? 0 : k, d.options.activation));
    ASSERT_TRUE(all_equal_bits(gaps, gaps_before)) << "wrote between the rows";
  }
};

TYPED_TEST_SUITE(DrawnTensorProducts, ProductArithmetics, NameOfArithmetic);

TYPED_TEST(DrawnTensorProducts, WithinTheBound) {
  const ProductDraws<TypeParam> draws;
  Random random(draws.seed());
  for (int i = 0; i < 150; ++i) {
    const ProductDraw d = draws.draw(random);
    SCOPED_TRACE(concat("draw ", i, ": ", draws.describe(d)));
    ASSERT_NO_FATAL_FAILURE(this->check(d));
    ASSERT_FALSE(this->HasFailure());
  }
}

}  // namespace
}  // namespace rondo::test

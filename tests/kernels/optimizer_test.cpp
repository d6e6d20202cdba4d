#include <gtest/gtest.h>

#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <cmath>

namespace rondo::test {
namespace {

// One fused multiply-add an element, to the last bit: this is what keeps replicas equal.
TEST(Sgd, IsOneFusedMultiplyAdd) {
  const Stream stream;
  for (const int64_t size : {0, 1, 6, 129'068}) {
    const std::vector<float> p = normal_values(size, 1), g = normal_values(size, 2);
    GuardedBuffer<float> parameters(p, 1);
    const GuardedBuffer<float> gradient(g, 1);
    ASSERT_TRUE(ok(sgd_update(parameters.view(), {gradient.data(), size}, 0.9f, 1.0f / 256, stream)));
    std::vector<float> want;
    for (size_t i = 0; i < p.size(); ++i) want.push_back(std::fma(-(0.9f * (1.0f / 256)), g[i], p[i]));
    EXPECT_TRUE(all_equal_bits(parameters.download(), want));
  }
}

TEST(Sgd, GoesDownhill) {
  const Stream stream;
  const GuardedBuffer<float> gradient({2, -4, 0});
  GuardedBuffer<float> parameters({1, 1, 1});
  ASSERT_TRUE(ok(sgd_update(parameters.view(), {gradient.data(), 3}, 0.5f, 0.25f, stream)));
  EXPECT_TRUE(all_equal_bits(parameters.download(), {0.75f, 1.5f, 1}));
}

TEST(Sgd, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(4), b(4);
  EXPECT_TRUE(refused(sgd_update({nullptr, 4}, b.view(), 1, 1, stream), "sgd_update: parameters is null"));
  EXPECT_TRUE(refused(sgd_update(a.view(), {nullptr, 4}, 1, 1, stream), "sgd_update: gradient is null"));
  EXPECT_TRUE(refused(sgd_update({a.data(), -1}, b.view(), 1, 1, stream), "parameters.size is -1"));
  EXPECT_TRUE(refused(sgd_update(a.view(), {b.data(), -1}, 1, 1, stream), "gradient.size is -1"));
  EXPECT_TRUE(refused(sgd_update(a.view(), {b.data(), 3}, 1, 1, stream), "gradient.size is 3"));
  EXPECT_TRUE(ok(sgd_update({nullptr, 0}, {nullptr, 0}, 1, 1, stream)));
}

}  // namespace
}  // namespace rondo::test

#include <cmath>
#include <limits>

#include "device_testing.h"

using namespace simt_test;

namespace {

TEST(Math, MinAndMaxPreferNumbersToNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(min(nan, 1.0f), 1.0f);
  EXPECT_EQ(min(1.0f, nan), 1.0f);
  EXPECT_EQ(max(nan, 1.0f), 1.0f);
  EXPECT_EQ(max(1.0f, nan), 1.0f);
  EXPECT_TRUE(std::isnan(max(nan, nan)));
  EXPECT_EQ(max(2.0, 1.0f), 2.0);
  EXPECT_EQ(min(3, 4u), 3u);
  EXPECT_EQ(max(-1, 4u), 0xFFFFFFFFu);  // as in CUDA, the int is converted to unsigned
  EXPECT_EQ(min(-3LL, 4LL), -3LL);
  EXPECT_EQ(max(int64_t{-3}, int64_t{4}), 4);
}

TEST(Math, BitTricks) {
  EXPECT_EQ(__popc(0xF0F0u), 8);
  EXPECT_EQ(__popcll(~0ull), 64);
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__clz(1), 31);
  EXPECT_EQ(__clzll(1), 63);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__ffs(8), 4);
  EXPECT_EQ(__ffsll(1ll << 40), 41);
  EXPECT_EQ(__brev(1u), 0x80000000u);
  EXPECT_EQ(__brev(0x12345678u), 0x1E6A2C48u);
  EXPECT_EQ(__umulhi(0x80000000u, 6u), 3u);
  EXPECT_EQ(__mulhi(-0x40000000, 8), -2);
  EXPECT_EQ(__umul64hi(1ull << 63, 6), 3u);
  EXPECT_EQ(__byte_perm(0x33221100u, 0x77665544u, 0x7410u), 0x77441100u);
  EXPECT_EQ(__byte_perm(0x000000F0u, 0u, 0x4448u), 0x000000FFu);
  EXPECT_EQ(__funnelshift_l(0x80000001u, 0x1u, 4), 0x18u);
  EXPECT_EQ(__funnelshift_r(0x80000001u, 0x3u, 1), 0xC0000000u);
  EXPECT_EQ(__float_as_int(1.0f), 0x3F800000);
  EXPECT_EQ(__int_as_float(0x40000000), 2.0f);
  EXPECT_EQ(__longlong_as_double(__double_as_longlong(-1.5)), -1.5);
}

TEST(Math, ConversionsSaturate) {
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rz(-2.9f), -2);
  EXPECT_EQ(__float2int_rd(-2.1f), -3);
  EXPECT_EQ(__float2int_ru(2.1f), 3);
  EXPECT_EQ(__float2int_rn(1e20f), std::numeric_limits<int>::max());
  EXPECT_EQ(__float2int_rn(-1e20f), std::numeric_limits<int>::min());
  EXPECT_EQ(__float2int_rn(NAN), 0);
  EXPECT_EQ(__saturatef(NAN), 0.0f);
  EXPECT_EQ(__saturatef(2.0f), 1.0f);
}

TEST(Math, SinAndCosOfPiAreExactWhereTheyShouldBe) {
  for (int i = -9; i <= 9; ++i) {
    float s, c;
    sincospif(static_cast<float>(i) / 2, &s, &c);
    constexpr float kSine[4] = {0, 1, 0, -1};
    EXPECT_EQ(s, kSine[i & 3]) << i;
    EXPECT_EQ(c, kSine[(i + 1) & 3]) << i;
  }
  for (double x = -3; x < 3; x += 0.0371) {
    double s, c;
    sincospi(x, &s, &c);
    EXPECT_NEAR(s, std::sin(M_PI * x), 1e-14);
    EXPECT_NEAR(c, std::cos(M_PI * x), 1e-14);
  }
}

TEST(Math, ProductsAndSumsAreRoundedOneByOne) {
  // a * a = 1 + 2^-11 + 2^-24. The product alone is rounded to 1 + 2^-11.
  volatile float a = 1 + 0x1p-12f;
  EXPECT_EQ(__fadd_rn(__fmul_rn(a, a), -1.0f), 0x1p-11f);
  EXPECT_EQ(__fmaf_rn(a, a, -1.0f), 0x1p-11f + 0x1p-24f);
  EXPECT_NEAR(rsqrtf(4.0f), 0.5f, 1e-7f);
}

template <class T>
void atomics() {
  T sum = 5, top = 5, bottom = 5, swapped = 5;
  run_parallel(2, {8, 100}, [&] {
    const T rank = static_cast<T>(blockIdx.x * 100 + threadIdx.x);
    atomicAdd(&sum, T{1});
    if constexpr (std::is_integral_v<T>) {
      atomicMax(&top, rank);
      atomicMin(&bottom, rank);
      for (T old = 0, seen; (seen = atomicCAS(&swapped, old, old + 2)) != old;) old = seen;
    }
  });
  EXPECT_EQ(sum, T{805});
  if constexpr (std::is_integral_v<T>) {
    EXPECT_EQ(top, T{799});
    EXPECT_EQ(bottom, T{0});
    EXPECT_EQ(swapped, T{1605});
  }
}

TEST(Atomics, OfManyThreads) {
  atomics<int>();
  atomics<unsigned>();
  atomics<unsigned long long>();
  atomics<float>();
  atomics<double>();
}

TEST(Atomics, ReturnTheOldValue) {
  unsigned x = 12;
  EXPECT_EQ(atomicSub(&x, 2u), 12u);
  EXPECT_EQ(atomicExch(&x, 6u), 10u);
  EXPECT_EQ(atomicAnd(&x, 3u), 6u);
  EXPECT_EQ(atomicOr(&x, 9u), 2u);
  EXPECT_EQ(atomicXor(&x, 1u), 11u);
  EXPECT_EQ(atomicInc(&x, 10u), 10u);
  EXPECT_EQ(x, 0u);
  EXPECT_EQ(atomicDec(&x, 7u), 0u);
  EXPECT_EQ(x, 7u);
  EXPECT_EQ(atomicDec(&x, 7u), 7u);
  EXPECT_EQ(x, 6u);
  float f = 1.5f;
  EXPECT_EQ(atomicExch(&f, 2.5f), 1.5f);
}

}  // namespace

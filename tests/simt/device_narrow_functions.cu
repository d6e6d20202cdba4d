// Functions of 16-bit floats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>

#include "device_testing.h"

using namespace simt_test;

namespace {

template <class T>
struct NarrowFunctions : testing::Test {};
using Formats = testing::Types<__half, __nv_bfloat16>;
TYPED_TEST_SUITE(NarrowFunctions, Formats);

TYPED_TEST(NarrowFunctions, RoundTheResultOfFloat) {
  const TypeParam a = 1.5f, b = -2.25f, nan = NAN;
  EXPECT_EQ(float{__hadd(a, b)}, -0.75f);
  EXPECT_EQ(float{__hsub(a, b)}, 3.75f);
  EXPECT_EQ(float{__hmul(a, b)}, -3.375f);
  EXPECT_EQ(float{__hdiv(b, a)}, -1.5f);
  EXPECT_EQ(float{__hfma(a, a, b)}, 0.0f);
  EXPECT_EQ(float{__hadd_sat(a, a)}, 1.0f);
  EXPECT_EQ(float{__habs(b)}, 2.25f);
  EXPECT_EQ(float{__hneg(b)}, 2.25f);
  EXPECT_EQ(float{__hmin(a, nan)}, 1.5f);
  EXPECT_TRUE(__hisnan(__hmin_nan(a, nan)));
  EXPECT_EQ(float{hsqrt(TypeParam(6.25f))}, 2.5f);
  EXPECT_EQ(float{hexp2(TypeParam(-3.0f))}, 0.125f);
  EXPECT_EQ(float{hfloor(b)}, -3.0f);
  EXPECT_EQ(float{hrint(TypeParam(2.5f))}, 2.0f);
  // 1 and a value below half a unit of the last digit.
  const TypeParam tiny = 0x1p-12f;
  EXPECT_EQ(float{__hadd(TypeParam(1.0f), tiny)}, 1.0f);
}

TYPED_TEST(NarrowFunctions, Compare) {
  const TypeParam a = 1.0f, b = 2.0f, nan = NAN;
  EXPECT_TRUE(__hlt(a, b) && __hle(a, a) && __hgt(b, a) && __hge(b, b) && __heq(a, a) && __hne(a, b));
  EXPECT_FALSE(__hlt(b, a) || __heq(a, b) || __hne(a, a) || __heq(nan, nan) || __hne(nan, a) ||
               __hge(nan, a));
}

TYPED_TEST(NarrowFunctions, WorkOnPairs) {
  const simt::NarrowFloat2<
      std::conditional_t<std::is_same_v<TypeParam, __half>, simt::HalfFormat, simt::Bfloat16Format>>
      a = {TypeParam(1.0f), TypeParam(4.0f)},
      b = {TypeParam(3.0f), TypeParam(2.0f)};
  EXPECT_TRUE(__hadd2(a, b) == a + b);
  EXPECT_EQ(__high2float(__hadd2(a, b)), 6.0f);
  EXPECT_EQ(__low2float(__hfma2(a, b, b)), 6.0f);
  EXPECT_EQ(__high2float(__hmax2(a, b)), 4.0f);
  EXPECT_EQ(__low2float(__hgt2(a, b)), 0.0f);
  EXPECT_EQ(__high2float(__hgt2(a, b)), 1.0f);
  EXPECT_FALSE(__hbgt2(a, b));
  EXPECT_TRUE(__hbge2(a + b, b));
  EXPECT_EQ(__high2float(h2sqrt(a)), 2.0f);
  EXPECT_EQ(__high2float(a / b), 2.0f);
}

TYPED_TEST(NarrowFunctions, AddAtomicallyAndShuffle) {
  TypeParam sum = 0.0f;
  run_ok({1, 64}, [&] {
    atomicAdd(&sum, TypeParam(1.0f));
    const TypeParam value = static_cast<float>(threadIdx.x % 32);
    ASSERT_EQ(float{__shfl_xor_sync(~0u, value, 1)}, static_cast<float>((threadIdx.x ^ 1) % 32));
  });
  EXPECT_EQ(float{sum}, 64.0f);
}

TEST(NarrowConversions, ToIntegers) {
  EXPECT_EQ(__half2int_rn(__half(2.5f)), 2);
  EXPECT_EQ(__half2int_rz(__half(-2.5f)), -2);
  EXPECT_EQ(float{__int2half_rn(2049)}, 2048.0f);
  EXPECT_EQ(float{__double2half(0.5)}, 0.5f);
  EXPECT_EQ(__bfloat162int_rn(__nv_bfloat16(3.5f)), 4);
}

}  // namespace

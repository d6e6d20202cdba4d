// Device functions: rounding modes, conversions, fast functions, packed bytes, loads and stores with hints.
#include <device_launch_parameters.h>
#include <math_constants.h>
#include <sm_60_atomic_functions.h>
#include <cuda/atomic>
#include <cuda/std/limits>

#include <cmath>
#include <limits>

#include "device_testing.h"

using namespace simt_test;

namespace {

TEST(Functions, RoundInTheirModes) {
  EXPECT_EQ(__fadd_rn(1.0f, 0x1p-30f), 1.0f);
  EXPECT_EQ(__fadd_ru(1.0f, 0x1p-30f), 1.0f + 0x1p-23f);
  EXPECT_EQ(__fadd_rz(-1.0f, 0x1p-30f), -1.0f + 0x1p-24f);
  EXPECT_EQ(__fadd_rd(-1.0f, -0x1p-30f), -1.0f - 0x1p-23f);
  EXPECT_EQ(__fsub_rd(1.0f, 0x1p-30f), 1.0f - 0x1p-24f);
  EXPECT_LT(__fdiv_rd(1.0f, 3.0f), __fdiv_ru(1.0f, 3.0f));
  EXPECT_EQ(__fdiv_rn(1.0f, 3.0f), 1.0f / 3);
  EXPECT_EQ(__frcp_rn(3.0f), 1.0f / 3);
  EXPECT_LT(__fsqrt_rd(2.0f), __fsqrt_ru(2.0f));
  EXPECT_EQ(__fmaf_rz(1.0f + 0x1p-23f, 1.0f + 0x1p-23f, -1.0f), 0x1p-22f);
  EXPECT_EQ(__fmaf_ru(1.0f, 1.0f, 0x1p-40f), 1.0f + 0x1p-23f);
  EXPECT_EQ(__dadd_ru(1.0, 0x1p-80), 1.0 + 0x1p-52);
  EXPECT_EQ(__dmul_rn(3.0, 0.1), 3.0 * 0.1);
  EXPECT_LT(__ddiv_rd(1.0, 3.0), __ddiv_ru(1.0, 3.0));
  EXPECT_EQ(__frsqrt_rn(4.0f), 0.5f);
  EXPECT_EQ(1.0f + 0x1p-30f, __fadd_rn(1.0f, 0x1p-30f)) << "the mode is that of the host again";
}

TEST(Functions, ConvertWithSaturation) {
  EXPECT_EQ(__float2uint_rn(-1.0f), 0u);
  EXPECT_EQ(__float2uint_rz(4e9f), 4000000000u);
  EXPECT_EQ(__float2uint_rz(1e20f), std::numeric_limits<unsigned>::max());
  EXPECT_EQ(__float2ll_rd(-2.5f), -3);
  EXPECT_EQ(__float2ull_ru(1.5f), 2u);
  EXPECT_EQ(__double2int_rn(2.5), 2);
  EXPECT_EQ(__double2int_rn(3.5), 4);
  EXPECT_EQ(__double2ll_rz(1e30), std::numeric_limits<long long>::max());
  EXPECT_EQ(__double2ll_rz(-1e30), std::numeric_limits<long long>::min());
  EXPECT_EQ(__float2uint_rn(NAN), 0u);
  EXPECT_EQ(__double2int_rn(NAN), std::numeric_limits<int>::min());
  EXPECT_EQ(__float2ull_rn(NAN), 1ull << 63);
  EXPECT_EQ(__int2float_rn(16777217), 16777216.0f);
  EXPECT_EQ(__int2float_ru(16777217), 16777218.0f);
  EXPECT_EQ(__ull2double_rz(~0ull), 0x1p64 - 2048);
  EXPECT_EQ(__double2float_rd(0.1), std::nextafter(0.1f, 0.0f));
  EXPECT_EQ(__hiloint2double(__double2hiint(-1.5), __double2loint(-1.5)), -1.5);
}

TEST(Functions, FastOnesAreThoseOfTheLibrary) {
  EXPECT_FLOAT_EQ(__expf(1.5f), std::exp(1.5f));
  EXPECT_FLOAT_EQ(__logf(1.5f), std::log(1.5f));
  EXPECT_FLOAT_EQ(__powf(2.0f, 0.5f), std::sqrt(2.0f));
  EXPECT_FLOAT_EQ(__exp10f(2.0f), 100.0f);
  float sine, cosine;
  __sincosf(0.7f, &sine, &cosine);
  EXPECT_EQ(sine, __sinf(0.7f));
  EXPECT_EQ(cosine, __cosf(0.7f));
  EXPECT_EQ(__fdividef(3.0f, 4.0f), 0.75f);
  EXPECT_FLOAT_EQ(rcbrtf(8.0f), 0.5f);
  EXPECT_EQ(sinpif(0.5f), 1.0f);
  EXPECT_EQ(cospi(3.0), -1.0);
  EXPECT_FLOAT_EQ(normcdff(0.0f), 0.5f);
  EXPECT_EQ(CUDART_INF_F, std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(CUDART_NAN));
  EXPECT_EQ(CUDART_PI, std::acos(-1.0));
}

TEST(Functions, WorkOnTheBytesOfAWord) {
  EXPECT_EQ(__dp4a(static_cast<int>(0xFF020304u), 0x01010101, 10), 10 + -1 + 2 + 3 + 4);
  EXPECT_EQ(__dp4a(0xFF020304u, 0x01010101u, 10u), 10u + 255 + 2 + 3 + 4);
  EXPECT_EQ(__dp4a(make_char4(1, -2, 3, 4), make_char4(5, 6, 7, 8), 0), 5 - 12 + 21 + 32);
  EXPECT_EQ(__dp2a_lo(static_cast<int>(0xFFFF0002u), 0x00000305, 1), 1 + 2 * 5 - 3);
  EXPECT_EQ(__dp2a_hi(0x00030002u, 0x04050000u, 0u), 2u * 5 + 3 * 4);
  EXPECT_EQ(__vadd4(0xFF01807Fu, 0x01010101u), 0x00028180u);
  EXPECT_EQ(__vaddus4(0xFF01807Fu, 0x01010101u), 0xFF028180u);
  EXPECT_EQ(__vaddss4(0x7F80FF01u, 0x01FF0101u), 0x7F800002u);
  EXPECT_EQ(__vmaxs4(0x80007F01u, 0x01FF0101u), 0x01007F01u);
  EXPECT_EQ(__vmaxu2(0x8000FFFFu, 0x7FFF0001u), 0x8000FFFFu);
  EXPECT_EQ(__vcmpeq4(0x01020304u, 0x01FF03FFu), 0xFF00FF00u);
  EXPECT_EQ(__vsadu4(0x0102FF04u, 0x03020000u), 2u + 255 + 4);
  EXPECT_EQ(__mul24(-3, 5), -15);
  EXPECT_EQ(__umul24(0xFF000002u, 3u), 6u);
  EXPECT_EQ(__sad(-5, 7, 1u), 13u);
  EXPECT_EQ(__hadd(-3, 2), -1);
  EXPECT_EQ(__rhadd(-3, 2), 0);
  EXPECT_EQ(__brevll(1), 1ull << 63);
  EXPECT_EQ(__mul64hi(-1, 1), -1);
}

TEST(Functions, LoadsAndStoresWithHintsAreAccesses) {
  float4 from = {1, 2, 3, 4}, to = {};
  const int number = 7;
  int stored = 0;
  run_ok({1, 1}, [&] {
    __stcs(&to, __ldg(&from));
    __stwt(&stored, __ldcv(&number) + __ldcg(&number));
  });
  EXPECT_EQ(to.w, 4.0f);
  EXPECT_EQ(stored, 14);
}

TEST(Functions, ClocksAdvance) {
  run_ok({1, 1}, [] {
    const long long start = clock64();
    const clock_t other = simt::clock();
    while (clock64() - start < 2000) __nanosleep(10);
    ASSERT_GE(simt::clock() - other, 1000);
  });
}

TEST(Functions, AtomicsOfABlockAndOfTheSystem) {
  unsigned counter = 0;
  long long least = 5;
  unsigned long long bits = 0;
  run_ok({1, 64}, [&] {
    atomicAdd_block(&counter, 1);
    atomicAdd_system(&counter, 1u);
    atomicMin_block(&least, -static_cast<long long>(threadIdx.x));
    atomicOr(&bits, 1ull << threadIdx.x);
  });
  EXPECT_EQ(counter, 128u);
  EXPECT_EQ(least, -63);
  EXPECT_EQ(bits, ~0ull);
}

TEST(Functions, AtomicReferences) {
  int counter = 0, most = 0;
  run_ok({1, 64}, [&] {
    cuda::atomic_ref<int, cuda::thread_scope_device> reference(counter);
    reference.fetch_add(2, cuda::std::memory_order_relaxed);
    cuda::atomic_ref<int>(most).fetch_max(static_cast<int>(threadIdx.x));
  });
  EXPECT_EQ(counter, 128);
  EXPECT_EQ(most, 63);
  EXPECT_EQ(cuda::std::numeric_limits<int>::max(), INT32_MAX);
}

TEST(Functions, MatchAll) {
  run_ok({1, 32}, [] {
    int same = -1;
    EXPECT_EQ(__match_all_sync(~0u, 3.5, &same), ~0u);
    EXPECT_EQ(same, 1);
    EXPECT_EQ(__match_all_sync(~0u, threadIdx.x / 31, &same), 0u);
    EXPECT_EQ(same, 0);
  });
}

}  // namespace

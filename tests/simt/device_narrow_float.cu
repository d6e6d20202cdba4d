#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <rondo/kernels/core/half_vectors.cuh>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "device_testing.h"

namespace {

// Every 16-bit value survives the conversion to float and back. Between two adjacent values the midpoint
// rounds to the even one, and the floats next to the midpoint round to the nearer one.
template <class T>
void rounding() {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const T x = T::from_bits(static_cast<uint16_t>(bits));
    const float value = x;
    if (std::isnan(value)) continue;
    ASSERT_EQ(T(value).bits, bits);
    const T next = T::from_bits(static_cast<uint16_t>(bits + 1));
    if ((bits & 0x7FFF) == 0x7FFF || !std::isfinite(float{next}) || std::isnan(float{next})) continue;
    const double middle = (static_cast<double>(value) + float{next}) / 2;
    const float at = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(at), middle);
    ASSERT_EQ(T(at).bits, bits % 2 == 0 ? bits : bits + 1) << bits;
    const float away = std::copysign(std::numeric_limits<float>::infinity(), at);
    ASSERT_EQ(T(std::nextafter(at, 0.0f)).bits, bits) << bits;
    ASSERT_EQ(T(std::nextafter(at, away)).bits, bits + 1) << bits;
  }
}

TEST(NarrowFloat, HalfRoundsToNearestEven) { rounding<__half>(); }
TEST(NarrowFloat, Bfloat16RoundsToNearestEven) { rounding<__nv_bfloat16>(); }

// Loops of which compilers make vectors: what is read back is what was stored.
template <class T>
[[gnu::noinline]] void store_and_read_back(T (&stored)[4], float (&values)[4]) {
  for (int i = 0; i < 4; ++i) stored[i] = static_cast<T>(values[i]);
  for (int i = 0; i < 4; ++i) values[i] = static_cast<float>(stored[i]);
}
template <class T>
void rounding_of_vectors() {
  for (int i = 1; i < 100; ++i) {
    T stored[4];
    float values[4] = {1.0f / static_cast<float>(i), 0.1f * static_cast<float>(i), -1e-6f, 1e4f / 3};
    store_and_read_back(stored, values);
    for (int lane = 0; lane < 4; ++lane) EXPECT_EQ(values[lane], static_cast<float>(stored[lane])) << lane;
  }
}

TEST(NarrowFloat, HalfRoundsInVectors) { rounding_of_vectors<__half>(); }
TEST(NarrowFloat, Bfloat16RoundsInVectors) { rounding_of_vectors<__nv_bfloat16>(); }

// Every half, in vectors and behind them, has the bits that a single conversion has.
TEST(NarrowFloat, VectorsOfHalvesAreConvertedAsSingleOnes) {
  constexpr int kAtOnce = 24, kCount = 0x10000 / 8 * 8;
  std::vector<__half> halves;
  for (unsigned bits = 0; bits < kCount + kAtOnce; ++bits)
    halves.push_back(__half::from_bits(static_cast<uint16_t>(bits)));
  for (size_t first = 0; first < kCount; first += 7) {
    float together[kAtOnce], few[5];
    rondo::convert_halves<kAtOnce>(together, halves.data() + first);
    rondo::convert_halves<5>(few, halves.data() + first);
    for (size_t i = 0; i < kAtOnce; ++i) {
      const auto expected = std::bit_cast<uint32_t>(float{halves[first + i]});
      ASSERT_EQ(std::bit_cast<uint32_t>(together[i]), expected) << halves[first + i].bits;
      if (i >= 5) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(few[i]), expected) << halves[first + i].bits;
    }
  }
}

TEST(NarrowFloat, OverflowNanAndKnownValues) {
  EXPECT_EQ(__half_as_ushort(__float2half(1.0f)), 0x3C00);
  EXPECT_EQ(__half_as_ushort(__float2half(65519.0f)), 0x7BFF);
  EXPECT_EQ(__half_as_ushort(__float2half(65520.0f)), 0x7C00);
  EXPECT_EQ(__half_as_ushort(__float2half(-0.0f)), 0x8000);
  EXPECT_EQ(__half2float(__ushort_as_half(0x0001)), 0x1p-24f);
  EXPECT_TRUE(std::isnan(__half2float(__float2half(NAN))));
  EXPECT_EQ(__bfloat16_as_ushort(__float2bfloat16(1.0f)), 0x3F80);
  EXPECT_EQ(__bfloat16_as_ushort(__float2bfloat16(-std::numeric_limits<float>::infinity())), 0xFF80);
  EXPECT_EQ(__bfloat16_as_ushort(__float2bfloat16(std::numeric_limits<float>::max())), 0x7F80);
  EXPECT_TRUE(__hisnan(__float2bfloat16(NAN)));
  EXPECT_FALSE(__float2half(NAN) == __float2half(NAN));
}

TEST(NarrowFloat, Arithmetic) {
  const __half a = 1.5f, b = -2.0f;
  EXPECT_EQ(__half2float(a + b), -0.5f);
  EXPECT_EQ(__half2float(a * b), -3.0f);
  EXPECT_EQ(__half2float(b / a), __half2float(__half(-4.0f / 3)));
  EXPECT_EQ(__half2float(-a), -1.5f);
  EXPECT_EQ(__half2float(__hfma(a, b, a)), -1.5f);
  EXPECT_TRUE(b < a && a > b && a != b);
  EXPECT_EQ(__half2float(__hmax(__half(NAN), b)), -2.0f);
  EXPECT_EQ(__half2float(__half(2048.0f) + __half(1.0f)), 2048.0f);  // rounded to half
  const __nv_bfloat162 pair = __hmul2(__floats2bfloat162_rn(2, 3), __float2bfloat162_rn(4));
  EXPECT_EQ(__low2float(pair), 8.0f);
  EXPECT_EQ(__bfloat1622float2(pair).y, 12.0f);
  EXPECT_EQ(sizeof(__half), 2u);
  EXPECT_EQ(alignof(__half2), 4u);
}

TEST(NarrowFloat, CanBeShuffled) {
  std::atomic<int> wrong{0};
  simt_test::run_ok({1, 32}, [&] {
    const __half sent = static_cast<float>(threadIdx.x);
    wrong += __half2float(__shfl_xor_sync(0xFFFFFFFFu, sent, 3)) != static_cast<float>(threadIdx.x ^ 3);
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace

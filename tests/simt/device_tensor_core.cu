// Tensor-core instructions. The layouts are described here a second time, element by element, from the tables
// of the PTX ISA; nothing is shared with the executor's code.
#include <simt/narrow_float.h>
#include <simt/settings.h>
#include <simt/tensor_core.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "device_testing.h"

using namespace simt_test;
using simt::TensorFormat;

namespace {

struct Place2 {
  int row, column;
};

// PTX ISA, "Matrix Fragments for mma.m16n8k8" (.tf32) and "mma.m16n8k16" (.f16, .bf16): where element e of a
// register of a lane lies in its matrix. a is 16 x K, b is K x 8, c and d are 16 x 8.
Place2 a_of(bool tf32, int lane, int reg, int e) {
  const int group = lane >> 2, in_group = lane % 4;
  if (tf32) return {reg == 0 || reg == 2 ? group : group + 8, reg < 2 ? in_group : in_group + 4};
  return {reg == 0 || reg == 2 ? group : group + 8, in_group * 2 + e + (reg < 2 ? 0 : 8)};
}
Place2 b_of(bool tf32, int lane, int reg, int e) {
  const int group = lane >> 2, in_group = lane % 4;
  if (tf32) return {reg == 0 ? in_group : in_group + 4, group};
  return {in_group * 2 + e + (reg == 0 ? 0 : 8), group};
}
Place2 c_of(int lane, int i) {
  const int group = lane >> 2, in_group = lane % 4;
  return {i < 2 ? group : group + 8, in_group * 2 + (i & 1)};
}

uint32_t encoded(TensorFormat format, float x) {
  if (format == TensorFormat::tf32) return std::bit_cast<uint32_t>(x);
  return format == TensorFormat::bfloat16 ? simt::Bfloat16Format::from_float(x)
                                          : simt::HalfFormat::from_float(x);
}

// d = a * b + c by one instruction for each of m x n fragments, through the registers of 32 lanes.
std::vector<float> multiplied(TensorFormat format, int m, int n, const std::vector<float>& a,
                              const std::vector<float>& b, const std::vector<float>& c) {
  const bool tf32 = format == TensorFormat::tf32;
  const int elements = tf32 ? 1 : 2, k = tf32 ? 8 : 16;
  std::vector<float> d(c.size());
  run_ok({1, 32}, [&] {
    const int lane = static_cast<int>(threadIdx.x);
    std::vector<uint32_t> ra(m * 4), rb(n * 2);
    std::vector<float> rd(m * n * 4);
    for (int i = 0; i < m; ++i)
      for (int reg = 0; reg < 4; ++reg)
        for (int e = 0; e < elements; ++e) {
          const Place2 at = a_of(tf32, lane, reg, e);
          ra[i * 4 + reg] |= encoded(format, a[(16 * i + at.row) * k + at.column]) << 16 * e;
        }
    for (int j = 0; j < n; ++j)
      for (int reg = 0; reg < 2; ++reg)
        for (int e = 0; e < elements; ++e) {
          const Place2 at = b_of(tf32, lane, reg, e);
          rb[j * 2 + reg] |= encoded(format, b[at.row * 8 * n + 8 * j + at.column]) << 16 * e;
        }
    const auto place = [&](int i, int j, int r) {
      const Place2 at = c_of(lane, r);
      return (16 * i + at.row) * 8 * n + 8 * j + at.column;
    };
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        for (int r = 0; r < 4; ++r) rd[(i * n + j) * 4 + r] = c[place(i, j, r)];
    simt::tensor_multiply(format, {rd.data(), ra.data(), rb.data(), m, n});
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j)
        for (int r = 0; r < 4; ++r) d[place(i, j, r)] = rd[(i * n + j) * 4 + r];
  });
  return d;
}

constexpr TensorFormat kFormats[] = {TensorFormat::tf32, TensorFormat::bfloat16, TensorFormat::float16};

TEST(TensorCore, ProductsOfSmallIntegersAreExact) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> values(-8, 8);
  const auto drawn = [&](size_t size) {
    std::vector<float> all(size);
    for (float& value : all) value = static_cast<float>(values(random));
    return all;
  };
  for (const TensorFormat format : kFormats)
    for (const auto& [m, n] : {std::pair(1, 1), {2, 1}, {1, 3}, {4, 8}}) {
      const int k = format == TensorFormat::tf32 ? 8 : 16;
      const std::vector<float> a = drawn(16 * m * k), b = drawn(k * 8 * n), c = drawn(16 * m * 8 * n);
      const std::vector<float> d = multiplied(format, m, n, a, b, c);
      for (int i = 0; i < 16 * m; ++i)
        for (int j = 0; j < 8 * n; ++j) {
          float sum = c[i * 8 * n + j];
          for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * 8 * n + j];
          ASSERT_EQ(d[i * 8 * n + j], sum) << m << " x " << n << ", result " << i << ", " << j;
        }
    }
}

// One row and one column: sum + a[0] b[0] + ...
float dot(TensorFormat format, float sum, std::vector<float> a, std::vector<float> b) {
  const int k = format == TensorFormat::tf32 ? 8 : 16;
  a.resize(16 * k);
  std::vector<float> columns(8 * k), c(16 * 8);
  for (size_t l = 0; l < b.size(); ++l) columns[l * 8] = b[l];
  c[0] = sum;
  return multiplied(format, 1, 1, a, columns, c)[0];
}
constexpr TensorFormat kTf32 = TensorFormat::tf32;

TEST(TensorCore, IgnoresTheLowerBitsOfTf32) {
  EXPECT_EQ(dot(kTf32, 0, {std::nextafterf(2, 0)}, {1}), 2 - 0x1p-10f);
}

TEST(TensorCore, TermsAreTruncatedToTheLargest) {
  // A unit of the sum is 2^-23 of the largest term's power of two; smaller parts are cut, towards zero.
  EXPECT_EQ(dot(kTf32, 1, {0x1p-23f}, {1}), 1 + 0x1p-23f);
  EXPECT_EQ(dot(kTf32, 1, {0x1.8p-23f}, {1}), 1 + 0x1p-23f);
  EXPECT_EQ(dot(kTf32, 1, {-0x1.8p-24f}, {1}), 1);
  EXPECT_EQ(dot(kTf32, 1, {0x1p-24f, 0x1p-24f, 0x1p-24f}, {1, 1, 1}), 1)
      << "each is cut before they are added";
  EXPECT_EQ(dot(kTf32, 0, {1, 0x1p-23f}, {1, 1}), 1 + 0x1p-23f);
  // The sum has more bits than its terms, and is truncated to fp32 too.
  EXPECT_EQ(dot(kTf32, 0x1.fffffep0f, {0x1p-23f, 1}, {1, 1}), 3);
  EXPECT_EQ(dot(kTf32, 0x1.fffffep0f, {1}, {1}), 0x1.7ffffep1f);
  EXPECT_EQ(dot(kTf32, -0x1.fffffep0f, {1}, {-1}), -0x1.7ffffep1f);
}

TEST(TensorCore, SixteenStepsAreTwoSumsOfEight) {
  for (const TensorFormat format : {TensorFormat::bfloat16, TensorFormat::float16}) {
    std::vector<float> a(16), b(16, 1);
    a[0] = a[1] = 0x1p-24f, a[15] = 1;  // the small ones are added first
    EXPECT_EQ(dot(format, 0, a, b), 1 + 0x1p-23f);
    std::swap(a[0], a[8]);  // one of them beside the large one
    EXPECT_EQ(dot(format, 0, a, b), 1);
  }
}

TEST(TensorCore, AnyMagnitude) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(dot(kTf32, 0, {0x1p-70f}, {0x1p-70f}), 0x1p-140f) << "a denormal result";
  EXPECT_EQ(dot(kTf32, 0x1p-149f, {0}, {0}), 0x1p-149f);
  EXPECT_EQ(dot(kTf32, 0, {0x1p-100f, 0x1p-100f}, {0x1p-100f, -0x1p-100f}), 0);
  EXPECT_EQ(dot(kTf32, 0, {0x1p100f, 0x1p100f}, {0x1p100f, -0x1p100f}), 0) << "no overflow before the sum";
  EXPECT_EQ(dot(kTf32, 0, {0x1p100f}, {0x1p100f}), kInfinity);
  EXPECT_EQ(dot(kTf32, 0, {kInfinity}, {-1}), -kInfinity);
  EXPECT_TRUE(std::isnan(dot(kTf32, kInfinity, {kInfinity}, {-1})));
  EXPECT_TRUE(std::isnan(dot(kTf32, 1, {NAN}, {1})));
  EXPECT_TRUE(std::isnan(dot(kTf32, 1, {kInfinity}, {0})));
}

// A result of common magnitudes must have the same bits beside any neighbours. A neighbour that is not common
// makes the executor compute both by its other, slower code.
TEST(TensorCore, BothWaysToComputeAgree) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> a(16 * 8), b(8 * 8), c(16 * 8);
  for (int round = 0; round < 200; ++round) {
    for (std::vector<float>* all : {&a, &b, &c})
      for (float& value : *all) value = std::ldexp(normal(random), static_cast<int>(random() % 20) - 10);
    const std::vector<float> quick = multiplied(kTf32, 1, 1, a, b, c);
    for (int row = 0; row < 16; ++row) c[row * 8 + 7] = NAN;
    const std::vector<float> slow = multiplied(kTf32, 1, 1, a, b, c);
    for (size_t i = 0; i < quick.size(); ++i) {
      if (i % 8 == 7) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(quick[i]), std::bit_cast<uint32_t>(slow[i]))
          << quick[i] << " " << slow[i];
    }
  }
}

// PTX ISA, "ldmatrix": thread 4 r + c holds the elements (r, 2 c) and (r, 2 c + 1) of each matrix; with
// .trans those of the transposed matrix. The addresses of matrix i are those of the threads 8 i to 8 i + 7.
TEST(TensorCore, MatricesAreLoadedAndStored) {
  for (const int matrices : {1, 2, 4})
    for (const bool transposed : {false, true})
      for (uint64_t seed = 0; seed < 3; ++seed) {
        Seed scope(seed);
        std::atomic<int> wrong{0};
        constexpr int kStride = 24;  // elements from row to row
        run_ok({1, 32, 2 * 2 * 32 * kStride * 2}, [&] {
          const int lane = static_cast<int>(threadIdx.x);
          uint16_t* const from = &shared<uint16_t>();
          uint16_t* const copy = from + 2 * 32 * kStride;
          for (int i = 0; i < 2 * kStride; ++i)
            from[2 * kStride * lane + i] = static_cast<uint16_t>(2 * kStride * lane + i);
          __syncthreads();
          // Instruction i reads the matrices 4 i and on. The lanes without an address have none that is
          // valid.
          const auto row = [&](uint16_t* memory, int i) -> void* {
            return lane < 8 * matrices ? memory + (32 * i + lane) * kStride : nullptr;
          };
          const void* const rows[2] = {row(from, 0), row(from, 1)};
          void* const copies[2] = {row(copy, 0), row(copy, 1)};
          uint32_t registers[8];
          simt::load_matrices(registers, rows, 2, matrices, transposed);
          for (int i = 0; i < 2; ++i)
            for (int matrix = 0; matrix < matrices; ++matrix)
              for (int half = 0; half < 2; ++half) {
                const int r = lane / 4, c = lane % 4 * 2 + half;
                const int memory_row = 32 * i + 8 * matrix + (transposed ? c : r);
                const auto got = static_cast<uint16_t>(registers[i * matrices + matrix] >> 16 * half);
                wrong += got != memory_row * kStride + (transposed ? r : c);
              }
          simt::store_matrices(registers, copies, 2, matrices, transposed);
          __syncthreads();
          if (lane < 8 * matrices)
            for (int i = 0; i < 2; ++i)
              for (int column = 0; column < 8; ++column) {
                const int at = (32 * i + lane) * kStride + column;
                wrong += copy[at] != from[at];
              }
        });
        EXPECT_EQ(wrong, 0) << matrices << " matrices, transposed " << transposed;
      }
}

TEST(TensorCore, EveryLaneMustTakePart) {
  NOT_UNDER_CHECK();
  const simt::Fault partly = run({1, 32}, [&] {
    if (threadIdx.x == 5) return;
    float d[4] = {};
    const uint32_t a[4] = {}, b[2] = {};
    simt::tensor_multiply(kTf32, {d, a, b, 1, 1});
  });
  EXPECT_EQ(partly.error, cudaErrorLaunchFailure);
  EXPECT_NE(partly.message.find("mma.sync needs all 32 lanes of a warp, and only 31 take part"),
            std::string::npos)
      << partly.message;
  const simt::Fault small = run({1, 16}, [&] {
    uint32_t registers[4];
    const void* const rows[1] = {&shared<float>()};
    simt::load_matrices(registers, rows, 1, 1, false);
  });
  EXPECT_NE(small.message.find("ldmatrix needs all 32 lanes of a warp, and only 16 take part"),
            std::string::npos)
      << small.message;
}

TEST(TensorCore, RowsAreAligned) {
  NOT_UNDER_CHECK();
  const simt::Fault fault = run({1, 32, 1024}, [&] {
    uint32_t registers[1];
    const void* const rows[1] = {reinterpret_cast<char*>(&shared<float>()) + 8};
    simt::load_matrices(registers, rows, 1, 1, false);
  });
  EXPECT_EQ(fault.error, cudaErrorMisalignedAddress);
  EXPECT_NE(fault.message.find("ldmatrix of 16 bytes: the address is 8 bytes past"), std::string::npos)
      << fault.message;
}

TEST(TensorCore, DivergedLanesAreNamed) {
  NOT_UNDER_CHECK();
  const simt::Fault fault = run({1, 32}, [&] {
    float d[4] = {};
    const uint32_t a[4] = {}, b[2] = {};
    if (threadIdx.x < 16)
      simt::tensor_multiply(kTf32, {d, a, b, 1, 1});
    else
      __syncwarp();
  });
  EXPECT_EQ(fault.error, cudaErrorLaunchFailure);
  EXPECT_NE(fault.message.find("meets lanes of its mask in another operation"), std::string::npos)
      << fault.message;
}

}  // namespace

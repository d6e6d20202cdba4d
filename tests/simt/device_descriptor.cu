// Descriptors of operands of wgmma, as literal values: worked out by hand from the PTX ISA, "Matrix
// Descriptor Format". Bits 0-13: address / 16; 16-29: leading dimension offset / 16; 32-45: stride dimension
// offset / 16; 49-51: base offset; 62-63: swizzle, 1 for 128 bytes, 2 for 64, 3 for 32.
#include <rondo/kernels/core/ptx/mbarrier.cuh>
#include <rondo/kernels/core/ptx/wgmma.cuh>

#include <cstring>

#include "device_testing.h"

using namespace simt_test;
using rondo::ptx::MatrixSwizzle;
using rondo::ptx::Tf32;
namespace ptx = rondo::ptx;

namespace {

TEST(Descriptor, HasTheBitsOfTheTable) {
  run_ok({1, 1, 0x38C00}, [] {
    char* const memory = &shared<char>();
    const auto made = [&](unsigned at, unsigned leading, unsigned stride, MatrixSwizzle swizzle) {
      return ptx::descriptor({memory + at, leading, stride, swizzle});
    };
    EXPECT_EQ(made(0, 0, 1024, MatrixSwizzle::bytes128), 0x4000'0040'0000'0000u);
    EXPECT_EQ(made(16, 128, 256, MatrixSwizzle::none), 0x0000'0010'0008'0001u);
    EXPECT_EQ(made(0x2200, 48, 512, MatrixSwizzle::bytes64), 0x8000'0020'0003'0220u);
    EXPECT_EQ(made(0x38B00, 0x3FFF0, 0x3FFF0, MatrixSwizzle::bytes32), 0xC000'3FFF'3FFF'38B0u);
    const uint64_t k_tile = made(1024, 8192, 1024, MatrixSwizzle::bytes128);
    EXPECT_EQ(k_tile, 0x4000'0040'0200'0040u);
    EXPECT_EQ(ptx::advanced(k_tile, 32), 0x4000'0040'0200'0042u);
    EXPECT_EQ(ptx::advanced(k_tile, 8192), 0x4000'0040'0200'0240u);
  });
}

// All of shared memory is zero, but element (9, k 5) of a and the four bytes at `at`: they are element (14, k
// 5) of b if one element of d is not zero, (9, 14).
bool is_in_b(uint64_t descriptor, unsigned at) {
  std::atomic<bool> right{true};
  run_ok({1, 128, 0x4000}, [&] {
    char* const memory = &shared<char>();
    const float two = 2, three = 3;
    if (threadIdx.x == 0) {
      std::memset(memory, 0, 0x4000);
      std::memcpy(memory + 1024 + 404, &two, 4);  // row 1 of the second eight, second line, second element
      std::memcpy(memory + at, &three, 4);
      ptx::async_proxy_fence();
    }
    __syncthreads();
    float d[8];
    ptx::wgmma_fence();
    ptx::wgmma<Tf32, 16>(d, 0x0000'0010'0008'0040u, descriptor, false);
    ptx::wgmma_commit();
    ptx::wgmma_wait<0>();
    // Row 9 = 8 + 1: lane 4 of the first warp and up. Column 14 = 8 + 2 * 3: lane 7, register 4 + 2.
    for (unsigned i = 0; i < 8; ++i)
      if (d[i] != (threadIdx.x == 7 && i == 6 ? 6.0f : 0.0f)) right = false;
  });
  return right;
}

TEST(Descriptor, IsReadByTheTable) {
  constexpr unsigned kB = 0x2000;
  // No swizzle: 256 for the second eight, 6 * 16, the second line of k at 128, 4.
  EXPECT_TRUE(is_in_b(0x0000'0010'0008'0200u, kB + 256 + 96 + 128 + 4));
  // 32 bytes: line 1 of row 6 is line 0, because the row is in the second 128 bytes.
  EXPECT_TRUE(is_in_b(0xC000'0010'0000'0200u, kB + 256 + 192 + 0 + 4));
  // 64 bytes: line 1 of row 6 is line 1 ^ 3.
  EXPECT_TRUE(is_in_b(0x8000'0020'0000'0200u, kB + 512 + 384 + 32 + 4));
  // 128 bytes: line 1 of row 6 is line 1 ^ 6; two lines further on, line 3 ^ 6.
  EXPECT_TRUE(is_in_b(0x4000'0040'0000'0200u, kB + 1024 + 768 + 112 + 4));
  EXPECT_TRUE(is_in_b(0x4000'0040'0000'0202u, kB + 1024 + 768 + 80 + 4));
  EXPECT_FALSE(is_in_b(0x4000'0040'0000'0200u, kB + 1024 + 768 + 80 + 4));
}

}  // namespace

// The wrappers of ldmatrix and stmatrix. PTX ISA: lane 4 r + c holds the elements (r, 2 c) and (r, 2 c + 1)
// of each matrix; with .trans (2 c, r) and (2 c + 1, r). The lanes 8 i to 8 i + 7 have the rows of matrix i.
#include <rondo/kernels/core/ptx/ldmatrix.cuh>
#include <simt/unwritten.h>

#include "device_testing.h"

using namespace simt_test;
namespace ptx = rondo::ptx;

namespace {

// Two instructions, whose rows are 24 elements apart. An element's value is its index in shared memory.
template <int matrices, bool transposed>
void check() {
  constexpr int kStride = 24, kElements = 2 * 32 * kStride;
  std::atomic<int> wrong{0};
  run_ok({1, 32, 2 * kElements * 2}, [&] {
    const int lane = static_cast<int>(threadIdx.x);
    uint16_t* const from = &shared<uint16_t>();
    uint16_t* const copy = from + kElements;
    for (int i = lane; i < kElements; i += 32) from[i] = static_cast<uint16_t>(i);
    if (lane == 0) simt::allow_unwritten(copy, kElements * 2);
    __syncthreads();
    const auto row = [&](uint16_t* memory, int i) -> void* {
      return lane < 8 * matrices ? memory + (32 * i + lane) * kStride : nullptr;
    };
    unsigned registers[2][matrices];
    ptx::ldmatrix<transposed>(registers, {row(from, 0), row(from, 1)});
    for (int i = 0; i < 2; ++i)
      for (int matrix = 0; matrix < matrices; ++matrix)
        for (int half = 0; half < 2; ++half) {
          const int r = transposed ? lane % 4 * 2 + half : lane / 4;
          const int c = transposed ? lane / 4 : lane % 4 * 2 + half;
          const int expected = (32 * i + 8 * matrix + r) * kStride + c;
          wrong += static_cast<int>(registers[i][matrix] >> 16 * half & 0xFFFF) != expected;
        }
    ptx::stmatrix<transposed>({row(copy, 0), row(copy, 1)}, registers);
    __syncthreads();
    for (int i = 0; i < 2 && lane < 8 * matrices; ++i)
      for (int column = 0; column < kStride; ++column) {
        const int at = (32 * i + lane) * kStride + column;
        wrong += copy[at] != (column < 8 ? from[at] : 0xFFFF);  // nothing beside the rows is written
      }
  });
  EXPECT_EQ(wrong, 0) << matrices << " matrices, transposed " << transposed;
}

TEST(Ldmatrix, WrappersLoadAndStore) {
  check<1, false>();
  check<1, true>();
  check<2, false>();
  check<2, true>();
  check<4, false>();
  check<4, true>();
}

}  // namespace

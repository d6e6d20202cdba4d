// An exercise: uncoalesced columns.
//
// A matrix is stored by rows. If neighbouring threads have neighbouring rows, the 32 lanes of a warp access
// one column: 32 addresses that are a whole row apart, and 32 sectors of 32 bytes for 128 bytes of data. The
// result is right, so no test of values detects the mistake.
//
// Questions.
//   1. How many bytes does the wrong kernel move for each that it needs?
//   2. Which is right for a matrix that is stored by columns?
//   3. A kernel must read rows and write columns. How does shared memory help? (bank_conflict_test.cu)

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/exercises/counters.h>
#include <rondo/tests/exercises/support.h>
#include <rondo/kernels/core/launch.cuh>

#include <vector>

namespace rondo::test {
namespace {

constexpr int kSize = 128;  // rows and columns
constexpr int kBlock = 32;  // threads of a block, in x

// Wrong on purpose: x, which differs between the lanes of a warp, is the row.
__global__ void negate_x_is_row(float* matrix) {
  const unsigned row = blockIdx.x * kBlock + threadIdx.x, column = blockIdx.y;
  matrix[row * kSize + column] = -matrix[row * kSize + column];
}

__global__ void negate_x_is_column(float* matrix) {
  const unsigned row = blockIdx.y, column = blockIdx.x * kBlock + threadIdx.x;
  matrix[row * kSize + column] = -matrix[row * kSize + column];
}

using Kernel = void(float*);

std::vector<float> negated_ones(Kernel* kernel) {
  Buffer<float> matrix(std::vector<float>(kSize * kSize, 1.0f));
  const Stream stream;
  throw_if_error(launch("negate", {.grid_x = kSize / kBlock, .grid_y = kSize, .block_x = kBlock}, stream,
                        kernel, matrix.data()));
  stream.synchronize();
  return matrix.download();
}

simt::AccessCounts accesses(simt::AccessKind kind, Kernel* kernel) {
  return count(kind, simt::AccessSpace::global, [&] { negated_ones(kernel); });
}

constexpr uint64_t kRequests = kSize * kSize / 32;

TEST(UncoalescedColumnsResult, IsRight) {
  const std::vector<float> expected(kSize * kSize, -1.0f);
  EXPECT_EQ(negated_ones(negate_x_is_row), expected);
  EXPECT_EQ(negated_ones(negate_x_is_column), expected);
}

class UncoalescedColumns : public CountersTest {};

TEST_F(UncoalescedColumns, TouchASectorForEveryLane) {
  for (const auto kind : {simt::AccessKind::load, simt::AccessKind::store}) {
    const simt::AccessCounts counts = accesses(kind, negate_x_is_row);
    show(kind == simt::AccessKind::load ? "loads:  " : "stores: ", counts.sectors / counts.requests,
         " sectors per request, ", counts.least_sectors / counts.requests, " would hold the bytes");
    EXPECT_EQ(counts.requests, kRequests);
    EXPECT_EQ(counts.sectors, 32 * kRequests);
    EXPECT_EQ(counts.least_sectors, 4 * kRequests);
  }
}

TEST_F(UncoalescedColumns, RowsTouchTheLeastSectors) {
  for (const auto kind : {simt::AccessKind::load, simt::AccessKind::store}) {
    const simt::AccessCounts counts = accesses(kind, negate_x_is_column);
    EXPECT_EQ(counts.requests, kRequests);
    EXPECT_EQ(counts.sectors, 4 * kRequests);
  }
}

}  // namespace
}  // namespace rondo::test

// An exercise: a 32-way bank conflict.
//
// A block transposes a tile of 32 x 32 floats through shared memory, so that both the loads and the stores of
// global memory are coalesced. Shared memory has 32 banks, and word w is in bank w % 32. With rows of 32
// words, all words of a column are in one bank: a warp that loads a column needs 32 cycles instead of one.
// With one word of padding per row they are in 32 banks. The result is right in both cases.
//
// Questions.
//   1. How many cycles does a load of a column need with rows of 34 words?
//   2. Why is a load of the same word by all lanes not a conflict?
//   3. Swizzling needs no padding: element (y, x) is stored in word y * 32 + (x ^ y). Why has it no conflict?

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/tests/exercises/counters.h>
#include <rondo/tests/exercises/support.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/shared.cuh>

#include <numeric>
#include <vector>

namespace rondo::test {
namespace {

constexpr int kTile = 32;

template <int kRowWords>
struct Shared {
  float tile[kTile][kRowWords];
};

template <int kRowWords>
__global__ void transpose(float* to, const float* from) {
  Shared<kRowWords>& shared = shared_memory<Shared<kRowWords>>();
  const unsigned x = threadIdx.x, y = threadIdx.y;
  shared.tile[y][x] = from[y * kTile + x];
  __syncthreads();
  to[y * kTile + x] = shared.tile[x][y];
}

constexpr int kWithoutPadding = 32;  // wrong on purpose
constexpr int kPadded = 33;

// The transpose of 0, 1, 2, ...
template <int kRowWords>
std::vector<float> transposed() {
  std::vector<float> from(kTile * kTile);
  std::iota(from.begin(), from.end(), 0.0f);
  const Buffer<float> input(from);
  Buffer<float> output(kTile * kTile);
  const Stream stream;
  throw_if_error(launch("transpose",
                        {.block_x = kTile, .block_y = kTile, .shared_bytes = sizeof(Shared<kRowWords>)},
                        stream, transpose<kRowWords>, output.data(), input.data()));
  stream.synchronize();
  return output.download();
}

TEST(BankConflictResult, IsRight) {
  std::vector<float> expected;
  for (int y = 0; y < kTile; ++y)
    for (int x = 0; x < kTile; ++x) expected.push_back(static_cast<float>(x * kTile + y));
  EXPECT_EQ(transposed<kWithoutPadding>(), expected);
  EXPECT_EQ(transposed<kPadded>(), expected);
}

// The rule alone, for one request: lane l loads the word in row l of a column.
int wavefronts_of_a_column(uint64_t row_words) {
  simt::WarpAccess access;
  access.active = ~0u;
  for (size_t lane = 0; lane < 32; ++lane) access.address[lane] = lane * row_words * sizeof(float);
  return simt::shared_load(access).wavefronts;
}

TEST(BankConflictRule, DependsOnTheRow) {
  EXPECT_EQ(wavefronts_of_a_column(kWithoutPadding), 32);
  EXPECT_EQ(wavefronts_of_a_column(kPadded), 1);
}

class BankConflict : public CountersTest {};

TEST_F(BankConflict, OfAColumnWithoutPaddingIs32Way) {
  const simt::AccessCounts loads =
      count(simt::AccessKind::load, simt::AccessSpace::shared, [] { transposed<kWithoutPadding>(); });
  show("loads: ", loads.wavefronts / loads.requests, " wavefronts per request, ",
       loads.least_wavefronts / loads.requests, " without conflicts");
  EXPECT_EQ(loads.requests, 32u);
  EXPECT_EQ(loads.wavefronts, 32u * 32u);
}

TEST_F(BankConflict, IsGoneWithAWordOfPadding) {
  for (const auto kind : {simt::AccessKind::load, simt::AccessKind::store}) {
    const simt::AccessCounts counts = count(kind, simt::AccessSpace::shared, [] { transposed<kPadded>(); });
    EXPECT_EQ(counts.requests, 32u);
    EXPECT_EQ(counts.wavefronts, 32u);
  }
}

}  // namespace
}  // namespace rondo::test

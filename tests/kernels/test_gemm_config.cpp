// How products are cut into blocks: pure functions, so no device is needed.
#include <gtest/gtest.h>

#include <rondo/kernels/gemm/gemm_config.h>

#include <sstream>

namespace rondo::test {
namespace {

TEST(GemmConfig, ThePartsOfASumCoverItOnceAndNoneIsEmpty) {
  for (const int64_t m : {1, 50, 500, 4096})
    for (const int64_t n : {1, 20, 128, 5000})
      for (int64_t k = 0; k < 70000; k = k * 3 / 2 + 1) {
        const GemmConfig config = split_k({m, n, k});
        ASSERT_GE(config.splits, 1);
        ASSERT_GE(config.splits * config.k_per_split, k);
        if (k > 0) {
          ASSERT_LT((config.splits - 1) * config.k_per_split, k) << m << " x " << n << " x " << k;
        }
      }
}

TEST(GemmConfig, OnlyFewResultsWithALongSumAreSplit) {
  EXPECT_EQ(split_k({4096, 4096, 100000}).splits, 1);
  EXPECT_EQ(split_k({50, 500, 200}).splits, 1);
  EXPECT_GT(split_k({50, 500, 20736}).splits, 8);
}

TEST(GemmConfig, TheSplitDoesNotDependOnTheDevice) {
  const GemmShape shape = {500, 50, 20736};
  const GemmConfig small = choose_gemm_config(shape, {.multiprocessors = 2});
  const GemmConfig large = choose_gemm_config(shape, {.multiprocessors = 132});
  EXPECT_EQ(small.splits, large.splits);
  EXPECT_EQ(small.k_per_split, large.k_per_split);
}

TEST(GemmConfig, ATileThatFitsTheColumnsIsChosen) {
  const DeviceFacts cpu = {.multiprocessors = 2};
  EXPECT_EQ(choose_tile(20736, 50, 1, cpu), TileId::k256x56);
  EXPECT_EQ(choose_tile(43264, 20, 1, cpu), TileId::k256x24);
  EXPECT_EQ(choose_tile(4096, 4096, 1, cpu), TileId::k128x128);
  // Few large tiles would leave most multiprocessors idle.
  EXPECT_EQ(choose_tile(512, 512, 1, {.multiprocessors = 132}), TileId::k64x64);
}

TEST(GemmConfig, Prints) {
  std::ostringstream text;
  text << GemmConfig{TileId::k256x56, 3, 64};
  EXPECT_EQ(text.str(), "tile 256x56, 3 parts of k = 64");
}

}  // namespace
}  // namespace rondo::test

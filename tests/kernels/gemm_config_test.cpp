// How products are split into blocks. These are pure functions, so no device is needed.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/gemm/gemm_config.h>

#include <sstream>

namespace rondo::test {
namespace {

constexpr int kSm75 = 65536;
constexpr int kSm86 = 101376;  // maximum bytes of shared memory of a block, also on sm_89 and sm_120
constexpr int kSm90 = 232448;

const TileFacts& facts_of(TileId id) { return tile_facts()[static_cast<size_t>(id)]; }

TEST(GemmConfig, TheSplitsCoverTheSumOnceAndNoneIsEmpty) {
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

TEST(GemmConfig, OnlyLongSumsWithFewResultsAreSplit) {
  EXPECT_EQ(split_k({4096, 4096, 100000}).splits, 1);
  EXPECT_EQ(split_k({50, 500, 200}).splits, 1);
  EXPECT_GT(split_k({50, 500, 20736}).splits, 8);
}

TEST(GemmConfig, TheSplitDoesNotDependOnTheDevice) {
  const GemmShape shape = {500, 50, 20736};
  const GemmConfig small = choose_gemm_config(shape, Order::k_major, {2, kSm86});
  const GemmConfig large = choose_gemm_config(shape, Order::k_major, {132, kSm90});
  EXPECT_EQ(small.splits, large.splits);
  EXPECT_EQ(small.k_per_split, large.k_per_split);
}

TEST(GemmConfig, ATileThatFitsTheColumnsIsChosen) {
  const DeviceFacts cpu = {2, kSm90};
  EXPECT_EQ(choose_tile(20736, 50, 1, kGatherNeeds, cpu), TileId::k256x56);
  EXPECT_EQ(choose_tile(43264, 20, 1, kGatherNeeds, cpu), TileId::k256x24);
  EXPECT_EQ(choose_tile(4096, 4096, 1, {}, cpu), TileId::k128x128);
  // With few large tiles most multiprocessors would be idle.
  EXPECT_EQ(choose_tile(512, 512, 1, {}, {132, kSm90}), TileId::k64x64);
}

TEST(GemmConfig, VectorTilesAreOnlyForDevicesWithVectors) {
  bool present = false;
  for (const TileFacts& tile : tile_facts()) {
    EXPECT_EQ(tile.id, facts_of(tile.id).id) << tile.name;
    present |= tile.vectors;
  }
  DeviceFacts here;
  ASSERT_TRUE(device_facts(&here).ok());
  EXPECT_EQ(here.vectors, present);
  for (const int64_t columns : {10, 20, 50, 64, 512})
    for (const SharedNeeds& needs : {kGatherNeeds, kPatchNeeds, SharedNeeds{}}) {
      EXPECT_FALSE(facts_of(choose_tile(20736, columns, 1, needs, {2, kSm90})).vectors);
      if (!present) continue;
      const TileFacts& tile = facts_of(choose_tile(20736, columns, 1, needs, {2, kSm90, true}));
      EXPECT_TRUE(tile.vectors);
      EXPECT_LE(shared_bytes(tile, needs), kSm90);
    }
  if (!present) return;
  EXPECT_EQ(choose_tile(25088, 64, 1, kGatherNeeds, {2, kSm90, true}), TileId::kVectors192x64);
  EXPECT_EQ(choose_tile(6272, 128, 1, kGatherNeeds, {2, kSm90, true}), TileId::kVectors192x128);
  EXPECT_EQ(choose_tile(512, 512, 1, kGatherNeeds, {2, kSm90, true}), TileId::kVectors128x128);
  EXPECT_EQ(choose_tile(43264, 20, 1, kGatherNeeds, {2, kSm90, true}), TileId::kVectors128x32);
}

TEST(GemmConfig, ATileThatTheDeviceCannotHoldIsNotChosen) {
  // 256x56 is the tile for 50 columns. Gathered it just fits into 99 KB, MN-major it
  // does not.
  EXPECT_EQ(shared_bytes(facts_of(TileId::k256x56), kGatherNeeds), kSm86);
  EXPECT_EQ(choose_tile(20736, 50, 1, kGatherNeeds, {2, kSm86}), TileId::k256x56);
  EXPECT_NE(choose_tile(20736, 50, 1, kGatherNeeds, {2, kSm86 - 1}), TileId::k256x56);
  for (const SharedNeeds& needs : {SharedNeeds{Order::mn_major}, kPatchNeeds}) {
    EXPECT_EQ(choose_tile(20736, 50, 1, needs, {2, kSm90}), TileId::k256x56);
    EXPECT_NE(choose_tile(20736, 50, 1, needs, {2, kSm86}), TileId::k256x56);
  }
  // If no tile fits, a tile is chosen anyway and the launch returns the error.
  EXPECT_EQ(choose_tile(4096, 4096, 1, {}, {2, 0}), TileId::k64x64);
}

// With the limits of a small GPU no vector tile fits into the executor's shared memory: that GPU's tiles are
// used.
TEST(GemmConfig, WithoutRoomForVectorTilesGpuTilesAreChosen) {
  for (const SharedNeeds& needs : {kGatherNeeds, kPatchNeeds, SharedNeeds{}})
    for (const int64_t columns : {10, 50, 4096}) {
      const TileId tile = choose_tile(4096, columns, 1, needs, {40, kSm75, true});
      EXPECT_EQ(tile, choose_tile(4096, columns, 1, needs, {40, kSm75}));
      EXPECT_LE(shared_bytes(facts_of(tile), needs), kSm75);
    }
}

// Every product of LeNet's training step gets a tile that fits, on every device with 64 KB or with 99 KB.
TEST(GemmConfig, EveryProductOfLeNetFits) {
  struct Product {
    const char* name;
    GemmShape shape;
    SharedNeeds needs;
    bool splits = false;
  };
  const SharedNeeds along = {Order::k_major}, across = {Order::mn_major};
  for (const int64_t batch : {1, 32, 64, 128, 256, 10000}) {
    const Product products[] = {
        {"conv1", {batch * 26 * 26, 20, 9}, kGatherNeeds},
        {"conv2", {batch * 9 * 9, 50, 500}, kGatherNeeds},
        {"conv2, dx", {batch * 13 * 13, 20, 1250}, kGatherNeeds},
        {"conv1, dw", {9, 20, batch * 26 * 26}, kPatchNeeds, true},
        {"conv2, dw", {500, 50, batch * 9 * 9}, kPatchNeeds, true},
        {"hidden", {batch, 128, 800}, along, true},
        {"hidden, dw", {800, 128, batch}, across, true},
        {"hidden, dx", {batch, 800, 128}, along, true},
        {"logits", {batch, 10, 128}, along, true},
        {"logits, dw", {128, 10, batch}, across, true},
        {"logits, dx", {batch, 128, 10}, along, true},
    };
    for (const int most : {kSm75, kSm86})
      for (const int multiprocessors : {24, 28, 40, 58, 68, 72, 82, 84, 108, 132})
        for (const Product& p : products) {
          const int64_t splits = p.splits ? split_k(p.shape).splits : 1;
          const TileId tile = choose_tile(p.shape.m, p.shape.n, splits, p.needs, {multiprocessors, most});
          EXPECT_LE(shared_bytes(facts_of(tile), p.needs), most)
              << p.name << ", batch " << batch << ", " << multiprocessors << " multiprocessors";
        }
  }
}

TEST(GemmConfig, Prints) {
  std::ostringstream text;
  text << GemmConfig{TileId::k256x56, 3, 64};
  EXPECT_EQ(text.str(), "tile 256x56, 3 parts of k = 64");
}

}  // namespace
}  // namespace rondo::test

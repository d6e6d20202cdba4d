// How products are split into blocks. These are pure functions, so no device is needed.
// Above 400 lines because the choices of all arithmetics are compared on the same GPUs and shapes.
#include <gtest/gtest.h>

#include <rondo/kernels/conv/implicit_gemm/implicit_gemm.h>
#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/kernels/gemm/wgmma/tile_order.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/kernels/products_by_tile.h>
#include <rondo/tests/kernels/reference/gpus.h>
#include <rondo/tests/support/expected_file.h>
#include <rondo/tests/support/status_checks.h>
#include <rondo/kernels/gemm/stream_k.cuh>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace rondo::test {
namespace {

constexpr int kSm75 = 65536;
constexpr int kSm86 = 101376;  // maximum bytes of shared memory of a block, also on sm_89 and sm_120
constexpr int kSm90 = 232448;

TEST(GemmConfig, TheSplitsCoverTheSumOnceAndNoneIsEmpty) {
  for (const int64_t m : {1, 50, 500, 4096})
    for (const int64_t n : {1, 20, 128, 5000})
      for (int64_t k = 0; k < 70000; k = k * 3 / 2 + 1) {
        const SplitK config = split_k({m, n, k});
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
  GemmProblem product;
  product.shape = shape;
  const SplitK small = choose_gemm_plan(product, {2, kSm86}).parts;
  const SplitK large = choose_gemm_plan(product, {132, kSm90}).parts;
  EXPECT_EQ(small.splits, large.splits);
  EXPECT_EQ(small.k_per_split, large.k_per_split);
}

TEST(GemmConfig, ATileThatFitsTheColumnsIsChosen) {
  const DeviceProperties cpu = {2, kSm90};
  EXPECT_EQ(choose_tile(20736, 50, 1, kGatherNeeds, cpu).n, 64);
  EXPECT_EQ(choose_tile(43264, 20, 1, kGatherNeeds, cpu).n, 32);
  const TileId of_many = choose_tile(4096, 4096, 1, {}, cpu);
  for (const TileInfo& tile : tile_infos())
    if (tile.id.instruction == Instruction::fma) {
      EXPECT_LE(tile.efficiency, tile_info(of_many).efficiency) << tile.id << " instead of " << of_many;
    }
  // With few large tiles most multiprocessors would be idle.
  const TileId of_few = choose_tile(512, 512, 1, {}, {132, kSm90});
  EXPECT_LT(of_few.m * of_few.n, of_many.m * of_many.n);
}

TEST(GemmConfig, VectorTilesAreOnlyForDevicesWithVectors) {
  bool present = false;
  for (const TileInfo& tile : tile_infos()) {
    EXPECT_EQ(&tile, &tile_info(tile.id)) << tile.id;
    present |= tile.id.instruction == Instruction::vector_fma;
  }
  DeviceProperties here;
  ASSERT_TRUE(device_properties(&here).ok());
  EXPECT_EQ(here.vectors, present);
  for (const int64_t columns : {10, 20, 50, 64, 512})
    for (const TileNeeds& needs : {kGatherNeeds, kPatchNeeds, TileNeeds{}}) {
      EXPECT_EQ(choose_tile(20736, columns, 1, needs, {2, kSm90}).instruction, Instruction::fma);
      if (!present) continue;
      const TileInfo& tile = tile_info(choose_tile(20736, columns, 1, needs, {2, kSm90, true}));
      EXPECT_EQ(tile.id.instruction, Instruction::vector_fma);
      EXPECT_LE(shared_bytes(tile, needs), kSm90);
    }
  if (!present) return;
  EXPECT_EQ(choose_tile(25088, 64, 1, kGatherNeeds, {2, kSm90, true}), vector_tile(192, 64));
  EXPECT_EQ(choose_tile(6272, 128, 1, kGatherNeeds, {2, kSm90, true}), vector_tile(192, 128));
  // Rows and columns without results are not computed: 6 tiles of 192 are as good for 1024 rows as 8 of 128.
  EXPECT_EQ(choose_tile(1024, 1024, 1, kGatherNeeds, {2, kSm90, true}), vector_tile(192, 128));
  // A tile for each of the processors: of half of the columns, rather than of 128 rows and 2.
  EXPECT_EQ(choose_tile(256, 128, 1, kGatherNeeds, {2, kSm90, true}), vector_tile(128, 128));
  EXPECT_EQ(choose_tile(130, 128, 1, kGatherNeeds, {2, kSm90, true}), vector_tile(192, 64));
  EXPECT_EQ(choose_tile(43264, 20, 1, kGatherNeeds, {2, kSm90, true}), vector_tile(128, 32));
}

// The executor without SIMT_GPU has vector tiles for the arithmetics of tensor cores, except tf32x3. With it,
// and on a GPU, they are computed by mma.sync.
TEST(GemmConfig, VectorTilesOfTensorCoreArithmeticsAreOnlyForTheExecutorItself) {
  DeviceProperties here;
  ASSERT_TRUE(device_properties(&here).ok());
  const bool present = std::ranges::any_of(tile_infos(), [](const TileInfo& tile) {
    return tile.id.instruction == Instruction::vector_fma && tile.id.arithmetic == Arithmetic::bf16;
  });
  const char* const gpu = std::getenv("SIMT_GPU");
  EXPECT_EQ(here.vectors_for_tensor_cores, present && (gpu == nullptr || *gpu == '\0'));
  for (const Arithmetic arithmetic : kArithmetics)
    for (const int64_t columns : {20, 512}) {
      if (!uses_tensor_cores(arithmetic)) continue;
      SCOPED_TRACE(name_of(arithmetic));
      TileNeeds needs = kGatherNeeds;
      needs.arithmetic = arithmetic;
      EXPECT_EQ(choose_tile(20736, columns, 1, needs, {2, kSm90, present}).instruction, Instruction::mma);
      DeviceProperties executor = {2, kSm90, present};
      executor.vectors_for_tensor_cores = present;
      EXPECT_EQ(choose_tile(20736, columns, 1, needs, executor).instruction,
                present && arithmetic != Arithmetic::tf32x3 ? Instruction::vector_fma : Instruction::mma);
    }
}

TEST(GemmConfig, ATileThatTheDeviceCannotHoldIsNotChosen) {
  for (const TileNeeds& needs : {kGatherNeeds, kPatchNeeds, TileNeeds{}, TileNeeds{Order::mn_major}}) {
    const TileId best = choose_tile(4096, 4096, 1, needs, {2, kSm90});
    const auto bytes = static_cast<int>(shared_bytes(tile_info(best), needs));
    EXPECT_EQ(choose_tile(4096, 4096, 1, needs, {2, bytes}), best);
    const TileId smaller = choose_tile(4096, 4096, 1, needs, {2, bytes - 1});
    EXPECT_LT(shared_bytes(tile_info(smaller), needs), bytes);
    // If no tile fits, that with the fewest bytes is chosen, and the launch returns the error.
    const TileId none = choose_tile(4096, 4096, 1, needs, {2, 0});
    for (const TileInfo& tile : tile_infos())
      if (tile.id.instruction == Instruction::fma) {
        EXPECT_LE(shared_bytes(tile_info(none), needs), shared_bytes(tile, needs)) << none << ", " << tile.id;
      }
  }
}

// With the limits of a small GPU no vector tile fits into the executor's shared memory: that GPU's tiles are
// used.
TEST(GemmConfig, WithoutRoomForVectorTilesGpuTilesAreChosen) {
  for (const TileNeeds& needs : {kGatherNeeds, kPatchNeeds, TileNeeds{}})
    for (const int64_t columns : {10, 50, 4096}) {
      const TileId tile = choose_tile(4096, columns, 1, needs, {40, kSm75, true});
      EXPECT_EQ(tile, choose_tile(4096, columns, 1, needs, {40, kSm75}));
      EXPECT_LE(shared_bytes(tile_info(tile), needs), kSm75);
    }
}

// Every product of LeNet's training step gets a tile that fits, on every device with 64 KB or with 99 KB.
TEST(GemmConfig, EveryProductOfLeNetFits) {
  struct Product {
    const char* name;
    GemmShape shape;
    TileNeeds needs;
    bool splits = false;
  };
  const TileNeeds along = {Order::k_major}, across = {Order::mn_major};
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
          EXPECT_LE(shared_bytes(tile_info(tile), p.needs), most)
              << p.name << ", batch " << batch << ", " << multiprocessors << " multiprocessors";
        }
  }
}

TEST(GemmConfig, Prints) {
  std::ostringstream text;
  GemmPlan plan;
  plan.tile = fma_tile(128, 32);
  plan.parts = SplitK{3, 64};
  text << plan;
  EXPECT_EQ(text.str(), "pipelined: tile 128x32, 3 parts of k = 64");
}

// ---- The plan of a product by tensor cores

// K-major operands whose rows begin at multiples of 16 bytes.
GemmProblem product_of(const GemmShape& shape, DType type = DType::bfloat16) {
  const int64_t stride = (shape.k + 15) / 16 * 16;
  return {
      shape, arithmetic_of(type, Math::tf32), {Order::k_major, 4096, stride}, {Order::k_major, 8192, stride}};
}
std::string plan_text(const GemmProblem& product, const DeviceProperties& device) {
  std::ostringstream text;
  text << choose_gemm_plan(product, device);
  return text.str();
}
constexpr DeviceProperties kH100 = {132, kSm90, false, true};

TEST(GemmPlan, OnlyDevicesWithWgmmaUseIt) {
  int with = 0;
  for (const Gpu& gpu : all_gpus())
    for (const DType type : {DType::float32, DType::bfloat16, DType::float16}) {
      const GemmPlan plan = choose_gemm_plan(product_of({4096, 4096, 4096}, type), gpu.device);
      EXPECT_EQ(plan.tile.instruction == Instruction::wgmma, gpu.capability == 90) << gpu.name;
      with += gpu.capability == 90;
      // The parts of k are those of every device, and so is the workspace.
      const SplitK parts = split_k({4096, 4096, 4096});
      EXPECT_EQ(plan.parts.splits, parts.splits);
      EXPECT_EQ(plan.parts.k_per_split, parts.k_per_split);
    }
  EXPECT_GT(with, 0);
}

TEST(GemmPlan, TheTileSuitsTheShape) {
  const auto text = [](int64_t m, int64_t n, int64_t k) { return plan_text(product_of({m, n, k}), kH100); };
  EXPECT_EQ(text(4096, 4096, 4096), "persistent: tile 2 of 128x256, 1 part of k = 4096");
  // 2056 columns leave an eighth of the ninth tile of 256 columns unused, and 396 tiles of 192 x 192 are
  // three for each multiprocessor.
  EXPECT_EQ(text(6912, 2056, 2056), "persistent: tile 192x192, 1 part of k = 2112");
  // 11 x 12 tiles of 192 x 176: one for each multiprocessor. Those of 192 x 192 leave 11 of them idle.
  EXPECT_EQ(text(2056, 2056, 6912), "persistent: tile 192x176, 1 part of k = 6912");
  // 11 rows of tiles: the last one would have a block without rows beside it, and 72 pairs of blocks would
  // compute them in two rounds.
  EXPECT_EQ(text(1408, 3072, 4096), "persistent: tile 128x256, 1 part of k = 4096");
  EXPECT_EQ(text(2048, 1024, 1024), "persistent: tile 128x128, 1 part of k = 1024");
  // Few results: more multiprocessors have work with small tiles.
  EXPECT_EQ(text(1024, 1024, 1024), "persistent: tile 128x64, 1 part of k = 1024");
  EXPECT_EQ(text(512, 512, 512), "persistent: tile 128x64, 2 parts of k = 256");
  EXPECT_EQ(text(64, 10, 128), "persistent: tile 128x64, 1 part of k = 128");
}

// Every choice, in every arithmetic and for every GPU that has it, as text: a change of a choice changes a
// line of gemm_plans.txt.
TEST(GemmPlan, Table) {
  struct Product {
    const char* name;
    GemmShape shape;
    bool transpose_a, transpose_b;
  };
  constexpr Product kProducts[] = {
      {"square", {4096, 4096, 4096}, false, false}, {"square", {4096, 4096, 4096}, false, true},
      {"square", {512, 512, 512}, false, true},     {"square", {5120, 5120, 5120}, false, true},
      {"MLP", {6912, 2056, 2056}, false, false},    {"MLP, dw", {2056, 2056, 6912}, true, false},
      {"MLP, dx", {6912, 2056, 2056}, false, true}, {"hidden", {256, 128, 800}, false, false},
      {"hidden, dw", {800, 128, 256}, true, false}, {"hidden, dx", {256, 800, 128}, false, true},
      {"logits", {256, 10, 128}, false, false},     {"logits, dw", {128, 10, 256}, true, false},
      {"logits, dx", {256, 128, 10}, false, true},
  };
  std::ostringstream table;
  for (const auto& [type, math] :
       {std::pair(DType::float32, Math::fp32), std::pair(DType::float32, Math::tf32),
        std::pair(DType::float32, Math::tf32x3), std::pair(DType::bfloat16, Math::fp32),
        std::pair(DType::float16, Math::fp32)})
    for (const Product& p : kProducts) {
      GemmProblem product = product_of(p.shape, type);
      product.arithmetic = arithmetic_of(type, math);
      // Contiguous matrices.
      if (p.transpose_a) product.a = {Order::mn_major, 4096, p.shape.m};
      if (!p.transpose_b) product.b = {Order::mn_major, 8192, p.shape.n};
      std::vector<std::pair<std::string, std::string>> gpus_of;  // a plan, and the GPUs that have it
      for (const Gpu& gpu : all_gpus()) {
        if (gpu.capability < least_capability(type, math)) continue;
        const std::string plan = plan_text(product, gpu.device);
        const auto found = std::ranges::find(gpus_of, plan, &std::pair<std::string, std::string>::first);
        if (found == gpus_of.end())
          gpus_of.emplace_back(plan, gpu.name);
        else
          found->second += concat(" ", gpu.name);
      }
      table << (type == DType::float32 ? name_of(math) : name_of(type)) << ", " << p.name << ", " << p.shape.m
            << " x " << p.shape.n << " x " << p.shape.k << (p.transpose_a ? ", A^T" : "")
            << (p.transpose_b ? ", B^T" : "") << "\n";
      for (const auto& [plan, gpus] : gpus_of) table << "  " << plan << ": " << gpus << "\n";
    }
  EXPECT_TRUE(equals_file(table.str(), RONDO_GEMM_PLANS));
}

// Each tile has one number, and consecutive tiles share rows and columns.
TEST(TileOrder, EveryTileHasOneNumber) {
  for (const int64_t m : {1, 2, 15, 16, 17, 31, 32, 40})
    for (const auto& [n, band] : {std::pair(1, 16), std::pair(2, 16), std::pair(7, 8), std::pair(33, 16)}) {
      constexpr int kParts = 3;
      std::vector<int> seen(static_cast<size_t>(m * n * kParts));
      const TileGrid tiles(m, n, kParts, band);
      ASSERT_EQ(tiles.size(), m * n * kParts);
      for (int number = 0; number < tiles.size(); ++number) {
        const TilePosition at = tiles.position(number);
        ASSERT_TRUE(at.m >= 0 && at.m < m && at.n >= 0 && at.n < n) << number << " of " << m << " x " << n;
        ASSERT_EQ(at.part, number / (m * n));
        ASSERT_EQ(seen[static_cast<size_t>((at.part * m + at.m) * n + at.n)]++, 0)
            << number << " of " << m << " x " << n;
      }
    }
  // The first 128 tiles of 32 x 32: 16 rows, 8 columns.
  std::set<int> rows, columns;
  for (int number = 0; number < 128; ++number) {
    const TilePosition at = TileGrid(32, 32, 1).position(number);
    rows.insert(at.m);
    columns.insert(at.n);
  }
  EXPECT_EQ(rows.size(), 16u);
  EXPECT_EQ(columns.size(), 8u);
}

// Every k-tile of every tile is computed once. Blocks have the same number of whole tiles and, of the divided
// ones, ranges that differ by at most one k-tile.
TEST(StreamK, EveryKTileIsComputedOnce) {
  for (const int blocks : {1, 2, 3, 7, 16, 132})
    for (const int tiles : {0, 1, 2, 5, 6, 7, 8, 13, 14, 15, 66, 131, 132, 133, 200, 263, 264, 265, 500})
      for (const int k_tiles : {0, 1, 2, 3, 8, 33}) {
        SCOPED_TRACE(concat(tiles, " tiles of ", k_tiles, " k-tiles over ", blocks, " blocks"));
        const StreamK division = stream_k(tiles, k_tiles, blocks);
        ASSERT_EQ(division.divides(), tiles % blocks != 0 && k_tiles > 0);
        ASSERT_LE(tiles - division.whole_tiles, division.divides() ? 2 * blocks - 1 : 0);
        std::vector<std::vector<StreamKWorkUnit>> of_tiles(static_cast<size_t>(tiles));
        std::set<int64_t> divided;  // k-tiles of divided tiles, of each block
        std::set<int64_t> wholes;   // tiles that are not divided, of each block
        std::set<int> begins;       // blocks that have the first of several parts
        for (int block = 0; block < blocks; ++block) {
          int64_t k_tiles_of_block = 0, whole = 0, later_parts = 0;
          StreamKWorkUnit unit;
          for (int64_t i = 0; division.find_work_unit(block, i, &unit); ++i) {
            ASSERT_TRUE(unit.tile >= 0 && unit.tile < tiles);
            ASSERT_EQ(unit.first_block + unit.part, block);
            of_tiles[static_cast<size_t>(unit.tile)].push_back(unit);
            (unit.tile < division.whole_tiles ? whole : k_tiles_of_block) +=
                unit.tile < division.whole_tiles ? 1 : unit.end - unit.begin;
            if (unit.parts == 1) continue;
            // The room of a block for partial sums: one tile that it begins, and one that others begin.
            if (unit.part == 0)
              ASSERT_TRUE(begins.insert(block).second);
            else
              ASSERT_EQ(++later_parts, 1);
          }
          divided.insert(k_tiles_of_block);
          wholes.insert(whole);
        }
        ASSERT_LE(*divided.rbegin() - *divided.begin(), 1);
        ASSERT_LE(*wholes.rbegin() - *wholes.begin(), division.divides() ? 0 : 1);
        int most = 0;
        for (const std::vector<StreamKWorkUnit>& parts : of_tiles) {
          ASSERT_FALSE(parts.empty());
          int covered = 0;
          for (size_t i = 0; i < parts.size(); ++i) {
            ASSERT_EQ(parts[i].parts, std::ssize(parts));
            ASSERT_EQ(parts[i].part, static_cast<int>(i));
            ASSERT_EQ(parts[i].first_block, parts[0].first_block);
            ASSERT_EQ(parts[i].begin, covered);
            ASSERT_TRUE(parts[i].end > covered || k_tiles == 0);
            covered = parts[i].end;
          }
          ASSERT_EQ(covered, k_tiles);
          most = std::max(most, static_cast<int>(parts.size()));
        }
        if (division.divides()) {
          ASSERT_LE(most, division.max_parts());
        }
        ASSERT_LE(most, tiles >= blocks || k_tiles == 0 ? 2 : 2 * tiles >= blocks ? 3 : k_tiles);
      }
  // 200 tiles over 132 blocks: none is whole. 500: 2 rounds are.
  EXPECT_EQ(stream_k(200, 40, 132).whole_tiles, 0);
  EXPECT_EQ(stream_k(500, 40, 132).whole_tiles, 264);
  // Steps have 32 bits.
  EXPECT_TRUE(stream_k(200, INT32_MAX / 264, 132).divides());
  EXPECT_FALSE(stream_k(200, INT32_MAX / 264 + 1, 132).divides());
}

TEST(GemmPlan, StreamKWhereWholeRoundsLeaveMultiprocessorsIdle) {
  const auto text = [](int64_t m, int64_t n, int64_t k, int multiprocessors) {
    return plan_text(product_of({m, n, k}), {multiprocessors, kSm90, false, true});
  };
  const auto bytes = [](int64_t m, int64_t n, int64_t k, Math math) {  // fp32: of 16-bit matrices
    return gemm_workspace_bytes({m, n, k}, {.transpose_b = true, .math = math},
                                math == Math::fp32 ? DType::bfloat16 : DType::float32);
  };
  // 200 tiles of 128 x 256 are 1.5 rounds, which the partial sums of 2 tiles a block leave a gain of.
  constexpr const char* kStreamK = "persistent: tile 128x256, stream-K over 132 blocks";
  EXPECT_EQ(text(2560, 2560, 8192, 132), kStreamK);
  EXPECT_EQ(text(5120, 5120, 5120, 132), kStreamK);
  // 72 tiles, of two or three parts.
  EXPECT_EQ(text(1536, 1536, 16384, 132), kStreamK);
  EXPECT_EQ(bytes(1536, 1536, 16384, Math::fp32),
            stream_k_workspace_bytes(wgmma_tile(Arithmetic::tf32, 128, 256), 132));
  EXPECT_EQ(stream_k_workspace_bytes(wgmma_tile(Arithmetic::tf32, 128, 256), 132),
            132 * (2 * 128 * 256 + 8) * 4);
  EXPECT_EQ(gemm_workspace_bytes({1536, 1536, 16384}), 0);  // of float matrices in fp32
  // A shorter sum does not pay for them: in 16 bits, not in tf32, whose products take twice the time.
  EXPECT_EQ(text(2560, 2560, 2560, 132), "persistent: tile 2 of 128x256, 1 part of k = 2560");
  EXPECT_EQ(bytes(2560, 2560, 2560, Math::fp32), 0);
  EXPECT_EQ(plan_text(product_of({2560, 2560, 2560}, DType::float32), kH100), kStreamK);
  EXPECT_EQ(bytes(2560, 2560, 2560, Math::tf32),
            stream_k_workspace_bytes(wgmma_tile(Arithmetic::tf32, 128, 256), 132));
  // Rounds that are nearly full: 3.9 of pairs; 3 of 192 x 192, 1 of 192 x 176 (the MLP); 15.5 of pairs, of
  // which stream-K saves less than its tiles are slower.
  for (const auto& [m, n, k] :
       {GemmShape{4096, 4096, 4096}, {6912, 2056, 2056}, {2056, 2056, 6912}, {8192, 8192, 8192}}) {
    EXPECT_EQ(text(m, n, k, 132).find("stream-K"), std::string::npos);
    for (const Math math : {Math::fp32, Math::tf32}) EXPECT_EQ(bytes(m, n, k, math), 0);
  }
  // The blocks are the multiprocessors of the device. The workspace is for 132 of them, so a device with more
  // has whole tiles.
  EXPECT_EQ(text(2560, 2560, 8192, 114), "persistent: tile 128x256, stream-K over 114 blocks");
  EXPECT_EQ(text(2560, 2560, 8192, 144).find("stream-K"), std::string::npos);
  EXPECT_EQ(text(2560, 2560, 8192, 100), "persistent: tile 2 of 128x256, 1 part of k = 8192");  // full rounds
  // tf32x3 has no such kernel, fp32 no wgmma, and operands that are not copied neither.
  EXPECT_EQ(bytes(2560, 2560, 8192, Math::tf32x3), 0);
  GemmProblem product = product_of({2560, 2560, 8192}, DType::float32);
  product.arithmetic = Arithmetic::fp32;
  EXPECT_EQ(plan_text(product, kH100).find("stream-K"), std::string::npos);
  EXPECT_FALSE(stream_k_tile({2560, 2560, 8192}, Order::k_major, Order::k_major, Arithmetic::fp32));
  constexpr GemmShape kNotCopied = {768, 768, 1536};
  EXPECT_TRUE(stream_k_tile(kNotCopied, Order::k_major, Order::k_major, Arithmetic::tf32));
  ASSERT_FALSE(copies_for_wgmma(kNotCopied, Order::mn_major, Order::mn_major, Arithmetic::tf32).any());
  EXPECT_FALSE(stream_k_tile(kNotCopied, Order::mn_major, Order::mn_major, Arithmetic::tf32));
  // Few results: split-K.
  EXPECT_FALSE(stream_k_tile({512, 512, 8192}, Order::k_major, Order::k_major, Arithmetic::bf16));
}

TEST(GemmPlan, FloatsAreForWgmmaWithTf32AndTf32x3) {
  const auto text = [](Math math, const GemmShape& shape) {
    GemmProblem product = product_of(shape, DType::float32);
    product.arithmetic = arithmetic_of(DType::float32, math);
    return plan_text(product, kH100);
  };
  const GemmShape large = {4096, 4096, 4096};
  EXPECT_EQ(text(Math::fp32, large).find("pipelined"), 0u);
  EXPECT_EQ(text(Math::tf32, large), "persistent: tile 2 of 128x256, 1 part of k = 4096");
  // tf32x3 has one tile, also where another one is faster for tf32.
  EXPECT_EQ(text(Math::tf32x3, large), "persistent: tile 128x128, 1 part of k = 4096");
  EXPECT_EQ(text(Math::tf32x3, {6912, 2056, 2056}), "persistent: tile 128x128, 1 part of k = 2112");
  EXPECT_EQ(text(Math::tf32x3, {512, 512, 512}).find("pipelined"), 0u);
}

// wgmma reads tf32 along k only. Other operands are copied where the copies take less time than it saves.
TEST(GemmPlan, OperandsAreCopiedForWgmmaWhereItPays) {
  struct Case {
    GemmShape shape;
    Math math;
    bool transpose_a, transpose_b;
    const char* plan;
    int64_t floats;  // of the copies
  };
  constexpr int64_t kMlp = 2056;
  for (const Case& c :
       {Case{{6912, kMlp, kMlp}, Math::tf32, false, true, "persistent: tile 192x192, 1 part of k = 2112", 0},
        Case{{6912, kMlp, kMlp},
             Math::tf32,
             false,
             false,
             "persistent: tile 192x192, 1 part of k = 2112, transposed copy of b",
             kMlp * kMlp},
        Case{{6912, kMlp, 2054},
             Math::tf32,
             false,
             false,
             "persistent: tile 192x192, 1 part of k = 2112, transposed copy of b",
             kMlp * kMlp},
        Case{{kMlp, kMlp, 6912},
             Math::tf32,
             true,
             false,
             "persistent: tile 192x176, 1 part of k = 6912, transposed copy of a and b",
             2 * kMlp * 6912},
        // Both operands, with few results.
        Case{{768, 768, 1536}, Math::tf32, true, false, "pipelined: ", 0},
        Case{{8192, 8192, 8192},
             Math::tf32,
             true,
             false,
             "persistent: tile 2 of 128x256, 1 part of k = 8192, transposed copy of a and b",
             2 * 8192 * 8192},
        Case{{8192, 4096, 4096},
             Math::tf32x3,
             true,
             true,
             "persistent: tile 128x128, 1 part of k = 4096, transposed copy of a",
             8192 * 4096},
        Case{{4096, 4096, 4096}, Math::fp32, true, false, "pipelined: ", 0},
        Case{{256, 128, 800}, Math::tf32, false, false, "pipelined: ", 0},
        Case{{4096, 4096, 8}, Math::tf32, false, false, "pipelined: ", 0},
        Case{{4096, 4096, 0}, Math::tf32, false, false, "", 0}}) {
    GemmProblem product = product_of(c.shape, DType::float32);
    product.arithmetic = arithmetic_of(DType::float32, c.math);
    if (c.transpose_a) product.a.order = Order::mn_major;
    if (!c.transpose_b) product.b.order = Order::mn_major;
    SCOPED_TRACE(plan_text(product, kH100));
    EXPECT_EQ(plan_text(product, kH100).find(c.plan), 0u);
    const int64_t parts = gemm_workspace_bytes(c.shape);
    EXPECT_EQ(gemm_workspace_bytes(
                  c.shape, {.transpose_a = c.transpose_a, .transpose_b = c.transpose_b, .math = c.math}),
              parts + 4 * c.floats);
    // Without wgmma nothing is copied.
    for (const Gpu& gpu : all_gpus())
      if (gpu.capability != 90) {
        EXPECT_EQ(plan_text(product, gpu.device).find("copy"), std::string::npos);
      }
  }
  // A copy has an address and a stride that tensor maps take; the other operand may not.
  GemmProblem product = product_of({4096, 4096, 4096}, DType::float32);
  product.b = {Order::mn_major, 4, 4097};
  EXPECT_TRUE(choose_gemm_plan(product, kH100).copies.b);
  product.a.address += 4;
  EXPECT_EQ(choose_gemm_plan(product, kH100).tile.instruction, Instruction::mma);
}

TEST(GemmPlan, ObstaclesAreNamedAndAvoided) {
  const auto check = [](DType type, auto change, const std::string& message) {
    GemmProblem product = product_of({4096, 4096, 4096}, type);
    ASSERT_EQ(choose_gemm_plan(product, kH100).tile.instruction, Instruction::wgmma);
    EXPECT_TRUE(ok(check_wgmma_operands("rung", product)));
    change(product);
    if (product.a.order == Order::k_major && product.b.order == Order::k_major) {
      EXPECT_EQ(choose_gemm_plan(product, kH100).tile.instruction, Instruction::mma) << message;
    } else {
      EXPECT_TRUE(choose_gemm_plan(product, kH100).copies.any()) << message;
    }
    EXPECT_TRUE(refused(check_wgmma_operands("rung", product), "rung: " + message));
    EXPECT_TRUE(refused(check_wgmma_operands("rung", product), "gemm_tc_04_pipelined takes it"));
    product.shape.k = 0;
    EXPECT_TRUE(ok(check_wgmma_operands("rung", product)));
  };
  using P = GemmProblem;
  check(
      DType::bfloat16, [](P& p) { p.a.address += 8; }, "a is at ");
  check(
      DType::bfloat16, [](P& p) { p.b.address += 2; }, "b is at ");
  check(
      DType::float32, [](P& p) { p.b.address += 4; }, "b is at ");
  check(
      DType::bfloat16, [](P& p) { p.a.stride += 4; }, "a.stride is 4100 elements of 2 bytes");
  check(
      DType::float16, [](P& p) { p.b.stride += 7; }, "b.stride is 4103 elements of 2 bytes");
  check(
      DType::float32, [](P& p) { p.b.stride += 2; }, "b.stride is 4098 elements of 4 bytes");
  check(
      DType::float32, [](P& p) { p.a.order = Order::mn_major; }, "transpose_a is 1, and wgmma reads tf32");
  check(
      DType::float32, [](P& p) { p.b.order = Order::mn_major; }, "transpose_b is 0, and wgmma reads tf32");
  // Sizes below 2^31 and strides below 2^40 bytes.
  constexpr int64_t kSize = int64_t{1} << 31;
  check(
      DType::bfloat16, [](P& p) { p.shape.m = kSize; }, "the product is 2147483648 x 4096 x 4096");
  check(
      DType::bfloat16, [](P& p) { p.shape.n = kSize; }, "the product is 4096 x 2147483648 x 4096");
  check(
      DType::bfloat16, [](P& p) { p.shape.k = kSize; }, "the product is 4096 x 4096 x 2147483648");
  check(
      DType::float32, [](P& p) { p.a.stride = int64_t{1} << 38; }, "a.stride is 274877906944 elements");
  check(
      DType::float16, [](P& p) { p.b.stride = int64_t{1} << 39; }, "b.stride is 549755813888 elements");
  for (int64_t GemmShape::*side : {&GemmShape::m, &GemmShape::n, &GemmShape::k}) {
    GemmProblem most = product_of({4096, 4096, 4096});
    most.shape.*side = kSize - 1;
    EXPECT_TRUE(ok(check_wgmma_operands("rung", most)));
  }
  for (GemmOperand GemmProblem::*operand : {&GemmProblem::a, &GemmProblem::b}) {
    GemmProblem longest = product_of({4096, 4096, 4096});
    (longest.*operand).stride = (int64_t{1} << 39) - 8;
    EXPECT_TRUE(ok(check_wgmma_operands("rung", longest)));
  }
  // 16-bit matrices have every order, and float ones a stride of 4.
  GemmProblem other = product_of({4096, 4096, 4096});
  other.a.order = other.b.order = Order::mn_major;
  EXPECT_EQ(choose_gemm_plan(other, kH100).tile.instruction, Instruction::wgmma);
  other = product_of({4096, 4096, 4096}, DType::float32);
  other.a.stride += 4;
  EXPECT_EQ(choose_gemm_plan(other, kH100).tile.instruction, Instruction::wgmma);
}

// Other tests ask these functions whether to skip, so only this one notices if they refuse too much. The
// executor has the capability of an H100 unless SIMT_GPU names another GPU, and uses wgmma if it names one.
TEST(GemmPlan, TheCurrentDeviceHasWhatItsCapabilityHas) {
  int device = 0, major = 0, minor = 0;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), cudaSuccess);
  const int capability = 10 * major + minor;
  const auto expect = [&](const Status& status, int least) {
    if (capability >= least)
      EXPECT_TRUE(ok(status));
    else
      EXPECT_TRUE(refused(status, concat("needs compute capability ", least / 10, ".", least % 10)));
  };
  EXPECT_TRUE(ok(check_math("rung", Math::fp32)));
  expect(check_math("rung", Math::tf32), 80);
  expect(check_math("rung", Math::tf32x3), 80);
  EXPECT_TRUE(ok(check_factor_type("rung", DType::float32)));
  expect(check_factor_type("rung", DType::bfloat16), 80);
  expect(check_factor_type("rung", DType::float16), 75);

  const bool executor = std::string(platform()) == "cpu";
  const Status wgmma = check_wgmma("rung");
  if (major != 9)
    EXPECT_TRUE(refused(wgmma, "rung: wgmma needs compute capability 9.0"));
  else if (!wgmma.ok() && !executor)
    EXPECT_TRUE(refused(wgmma, "rung: this build has no kernels with wgmma"));
  else
    EXPECT_TRUE(ok(wgmma));
  DeviceProperties properties;
  ASSERT_TRUE(ok(device_properties(&properties)));
  const char* const gpu = std::getenv("SIMT_GPU");
  EXPECT_EQ(properties.wgmma, major == 9 && (executor ? gpu && *gpu != 0 : wgmma.ok()));
}

}  // namespace
}  // namespace rondo::test

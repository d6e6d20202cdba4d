// Stream-K: the order of the additions, which must not depend on which block arrives last, and the bits of
// whole products. gemm_config_test has the division, gemm_test and gemm_narrow_test the contract of gemm().
#include <gtest/gtest.h>

#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/gemm/wgmma/tile_order.h>
#include <rondo/tests/kernels/products_by_tile.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/random_order.h>
#include <rondo/tests/support/status_checks.h>
#include <rondo/kernels/gemm/wgmma/partial_tiles.cuh>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace rondo::test {
namespace {

// The parts of one tile arrive in the given order; the last one stores the sums. `values` and `sums` have
// kN / 2 floats for each thread.
template <class Tile>
__global__ __launch_bounds__(Tile::kThreads, 1) void add_parts_kernel(const PartialTiles<Tile> partial,
                                                                      const float* values, float* sums,
                                                                      const int* order, int parts) {
  constexpr int kSums = Tile::kN / 2, kConsumers = Tile::kThreads - kWarpgroup;
  if (threadIdx.x < kWarpgroup) return;
  const int thread = static_cast<int>(threadIdx.x) - kWarpgroup;
  WgmmaAccumulators<Tile> acc;
  for (int i = 0; i < parts; ++i) {
    const int part = order[i];
    for (int j = 0; j < kSums; ++j) acc.d[0][j] = values[(part * kConsumers + thread) * kSums + j];
    const StreamKWorkUnit unit = {0, 0, 1, part, parts, 0};
    if (!partial.add(acc, unit)) continue;
    for (int j = 0; j < kSums; ++j) sums[thread * kSums + j] = acc.d[0][j];
  }
}

template <class Tile>
void check_every_order_of_arrival(int parts) {
  constexpr int kSums = Tile::kM * Tile::kN;
  // Magnitudes for which the order of the additions matters. A sum of -0 is -0.
  std::vector<float> values = normal_values(int64_t{parts} * kSums, 1);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i % kSums == 5 ? -0.0f : std::ldexp(values[i], static_cast<int>(i * 7 % 24));
  std::vector<float> expected(values.begin(), values.begin() + kSums);
  for (int part = 1; part < parts; ++part)
    for (size_t i = 0; i < kSums; ++i) expected[i] += values[static_cast<size_t>(part) * kSums + i];

  GuardedBuffer<float> dvalues(values), dsums(kSums), partial(2 * parts * kSums);
  GuardedBuffer<unsigned> arrived{std::vector<unsigned>(PartialTiles<Tile>::kWarps)};
  std::vector<int> order(static_cast<size_t>(parts));
  std::iota(order.begin(), order.end(), 0);
  do {
    GuardedBuffer<int> dorder(order);
    arrived.upload(std::vector<unsigned>(PartialTiles<Tile>::kWarps));
    dsums.upload(std::vector<float>(kSums, NAN));
    const Stream stream;
    ASSERT_TRUE(ok(launch("add_parts", {.block_x = Tile::kThreads}, stream, add_parts_kernel<Tile>,
                          PartialTiles<Tile>{partial.data(), arrived.data()}, dvalues.data(), dsums.data(),
                          dorder.data(), parts)));
    ASSERT_TRUE(all_equal_bits(dsums.download(), expected))
        << "the last of " << parts << " is " << order.back();
  } while (std::ranges::next_permutation(order).found);
}

TEST(StreamK, TheOrderOfArrivalDoesNotMatter) {
  for (const int parts : {2, 3, 4}) {
    check_every_order_of_arrival<WarpSpecializedTile<float, 128, 128, 2, 6>>(parts);
    check_every_order_of_arrival<WarpSpecializedTile<float, 192, 176, 3, 4>>(parts);
  }
}

// A product whose bits are those of its parts, which the persistent kernel computes as products of their own,
// added in ascending order of k.
template <class T>
class StreamKBits : public testing::Test {
 protected:
  static constexpr GemmShape kShape = {300, 250, 456};
  static constexpr Arithmetic kArithmetic = arithmetic_of(dtype_of<T>, Math::tf32);
  static constexpr TileId kTile = wgmma_tile(kArithmetic, 128, 128);

  void SetUp() override {
    if (!check_wgmma("").ok()) GTEST_SKIP() << "the device has no wgmma";
  }
  GemmArgumentsOf<T, float> arguments() {
    return {.m = kShape.m,
            .n = kShape.n,
            .k = kShape.k,
            .a = a.data(),
            .b = b.data(),
            .c = c.data(),
            .a_stride = kShape.k,
            .b_stride = kShape.k,
            .c_stride = kShape.n,
            .transpose_a = false,
            .transpose_b = true,
            .alpha = 1,
            .beta = 0,
            .bias = nullptr,
            .residual = nullptr,
            .activation = Activation::none,
            .arithmetic = kArithmetic};
  }
  // blocks: of stream-K; 0: whole tiles
  Status run(const char* name, const TileId& tile, int blocks, const GemmArgumentsOf<T, float>& g,
             const Workspace& workspace) {
    GemmPlan plan;
    plan.tile = tile;
    plan.stream_k_blocks = blocks;
    return gemm_with_plan(name, plan, g, workspace, stream);
  }
  std::vector<float> expected(int blocks) {
    constexpr int64_t kSide = 128, kTilesM = 3, kTilesN = 2, kK = 128 / sizeof(T);
    std::vector<float> all(static_cast<size_t>(kShape.m * kShape.n));
    const StreamK division = stream_k(kTilesM * kTilesN, ceil_div<int64_t>(kShape.k, kK), blocks);
    // A later block has a later part of a tile.
    StreamKWorkUnit unit;
    for (int block = 0; block < blocks; ++block)
      for (int64_t i = 0; division.find_work_unit(block, i, &unit); ++i) {
        const TilePosition tile = TileGrid(kTilesM, kTilesN, 1).position(static_cast<int>(unit.tile));
        const int64_t row = tile.m * kSide, column = tile.n * kSide, k = unit.begin * kK;
        GemmArgumentsOf<T, float> g = arguments();
        g.m = std::min(kSide, g.m - row), g.n = std::min(kSide, g.n - column);
        g.k = std::min(g.k, unit.end * kK) - k;
        g.a += row * g.a_stride + k, g.b += column * g.b_stride + k;
        g.c += row * g.c_stride + column;
        EXPECT_TRUE(ok(run("part", kTile, 0, g, {})));
        const std::vector<float> part = c.download();
        for (int64_t r = row; r < row + g.m; ++r)
          for (int64_t j = column; j < column + g.n; ++j) {
            const auto at = static_cast<size_t>(r * kShape.n + j);
            all[at] = unit.part == 0 ? part[at] : all[at] + part[at];
          }
      }
    return all;
  }
  static std::vector<T> values(int64_t count, uint64_t seed) {
    std::vector<T> all;
    for (const float value : normal_values(count, seed)) all.push_back(static_cast<T>(value));
    return all;
  }

  const Stream stream;
  GuardedBuffer<T> a{values(kShape.m * kShape.k, 1)}, b{values(kShape.n * kShape.k, 2)};
  GuardedBuffer<float> c{kShape.m * kShape.n};
};
using Types = testing::Types<float, __nv_bfloat16, __half>;
struct TypeName {
  template <class T>
  static std::string GetName(int) {
    return name_of(dtype_of<T>);
  }
};
TYPED_TEST_SUITE(StreamKBits, Types, TypeName);

// 6 tiles over 4 blocks: at most 2 parts; over 13 and 31 blocks: more. Over 3 blocks none is divided. The
// workspace is not cleared between the runs.
TYPED_TEST(StreamKBits, AreThoseOfThePartsInTheOrderOfK) {
  for (const int blocks : {3, 4, 13, 31}) {
    SCOPED_TRACE(concat(blocks, " blocks"));
    const std::vector<float> expected = this->expected(blocks);
    GuardedBuffer<float> workspace(stream_k_workspace_bytes(this->kTile, blocks) / 4);
    const auto run = [&] {
      return this->run("stream_k", this->kTile, blocks, this->arguments(), workspace.workspace());
    };
    for (int repeat = 0; repeat < 2; ++repeat) {
      ASSERT_TRUE(ok(run()));
      EXPECT_TRUE(all_equal_bits(this->c.download(), expected));
    }
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const RandomOrder order(seed);
      ASSERT_TRUE(ok(run()));
      EXPECT_TRUE(all_equal_bits(this->c.download(), expected)) << "seed " << seed;
    }

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(this->stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_TRUE(ok(run()));
    ASSERT_EQ(cudaStreamEndCapture(this->stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&replay, graph, 0), cudaSuccess);
    for (int repeat = 0; repeat < 2; ++repeat) {
      this->c.upload(std::vector<float>(static_cast<size_t>(this->c.size()), NAN));
      ASSERT_EQ(cudaGraphLaunch(replay, this->stream), cudaSuccess);
      EXPECT_TRUE(all_equal_bits(this->c.download(), expected)) << "in a graph";
    }
    EXPECT_EQ(cudaGraphExecDestroy(replay), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
}

TYPED_TEST(StreamKBits, ATileOfPairsIsRefused) {
  const TileId pairs = wgmma_tile(TestFixture::kArithmetic, 256, 256, 2);
  EXPECT_TRUE(refused(this->run("stream_k", pairs, 2, this->arguments(), {}),
                      "stream_k: stream-K has tiles of single blocks only"));
}

// A product for which gemm() chooses stream-K on a device with the multiprocessors of an H100, in the
// workspace that it asks for.
TEST(StreamK, GemmUsesItWhereItPays) {
  DeviceProperties device;
  ASSERT_TRUE(ok(device_properties(&device)));
  if (!device.wgmma || device.multiprocessors != kStreamKBlocks) GTEST_SKIP() << "needs an H100";
  constexpr int64_t m = 1792, n = 1280, k = 1536;
  const GemmOptions options = {.transpose_b = true, .activation = Activation::relu, .math = Math::tf32};
  const GemmOperand operand = {Order::k_major, 4096, k};
  const GemmPlan plan = choose_gemm_plan({{m, n, k}, Arithmetic::tf32, operand, operand}, device);
  ASSERT_EQ(plan.stream_k_blocks, kStreamKBlocks);
  const std::vector<float> a = exact_values(m * k, 1), b = exact_values(n * k, 2);
  GuardedBuffer<float> da(a), db(b), dc(m * n), workspace(gemm_workspace_bytes({m, n, k}, options) / 4);
  ASSERT_EQ(workspace.workspace().bytes, stream_k_workspace_bytes(plan.tile, kStreamKBlocks));
  const Stream stream;
  const auto run = [&](const Workspace& given) {
    return gemm(matrix(dc.data(), m, n), matrix<const float>(da.data(), m, k),
                matrix<const float>(db.data(), n, k), options, given, stream);
  };
  Workspace less = workspace.workspace();
  less.bytes -= 1;
  EXPECT_TRUE(refused(run(less), concat("must have at least ", less.bytes + 1)));
  ASSERT_TRUE(ok(run(workspace.workspace())));
  const std::vector<float> c = dc.download();
  for (int64_t at = 0; at < m * n; at += 61) {  // of every tile
    const int64_t i = at / n, j = at % n;
    float sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(j * k + l)];
    ASSERT_EQ(c[static_cast<size_t>(at)], std::max(sum, 0.0f)) << "result " << i << ", " << j;
  }
}

}  // namespace
}  // namespace rondo::test

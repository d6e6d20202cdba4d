// The steps of the page, compared with the library: the bits of its all-reduce, its traffic, and its models.
#include <gtest/gtest.h>
#include <rondo/collectives/collectives.h>
#include <rondo/collectives/models/cost_model.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/vectors.h>
#include <rondo/tools/rondo/schedule/all_reduce_steps.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

namespace rondo::program {
namespace {

constexpr Algorithm kAll[] = {Algorithm::ring, Algorithm::direct, Algorithm::root, Algorithm::hierarchical};
constexpr int64_t kStepSizes[] = {0, 1, 100, 4096, 1'000'003};

Cluster links_of(int group_size) {
  return {.inside = {2e-6, 100e9}, .between = {11e-6, 7e9}, .devices_per_node = group_size};
}

// f(algorithm, ranks, group size, bytes) for all of them.
template <class F>
void for_all(const F& f) {
  for (int ranks = 1; ranks <= 16; ++ranks)
    for (int group = 1; group <= ranks; ++group)
      for (const int64_t bytes : kStepSizes)
        if (ranks % group == 0)
          for (const Algorithm algorithm : kAll) {
            SCOPED_TRACE(
                concat(algorithm, ", ", ranks, " ranks in groups of ", group, ", ", bytes, " bytes"));
            f(algorithm, ranks, group, bytes);
            if (testing::Test::HasFailure()) return;
          }
}

// Every rank ends with every input of every chunk, once. The chunks cover the data.
TEST(AllReduceSteps, EveryRankEndsWithEveryInput) {
  for_all([](Algorithm algorithm, int ranks, int group, int64_t bytes) {
    const AllReduceSteps schedule = all_reduce_steps(algorithm, ranks, bytes, links_of(group));
    ASSERT_EQ(schedule.chunks.size(), static_cast<size_t>(ranks));
    int64_t end = 0;
    for (const ring::Chunk& chunk : schedule.chunks) {
      if (chunk.size == 0) continue;
      ASSERT_EQ(chunk.begin, end);
      end += chunk.size;
    }
    ASSERT_EQ(end, bytes);
    std::map<std::pair<int, int>, ChunkState> last;
    for (const AllReduceStep& step : schedule.steps)
      for (const ChangedChunk& changed : step.changed) last[{changed.rank, changed.chunk}] = changed.state;
    for (int rank = 0; rank < ranks && ranks > 1; ++rank)
      for (int chunk = 0; chunk < ranks; ++chunk) {
        if (schedule.chunks[static_cast<size_t>(chunk)].size == 0) continue;
        const ChunkState& state = last[{rank, chunk}];
        ASSERT_TRUE(state.waiting.empty());
        std::vector<int> inputs;
        for (const std::vector<int>& sum : state.sums) inputs.insert(inputs.end(), sum.begin(), sum.end());
        std::ranges::sort(inputs);
        std::vector<int> want(static_cast<size_t>(ranks));
        for (int r = 0; r < ranks; ++r) want[static_cast<size_t>(r)] = r;
        ASSERT_EQ(inputs, want) << "rank " << rank << ", chunk " << chunk;
      }
  });
}

// A rank sends what it held before the step, and only what the receiver lacks changes there.
TEST(AllReduceSteps, AChunkOnlyChangesWhereItArrivesOrIsAdded) {
  for_all([](Algorithm algorithm, int ranks, int group, int64_t bytes) {
    const AllReduceSteps schedule = all_reduce_steps(algorithm, ranks, bytes, links_of(group));
    for (const AllReduceStep& step : schedule.steps) {
      std::set<std::pair<int, int>> arrived;
      for (const Movement& m : step.movements) {
        ASSERT_NE(m.from, m.to);
        int64_t moved = 0;
        for (int chunk = m.chunk; chunk < m.chunk + m.chunks; ++chunk) {
          arrived.insert({m.to, chunk});
          moved += schedule.chunks[static_cast<size_t>(chunk)].size;
        }
        ASSERT_EQ(moved, m.bytes);
      }
      for (const ChangedChunk& changed : step.changed)
        ASSERT_TRUE(arrived.contains({changed.rank, changed.chunk}));
    }
  });
}

TEST(AllReduceSteps, TheRingIsThatOfTheLibrary) {
  for (int ranks = 2; ranks <= 16; ++ranks) {
    const AllReduceSteps schedule = all_reduce_steps(Algorithm::ring, ranks, 1 << 20, links_of(ranks));
    ASSERT_EQ(schedule.steps.size(), static_cast<size_t>(ring::steps(ranks)));
    for (int s = 0; s < ring::steps(ranks); ++s) {
      const AllReduceStep& step = schedule.steps[static_cast<size_t>(s)];
      ASSERT_EQ(step.reduces, ring::phase_of(s, ranks) == ring::Phase::reduce_scatter);
      ASSERT_EQ(step.movements.size(), static_cast<size_t>(ranks));
      for (const Movement& m : step.movements) {
        ASSERT_EQ(m.to, ring::next_position(m.from, ranks));
        ASSERT_EQ(m.chunk, ring::sent_chunk(m.from, s, ranks));
      }
    }
  }
}

// collectives.h, "Traffic", for sizes without remainders.
TEST(AllReduceSteps, TrafficIsThatOfTheContract) {
  for (const int ranks : {2, 4, 6, 8, 12, 16}) {
    const int m = default_group_size(ranks), g = ranks / m;
    const int64_t bytes = int64_t{16} * ranks * 30;
    for (const Algorithm algorithm : kAll) {
      SCOPED_TRACE(concat(algorithm, ", ", ranks));
      const AllReduceSteps schedule = all_reduce_steps(algorithm, ranks, bytes, links_of(m));
      std::map<std::pair<int, int>, int64_t> links;
      for (const AllReduceStep& step : schedule.steps)
        for (const Movement& movement : step.movements) {
          links[{movement.from, movement.to}] += movement.bytes;
          ASSERT_EQ(movement.total, (links[{movement.from, movement.to}]));
        }
      for (int rank = 0; rank < ranks; ++rank) {
        int64_t want = 2 * (ranks - 1) * bytes / ranks;
        if (algorithm == Algorithm::root) want = rank == 0 ? (ranks - 1) * bytes : bytes;
        if (algorithm == Algorithm::hierarchical)
          want = 2 * (m - 1) * bytes / m + 2 * (g - 1) * bytes / m / g;
        EXPECT_EQ(schedule.steps.back().sent[static_cast<size_t>(rank)], want) << "rank " << rank;
        int64_t sent = 0;
        for (const auto& [link, moved] : links) sent += link.first == rank ? moved : 0;
        EXPECT_EQ(sent, want);
      }
    }
  }
}

// In one group the times are those of the models: a latency for each copy, and one for the kernel of direct.
TEST(AllReduceSteps, TimesAreThoseOfTheModels) {
  for (int ranks = 2; ranks <= 16; ++ranks) {
    const int64_t bytes = int64_t{16} * ranks * 1000;
    const Cluster cluster = links_of(ranks);
    const auto seconds = [&](Algorithm algorithm) {
      return all_reduce_steps(algorithm, ranks, bytes, cluster).seconds();
    };
    const double ring = predict(ScaleAlgorithm::flat_ring, ranks, bytes, cluster);
    EXPECT_NEAR(seconds(Algorithm::ring), ring, 1e-9 * ring) << ranks;
    EXPECT_NEAR(seconds(Algorithm::hierarchical), ring, 1e-9 * ring) << ranks;
    LinkConstants constants{.host_seconds_per_call = 0,
                            .copy_latency = cluster.inside.alpha,
                            .kernel_latency = 0,
                            .wire_bandwidth = cluster.inside.bandwidth,
                            .peer_bandwidth = cluster.inside.bandwidth,
                            .memory_bandwidth = 1e30,
                            .slot_bytes = 1 << 30};
    const double root = predict(Algorithm::root, ranks, bytes, constants, true).seconds();
    EXPECT_NEAR(seconds(Algorithm::root), root, 1e-9 * root) << ranks;
    constants.kernel_latency = cluster.inside.alpha;
    const double direct = predict(Algorithm::direct, ranks, bytes, constants, true).seconds();
    EXPECT_NEAR(seconds(Algorithm::direct), direct, 1e-9 * direct) << ranks;
  }
}

// A step that crosses nodes takes the time of the slow link, and its latency.
TEST(AllReduceSteps, TheSlowestLinkDetermines) {
  const Cluster cluster = links_of(2);
  const AllReduceSteps ring = all_reduce_steps(Algorithm::ring, 4, 4096, cluster);
  EXPECT_DOUBLE_EQ(ring.steps[0].seconds, 11e-6 + 1024 / 7e9);
  EXPECT_DOUBLE_EQ(ring.steps[0].latency, 11e-6);
  const AllReduceSteps groups = all_reduce_steps(Algorithm::hierarchical, 4, 4096, cluster);
  ASSERT_EQ(groups.steps.size(), 4U);
  EXPECT_DOUBLE_EQ(groups.steps[0].seconds, 2e-6 + 2048 / 100e9);
  EXPECT_DOUBLE_EQ(groups.steps[1].seconds, 11e-6 + 1024 / 7e9);
  EXPECT_DOUBLE_EQ(groups.steps[2].seconds, 1024 / 7e9);  // the kernel of the step before
  EXPECT_DOUBLE_EQ(groups.steps[2].latency, 0);
}

float sum_of(const ChunkState& state, const std::vector<std::vector<float>>& inputs, size_t at) {
  float total = 0;
  for (size_t i = 0; i < state.sums.size(); ++i) {
    float sum = 0;
    for (size_t k = 0; k < state.sums[i].size(); ++k) {
      const float value = inputs[static_cast<size_t>(state.sums[i][k])][at];
      sum = k == 0 ? value : sum + value;
    }
    total = i == 0 ? sum : total + sum;
  }
  return total;
}

// The order of the additions: the sums in that order have the bits of the library's all-reduce.
TEST(AllReduceSteps, TheOrderOfTheAdditionsGivesTheLibrarysBits) {
  std::mt19937 engine(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const int ranks : {2, 3, 4, 6, 8, 9, 16}) {
    const int group = default_group_size(ranks);
    const int64_t count = 16 * ranks * 3;
    const std::vector<int> devices(static_cast<size_t>(ranks), 0);
    CommunicatorOptions options;
    options.group_size = group;
    test::CommunicatorFixture fixture(devices, options);
    std::vector<std::vector<float>> inputs(static_cast<size_t>(ranks));
    for (std::vector<float>& input : inputs)
      for (int64_t i = 0; i < count; ++i) input.push_back(uniform(engine));
    for (const Algorithm algorithm : kAll) {
      if (algorithm == Algorithm::hierarchical && group == ranks) continue;
      SCOPED_TRACE(concat(algorithm, ", ", ranks));
      test::RankVectors data(devices, inputs);
      ASSERT_TRUE(
          all_reduce(data.views(), {.algorithm = algorithm}, fixture.communicator, fixture.handles).ok());
      fixture.synchronize();
      const AllReduceSteps schedule = all_reduce_steps(algorithm, ranks, count * 4, links_of(group));
      std::map<std::pair<int, int>, ChunkState> last;
      for (const AllReduceStep& step : schedule.steps)
        for (const ChangedChunk& changed : step.changed) last[{changed.rank, changed.chunk}] = changed.state;
      for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<float> got = data.download(static_cast<size_t>(rank));
        for (int chunk = 0; chunk < ranks; ++chunk) {
          const ring::Chunk range = schedule.chunks[static_cast<size_t>(chunk)];
          for (int64_t i = range.begin / 4; i < (range.begin + range.size) / 4; ++i)
            ASSERT_EQ(got[static_cast<size_t>(i)],
                      sum_of(last[{rank, chunk}], inputs, static_cast<size_t>(i)))
                << "rank " << rank << ", chunk " << chunk << ", element " << i;
        }
      }
    }
  }
}

TEST(AllReduceSteps, ValuesShowWhatWasAdded) {
  EXPECT_EQ(value_of({{{2, 0}}, {}}, 1, 4), 21 + 1);
  EXPECT_EQ(value_of({{{2, 3}, {1}}, {0}}, 3, 16), 203 + 303 + 103);
}

TEST(AllReduceSteps, DefaultGroups) {
  std::vector<int> sizes;
  for (int ranks = 1; ranks <= 16; ++ranks) sizes.push_back(default_group_size(ranks));
  EXPECT_EQ(sizes, (std::vector<int>{1, 2, 3, 2, 5, 3, 7, 4, 3, 5, 11, 4, 13, 7, 5, 4}));
}

}  // namespace
}  // namespace rondo::program

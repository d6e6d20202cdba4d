// The ring's schedule for 1 to 64 ranks, without a device: the steps run on lists of ranks instead of
// numbers.
#include <gtest/gtest.h>

#include <rondo/collectives/ring_schedule.h>

#include <cmath>
#include <vector>

namespace rondo::ring {
namespace {

constexpr int kMostRanks = 64;

// The ranks whose shares a chunk contains, in the order in which they were added.
using Shares = std::vector<int>;
using Ranks = std::vector<std::vector<Shares>>;  // [rank][chunk]

Ranks own_shares(int ranks) {
  Ranks held(static_cast<size_t>(ranks), std::vector<Shares>(static_cast<size_t>(ranks)));
  for (int rank = 0; rank < ranks; ++rank)
    for (Shares& chunk : held[static_cast<size_t>(rank)]) chunk = {rank};
  return held;
}

// One step: every rank sends the chunk that it held before the step.
Ranks after_step(const Ranks& before, int step) {
  const int ranks = static_cast<int>(before.size());
  Ranks after = before;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto prev = static_cast<size_t>(prev_position(rank, ranks));
    const auto chunk = static_cast<size_t>(received_chunk(rank, step, ranks));
    Shares& mine = after[static_cast<size_t>(rank)][chunk];
    Shares sum = before[prev][chunk];
    if (phase_of(step, ranks) == Phase::reduce_scatter) sum.insert(sum.end(), mine.begin(), mine.end());
    mine = sum;
  }
  return after;
}

// The order that all_reduce() documents: every rank once, from the chunk's number upwards and around.
Shares promised_order(int chunk, int ranks) {
  Shares order;
  for (int i = 0; i < ranks; ++i) order.push_back((chunk + i) % ranks);
  return order;
}

TEST(RingSchedule, HasTwiceNMinusOneSteps) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    ASSERT_EQ(steps(ranks), 2 * (ranks - 1));
    int reducing = 0;
    for (int step = 0; step < steps(ranks); ++step)
      reducing += phase_of(step, ranks) == Phase::reduce_scatter;
    ASSERT_EQ(reducing, ranks - 1);
  }
}

TEST(RingSchedule, NeighboursAreEachOthers) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    std::vector<int> receivers(static_cast<size_t>(ranks), 0);
    for (int rank = 0; rank < ranks; ++rank) {
      ASSERT_EQ(prev_position(next_position(rank, ranks), ranks), rank);
      ASSERT_EQ(next_position(prev_position(rank, ranks), ranks), rank);
      ++receivers.at(static_cast<size_t>(next_position(rank, ranks)));
    }
    for (int times : receivers) ASSERT_EQ(times, 1);
  }
}

TEST(RingSchedule, EverySendHasItsReceive) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks)
    for (int step = 0; step < steps(ranks); ++step) {
      std::vector<int> sent(static_cast<size_t>(ranks), 0);
      for (int rank = 0; rank < ranks; ++rank) {
        ASSERT_EQ(received_chunk(next_position(rank, ranks), step, ranks), sent_chunk(rank, step, ranks));
        ++sent.at(static_cast<size_t>(sent_chunk(rank, step, ranks)));
      }
      for (int times : sent) ASSERT_EQ(times, 1) << "a chunk travels twice in one step";
    }
}

TEST(RingSchedule, ReduceScatterSumsEveryShareOnceInThePromisedOrder) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    Ranks held = own_shares(ranks);
    for (int step = 0; step < ranks - 1; ++step) held = after_step(held, step);
    for (int chunk = 0; chunk < ranks; ++chunk)
      ASSERT_EQ(held[static_cast<size_t>(owner_of(chunk, ranks))][static_cast<size_t>(chunk)],
                promised_order(chunk, ranks))
          << "chunk " << chunk << " of " << ranks << " ranks";
  }
}

TEST(RingSchedule, AllGatherGivesEveryRankEveryFinishedChunk) {
  for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
    Ranks held = own_shares(ranks);
    for (int step = 0; step < steps(ranks); ++step) {
      if (phase_of(step, ranks) == Phase::all_gather)
        for (int rank = 0; rank < ranks; ++rank) {
          const auto chunk = static_cast<size_t>(sent_chunk(rank, step, ranks));
          ASSERT_EQ(held[static_cast<size_t>(rank)][chunk].size(), static_cast<size_t>(ranks))
              << "an unfinished chunk is passed on at step " << step << " of " << ranks << " ranks";
        }
      held = after_step(held, step);
    }
    for (int rank = 0; rank < ranks; ++rank)
      for (int chunk = 0; chunk < ranks; ++chunk)
        ASSERT_EQ(held[static_cast<size_t>(rank)][static_cast<size_t>(chunk)], promised_order(chunk, ranks))
            << "rank " << rank << ", chunk " << chunk << " of " << ranks << " ranks";
  }
}

// Writes to the next rank's output are the only ones that are not protected by a slot and its event. A rank
// that receives a finished chunk has already sent its own partial sum of it, so nothing still reads the
// overwritten data.
TEST(RingSchedule, OutputIsOverwrittenOnlyAfterItWasSentOn) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks)
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<bool> sent_on(static_cast<size_t>(ranks), false);
      for (int step = 0; step < steps(ranks); ++step) {
        if (phase_of(step, ranks) == Phase::all_gather) {
          ASSERT_TRUE(sent_on[static_cast<size_t>(received_chunk(rank, step, ranks))])
              << "rank " << rank << " of " << ranks << ", step " << step;
        }
        sent_on[static_cast<size_t>(sent_chunk(rank, step, ranks))] = true;
      }
    }
}

std::vector<int64_t> counts(int ranks) {
  return {0,
          1,
          2,
          3,
          4,
          5,
          ranks - 1,
          ranks,
          ranks + 1,
          2 * ranks - 1,
          4 * ranks - 1,
          4 * ranks,
          4 * ranks + 1,
          1000,
          65537,
          10'556'587,
          (int64_t{1} << 31) + 7,
          (int64_t{1} << 40) + 1};
}

TEST(Chunks, CoverTheDataOnceAndBeginAligned) {
  for (int64_t element_bytes : {1, 2, 4, 8})
    for (int ranks = 1; ranks <= kMostRanks; ++ranks)
      for (int64_t count : counts(ranks)) {
        int64_t covered = 0;
        for (int index = 0; index < ranks; ++index) {
          const Chunk chunk = chunk_of(count, ranks, index, element_bytes);
          ASSERT_GE(chunk.size, 0);
          ASSERT_EQ(chunk.begin, covered);
          if (chunk.size > 0) {
            ASSERT_EQ(chunk.begin * element_bytes % kChunkAlignment, 0);
          }
          ASSERT_LE(chunk.size, full_chunk_size(count, ranks, element_bytes));
          covered += chunk.size;
        }
        ASSERT_EQ(covered, count) << count << " elements of " << element_bytes << " bytes, " << ranks
                                  << " ranks";
      }
}

// A full chunk is less than one element and one alignment unit longer than the n-th part, so a pass over n
// slots of data fits.
TEST(Chunks, AreAsEqualAsTheAlignmentAllows) {
  for (int64_t element_bytes : {1, 2, 4, 8})
    for (int ranks = 1; ranks <= kMostRanks; ++ranks) {
      const int64_t unit = kChunkAlignment / element_bytes;
      for (int64_t count : counts(ranks)) {
        const int64_t full_size = full_chunk_size(count, ranks, element_bytes);
        ASSERT_GE(full_size * ranks, count);
        ASSERT_LT((full_size - unit) * ranks, count + (count == 0));
      }
      for (int64_t slot : {unit, 2 * unit, 1000 * unit})
        ASSERT_EQ(full_chunk_size(ranks * slot, ranks, element_bytes), slot);
    }
}

// 2 (n-1)/n * S bytes, up to one alignment unit per step.
TEST(Chunks, EveryRankSendsItsPart) {
  constexpr int64_t kElementBytes = 4;
  for (int ranks = 2; ranks <= kMostRanks; ++ranks)
    for (int64_t count : counts(ranks)) {
      int64_t all = 0;
      const double ideal = 2.0 * (ranks - 1) / ranks * static_cast<double>(count * kElementBytes);
      for (int rank = 0; rank < ranks; ++rank) {
        int64_t bytes = 0;
        for (int step = 0; step < steps(ranks); ++step)
          bytes += kElementBytes * chunk_of(count, ranks, sent_chunk(rank, step, ranks), kElementBytes).size;
        ASSERT_LE(std::abs(static_cast<double>(bytes) - ideal), steps(ranks) * kChunkAlignment)
            << "rank " << rank << " of " << ranks << ", " << count << " elements";
        all += bytes;
      }
      ASSERT_EQ(all, 2 * (ranks - 1) * count * kElementBytes);  // the sum over all ranks is exact
    }
}

// The segments cover the chunk once, none is larger than a slot, all but the last have equal sizes and begin
// aligned, and a large chunk has enough segments to keep all slots busy.
TEST(Segments, CoverTheChunkAndFitTheSlots) {
  for (int64_t element_bytes : {1, 2, 4, 8})
    for (int64_t most : {64, 100, 1000, 1 << 20})
      for (int64_t size : {0, 1, 3, 63, 64, 65, 1000, 65537, 1 << 20, (1 << 20) + 1, 10'556'587}) {
        const int64_t unit = kChunkAlignment / element_bytes;
        const Segments segments = segments_of(size, most, element_bytes);
        int64_t covered = 0;
        for (int64_t index = 0; index < segments.count; ++index) {
          const Chunk segment = segment_of({7, size}, segments, index);
          ASSERT_GT(segment.size, 0);
          ASSERT_LE(segment.size, most);
          ASSERT_EQ(segment.begin, 7 + covered);
          ASSERT_EQ(covered * element_bytes % kChunkAlignment, 0);
          ASSERT_TRUE(index + 1 == segments.count || segment.size % unit == 0);
          covered += segment.size;
        }
        ASSERT_EQ(covered, size) << "segments of at most " << most;
        ASSERT_EQ(segment_of({7, size}, segments, segments.count).size, 0);
        ASSERT_TRUE(size * element_bytes < kSplitBytes || segments.count >= kSlots);
      }
}

TEST(Segments, AChunkIsDividedFromTheLimitOn) {
  for (int64_t element_bytes : {1, 2, 4, 8}) {
    const int64_t limit = kSplitBytes / element_bytes;
    EXPECT_EQ(segments_of(limit - 1, 1 << 20, element_bytes).count, 1);
    EXPECT_EQ(segments_of(limit, 1 << 20, element_bytes).count, kSlots);
  }
}

// The examples of collectives/README.md, at compile time.
static_assert(sent_chunk(0, 0, 4) == 0 && sent_chunk(0, 1, 4) == 3 && sent_chunk(0, 5, 4) == 3);
static_assert(received_chunk(0, 0, 4) == 3 && received_chunk(2, 2, 4) == 3);
static_assert(owner_of(0, 4) == 3 && owner_of(3, 4) == 2);
static_assert(chunk_of(10, 4, 2, 4).begin == 8 && chunk_of(10, 4, 2, 4).size == 2 &&
              chunk_of(10, 4, 3, 4).size == 0);

}  // namespace
}  // namespace rondo::ring

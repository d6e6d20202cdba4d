// The steps of an all-reduce by each algorithm: which rank sends how many bytes to which other rank, what
// every rank holds of every chunk afterwards, and how long a step takes on links with a latency and a
// bandwidth.
//
// The steps follow collectives/algorithms: the ring is that of ring_schedule.h; `direct` reads and writes
// with peer access, in one kernel; `root` copies the inputs to rank 0 one after the other, and the result
// back; `hierarchical` has a ring in each group and a direct exchange between the groups. A chunk is shown as
// one copy; the library cuts large chunks into segments (segments_of()).
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/collectives/models/scale_model.h>
#include <rondo/collectives/ring_schedule.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::program {

// What one rank holds of one chunk. A chunk of input r is the single sum {{r}}. Several sums are added as
// wholes, from the first to the last: {{0, 1}, {3, 2}} is (x[0] + x[1]) + (x[3] + x[2]).
struct ChunkState {
  std::vector<std::vector<int>> sums;
  std::vector<int> waiting;  // ranks whose inputs have arrived and are not yet added

  bool operator==(const ChunkState&) const = default;
};

// Bytes that travel from one rank to another in a step: `chunks` chunks from `chunk` on.
struct Movement {
  int from = 0, to = 0;
  int chunk = 0, chunks = 1;
  int64_t bytes = 0;
  int64_t total = 0;  // the bytes of this link in this direction, up to and including this step
};

// A chunk that changes in a step.
struct ChangedChunk {
  int rank = 0, chunk = 0;
  ChunkState state;
};

struct AllReduceStep {
  const char* phase = "";  // "reduce-scatter", "all-gather"; root: "reduce", "broadcast"
  std::string action;      // one sentence
  bool reduces = true;     // before the sums are complete
  bool new_call = true;    // false: the kernel of the previous step goes on, without another latency
  std::vector<Movement> movements;
  std::vector<ChangedChunk> changed;
  std::vector<int64_t> sent;  // bytes that each rank has sent, up to and including this step
  double latency = 0;         // the part of `seconds` that does not depend on the bytes
  double seconds = 0;
  double end = 0;  // seconds from the beginning
};

struct AllReduceSteps {
  Algorithm algorithm = Algorithm::ring;
  int ranks = 0, group_size = 0;
  std::vector<ring::Chunk> chunks;  // in bytes; `ranks` of them, also for algorithms that cut into fewer
  std::vector<AllReduceStep> steps;

  double seconds() const { return steps.empty() ? 0 : steps.back().end; }
};

// Requires ranks >= 1, bytes >= 0, and a number of devices per node that divides `ranks`: the groups of
// `hierarchical`. Ranks of one group are connected by cluster.inside, others by cluster.between. A step takes
// the time of its slowest rank: for each of the two links, its latency and the bytes that the rank sends or
// receives over it, whichever is more, divided by the bandwidth.
AllReduceSteps all_reduce_steps(Algorithm algorithm, int ranks, int64_t bytes, const Cluster& cluster);

// Initial state and example values: rank r's chunk c is the number r * value_base(ranks) + c.
constexpr int value_base(int ranks) { return ranks <= 10 ? 10 : 100; }
constexpr int64_t input_value(int rank, int chunk, int ranks) {
  return int64_t{rank} * value_base(ranks) + chunk;
}
// The sum of the inputs of a chunk that are added.
int64_t value_of(const ChunkState& state, int chunk, int ranks);

// The size of the groups if none is given: as few groups as possible, but at least as many ranks in a group
// as groups; a single group if the number of ranks is prime.
int default_group_size(int ranks);

}  // namespace rondo::program

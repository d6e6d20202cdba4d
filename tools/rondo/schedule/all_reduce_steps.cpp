#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/text.h>
#include <rondo/tools/rondo/schedule/all_reduce_steps.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace rondo::program {
namespace {

class StepBuilder {
 public:
  StepBuilder(Algorithm algorithm, int ranks, int64_t bytes, const Cluster& cluster)
      : ranks_(ranks), bytes_(bytes), cluster_(cluster), sent_(static_cast<size_t>(ranks)) {
    result_.algorithm = algorithm;
    result_.ranks = ranks;
    result_.group_size = cluster.devices_per_node;
    for (int rank = 0; rank < ranks; ++rank)
      states_.emplace_back(static_cast<size_t>(ranks), ChunkState{{{rank}}, {}});
    add_chunks(algorithm == Algorithm::hierarchical ? groups() : 1);
  }

  AllReduceSteps ring() {
    ring_steps(0, ranks_ - 1, ranks_);
    ring_steps(ranks_ - 1, ring::steps(ranks_), ranks_);
    return result_;
  }

  AllReduceSteps direct() {
    if (ranks_ == 1) return result_;
    begin("reduce-scatter", true,
          "Every rank reads its own chunk of all other ranks, and adds from rank 0 to the last.");
    for (int rank = 0; rank < ranks_; ++rank) read_and_add(rank, every_rank(), rank);
    end();
    begin("all-gather", false, "The same kernel writes the finished chunk to all other ranks.", false);
    for (int rank = 0; rank < ranks_; ++rank) write_to(rank, every_rank(), rank);
    end();
    return result_;
  }

  AllReduceSteps root() {
    for (int rank = 1; rank < ranks_; ++rank) {
      const bool last = rank + 1 == ranks_;
      begin("reduce", true,
            concat("Rank 0 copies the vector of rank ", rank,
                   last ? ". All have arrived: one kernel adds them." : " to its scratch memory."));
      move(rank, 0, 0, ranks_);
      for (int chunk = 0; chunk < ranks_; ++chunk) {
        ChunkState state = states_[0][static_cast<size_t>(chunk)];
        state.waiting.push_back(rank);
        if (last) {
          state.sums[0].insert(state.sums[0].end(), state.waiting.begin(), state.waiting.end());
          state.waiting.clear();
        }
        change(0, chunk, state);
      }
      end();
    }
    for (int rank = 1; rank < ranks_; ++rank) {
      begin("broadcast", false, concat("Rank 0 sends the finished sum to rank ", rank, "."));
      move(0, rank, 0, ranks_);
      for (int chunk = 0; chunk < ranks_; ++chunk)
        change(rank, chunk, states_[0][static_cast<size_t>(chunk)]);
      end();
    }
    return result_;
  }

  AllReduceSteps hierarchical() {
    const int m = cluster_.devices_per_node;
    ring_steps(0, m - 1, m);
    if (groups() > 1) exchange(m);
    ring_steps(m - 1, ring::steps(m), m);
    return result_;
  }

 private:
  int groups() const { return ranks_ / cluster_.devices_per_node; }
  std::vector<int> every_rank() const {
    std::vector<int> all(static_cast<size_t>(ranks_));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // ranks / slices chunks, each cut into `slices` parts.
  void add_chunks(int slices) {
    const int whole = ranks_ / slices;
    for (int i = 0; i < whole; ++i) {
      const ring::Chunk chunk = ring::chunk_of(bytes_, whole, i, 1);
      for (int k = 0; k < slices; ++k) {
        const ring::Chunk slice = ring::chunk_of(chunk.size, slices, k, 1);
        result_.chunks.push_back({chunk.begin + slice.begin, slice.size});
      }
    }
  }

  // Steps [first, last) of rings of m ranks each, in which a chunk is ranks / m entries of result_.chunks.
  void ring_steps(int first, int last, int m) {
    const int width = ranks_ / m;
    const char* where = m < ranks_ ? " of its group" : "";
    for (int step = first; step < last; ++step) {
      const bool adds = ring::phase_of(step, m) == ring::Phase::reduce_scatter;
      begin(adds ? "reduce-scatter" : "all-gather", adds,
            concat("Every rank sends a ", adds ? "chunk" : "finished chunk", " to the next rank", where,
                   adds ? ", which adds its own." : ", which keeps it."));
      for (int rank = 0; rank < ranks_; ++rank) {
        const int base = rank / m * m, position = rank % m;
        const int to = base + ring::next_position(position, m);
        const int chunk = ring::sent_chunk(position, step, m) * width;
        move(rank, to, chunk, width);
        for (int i = chunk; i < chunk + width; ++i) {
          ChunkState state = states_[static_cast<size_t>(rank)][static_cast<size_t>(i)];
          if (adds) state.sums[0].push_back(to);
          change(to, i, state);
        }
      }
      end();
    }
  }

  // The ranks at the same position of all groups hold partial sums of the same chunk. Each computes one
  // slice.
  void exchange(int m) {
    const auto slice_of = [&](int rank) {  // at a position, the ring completes the next one's chunk
      return ring::next_position(rank % m, m) * groups() + rank / m;
    };
    const auto peers_of = [&](int rank) {
      std::vector<int> peers;
      for (int group = 0; group < groups(); ++group) peers.push_back(group * m + rank % m);
      return peers;
    };
    begin("reduce-scatter", true,
          "Every rank reads its slice of the partial sums of the other groups, and adds from group 0 to the "
          "last.");
    for (int rank = 0; rank < ranks_; ++rank) read_and_add(rank, peers_of(rank), slice_of(rank));
    end();
    begin("all-gather", false, "The same kernel writes the finished slice to the other groups.", false);
    for (int rank = 0; rank < ranks_; ++rank) write_to(rank, peers_of(rank), slice_of(rank));
    end();
  }

  // `rank` reads `chunk` of all `peers`, itself among them. Sums of several ranks stay wholes.
  void read_and_add(int rank, const std::vector<int>& peers, int chunk) {
    ChunkState sum;
    for (const int peer : peers) {
      const std::vector<int>& part = states_[static_cast<size_t>(peer)][static_cast<size_t>(chunk)].sums[0];
      if (part.size() > 1 || sum.sums.empty())
        sum.sums.push_back(part);
      else
        sum.sums[0].insert(sum.sums[0].end(), part.begin(), part.end());
      if (peer != rank) move(peer, rank, chunk, 1);
    }
    change(rank, chunk, sum);
  }

  void write_to(int rank, const std::vector<int>& peers, int chunk) {
    for (const int peer : peers) {
      if (peer == rank) continue;
      move(rank, peer, chunk, 1);
      change(peer, chunk, states_[static_cast<size_t>(rank)][static_cast<size_t>(chunk)]);
    }
  }

  void begin(const char* phase, bool reduces, std::string action, bool new_call = true) {
    step_ = {};
    step_.phase = phase;
    step_.action = std::move(action);
    step_.reduces = reduces;
    step_.new_call = new_call;
  }

  void move(int from, int to, int chunk, int chunks) {
    int64_t bytes = 0;
    for (int i = chunk; i < chunk + chunks; ++i) bytes += result_.chunks[static_cast<size_t>(i)].size;
    if (bytes == 0) return;
    sent_[static_cast<size_t>(from)] += bytes;
    step_.movements.push_back({from, to, chunk, chunks, bytes, totals_[{from, to}] += bytes});
  }

  // The states of a step are those before it: they change in end().
  void change(int rank, int chunk, const ChunkState& state) {
    if (result_.chunks[static_cast<size_t>(chunk)].size > 0) step_.changed.push_back({rank, chunk, state});
  }

  void end() {
    for (const ChangedChunk& changed : step_.changed)
      states_[static_cast<size_t>(changed.rank)][static_cast<size_t>(changed.chunk)] = changed.state;
    step_.sent = sent_;
    add_time(step_);
    step_.end = result_.seconds() + step_.seconds;
    result_.steps.push_back(std::move(step_));
  }

  void add_time(AllReduceStep& step) const {
    const int m = cluster_.devices_per_node;
    std::map<std::array<int, 3>, int64_t> loads;  // by rank, direction, and whether the link leaves the group
    for (const Movement& movement : step.movements) {
      const int leaves = movement.from / m != movement.to / m ? 1 : 0;
      loads[{movement.from, 0, leaves}] += movement.bytes;
      loads[{movement.to, 1, leaves}] += movement.bytes;
    }
    for (const auto& [where, bytes] : loads) {
      const ScaleLink& link = where[2] ? cluster_.between : cluster_.inside;
      const double latency = step.new_call ? link.alpha : 0;
      const double seconds = latency + static_cast<double>(bytes) / link.bandwidth;
      if (seconds <= step.seconds) continue;
      step.seconds = seconds;
      step.latency = latency;
    }
  }

  int ranks_;
  int64_t bytes_;
  Cluster cluster_;
  std::vector<std::vector<ChunkState>> states_;  // [rank][chunk]
  std::vector<int64_t> sent_;
  std::map<std::pair<int, int>, int64_t> totals_;
  AllReduceStep step_;
  AllReduceSteps result_;
};

}  // namespace

AllReduceSteps all_reduce_steps(Algorithm algorithm, int ranks, int64_t bytes, const Cluster& cluster) {
  StepBuilder builder(algorithm, ranks, bytes, cluster);
  switch (algorithm) {
    case Algorithm::direct:
      return builder.direct();
    case Algorithm::root:
      return builder.root();
    case Algorithm::hierarchical:
      return builder.hierarchical();
    default:
      return builder.ring();
  }
}

int64_t value_of(const ChunkState& state, int chunk, int ranks) {
  int64_t value = 0;
  for (const std::vector<int>& sum : state.sums)
    for (const int rank : sum) value += input_value(rank, chunk, ranks);
  return value;
}

int default_group_size(int ranks) {
  for (int groups = ranks; groups > 1; --groups)
    if (ranks % groups == 0 && groups * groups <= ranks) return ranks / groups;
  return ranks;
}

}  // namespace rondo::program

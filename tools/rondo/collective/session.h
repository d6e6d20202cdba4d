// Session: the ranks' buffers and streams, and one measurement: fill, run, count wrong elements, then time.
#pragma once

#include <rondo/nn/train/stream_group.h>
#include <rondo/tools/rondo/collective/engine.h>
#include <rondo/tools/rondo/collective/exact_values.h>

#include <cstddef>
#include <optional>
#include <vector>

namespace rondo::program {

struct SessionOptions {
  int iterations = 20;
  int warmup = 1;
  int checks = 1;
  int graph_launches = 0;
  int misalign = 0;
};

struct Measured {
  std::vector<double> seconds;  // of one iteration, one entry per rank of this process
  std::optional<int64_t>
      wrong;  // elements, over all checks and all ranks of this process; nothing: not checked
};

class Session {
 public:
  // The memory that one rank needs.
  static int64_t bytes_per_rank(int64_t most_bytes, const SessionOptions& options);

  // Allocates `most_bytes` for the input and for the output of each rank. Throws rondo::Error.
  Session(Engine& engine, int64_t most_bytes, const SessionOptions& options);

  // Measures one operation with `elements` on the larger side; `seed` selects the data. Throws rondo::Error.
  Measured measure(const CollectiveCall& call, int64_t elements, bool in_place, uint64_t seed);

  // Traces one out-of-place iteration, after an untraced one that loads the kernels.
  void run_once(const CollectiveCall& call, int64_t elements, Trace& trace);

 private:
  struct Vectors {
    Extent extent;
    std::vector<DataView> outputs = {}, inputs = {};
    std::vector<ConstDataView> given = {};  // the inputs, as const views for the operations
  };

  int local_ranks() const { return streams_.size(); }
  int rank(int local) const { return engine_.first_rank() + local; }
  Vectors vectors(const CollectiveCall& call, int64_t elements, bool in_place);
  void enqueue(const CollectiveCall& call, const Vectors& vectors);
  void prepare(const CollectiveCall& call, const Vectors& vectors, const ExactData& data);
  int64_t count(const CollectiveCall& call, const Vectors& vectors, const ExactData& data);
  std::vector<double> time(const CollectiveCall& call, const Vectors& vectors);

  Engine& engine_;
  SessionOptions options_;
  StreamGroup streams_;
  std::vector<Buffer<std::byte>> inputs_, outputs_;
  std::vector<Buffer<unsigned long long>> wrong_;
  DrainAtEnd drained_{streams_};
};

}  // namespace rondo::program

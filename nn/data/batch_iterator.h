// BatchIterator: provides the samples of each training step, in the memory of the replicas' devices.
#pragma once

#include <rondo/nn/graph/loss.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/graph/shard.h>
#include <rondo/nn/graph/unique.h>

#include <cstdint>

namespace rondo::nn {

// The work enqueued for a step may be recorded and replayed for later steps, so positions that change between
// steps must be in device memory.
class BatchIterator : public Unique {
 public:
  virtual ~BatchIterator() = default;

  // Number of samples in the next step, over all replicas.
  virtual int64_t next_batch() const = 0;
  virtual Loss loss() const = 0;

  // Enqueues, on the stream of the replica, whose device is current, a copy of samples `samples` of the
  // step's batch into replica.input() and `target`. A step may load its shard in several parts.
  virtual void load(Replica& replica, size_t rank, Shard samples, const LossTarget& target) = 0;
  // Enqueued like load(), after the step's last one: advances the position in device memory to the next step.
  virtual void advance(Replica& replica, size_t rank) = 0;
  // Advances the position on the host. Called once per step, replayed or not.
  virtual void step_taken() = 0;
};

}  // namespace rondo::nn

// BatchIterator: where the samples of a training step come from, in the memory of the replicas' devices.
#pragma once

#include <rondo/kernels/core/view.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/train/shard.h>
#include <rondo/nn/train/unique.h>

#include <cstdint>

namespace rondo::nn {

enum class Loss {
  cross_entropy,  // of the softmax of a sample's outputs with its label
  squared_error,  // summed over a sample's outputs
};

// What the loss compares a replica's outputs with: as many as the replica's batch, of the kind that the loss wants.
struct LossTarget {
  VectorView<int32_t> labels;
  MatrixView<float> values;
};

// What a source enqueues for a step may be recorded and replayed for the following ones: places that move on from step to
// step must do so in device memory.
class BatchIterator : public Unique {
 public:
  virtual ~BatchIterator() = default;

  // Samples of the next step, over all replicas.
  virtual int64_t next_batch() const = 0;
  virtual Loss loss() const = 0;

  // Enqueues on the replica's stream, whose device is current: samples `piece` of the step's batch into replica.input() and
  // `target`. A step may want its shard in several pieces.
  virtual void load(Replica& replica, size_t rank, Shard piece, const LossTarget& target) = 0;
  // Enqueues the same way, behind the step's last piece: the next step begins behind its samples.
  virtual void advance(Replica& replica, size_t rank) = 0;
  // The host's part of it: called once for every step, replayed or not.
  virtual void step_taken() = 0;
};

}  // namespace rondo::nn

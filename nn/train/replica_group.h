// ReplicaGroup: the replicas of a model on this process's devices, and the rest that a pass over them needs:
// streams, the split of each batch, the losses, and the communicator of batch normalisation. DataParallel
// owns it; TrainingStep and nn/diagnostics use it.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/host_uploads.h>
#include <rondo/nn/graph/loss.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/graph/shard.h>
#include <rondo/nn/layers/module.h>
#include <rondo/nn/train/data_parallel_options.h>
#include <rondo/nn/train/stream_group.h>
#include <rondo/nn/train/world.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rondo::nn {

class ReplicaGroup {
 public:
  // Throws rondo::Error: bad_argument, out_of_resources.
  ReplicaGroup(const AnyModule& network, Shape input, DataParallelOptions options);
  ~ReplicaGroup() { streams_.drain(); }
  ReplicaGroup(const ReplicaGroup&) = delete;
  ReplicaGroup& operator=(const ReplicaGroup&) = delete;

  const Graph& graph() const { return graph_; }
  const DataParallelOptions& options() const { return options_; }
  const World& world() const { return world_; }
  int size() const { return static_cast<int>(replicas_.size()); }  // replicas in this process
  std::span<Replica> replicas() { return replicas_; }
  StreamGroup& streams() { return streams_; }            // one stream for each replica
  std::span<HostUploads> uploads() { return uploads_; }  // to a replica's device, on its stream
  LossHead& loss(size_t rank) { return losses_[rank]; }
  int64_t samples_per_replica() const { return samples_per_replica_; }

  // Calls work(replica, rank) for each replica, with its device current.
  template <class Work>
  void on_each(Work work);

  // The part of a batch that replica `rank` of this process trains, and its micro-batch `index`.
  Shard shard(int64_t batch, size_t rank) const;
  Shard micro_batch(int64_t batch, size_t rank, int64_t index) const;
  // The settings of a training pass over micro-batch `index`, with the rounded parameters as they are.
  Pass training_pass(int64_t batch, int64_t index);

  // Adds each replica's losses, over the samples that it holds and whose targets are in loss(), to its loss
  // statistics; with_gradient: also writes the gradient of the replica's output.
  void enqueue_loss(Loss loss, bool with_gradient);
  // The losses of some samples of replica `rank`'s batch, after forward() and before enqueue_loss(), which
  // may overwrite the output. Resets the replica's loss statistics. Waits.
  LossStats losses(Loss loss, size_t rank, Shard samples);
  // Returns the statistics over all ranks since the last call, and resets them. Waits.
  LossStats take_loss_stats();
  // Returns the statistics of each replica of this process, and resets them. Waits.
  std::vector<LossStats> clear_loss_stats();
  // The statistics in device memory that take_loss_stats() adds up.
  std::vector<const LossStats*> loss_stats() const;
  // Calls work(), which may use the loss, and restores the loss statistics afterwards. Waits.
  template <class Work>
  auto with_saved_loss_stats(Work work);

  // Both are enqueued in each step with keep_finite, and do nothing without it. A loss that is not finite
  // makes the first gradient NaN, before the all-reduce; the check of the gradients then stops all replicas.
  void mark_nonfinite_losses();
  void check_gradients(size_t rank);
  // What was not finite since the last clear: "the loss", "the gradient of '0.weight'" (the first such
  // parameter), or "". Waits.
  std::string nonfinite_value();
  // Forgets what was not finite, losses included. Waits.
  void clear_nonfinite_value();

 private:
  Shard shard_of_world(int64_t batch, int64_t rank) const;
  Shard micro_batch_of_world(int64_t batch, int64_t rank, int64_t index) const;
  unsigned long long first_nonfinite_gradient();
  bool sharded() const { return options_.placement == BatchPlacement::sharded; }
  void copy_initial_values();

  Graph graph_;
  DataParallelOptions options_;
  World world_;
  StreamGroup streams_;
  std::vector<HostUploads> uploads_;
  int64_t samples_per_replica_;
  std::vector<Replica> replicas_;
  std::vector<LossHead> losses_;
  // With keep_finite: the smallest index in the gradient arena of a NaN or an infinity (first_nonfinite()).
  std::vector<Buffer<unsigned long long>> first_nonfinite_;
  std::unique_ptr<Communicator> batch_norm_communicator_;  // for the sums of batch normalisation, or null
};

template <class Work>
void ReplicaGroup::on_each(Work work) {
  for (size_t rank = 0; rank < replicas_.size(); ++rank) {
    const DeviceScope scope(replicas_[rank].device());
    work(replicas_[rank], rank);
  }
}

template <class Work>
auto ReplicaGroup::with_saved_loss_stats(Work work) {
  const LossStats before = take_loss_stats();
  const auto restore = [&] {
    clear_loss_stats();
    if (world_.first() > 0) return;  // `before` is the sum over all ranks: only rank 0 gets it
    losses_[0].set_stats(before);
  };
  try {
    auto result = work();
    restore();
    return result;
  } catch (...) {
    restore();
    throw;
  }
}

}  // namespace rondo::nn

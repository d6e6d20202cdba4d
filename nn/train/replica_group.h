// ReplicaGroup: the replicas of a model on this process's devices, and the rest that a pass over them needs:
// streams, the split of each batch, the memory of the loss, and the communicator of batch normalisation.
// DataParallel owns it; TrainingSteps, evaluation.h and nn/diagnostics use it.
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/batch_iterator.h>
#include <rondo/nn/data/host_uploads.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/layers/module.h>
#include <rondo/nn/train/data_parallel_options.h>
#include <rondo/nn/train/shard.h>
#include <rondo/nn/train/stream_group.h>
#include <rondo/nn/train/world.h>

#include <cstdint>
#include <memory>
#include <span>
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
  StreamGroup& streams() { return streams_; }                   // one stream for each replica
  HostUploads& uploads(size_t rank) { return uploads_[rank]; }  // to a replica's device, on its stream
  int64_t samples_per_replica() const { return samples_per_replica_; }

  // Calls work(replica, rank) for each replica, with its device current.
  template <class Work>
  void on_each(Work work);

  // The part of a batch that a rank of the world trains, and its micro-batch `index`.
  Shard shard(int64_t batch, int64_t rank) const;
  Shard micro_batch(int64_t batch, int64_t rank, int64_t index) const;
  // Views of the memory with the labels and the target values of replica `rank`, for `samples` samples.
  LossTarget target(size_t rank, int64_t samples);
  // Enqueues the loading of micro-batch `index` of the iterator's next batch on each replica, and sets the
  // replicas' batch to it.
  void load(BatchIterator& batches, int64_t batch, int64_t index);
  // The settings of a training pass over micro-batch `index`.
  Pass training_pass(int64_t batch, int64_t index);

  // Adds each replica's losses, over the samples that it holds, to its loss statistics; with_gradient: also
  // writes the gradient of the replica's output.
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

  // With keep_finite: the smallest index in the gradient arena where any replica of this process had a NaN or
  // an infinity; kAllFinite if there was none. Waits.
  unsigned long long found_inf();
  // Whether all losses of this process's replicas since the last take_loss_stats() are finite. Waits.
  bool losses_are_finite();
  // Both are enqueued in each step with keep_finite, and do nothing without it. A loss that is not finite
  // makes the first gradient NaN, before the all-reduce; the check of the gradients then stops all replicas.
  void enqueue_loss_check(size_t rank);
  void enqueue_nonfinite_check(size_t rank);
  // Forgets what was not finite, losses included.
  void clear_found_inf();

 private:
  // The memory that the loss of a replica needs.
  struct LossMemory {
    Buffer<int32_t> labels;
    Buffer<float> values;
    Buffer<LossStats> stats;
    Buffer<std::byte> workspace;
  };

  void enqueue_loss(Loss loss, size_t rank, Shard samples, bool with_gradient);
  bool sharded() const { return options_.placement == BatchPlacement::sharded; }
  void copy_initial_values();

  Graph graph_;
  DataParallelOptions options_;
  World world_;
  StreamGroup streams_;
  std::vector<HostUploads> uploads_;
  int64_t samples_per_replica_;
  std::vector<Replica> replicas_;
  std::vector<LossMemory> losses_;
  std::vector<Buffer<unsigned long long>> found_inf_;      // with keep_finite
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
    const DeviceScope scope(replicas_[0].device());
    losses_[0].stats.upload(std::vector<LossStats>{before});
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

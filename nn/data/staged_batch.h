// StagedBatch: a batch from host memory, copied to the replicas' devices.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/batch_iterator.h>
#include <rondo/nn/data/host_uploads.h>

#include <span>
#include <vector>

namespace rondo::nn {

// The copy of a shard to a device. `all` is in host memory and holds `width` elements per sample.
template <class T>
HostUploads::Part upload_of_shard(T* to, std::span<const T> all, Shard shard, int64_t width) {
  return upload_of(
      to, all.subspan(static_cast<size_t>(shard.first * width), static_cast<size_t>(shard.size * width)));
}

class StagedBatch : public BatchIterator {
 public:
  // Allocates room for shards of up to `most` samples. uploads[rank] copies to the device of replicas[rank],
  // on its stream. Both must outlive this.
  StagedBatch(std::span<Replica> replicas, std::span<HostUploads> uploads, int64_t most);

  // Enqueues the copy of shards[rank] of the batch on its replica's stream. The targets are labels, or
  // `outputs` values per sample. Memory that is not pinned may be reused after the call (host_uploads.h).
  void stage(std::span<const Shard> shards, std::span<const float> x, std::span<const int32_t> labels);
  void stage(std::span<const Shard> shards, std::span<const float> x, std::span<const float> targets);

  int64_t next_batch() const override { return batch_; }  // the same batch until another is staged
  Loss loss() const override { return loss_; }
  void load(Replica& replica, size_t rank, Shard samples, const LossTarget& target) override;
  void advance(Replica&, size_t) override {}
  void step_taken() override {}

 private:
  // Data of one replica.
  struct Staged {
    Shard shard;
    Buffer<float> x, targets;
    Buffer<int32_t> labels;
  };

  std::span<HostUploads> uploads_;
  int64_t width_, outputs_;  // elements per sample
  int64_t batch_ = 0;
  Loss loss_ = Loss::cross_entropy;
  std::vector<Staged> staged_;
};

}  // namespace rondo::nn

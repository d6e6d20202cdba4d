// StagedBatch: a batch that the host gave, in the replicas' devices' memory until the step has read it.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/batch_iterator.h>

#include <span>
#include <vector>

namespace rondo::nn {

// Enqueues the copy of a shard of what the host holds for all samples, `width` elements each, to a device.
template <class T>
void upload_shard(T* to, std::span<const T> all, Shard shard, int64_t width, cudaStream_t stream) {
  if (shard.size == 0) return;
  RONDO_CUDA_THROW(cudaMemcpyAsync(to, all.data() + shard.first * width,
                                   static_cast<size_t>(shard.size * width) * sizeof(T),
                                   cudaMemcpyHostToDevice, stream));
}

class StagedBatch : public BatchIterator {
 public:
  // Room for shards of up to `most` samples.
  StagedBatch(std::span<Replica> replicas, int64_t most);

  // Copies shards[rank] of the batch to its replica's device, in the order of the replica's stream. The targets are labels, or
  // `outputs` values a sample. Pageable memory may be used again after the call.
  void stage(std::span<Replica> replicas, std::span<const Shard> shards, std::span<const float> x,
             std::span<const int32_t> labels);
  void stage(std::span<Replica> replicas, std::span<const Shard> shards, std::span<const float> x,
             std::span<const float> targets);

  int64_t next_batch() const override { return batch_; }  // the same again, until another one is staged
  Loss loss() const override { return loss_; }
  void load(Replica& replica, size_t rank, Shard piece, const LossTarget& target) override;
  void advance(Replica&, size_t) override {}
  void step_taken() override {}

 private:
  // Of one replica.
  struct Staged {
    Shard shard;
    Buffer<float> x, targets;
    Buffer<int32_t> labels;
  };
  void stage_x(std::span<Replica> replicas, std::span<const Shard> shards, std::span<const float> x);

  int64_t batch_ = 0;
  Loss loss_ = Loss::cross_entropy;
  std::vector<Staged> staged_;
};

}  // namespace rondo::nn

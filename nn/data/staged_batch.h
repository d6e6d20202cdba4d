// StagedBatch: a batch from host memory, copied to the replicas' devices.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/batch_iterator.h>

#include <span>
#include <vector>

namespace rondo::nn {

// Enqueues the copy of a shard to a device. `all` is in host memory and holds `width` elements per sample.
template <class T>
void upload_shard(T* to, std::span<const T> all, Shard shard, int64_t width, cudaStream_t stream) {
  if (shard.size == 0) return;
  RONDO_CUDA_THROW(cudaMemcpyAsync(to, all.data() + shard.first * width,
                                   static_cast<size_t>(shard.size * width) * sizeof(T),
                                   cudaMemcpyHostToDevice, stream));
}

class StagedBatch : public BatchIterator {
 public:
  // Allocates room for shards of up to `most` samples.
  StagedBatch(std::span<Replica> replicas, int64_t most);

  // Enqueues the copy of shards[rank] of the batch on its replica's stream. The targets are labels, or
  // `outputs` values per sample. Pageable memory may be reused after the call.
  void stage(std::span<Replica> replicas, std::span<const Shard> shards, std::span<const float> x,
             std::span<const int32_t> labels);
  void stage(std::span<Replica> replicas, std::span<const Shard> shards, std::span<const float> x,
             std::span<const float> targets);

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
  void stage_x(std::span<Replica> replicas, std::span<const Shard> shards, std::span<const float> x);

  int64_t batch_ = 0;
  Loss loss_ = Loss::cross_entropy;
  std::vector<Staged> staged_;
};

}  // namespace rondo::nn

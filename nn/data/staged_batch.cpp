#include <rondo/nn/data/staged_batch.h>

namespace rondo::nn {

namespace {

template <class T>
void copy(T* to, const T* from, int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  RONDO_CUDA_THROW(
      cudaMemcpyAsync(to, from, static_cast<size_t>(count) * sizeof(T), cudaMemcpyDeviceToDevice, stream));
}

}  // namespace

StagedBatch::StagedBatch(std::span<Replica> replicas, std::span<HostUploads> uploads, int64_t most)
    : uploads_(uploads),
      width_(replicas[0].graph().input().shape.size()),
      outputs_(replicas[0].graph().output().shape.size()) {
  for (const Replica& replica : replicas) {
    const DeviceScope scope(replica.device());
    staged_.push_back(
        {{}, Buffer<float>(most * width_), Buffer<float>(most * outputs_), Buffer<int32_t>(most)});
  }
}

void StagedBatch::stage(std::span<const Shard> shards, std::span<const float> x,
                        std::span<const int32_t> labels) {
  loss_ = Loss::cross_entropy;
  batch_ = static_cast<int64_t>(labels.size());
  for (size_t rank = 0; rank < staged_.size(); ++rank) {
    Staged& staged = staged_[rank];
    staged.shard = shards[rank];
    uploads_[rank].enqueue({upload_of_shard(staged.x.data(), x, shards[rank], width_),
                            upload_of_shard(staged.labels.data(), labels, shards[rank], 1)});
  }
}

void StagedBatch::stage(std::span<const Shard> shards, std::span<const float> x,
                        std::span<const float> targets) {
  loss_ = Loss::squared_error;
  batch_ = static_cast<int64_t>(x.size()) / width_;
  for (size_t rank = 0; rank < staged_.size(); ++rank) {
    Staged& staged = staged_[rank];
    staged.shard = shards[rank];
    uploads_[rank].enqueue({upload_of_shard(staged.x.data(), x, shards[rank], width_),
                            upload_of_shard(staged.targets.data(), targets, shards[rank], outputs_)});
  }
}

void StagedBatch::load(Replica& replica, size_t rank, Shard samples, const LossTarget& target) {
  const Staged& staged = staged_[rank];
  const int64_t skip = samples.first - staged.shard.first;
  const cudaStream_t stream = replica.stream();
  copy(replica.input().as(), staged.x.data() + skip * width_, samples.size * width_, stream);
  if (loss_ == Loss::cross_entropy)
    copy(target.labels.data, staged.labels.data() + skip, samples.size, stream);
  else
    copy(target.values.data, staged.targets.data() + skip * outputs_, samples.size * outputs_, stream);
}

}  // namespace rondo::nn

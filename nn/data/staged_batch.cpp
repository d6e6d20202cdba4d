#include <rondo/nn/data/staged_batch.h>

#include <algorithm>

namespace rondo::nn {

namespace {

template <class T>
void copy(T* to, const T* from, int64_t count, cudaStream_t stream) {
  if (count == 0) return;
  RONDO_CUDA_THROW(
      cudaMemcpyAsync(to, from, static_cast<size_t>(count) * sizeof(T), cudaMemcpyDeviceToDevice, stream));
}

int64_t width(Replica& replica) { return replica.input().shape.size(); }
int64_t outputs(Replica& replica) { return replica.output().shape.size(); }

}  // namespace

StagedBatch::StagedBatch(std::span<Replica> replicas, int64_t most) {
  for (Replica& replica : replicas) {
    const DeviceScope scope(replica.device());
    staged_.push_back({{},
                       Buffer<float>(most * width(replica)),
                       Buffer<float>(most * outputs(replica)),
                       Buffer<int32_t>(most)});
  }
}

void StagedBatch::stage_x(std::span<Replica> replicas, std::span<const Shard> shards,
                          std::span<const float> x) {
  batch_ = static_cast<int64_t>(x.size()) / width(replicas[0]);
  for (size_t rank = 0; rank < replicas.size(); ++rank) {
    staged_[rank].shard = shards[rank];
    upload_shard(staged_[rank].x.data(), x, shards[rank], width(replicas[rank]), replicas[rank].stream());
  }
}

void StagedBatch::stage(std::span<Replica> replicas, std::span<const Shard> shards, std::span<const float> x,
                        std::span<const int32_t> labels) {
  stage_x(replicas, shards, x);
  loss_ = Loss::cross_entropy;
  for (size_t rank = 0; rank < replicas.size(); ++rank)
    upload_shard(staged_[rank].labels.data(), labels, shards[rank], 1, replicas[rank].stream());
}

void StagedBatch::stage(std::span<Replica> replicas, std::span<const Shard> shards, std::span<const float> x,
                        std::span<const float> targets) {
  stage_x(replicas, shards, x);
  loss_ = Loss::squared_error;
  for (size_t rank = 0; rank < replicas.size(); ++rank)
    upload_shard(staged_[rank].targets.data(), targets, shards[rank], outputs(replicas[rank]),
                 replicas[rank].stream());
}

void StagedBatch::load(Replica& replica, size_t rank, Shard samples, const LossTarget& target) {
  const Staged& staged = staged_[rank];
  const int64_t skip = samples.first - staged.shard.first;
  const cudaStream_t stream = replica.stream();
  copy(replica.input().as(), staged.x.data() + skip * width(replica), samples.size * width(replica), stream);
  if (loss_ == Loss::cross_entropy)
    copy(target.labels.data, staged.labels.data() + skip, samples.size, stream);
  else
    copy(target.values.data, staged.targets.data() + skip * outputs(replica), samples.size * outputs(replica),
         stream);
}

}  // namespace rondo::nn

#include <rondo/nn/data/staged_batch.h>
#include <rondo/nn/train/replica_group.h>

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

StagedBatch::StagedBatch(ReplicaGroup& group, int64_t most) : group_(group) {
  group.on_each([&](Replica& replica, size_t) {
    staged_.push_back({{},
                       Buffer<float>(most * width(replica)),
                       Buffer<float>(most * outputs(replica)),
                       Buffer<int32_t>(most)});
  });
}

void StagedBatch::stage(std::span<const Shard> shards, std::span<const float> x,
                        std::span<const int32_t> labels) {
  loss_ = Loss::cross_entropy;
  batch_ = static_cast<int64_t>(labels.size());
  group_.on_each([&](Replica& replica, size_t rank) {
    Staged& staged = staged_[rank];
    staged.shard = shards[rank];
    group_.uploads(rank).enqueue({upload_of_shard(staged.x.data(), x, shards[rank], width(replica)),
                                  upload_of_shard(staged.labels.data(), labels, shards[rank], 1)});
  });
}

void StagedBatch::stage(std::span<const Shard> shards, std::span<const float> x,
                        std::span<const float> targets) {
  loss_ = Loss::squared_error;
  group_.on_each([&](Replica& replica, size_t rank) {
    batch_ = static_cast<int64_t>(x.size()) / width(replica);
    Staged& staged = staged_[rank];
    staged.shard = shards[rank];
    group_.uploads(rank).enqueue(
        {upload_of_shard(staged.x.data(), x, shards[rank], width(replica)),
         upload_of_shard(staged.targets.data(), targets, shards[rank], outputs(replica))});
  });
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

// DataParallel: inference and evaluation.

#include <rondo/kernels/core/counted.h>
#include <rondo/nn/data/device_images.h>
#include <rondo/nn/data/labels.h>
#include <rondo/nn/data/staged_batch.h>
#include <rondo/nn/train/data_parallel.h>

#include <algorithm>

namespace rondo::nn {

namespace {

// Goes through `samples`, as many at a time as `ranks` have memory for: load(replica, rank, shard) on each
// replica, forward, then after(first, count) for the samples first .. first + count - 1.
template <class Load, class After>
void forward_in_batches(ReplicaGroup& group, int64_t samples, const World& ranks, Load load, After after) {
  const int64_t at_once = group.samples_per_replica() * ranks.size();
  for (int64_t first = 0; first < samples; first += at_once) {
    const int64_t count = std::min(at_once, samples - first);
    group.on_each([&](Replica& replica, size_t rank) {
      Shard shard = shard_of(count, ranks.first() + static_cast<int64_t>(rank), ranks.size());
      shard.first += first;
      replica.set_batch(shard.size, shard.first);
      if (shard.size > 0) load(replica, rank, shard);
    });
    nn::forward(group.replicas(), {.seed = group.options().seed});
    after(first, count);
  }
}

template <class Load>
LossStats evaluate_with(ReplicaGroup& group, int64_t samples, Load load) {
  return group.with_saved_loss_stats([&] {
    forward_in_batches(group, samples, group.world(), load,
                       [&](int64_t, int64_t) { group.enqueue_loss(Loss::cross_entropy, false); });
    return group.world().sum(group.clear_loss_stats());
  });
}

}  // namespace

std::vector<float> DataParallel::predict(std::span<const float> x) {
  ReplicaGroup& group = *group_;
  const int64_t sample = group.graph().input().shape.size(), outputs = group.graph().output().shape.size();
  const int64_t size = static_cast<int64_t>(x.size());
  if (size % sample != 0)
    throw Error(bad_argument("DataParallel: ", there_are(size, "value"), ", must be a multiple of ", sample,
                             ", the size of a sample"));
  std::vector<float> all(static_cast<size_t>(size / sample * outputs));
  forward_in_batches(
      group, size / sample, World("DataParallel", group.size(), nullptr),
      [&](Replica& replica, size_t rank, Shard shard) {
        group.uploads()[rank].enqueue({upload_of_shard(replica.input().as(), x, shard, sample)});
      },
      [&](int64_t first, int64_t count) {
        group.streams().synchronize();
        group.on_each([&](Replica& replica, size_t rank) {
          const Shard shard = shard_of(count, static_cast<int64_t>(rank), group.size());
          if (shard.size == 0) return;
          RONDO_CUDA_THROW(cudaMemcpy(all.data() + (first + shard.first) * outputs, replica.output().as(),
                                      static_cast<size_t>(shard.size * outputs) * sizeof(float),
                                      cudaMemcpyDeviceToHost));
        });
      });
  return all;
}

LossStats DataParallel::evaluate(std::span<const float> x, std::span<const int32_t> labels) {
  ReplicaGroup& group = *group_;
  const auto sample = static_cast<size_t>(group.graph().input().shape.size());
  if (x.size() != labels.size() * sample)
    throw Error(bad_argument("DataParallel: ", there_are(x.size(), "value"), " and ",
                             counted(labels.size(), "label"), ", must be ", counted(sample, "value"),
                             " for each label"));
  check_labels("DataParallel", labels, group.graph().output().shape.size());
  return evaluate_with(
      group, static_cast<int64_t>(labels.size()), [&](Replica& replica, size_t rank, Shard shard) {
        group.uploads()[rank].enqueue(
            {upload_of_shard(replica.input().as(), x, shard, static_cast<int64_t>(sample)),
             upload_of_shard(group.loss(rank).target(0, shard.size).labels.data, labels, shard, 1)});
      });
}

LossStats DataParallel::evaluate(const DeviceImages& images) {
  ReplicaGroup& group = *group_;
  return evaluate_with(group, images.size(), [&](Replica& replica, size_t rank, Shard shard) {
    images.gather(replica, rank, shard, group.loss(rank).target(0, shard.size).labels);
  });
}

}  // namespace rondo::nn

#include <rondo/kernels/data/batch.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/diagnostics/replica_check.h>
#include <rondo/nn/train/data_parallel.h>

namespace rondo::nn {

int64_t differing_values(DataParallel& model) {
  std::vector<VectorView<const float>> parameters;
  for (Replica& replica : model.replicas()) parameters.push_back(replica.parameters());
  ReplicaCheck check(model.streams(), parameters, model.options().processes);
  check.enqueue();
  return model.world().sum(check.differences(), "adding up differences");
}

std::string nonfinite_value(DataParallel& model) { return model.group().nonfinite_value(); }
void clear_nonfinite_value(DataParallel& model) { model.group().clear_nonfinite_value(); }

std::optional<NonfiniteTensor> find_nonfinite_tensor(DataParallel& model, BatchIterator& batches,
                                                     int64_t steps_ago) {
  ReplicaGroup& group = model.group();
  const int64_t batch = batches.next_batch();
  const auto move_steps = [&](int64_t steps) {
    group.on_each(
        [&](Replica& replica, size_t) { throw_if_error(advance(replica.step(), steps, replica.stream())); });
  };
  const auto search = [&]() -> std::optional<NonfiniteTensor> {
    for (int64_t index = 0; index < group.options().micro_batches; ++index) {
      Pass training = group.training_pass(batch, index);
      training.rounded = false;
      group.on_each([&](Replica& replica, size_t rank) {
        const Shard samples = group.micro_batch(batch, rank, index);
        replica.set_batch(samples.size, samples.first);
        batches.load(replica, rank, samples, group.loss(rank).target(0, samples.size));
      });
      group.streams().synchronize();
      if (const auto found = first_nonfinite_in_forward(group.replicas(), training, &group.world()))
        return found;
      const auto losses = [&](size_t rank, Shard samples) {
        return group.losses(batches.loss(), rank, samples);
      };
      if (const auto found = first_nonfinite_loss(group.replicas(), losses, &group.world())) return found;
      group.enqueue_loss(batches.loss(), true);
      if (const auto found = first_nonfinite_in_backward(group.replicas(), training, &group.world()))
        return found;
    }
    return std::nullopt;
  };
  return group.with_saved_loss_stats([&] {
    move_steps(-steps_ago);
    try {
      const std::optional<NonfiniteTensor> found = search();
      move_steps(steps_ago);
      return found;
    } catch (...) {
      move_steps(steps_ago);
      throw;
    }
  });
}

}  // namespace rondo::nn

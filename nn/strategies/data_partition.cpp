#include <rondo/nn/strategies/data_partition.h>

#include <algorithm>

namespace rondo::nn {

namespace {

constexpr const char* kDataParallelism = "data parallelism";

DataParallelOptions for_model(const StrategyOptions& options) {
  DataParallelOptions model;
  model.devices = options.devices;
  model.batch = options.batch;
  model.seed = options.seed;
  return model;
}

}  // namespace

std::vector<int64_t> DataPartition::used(const std::vector<int>& devices) {
  std::vector<int64_t> used;
  for (int device : devices) {
    const DeviceScope scope(device);
    size_t free = 0, total = 0;
    RONDO_CUDA_THROW(cudaMemGetInfo(&free, &total));
    used.push_back(static_cast<int64_t>(total - free));
  }
  return used;
}

DataPartition::DataPartition(const AnyModule& network, Shape input, const StrategyOptions& options)
    : options_(checked(kDataParallelism, options)),
      used_before_(used(options.devices)),
      model_(network, input, for_model(options)),
      sgd_(model_, {.learning_rate = options.learning_rate}) {
  const auto ranks = static_cast<int64_t>(options.devices.size());
  const Graph& graph = model_.graph();
  constexpr int64_t kFloat = sizeof(float);
  for (int device : options.devices) {
    const int64_t parameters = graph.parameter_arena_size() * kFloat;
    const int64_t activations = plan_training(graph, (options.batch + ranks - 1) / ranks).size * kFloat;
    memory_.push_back({device, parameters, parameters, activations, -2 * parameters - activations});
  }
  count_buffers(used_before_);
}

void DataPartition::count_buffers(const std::vector<int64_t>& used_before) {
  const std::vector<int64_t> after = used(options_.devices);
  for (size_t r = 0; r < after.size(); ++r)
    memory_[r].buffers += (after[r] - used_before[r]) /
                          std::count(options_.devices.begin(), options_.devices.end(), options_.devices[r]);
}

void DataPartition::train_step(const Batch& batch) {
  checked_size(kDataParallelism, batch, model_.graph(), options_.batch);
  const std::vector<int64_t> before = used(options_.devices);
  if (batch.targets.empty())
    model_.train_step(batch.x, batch.labels, sgd_);
  else
    model_.train_step(batch.x, batch.targets, sgd_);
  count_buffers(before);
  sent_bytes_ += 2 * (model_.devices() - 1) * model_.graph().parameter_arena_size() *
                 static_cast<int64_t>(sizeof(float));
}

}  // namespace rondo::nn

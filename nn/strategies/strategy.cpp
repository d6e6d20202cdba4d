#include <rondo/nn/strategies/strategy.h>

#include <rondo/collectives/communicator.h>
#include <rondo/collectives/peer_access.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/nn/data/labels.h>
#include <rondo/nn/strategies/data_partition.h>
#include <rondo/nn/strategies/one_device.h>
#include <rondo/nn/strategies/pipeline_parallel.h>
#include <rondo/nn/strategies/tensor_parallel.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace rondo::nn {

std::unique_ptr<Strategy> make_strategy(StrategyKind kind, const AnyModule& network, Shape input,
                                        const StrategyOptions& options) {
  switch (kind) {
    case StrategyKind::single:
      return std::make_unique<OneDevice>(network, input, options);
    case StrategyKind::pipeline:
      return std::make_unique<PipelineParallel>(network, input, options);
    case StrategyKind::tensor:
      return std::make_unique<TensorParallel>(network, input, options);
    case StrategyKind::data:
      return std::make_unique<DataPartition>(network, input, options);
  }
  throw Error(bad_argument("strategy ", static_cast<int>(kind), " does not exist"));
}

const StrategyOptions& checked(const char* name, const StrategyOptions& options) {
  constexpr int64_t kMostSamples = int64_t{1} << 31;
  throw_if_error(check_devices(name, options.devices));
  if (options.batch < 1 || options.batch > kMostSamples)
    throw Error(bad_argument(name, ": the batch is ", options.batch, ", must be at least 1 and at most ",
                             kMostSamples));
  if (options.micro_batches < 1)
    throw Error(bad_argument(name, ": ", there_are(options.micro_batches, "micro-batch", "micro-batches"),
                             ", must be at least 1"));
  if (!(options.learning_rate >= 0) || !std::isfinite(options.learning_rate))
    throw Error(bad_argument(name, ": the learning rate is ", options.learning_rate,
                             ", must be finite and not negative"));
  return options;
}

int64_t checked_size(const char* name, const Batch& batch, const Graph& graph, int64_t most) {
  const int64_t sample = graph.input().shape.size(), outputs = graph.output().shape.size();
  const auto values = static_cast<int64_t>(batch.x.size());
  const int64_t size = values / sample;
  if (values % sample != 0 || size < 1 || size > most)
    throw Error(bad_argument(name, ": the batch has ", counted(values, "value"), ", must have ", sample,
                             " for each of 1 to ", counted(most, "sample")));
  const auto labels = static_cast<int64_t>(batch.labels.size()),
             targets = static_cast<int64_t>(batch.targets.size());
  if (!(labels == size && targets == 0) && !(labels == 0 && targets == size * outputs))
    throw Error(bad_argument(name, ": ", there_are(labels, "label"), " and ",
                             counted(targets, "target value"), " for ", counted(size, "sample"), ", must be ",
                             counted(size, "label"), " or ", counted(size * outputs, "target value")));
  check_labels(name, batch.labels, outputs);
  return size;
}

Batch part_of(const Batch& batch, int64_t whole, int64_t first, int64_t size) {
  const auto part = [&](auto all) {
    const size_t each = all.size() / static_cast<size_t>(whole);
    return all.subspan(static_cast<size_t>(first) * each, static_cast<size_t>(size) * each);
  };
  return {part(batch.x), part(batch.labels), part(batch.targets)};
}

Stream stream_on(int device) {
  const DeviceScope scope(device);
  return Stream();
}

RankMemory rank_memory(int device, const ReplicaMemory& replica, int64_t other_buffers) {
  return {
      .device = device,
      .parameters = replica.parameters,
      .gradients = replica.gradients,
      .activations = replica.arena,
      .buffers = replica.total() - replica.parameters - replica.gradients - replica.arena + other_buffers};
}

HostUploads::Part upload_of_targets(LossHead& head, const Batch& batch) {
  const LossTarget target = head.target(0, 0);
  return batch.loss() == Loss::cross_entropy ? upload_of(target.labels.data, batch.labels)
                                             : upload_of(target.values.data, batch.targets);
}

std::vector<float> parameters_of(Replica& replica) {
  const DeviceScope scope(replica.device());
  RONDO_CUDA_THROW(cudaStreamSynchronize(replica.stream()));
  const VectorView<float> parameters = replica.parameters();
  std::vector<float> values(static_cast<size_t>(parameters.size));
  if (!values.empty())
    RONDO_CUDA_THROW(
        cudaMemcpy(values.data(), parameters.data, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
  return values;
}

std::vector<float> initial_parameters(const Graph& graph, int device, uint64_t seed) {
  const DeviceScope scope(device);
  const Stream stream;
  MemoryPlan nothing;  // this replica only holds parameters
  Replica replica(graph, device, stream, std::move(nothing), 0);
  replica.initialise(seed);
  return parameters_of(replica);
}

namespace {

template <class Run>
void for_each_run(const std::vector<ParameterPart>& parts, Run run) {
  for (const ParameterPart& part : parts)
    for (int64_t i = 0; i < part.runs; ++i)
      run(part.mine + i * part.size, part.whole + i * part.stride, part.size);
}

}  // namespace

std::vector<float> take_parts(const std::vector<float>& whole, const std::vector<ParameterPart>& parts,
                              int64_t size) {
  std::vector<float> mine(static_cast<size_t>(size), 0.0f);
  for_each_run(parts, [&](int64_t to, int64_t from, int64_t count) {
    std::copy_n(whole.begin() + from, count, mine.begin() + to);
  });
  return mine;
}

void put_parts(std::vector<float>& whole, const std::vector<ParameterPart>& parts,
               const std::vector<float>& mine) {
  for_each_run(parts, [&](int64_t from, int64_t to, int64_t count) {
    std::copy_n(mine.begin() + from, count, whole.begin() + to);
  });
}

void open_links(const std::vector<int>& devices) {
  const std::set<int> different(devices.begin(), devices.end());
  for (int from : different)
    for (int to : different)
      if (from < to) static_cast<void>(connect(from, to));
}

}  // namespace rondo::nn

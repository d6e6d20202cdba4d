#include <rondo/nn/data_parallel.h>

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/nn/replica_check.h>

#include <algorithm>
#include <limits>

namespace rondo::nn {

namespace {

// Samples [first, first + size) of a batch: sizes differ by at most one, and some are empty where there are fewer samples
// than ranks.
struct Shard {
  int64_t first, size;
};

Shard shard_of(int64_t batch, int64_t rank, int64_t ranks) {
  const int64_t first = batch * rank / ranks;
  return {first, batch * (rank + 1) / ranks - first};
}

DataParallelOptions checked(DataParallelOptions options) {
  if (options.devices.empty()) throw Error(bad_argument("DataParallel: the list of devices is empty"));
  constexpr int64_t kMostSamples = int64_t{1} << 31;
  if (options.batch < 1)
    throw Error(bad_argument("DataParallel: the batch is ", options.batch, ", must be at least 1"));
  if (options.batch > kMostSamples)
    throw Error(
        bad_argument("DataParallel: the batch is ", options.batch, ", must be at most ", kMostSamples));
  if (options.bucket_bytes < 1)
    throw Error(bad_argument("DataParallel: bucket_bytes is ", options.bucket_bytes, ", must be at least 1"));
  return options;
}

std::vector<Event> an_event_each(const std::vector<int>& devices) {
  std::vector<Event> events;
  for (int device : devices) {
    const DeviceScope scope(device);
    events.emplace_back();
  }
  return events;
}

}  // namespace

// Parameters lie in the arena in the order in which they were made, which is nearly that of the nodes; a bucket waits for
// the first of the nodes that have a parameter in it, and for the buckets before it.
std::vector<GradientBucket> gradient_buckets(const Graph& graph, int64_t bytes) {
  std::vector<int> node_of(graph.parameters().size(), 0);
  for (size_t node = 0; node < graph.nodes().size(); ++node)
    for (int parameter : graph.nodes()[node].parameters)
      node_of[static_cast<size_t>(parameter)] = static_cast<int>(node);
  std::vector<GradientBucket> buckets;
  int64_t end = graph.parameter_arena_size();
  int node = std::numeric_limits<int>::max();
  for (size_t i = graph.parameters().size(); i-- > 0;) {
    const int64_t begin = graph.parameters()[i].offset;
    node = std::min(node, node_of[i]);
    if ((end - begin) * static_cast<int64_t>(sizeof(float)) < bytes && i > 0) continue;
    buckets.push_back({node, begin, end - begin});
    end = begin;
  }
  return buckets;
}

DataParallel::DataParallel(const AnyModule& network, Shape input, DataParallelOptions options)
    : graph_(make_graph(network, input)),
      options_(checked(std::move(options))),
      compute_(options_.devices),
      exchange_(options_.devices),
      ready_(an_event_each(options_.devices)),
      reduced_(an_event_each(options_.devices)),
      gradients_(options_.devices, {.bucket_bytes = 0}),
      statistics_(options_.devices, {.slot_bytes = 64 << 10, .bucket_bytes = 0}) {
  const auto ranks = static_cast<int64_t>(options_.devices.size());
  const int64_t most = (options_.batch + ranks - 1) / ranks;
  const MemoryPlan plan = plan_training(graph_, most);
  const int64_t outputs = graph_.output().shape.size();
  const int64_t loss_workspace = std::max(softmax_cross_entropy_workspace_bytes(most, outputs),
                                          squared_error_workspace_bytes(most, outputs));
  replicas_.reserve(options_.devices.size());
  for (int rank = 0; rank < compute_.size(); ++rank) {
    const DeviceScope scope(compute_.device(rank));
    replicas_.emplace_back(graph_, compute_.device(rank), compute_.stream(rank), plan, most);
    targets_.push_back({Buffer<int32_t>(most), Buffer<float>(most * outputs), Buffer<LossTally>(1),
                        Buffer<std::byte>(loss_workspace)});
    targets_.back().tally.fill_bytes(0);
    // The same seed gives the same values everywhere.
    replicas_.back().initialise(options_.seed);
  }
  buckets_ = gradient_buckets(graph_, options_.bucket_bytes);
}

template <class Work>
void DataParallel::on_each(Work work) {
  for (size_t rank = 0; rank < replicas_.size(); ++rank) {
    const DeviceScope scope(replicas_[rank].device());
    work(replicas_[rank], targets_[rank], rank);
  }
}

Pass DataParallel::pass(bool training) {
  return {training, options_.seed, training && options_.shared_statistics ? &statistics_ : nullptr};
}

int64_t DataParallel::batch_of(std::span<const float> x) const {
  const int64_t sample = graph_.input().shape.size(), size = static_cast<int64_t>(x.size());
  if (size % sample != 0)
    throw Error(bad_argument("DataParallel: the batch has ", size, " values, must have a multiple of ",
                             sample, ", the size of a sample"));
  const int64_t batch = size / sample;
  if (batch < 1 || batch > options_.batch)
    throw Error(
        bad_argument("DataParallel: the batch has ", batch, " samples, must have 1 to ", options_.batch));
  return batch;
}

// A step after one that failed in the middle would go on with replicas that differ.
void DataParallel::check_step(const Optimizer& optimizer) const {
  throw_if_error(failure_);
  for (size_t rank = 0; rank < replicas_.size(); ++rank)
    if (!optimizer.serves(replicas_[rank], rank))
      throw Error(
          bad_argument("DataParallel: the optimizer was made for another model, must be for this one"));
}

template <class Work>
void DataParallel::step(Work work) {
  try {
    work();
  } catch (const Error& error) {
    failure_ = Status(error.status().code(), concat("DataParallel: a step failed: ", error.what()));
    throw;
  } catch (...) {
    failure_ = Status(StatusCode::device_failed, "DataParallel: a step failed");
    throw;
  }
}

// Each replica gets its shard; returns the size of the batch.
int64_t DataParallel::scatter(std::span<const float> x) {
  const int64_t sample = graph_.input().shape.size(), batch = batch_of(x);
  on_each([&](Replica& replica, Target&, size_t rank) {
    const Shard shard = shard_of(batch, static_cast<int64_t>(rank), devices());
    replica.set_batch(shard.size, shard.first);
    if (shard.size == 0) return;
    RONDO_CUDA_THROW(cudaMemcpyAsync(replica.input().data, x.data() + shard.first * sample,
                                     static_cast<size_t>(shard.size * sample) * sizeof(float),
                                     cudaMemcpyHostToDevice, replica.stream()));
  });
  return batch;
}

void DataParallel::train_step(std::span<const float> x, std::span<const int32_t> labels,
                              Optimizer& optimizer) {
  check_step(optimizer);
  const int64_t batch = batch_of(x);
  if (static_cast<int64_t>(labels.size()) != batch)
    throw Error(bad_argument("DataParallel: there are ", labels.size(), " labels, must be ", batch,
                             ", one for each sample"));
  step([&] {
    scatter(x);
    const Pass training = pass(true);
    nn::forward(replicas_, training);
    on_each([&](Replica& replica, Target& target, size_t rank) {
      const Shard shard = shard_of(batch, static_cast<int64_t>(rank), devices());
      if (shard.size > 0)
        RONDO_CUDA_THROW(cudaMemcpyAsync(target.labels.data(), labels.data() + shard.first,
                                         static_cast<size_t>(shard.size) * sizeof(int32_t),
                                         cudaMemcpyHostToDevice, replica.stream()));
      throw_if_error(
          softmax_cross_entropy(replica.output_gradient().samples(), target.tally.data(),
                                ConstTensor(replica.output()).samples(), {target.labels.data(), shard.size},
                                1.0f, {target.workspace.data(), target.workspace.bytes()}, replica.stream()));
    });
    finish_step(batch, optimizer, training);
  });
}

void DataParallel::train_step(std::span<const float> x, std::span<const float> targets,
                              Optimizer& optimizer) {
  check_step(optimizer);
  const int64_t batch = batch_of(x), outputs = graph_.output().shape.size();
  if (static_cast<int64_t>(targets.size()) != batch * outputs)
    throw Error(bad_argument("DataParallel: there are ", targets.size(), " target values, must be ",
                             batch * outputs, ", ", outputs, " for each sample"));
  step([&] {
    scatter(x);
    const Pass training = pass(true);
    nn::forward(replicas_, training);
    on_each([&](Replica& replica, Target& target, size_t rank) {
      const Shard shard = shard_of(batch, static_cast<int64_t>(rank), devices());
      if (shard.size > 0)
        RONDO_CUDA_THROW(cudaMemcpyAsync(target.values.data(), targets.data() + shard.first * outputs,
                                         static_cast<size_t>(shard.size * outputs) * sizeof(float),
                                         cudaMemcpyHostToDevice, replica.stream()));
      throw_if_error(squared_error(replica.output_gradient().samples(), target.tally.data(),
                                   ConstTensor(replica.output()).samples(),
                                   matrix<const float>(target.values.data(), shard.size, outputs), 1.0f,
                                   {target.workspace.data(), target.workspace.bytes()}, replica.stream()));
    });
    finish_step(batch, optimizer, training);
  });
}

// Adds a bucket over all replicas, beside the layers that still go backward.
void DataParallel::reduce(const GradientBucket& bucket) {
  std::vector<DataView> parts;
  on_each([&](Replica& replica, Target&, size_t rank) {
    const cudaStream_t exchange = exchange_.stream(static_cast<int>(rank));
    RONDO_CUDA_THROW(cudaEventRecord(ready_[rank], replica.stream()));
    RONDO_CUDA_THROW(cudaStreamWaitEvent(exchange, ready_[rank], 0));
    parts.push_back(DataView(replica.gradients()).part(bucket.begin, bucket.size));
  });
  throw_if_error(all_reduce(parts, {.algorithm = options_.algorithm}, gradients_, exchange_.streams()));
}

void DataParallel::finish_step(int64_t batch, Optimizer& optimizer, const Pass& training) {
  size_t next = 0;
  nn::backward(replicas_, training, [&](int node) {
    while (next < buckets_.size() && buckets_[next].node >= node) reduce(buckets_[next++]);
  });
  const float scale = 1.0f / static_cast<float>(batch);
  on_each([&](Replica& replica, Target&, size_t rank) {
    RONDO_CUDA_THROW(cudaEventRecord(reduced_[rank], exchange_.stream(static_cast<int>(rank))));
    RONDO_CUDA_THROW(cudaStreamWaitEvent(replica.stream(), reduced_[rank], 0));
    optimizer.step(replica, rank, scale);
    throw_if_error(advance(replica.step(), 1, replica.stream()));
  });
}

LossTally DataParallel::take_tally() {
  compute_.synchronize();
  LossTally sum;
  on_each([&](Replica&, Target& target, size_t) {
    const LossTally one = target.tally.download()[0];
    sum.loss += one.loss;
    sum.correct += one.correct;
    sum.rows += one.rows;
    sum.bad_labels += one.bad_labels;
    target.tally.fill_bytes(0);
  });
  return sum;
}

std::vector<float> DataParallel::predict(std::span<const float> x) {
  const int64_t sample = graph_.input().shape.size(), outputs = graph_.output().shape.size();
  std::vector<float> all;
  for (size_t begin = 0; begin < x.size();) {
    const size_t size = std::min(x.size() - begin, static_cast<size_t>(options_.batch * sample));
    const int64_t batch = scatter(x.subspan(begin, size));
    nn::forward(replicas_, pass(false));
    const auto first = static_cast<int64_t>(all.size());
    all.resize(all.size() + static_cast<size_t>(batch * outputs));
    compute_.synchronize();
    on_each([&](Replica& replica, Target&, size_t rank) {
      const Shard shard = shard_of(batch, static_cast<int64_t>(rank), devices());
      if (shard.size == 0) return;
      RONDO_CUDA_THROW(cudaMemcpy(all.data() + first + shard.first * outputs, replica.output().data,
                                  static_cast<size_t>(shard.size * outputs) * sizeof(float),
                                  cudaMemcpyDeviceToHost));
    });
    begin += size;
  }
  return all;
}

LossTally DataParallel::evaluate(std::span<const float> x, std::span<const int32_t> labels) {
  const auto sample = static_cast<size_t>(graph_.input().shape.size());
  if (x.size() != labels.size() * sample)
    throw Error(bad_argument("DataParallel: there are ", x.size(), " values and ", labels.size(),
                             " labels, must be ", sample, " values for each label"));
  const LossTally of_training = take_tally();  // kept: evaluating must not mix with what was trained
  const auto step = static_cast<size_t>(options_.batch);
  for (size_t begin = 0; begin < labels.size(); begin += step) {
    const size_t size = std::min(step, labels.size() - begin);
    const int64_t batch = scatter(x.subspan(begin * sample, size * sample));
    nn::forward(replicas_, pass(false));
    on_each([&](Replica& replica, Target& target, size_t rank) {
      const Shard shard = shard_of(batch, static_cast<int64_t>(rank), devices());
      if (shard.size == 0) return;
      RONDO_CUDA_THROW(cudaMemcpyAsync(
          target.labels.data(), labels.data() + begin + static_cast<size_t>(shard.first),
          static_cast<size_t>(shard.size) * sizeof(int32_t), cudaMemcpyHostToDevice, replica.stream()));
      throw_if_error(softmax_cross_entropy({}, target.tally.data(), ConstTensor(replica.output()).samples(),
                                           {target.labels.data(), shard.size}, 1.0f,
                                           {target.workspace.data(), target.workspace.bytes()},
                                           replica.stream()));
    });
  }
  const LossTally evaluated = take_tally();
  const DeviceScope scope(replicas_[0].device());
  targets_[0].tally.upload(std::vector<LossTally>{of_training});
  return evaluated;
}

int64_t DataParallel::differing_values() {
  std::vector<VectorView<const float>> parameters;
  for (Replica& replica : replicas_) parameters.push_back(replica.parameters());
  ReplicaCheck check(compute_, parameters);
  check.enqueue();
  return check.differences();
}

}  // namespace rondo::nn

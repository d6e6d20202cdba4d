#include <rondo/kernels/loss/nonfinite_loss.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/nn/train/replica_group.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rondo::nn {

namespace {

DataParallelOptions checked_here(DataParallelOptions options) {
  options = checked(std::move(options));
  throw_if_error(check_devices("DataParallel", options.devices));
  return options;
}

// Checks the options that must agree: otherwise the processes would train differently, or wait forever.
World make_world(const DataParallelOptions& options, const Graph& graph) {
  const World world("DataParallel", static_cast<int>(options.devices.size()), options.processes);
  const auto same = [&](const char* what, const auto& value) { world.check_same(what, concat(value)); };
  same("the batch", options.batch);
  same("the seed", options.seed);
  same("bucket_bytes", options.bucket_bytes);
  same("micro_batches", options.micro_batches);
  same("the placement", static_cast<int>(options.placement));
  same("sync_batch_norm", options.sync_batch_norm);
  same("keep_finite", options.keep_finite);
  same("math", static_cast<int>(options.math));
  same("activations", static_cast<int>(options.activations));
  same("reduce_dtype", name_of(options.reduce_dtype));
  same("the network's number of parameters", graph.parameter_count());
  same("the network's number of operations", graph.nodes().size());
  return world;
}

// Kernels are compiled for each compute capability separately, so results may differ in the last bit.
bool same_compute_capability(std::span<const int> devices) {
  const auto attribute = [](int device, cudaDeviceAttr which) {
    int value = 0;
    RONDO_CUDA_THROW(cudaDeviceGetAttribute(&value, which, device));
    return value;
  };
  return std::ranges::all_of(devices, [&](int device) {
    return std::ranges::all_of(
        std::array{cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor},
        [&](cudaDeviceAttr which) { return attribute(device, which) == attribute(devices[0], which); });
  });
}

}  // namespace

ReplicaGroup::ReplicaGroup(const AnyModule& network, Shape input, DataParallelOptions options)
    : graph_(make_graph(network, input, options.math, options.activations)),
      options_(checked_here(std::move(options))),
      world_(make_world(options_, graph_)),
      streams_(options_.devices),
      samples_per_replica_(nn::samples_per_replica(options_)) {
  if (const auto exchange = statistics_exchange(options_))
    batch_norm_communicator_ = std::make_unique<Communicator>(options_.devices, *exchange);
  const int64_t samples = samples_per_replica_, outputs = graph_.output().shape.size();
  const MemoryPlan plan = plan_training(graph_, samples, {.checkpoint_layers = options_.checkpoint_layers});
  const bool copied = world_.processes() || !same_compute_capability(options_.devices);
  replicas_.reserve(options_.devices.size());
  for (int rank = 0; rank < streams_.size(); ++rank) {
    const DeviceScope scope(streams_.device(rank));
    uploads_.emplace_back(streams_.device(rank), streams_.stream(rank));
    throw_if_error(check_math("DataParallel", options_.math));
    throw_if_error(check_factor_type("DataParallel", options_.activations));
    Replica& replica =
        replicas_.emplace_back(graph_, streams_.device(rank), streams_.stream(rank), plan, samples);
    losses_.emplace_back(streams_.device(rank), streams_.stream(rank), samples, outputs);
    if (options_.keep_finite) {
      first_nonfinite_.emplace_back(1).fill_bytes(0xff);
      replica.set_first_nonfinite(first_nonfinite_.back().data());
    }
    if (rank == 0 || !copied) replica.initialise(options_.seed);  // the same values on every replica
  }
  if (copied) copy_initial_values();
}

// Copies the values of rank 0 of the first process, because the GPUs may be of different kinds.
void ReplicaGroup::copy_initial_values() {
  streams_.synchronize();
  for (const bool parameters : {true, false}) {
    const auto of = [&](Replica& replica) { return parameters ? replica.parameters() : replica.states(); };
    std::vector<float> values(static_cast<size_t>(of(replicas_[0]).size));
    const size_t bytes = values.size() * sizeof(float);
    RONDO_CUDA_THROW(cudaMemcpy(values.data(), of(replicas_[0]).data, bytes, cudaMemcpyDeviceToHost));
    world_.copy_from_first(std::as_writable_bytes(std::span(values)), "copying the initial values");
    on_each([&](Replica& replica, size_t) {
      RONDO_CUDA_THROW(cudaMemcpy(of(replica).data, values.data(), bytes, cudaMemcpyHostToDevice));
      RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));
    });
  }
}

Shard ReplicaGroup::shard_of_world(int64_t batch, int64_t rank) const {
  return sharded() ? shard_of(batch, rank, world_.size()) : Shard{0, batch};
}

Shard ReplicaGroup::micro_batch_of_world(int64_t batch, int64_t rank, int64_t index) const {
  const Shard whole = shard_of_world(batch, rank);
  Shard part = shard_of(whole.size, index, options_.micro_batches);
  part.first += whole.first;
  return part;
}

Shard ReplicaGroup::shard(int64_t batch, size_t rank) const {
  return shard_of_world(batch, world_.first() + static_cast<int64_t>(rank));
}

Shard ReplicaGroup::micro_batch(int64_t batch, size_t rank, int64_t index) const {
  return micro_batch_of_world(batch, world_.first() + static_cast<int64_t>(rank), index);
}

// The statistics of a layer are a few hundred numbers, so the direct algorithm is fastest within a process.
Pass ReplicaGroup::training_pass(int64_t batch, int64_t index) {
  const bool grouped = options_.algorithm == Algorithm::hierarchical;
  int64_t samples = 0;
  for (int rank = 0; rank < world_.size(); ++rank) samples += micro_batch_of_world(batch, rank, index).size;
  return {
      .training = true,
      .seed = options_.seed,
      .sync_batch_norm = batch_norm_communicator_.get(),
      .how = {.algorithm = grouped ? Algorithm::hierarchical : Algorithm::direct, .order = options_.order},
      .whole_batch = samples,
      .rounded = true};
}

void ReplicaGroup::enqueue_loss(Loss loss, bool with_gradient) {
  for (size_t rank = 0; rank < replicas_.size(); ++rank)
    losses_[rank].run(loss, ConstTensor(replicas_[rank].output()).samples(),
                      with_gradient ? replicas_[rank].output_gradient().samples() : MatrixView<float>(), 0);
}

LossStats ReplicaGroup::losses(Loss loss, size_t rank, Shard samples) {
  MatrixView<const float> outputs = ConstTensor(replicas_[rank].output()).samples();
  outputs.data += samples.first * outputs.stride;
  outputs.rows = samples.size;
  losses_[rank].set_stats({});
  losses_[rank].run(loss, outputs, {}, samples.first);
  return losses_[rank].read_stats();
}

LossStats ReplicaGroup::take_loss_stats() {
  std::vector<LossStats> own = clear_loss_stats();
  if (!sharded()) {
    own.resize(1);  // all replicas computed the same samples
    if (world_.first() > 0) own[0] = {};
  }
  return world_.sum(own);
}

std::vector<LossStats> ReplicaGroup::clear_loss_stats() {
  streams_.synchronize();
  std::vector<LossStats> stats;
  for (LossHead& loss : losses_) stats.push_back(loss.take_stats());
  return stats;
}

std::vector<const LossStats*> ReplicaGroup::loss_stats() const {
  std::vector<const LossStats*> stats;
  for (const LossHead& loss : losses_) stats.push_back(loss.stats());
  if (!sharded()) stats.resize(1);
  return stats;
}

void ReplicaGroup::mark_nonfinite_losses() {
  if (first_nonfinite_.empty()) return;
  on_each([&](Replica& replica, size_t rank) {
    throw_if_error(mark_nonfinite_loss(replica.gradients().data, losses_[rank].stats(), replica.stream()));
  });
}

void ReplicaGroup::check_gradients(size_t rank) {
  if (first_nonfinite_.empty()) return;
  throw_if_error(first_nonfinite({first_nonfinite_[rank].data(), 1}, replicas_[rank].gradients(), true,
                                 replicas_[rank].stream()));
}

unsigned long long ReplicaGroup::first_nonfinite_gradient() {
  streams_.synchronize();
  unsigned long long first = kAllFinite;
  if (first_nonfinite_.empty()) return first;
  on_each([&](Replica&, size_t rank) { first = std::min(first, first_nonfinite_[rank].download()[0]); });
  return first;
}

std::string ReplicaGroup::nonfinite_value() {
  const unsigned long long first = first_nonfinite_gradient();
  if (first == kAllFinite) return "";
  for (const LossHead& loss : losses_)
    if (!std::isfinite(loss.read_stats().loss)) return "the loss";
  const auto index = static_cast<int64_t>(first);
  for (const Parameter& p : graph_.parameters())
    if (index < p.offset + p.size)
      return concat("the gradient of '", p.name, "'",
                    index == 0 && world_.processes() ? ", or the loss in another process," : "");
  return "a gradient";
}

void ReplicaGroup::clear_nonfinite_value() {
  streams_.synchronize();
  if (first_nonfinite_.empty()) return;
  on_each([&](Replica&, size_t rank) {
    first_nonfinite_[rank].fill_bytes(0xff);
    // With a loss that is not finite the next step would stop again.
    if (!std::isfinite(losses_[rank].read_stats().loss)) losses_[rank].set_stats({});
  });
}

}  // namespace rondo::nn

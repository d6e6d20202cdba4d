#include <rondo/kernels/loss/nonfinite_loss.h>
#include <rondo/kernels/loss/squared_error.h>
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

// Options that must agree: with others the processes would train differently, or wait for each other forever.
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
  const int64_t loss_workspace = std::max(softmax_cross_entropy_workspace_bytes(samples, outputs),
                                          squared_error_workspace_bytes(samples, outputs));
  const bool copied = world_.processes() || !same_compute_capability(options_.devices);
  replicas_.reserve(options_.devices.size());
  for (int rank = 0; rank < streams_.size(); ++rank) {
    const DeviceScope scope(streams_.device(rank));
    uploads_.emplace_back(streams_.device(rank), streams_.stream(rank));
    throw_if_error(check_math("DataParallel", options_.math));
    throw_if_error(check_factor_type("DataParallel", options_.activations));
    Replica& replica =
        replicas_.emplace_back(graph_, streams_.device(rank), streams_.stream(rank), plan, samples);
    losses_.push_back({Buffer<int32_t>(samples), Buffer<float>(samples * outputs), Buffer<LossStats>(1),
                       Buffer<std::byte>(loss_workspace)});
    losses_.back().stats.fill_bytes(0);
    if (options_.keep_finite) {
      found_inf_.emplace_back(1).fill_bytes(0xff);
      replica.set_found_inf(found_inf_.back().data());
    }
    if (rank == 0 || !copied) replica.initialise(options_.seed);  // the same values on every replica
  }
  if (copied) copy_initial_values();
}

// From rank 0 of the first process: the GPUs may be of different kinds, in one process or in several.
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

Shard ReplicaGroup::shard(int64_t batch, int64_t rank) const {
  return sharded() ? shard_of(batch, rank, world_.size()) : Shard{0, batch};
}

Shard ReplicaGroup::micro_batch(int64_t batch, int64_t rank, int64_t index) const {
  const Shard whole = shard(batch, rank);
  Shard part = shard_of(whole.size, index, options_.micro_batches);
  part.first += whole.first;
  return part;
}

LossTarget ReplicaGroup::target(size_t rank, int64_t samples) {
  LossMemory& loss = losses_[rank];
  return {{loss.labels.data(), samples}, matrix(loss.values.data(), samples, graph_.output().shape.size())};
}

void ReplicaGroup::load(BatchIterator& batches, int64_t batch, int64_t index) {
  on_each([&](Replica& replica, size_t rank) {
    const Shard part = micro_batch(batch, world_.first() + static_cast<int64_t>(rank), index);
    replica.set_batch(part.size, part.first);
    batches.load(replica, rank, part, target(rank, part.size));
  });
}

// The statistics of a layer are a few hundred numbers, so the direct algorithm is fastest within a process.
Pass ReplicaGroup::training_pass(int64_t batch, int64_t index) {
  const bool grouped = options_.algorithm == Algorithm::hierarchical;
  int64_t samples = 0;
  for (int rank = 0; rank < world_.size(); ++rank) samples += micro_batch(batch, rank, index).size;
  return {
      .training = true,
      .seed = options_.seed,
      .sync_batch_norm = batch_norm_communicator_.get(),
      .how = {.algorithm = grouped ? Algorithm::hierarchical : Algorithm::direct, .order = options_.order},
      .whole_batch = samples};
}

void ReplicaGroup::enqueue_loss(Loss loss, size_t rank, Shard samples, bool with_gradient) {
  Replica& replica = replicas_[rank];
  LossMemory& memory = losses_[rank];
  const auto part = [&](auto all) {
    all.data += samples.first * all.stride;
    all.rows = samples.size;
    return all;
  };
  const MatrixView<float> gradient =
      with_gradient ? part(replica.output_gradient().samples()) : MatrixView<float>();
  const MatrixView<const float> outputs = part(ConstTensor(replica.output()).samples());
  const LossTarget all = target(rank, replica.batch());
  LossStats* const stats = memory.stats.data();
  const Workspace workspace = {memory.workspace.data(), memory.workspace.bytes()};
  throw_if_error(
      loss == Loss::cross_entropy
          ? softmax_cross_entropy(gradient, stats, outputs, {all.labels.data + samples.first, samples.size},
                                  1.0f, workspace, replica.stream())
          : squared_error(gradient, stats, outputs, part(all.values), 1.0f, workspace, replica.stream()));
}

void ReplicaGroup::enqueue_loss(Loss loss, bool with_gradient) {
  on_each([&](Replica& replica, size_t rank) {
    enqueue_loss(loss, rank, {0, replica.batch()}, with_gradient);
  });
}

LossStats ReplicaGroup::losses(Loss loss, size_t rank, Shard samples) {
  const DeviceScope scope(replicas_[rank].device());
  RONDO_CUDA_THROW(cudaStreamSynchronize(replicas_[rank].stream()));
  losses_[rank].stats.fill_bytes(0);
  enqueue_loss(loss, rank, samples, false);
  RONDO_CUDA_THROW(cudaStreamSynchronize(replicas_[rank].stream()));
  return losses_[rank].stats.download()[0];
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
  on_each([&](Replica&, size_t rank) {
    stats.push_back(losses_[rank].stats.download()[0]);
    losses_[rank].stats.fill_bytes(0);
  });
  return stats;
}

std::vector<const LossStats*> ReplicaGroup::loss_stats() const {
  std::vector<const LossStats*> stats;
  for (const LossMemory& loss : losses_) stats.push_back(loss.stats.data());
  if (!sharded()) stats.resize(1);
  return stats;
}

bool ReplicaGroup::losses_are_finite() {
  streams_.synchronize();
  bool finite = true;
  on_each([&](Replica&, size_t rank) {
    finite = finite && std::isfinite(losses_[rank].stats.download()[0].loss);
  });
  return finite;
}

void ReplicaGroup::enqueue_loss_check(size_t rank) {
  if (found_inf_.empty()) return;
  throw_if_error(mark_nonfinite_loss(replicas_[rank].gradients().data, losses_[rank].stats.data(),
                                     replicas_[rank].stream()));
}

void ReplicaGroup::enqueue_nonfinite_check(size_t rank) {
  if (found_inf_.empty()) return;
  throw_if_error(first_nonfinite({found_inf_[rank].data(), 1}, replicas_[rank].gradients(), true,
                                 replicas_[rank].stream()));
}

unsigned long long ReplicaGroup::found_inf() {
  streams_.synchronize();
  unsigned long long first = kAllFinite;
  on_each([&](Replica&, size_t rank) {
    if (rank < found_inf_.size()) first = std::min(first, found_inf_[rank].download()[0]);
  });
  return first;
}

void ReplicaGroup::clear_found_inf() {
  streams_.synchronize();
  on_each([&](Replica&, size_t rank) {
    if (rank >= found_inf_.size()) return;
    found_inf_[rank].fill_bytes(0xff);
    Buffer<LossStats>& stats = losses_[rank].stats;  // with them, the next step would stop again
    if (!std::isfinite(stats.download()[0].loss)) stats.fill_bytes(0);
  });
}

}  // namespace rondo::nn

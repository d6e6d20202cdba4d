#include <rondo/nn/train/data_parallel.h>

#include <rondo/collectives/arguments.h>
#include <rondo/collectives/collectives.h>
#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/runtime/launch_trace.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/nn/train/shard.h>

#include <algorithm>

namespace rondo::nn {

namespace {

DataParallelOptions checked(DataParallelOptions options) {
  const auto refuse = [](const auto&... why) { throw Error(bad_argument("DataParallel: ", why...)); };
  constexpr int64_t kMostSamples = int64_t{1} << 31;
  if (options.devices.empty()) refuse("the list of devices is empty");
  if (options.batch < 1) refuse("the batch is ", options.batch, ", must be at least 1");
  if (options.batch > kMostSamples)
    refuse("the batch is ", options.batch, ", must be at most ", kMostSamples);
  if (options.bucket_bytes < 1) refuse("bucket_bytes is ", options.bucket_bytes, ", must be at least 1");
  if (options.micro_batches < 1 || options.micro_batches > options.batch)
    refuse("micro_batches is ", options.micro_batches, ", must be at least 1 and at most ", options.batch,
           ", the batch");
  if (options.checkpoint_layers < 0)
    refuse("checkpoint_layers is ", options.checkpoint_layers, ", must be at least 0");
  if (options.processes && options.order != SumOrder::left_to_right)
    refuse("several processes add from left to right, and have no fixed order over any number of devices");
  if (options.processes || options.group_size > 0) {
    if (options.algorithm != Algorithm::automatic && options.algorithm != Algorithm::hierarchical)
      refuse("the algorithm is ", name_of(options.algorithm), ", must be automatic or hierarchical in ",
             options.processes ? "several processes" : "groups");
    options.algorithm = Algorithm::hierarchical;
  }
  throw_if_error(
      rondo::check_options("DataParallel", {.algorithm = options.algorithm, .order = options.order},
                           {Algorithm::ring, Algorithm::direct, Algorithm::root, Algorithm::hierarchical}));
  if (options.placement != BatchPlacement::sharded && options.placement != BatchPlacement::replicated)
    refuse("the placement is ", static_cast<int>(options.placement), ", must be sharded or replicated");
  return options;
}

// A estimate may be for another machine; a model is on this one.
DataParallelOptions checked_here(DataParallelOptions options) {
  options = checked(std::move(options));
  throw_if_error(check_devices("DataParallel", options.devices));
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

int64_t divided_up(int64_t count, int64_t parts) { return (count + parts - 1) / parts; }

int64_t ranks_of(const DataParallelOptions& options) {
  return static_cast<int64_t>(options.devices.size()) * (options.processes ? options.processes->size() : 1);
}

// Samples that a replica works on at a time.
int64_t most_samples(const DataParallelOptions& options) {
  const int64_t replicas = ranks_of(options);
  const bool sharded = options.placement == BatchPlacement::sharded;
  return divided_up(sharded ? divided_up(options.batch, replicas) : options.batch, options.micro_batches);
}

// Replicas that see the same samples have nothing to tell each other.
bool exchanges(const DataParallelOptions& options) {
  return options.placement == BatchPlacement::sharded && ranks_of(options) > 1;
}
CommunicatorOptions with_ranks_of(const DataParallelOptions& options, CommunicatorOptions communicator) {
  communicator.bucket_bytes = 0;
  communicator.group_size = options.group_size;
  communicator.processes = options.processes;
  return communicator;
}
std::optional<CommunicatorOptions> of_gradients(const DataParallelOptions& options, const Graph& graph) {
  if (!exchanges(options) || graph.parameter_arena_size() == 0) return std::nullopt;
  return with_ranks_of(options, {});
}
std::optional<CommunicatorOptions> of_statistics(const DataParallelOptions& options) {
  if (!exchanges(options) || !options.sync_batch_norm) return std::nullopt;
  return with_ranks_of(options, {.slot_bytes = 64 << 10});
}
std::unique_ptr<Communicator> communicator(const std::vector<int>& devices,
                                           const std::optional<CommunicatorOptions>& options) {
  return options ? std::make_unique<Communicator>(devices, *options) : nullptr;
}

// What the processes would otherwise train differently, or wait for in vain.
World world_of(const DataParallelOptions& options, const Graph& graph) {
  const World world("DataParallel", static_cast<int>(options.devices.size()), options.processes);
  const auto same = [&](const char* what, const auto& value) { world.check_same(what, concat(value)); };
  same("the batch", options.batch);
  same("the seed", options.seed);
  same("bucket_bytes", options.bucket_bytes);
  same("micro_batches", options.micro_batches);
  same("the placement", static_cast<int>(options.placement));
  same("sync_batch_norm", options.sync_batch_norm);
  same("keep_finite", options.keep_finite);
  same("the network's number of parameters", graph.parameter_count());
  same("the network's number of operations", graph.nodes().size());
  return world;
}

// Of rank 0, which speaks for all.
PhaseTimer timer_of(const StreamGroup& streams) {
  const DeviceScope scope(streams.device(0));
  return PhaseTimer(streams.stream(0));
}

}  // namespace

DataParallelOptions with_device_count_invariance(DataParallelOptions options) {
  const auto refuse = [](const auto&... why) {
    throw Error(bad_argument("DataParallel in fixed order: ", why...));
  };
  const auto devices = static_cast<int>(options.devices.size());
  if (devices < 1 || devices > kSampleBlocks)
    refuse("there are ", devices, " devices, must be 1 to ", kSampleBlocks, ", the number of sample blocks");
  if (options.batch < kSampleBlocks)
    refuse("the batch has ", options.batch, " samples, must have at least ", kSampleBlocks,
           ", one for each sample block");
  if (options.processes) refuse("there are several processes, which add from left to right");
  if (options.group_size > 0) refuse("group_size is ", options.group_size, ", must be 0");
  if (options.algorithm != Algorithm::automatic && options.algorithm != Algorithm::direct)
    refuse("the algorithm is ", name_of(options.algorithm), ", must be automatic or direct");
  std::vector<int> of_block;
  for (int block = 0; block < kSampleBlocks; ++block)
    of_block.push_back(options.devices[static_cast<size_t>(block * devices / kSampleBlocks)]);
  options.devices = of_block;
  options.algorithm = Algorithm::direct;
  options.order = SumOrder::balanced_tree;
  return options;
}

MemoryEstimate estimate_memory(const Graph& graph, const DataParallelOptions& wanted, OptimizerSize optimizer) {
  const DataParallelOptions options = checked(wanted);
  std::vector<CommunicatorOptions> communicators;
  for (const auto& each : {of_gradients(options, graph), of_statistics(options)})
    if (each) communicators.push_back(*each);
  MemoryEstimate made = estimate_training(graph, {.batch = most_samples(options),
                                                  .plan = {.checkpoint_layers = options.checkpoint_layers},
                                                  .accumulates = options.micro_batches > 1,
                                                  .optimizer = optimizer,
                                                  .ranks = static_cast<int>(options.devices.size()),
                                                  .communicators = std::move(communicators)});
  if (options.keep_finite) made.parts.push_back({"found_inf of the gradients", sizeof(unsigned long long)});
  return made;
}

DataParallel::DataParallel(const AnyModule& network, Shape input, DataParallelOptions options)
    : graph_(make_graph(network, input)),
      options_(checked_here(std::move(options))),
      world_(world_of(options_, graph_)),
      compute_(options_.devices),
      exchange_(options_.devices),
      most_(most_samples(options_)),
      buckets_(gradient_buckets(graph_, options_.bucket_bytes)),
      ready_(an_event_each(options_.devices)),
      reduced_(an_event_each(options_.devices)),
      gradients_(communicator(options_.devices, of_gradients(options_, graph_))),
      statistics_(communicator(options_.devices, of_statistics(options_))),
      timer_(timer_of(compute_)),
      timer_of_rest_(timer_of(compute_)) {
  const MemoryPlan plan = plan_training(graph_, most_, {.checkpoint_layers = options_.checkpoint_layers});
  const int64_t outputs = graph_.output().shape.size();
  const int64_t loss_workspace = std::max(softmax_cross_entropy_workspace_bytes(most_, outputs),
                                          squared_error_workspace_bytes(most_, outputs));
  replicas_.reserve(options_.devices.size());
  for (int rank = 0; rank < compute_.size(); ++rank) {
    const DeviceScope scope(compute_.device(rank));
    replicas_.emplace_back(graph_, compute_.device(rank), compute_.stream(rank), plan, most_);
    targets_.push_back({Buffer<int32_t>(most_), Buffer<float>(most_ * outputs), Buffer<LossStats>(1),
                        Buffer<std::byte>(loss_workspace)});
    targets_.back().loss_stats.fill_bytes(0);
    if (options_.micro_batches > 1) accumulated_.emplace_back(graph_.parameter_arena_size());
    if (options_.keep_finite) {
      found_inf_.emplace_back(1).fill_bytes(0xff);
      replicas_.back().set_found_inf(found_inf_.back().data());
    }
    // The same seed gives the same values everywhere.
    replicas_.back().initialise(options_.seed);
  }
  if (world_.processes()) copy_initial_values();
}

// The hosts' GPUs may be of different kinds, whose random numbers could differ in their last bits.
void DataParallel::copy_initial_values() {
  compute_.synchronize();
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

DataParallel::~DataParallel() {
  for (cudaStream_t stream : compute_.streams()) static_cast<void>(cudaStreamSynchronize(stream));
}

// The statistics of a layer are a few hundred numbers: sent to all at once, where no process lies between.
Pass DataParallel::training_pass(int64_t batch, int64_t piece) {
  const bool grouped = options_.algorithm == Algorithm::hierarchical;
  int64_t samples = 0;
  for (int rank = 0; rank < world_.size(); ++rank) samples += piece_of_shard(batch, rank, piece).size;
  return {
      .training = true,
      .seed = options_.seed,
      .sync_batch_norm = statistics_.get(),
      .how = {.algorithm = grouped ? Algorithm::hierarchical : Algorithm::direct, .order = options_.order},
      .whole_batch = samples};
}

Shard DataParallel::training_shard(int64_t batch, int64_t rank) const {
  return sharded() ? shard_of(batch, rank, world_.size()) : Shard{0, batch};
}

// Of the batch's micro-batches.
Shard DataParallel::piece_of_shard(int64_t batch, int64_t rank, int64_t piece) const {
  const Shard shard = training_shard(batch, rank);
  Shard part = shard_of(shard.size, piece, options_.micro_batches);
  part.first += shard.first;
  return part;
}

LossTarget DataParallel::target_of(size_t rank, int64_t samples) {
  Target& target = targets_[rank];
  return {{target.labels.data(), samples},
          matrix(target.values.data(), samples, graph_.output().shape.size())};
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

// Each replica's shard of what the host has.
template <class Targets>
void DataParallel::stage(std::span<const float> x, Targets targets) {
  const int64_t batch = batch_of(x);
  std::vector<Shard> shards;
  for (int rank = 0; rank < world_.local(); ++rank)
    shards.push_back(training_shard(batch, world_.first() + rank));
  if (!staged_) staged_ = std::make_unique<StagedBatch>(replicas_, most_ * options_.micro_batches);
  staged_->stage(replicas_, shards, x, targets);
}

void DataParallel::train_step(std::span<const float> x, std::span<const int32_t> labels,
                              Optimizer& optimizer) {
  check_step(optimizer);
  const int64_t batch = batch_of(x);
  if (static_cast<int64_t>(labels.size()) != batch)
    throw Error(bad_argument("DataParallel: there are ", labels.size(), " labels, must be ", batch,
                             ", one for each sample"));
  stage(x, labels);
  take_step(*staged_, optimizer);
}

void DataParallel::train_step(std::span<const float> x, std::span<const float> targets,
                              Optimizer& optimizer) {
  check_step(optimizer);
  const int64_t batch = batch_of(x), outputs = graph_.output().shape.size();
  if (static_cast<int64_t>(targets.size()) != batch * outputs)
    throw Error(bad_argument("DataParallel: there are ", targets.size(), " target values, must be ",
                             batch * outputs, ", ", outputs, " for each sample"));
  stage(x, targets);
  take_step(*staged_, optimizer);
}

void DataParallel::repeat_step(Optimizer& optimizer) {
  check_step(optimizer);
  if (!staged_) throw Error(bad_argument("DataParallel: there was no batch yet, must be a step to repeat"));
  take_step(*staged_, optimizer);
}

void DataParallel::train_step(BatchIterator& source, Optimizer& optimizer) {
  check_step(optimizer);
  const int64_t batch = source.next_batch();
  if (batch < 1 || batch > options_.batch)
    throw Error(
        bad_argument("DataParallel: the batch has ", batch, " samples, must have 1 to ", options_.batch));
  take_step(source, optimizer);
}

void DataParallel::take_step(BatchIterator& source, Optimizer& optimizer) {
  const int64_t batch = source.next_batch();
  const auto enqueue = [this, &source, batch, &optimizer] { enqueue_step(source, batch, optimizer); };
  try {
    if (trace_) {
      const LaunchTrace kernels_shown(trace_, compute_.streams());
      compute_.fork();
      enqueue();
      compute_.join();
    } else {
      recorded_.run({batch, source.id(), optimizer.id(), static_cast<int>(source.loss())}, compute_, enqueue);
    }
    source.step_taken();
  } catch (const Error& error) {
    failure_ = Status(error.status().code(), concat("DataParallel: a step failed: ", error.what()));
    throw;
  } catch (...) {
    failure_ = Status(StatusCode::device_failed, "DataParallel: a step failed");
    throw;
  }
}

void DataParallel::enqueue_step(BatchIterator& source, int64_t batch, Optimizer& optimizer) {
  PhaseTimer& timer = batch == options_.batch ? timer_ : timer_of_rest_;
  timed_ = timed_ || batch == options_.batch;
  const auto time = [&](Phase phase) {
    const DeviceScope scope(compute_.device(0));
    timer.end(phase);
  };
  for (int64_t piece = 0; piece < options_.micro_batches; ++piece) {
    const bool last = piece + 1 == options_.micro_batches;
    const Pass training = training_pass(batch, piece);
    timer.begin();
    load_piece(source, batch, piece);
    if (last) on_each([&](Replica& replica, size_t rank) { source.advance(replica, rank); });
    time(Phase::load);
    nn::forward(replicas_, training);
    enqueue_loss(source.loss(), true);
    time(Phase::forward);
    size_t next = 0;
    nn::backward(replicas_, training, [&](int node) {
      while (last && next < buckets_.size() && buckets_[next].node >= node) reduce(buckets_[next++]);
    });
    time(Phase::backward);
    if (!last) accumulate(piece);
  }
  update(batch, optimizer);
}

void DataParallel::load_piece(BatchIterator& source, int64_t batch, int64_t piece) {
  on_each([&](Replica& replica, size_t rank) {
    const Shard part = piece_of_shard(batch, world_.first() + static_cast<int64_t>(rank), piece);
    replica.set_batch(part.size, part.first);
    source.load(replica, rank, part, target_of(rank, part.size));
  });
}

// Adds each replica's losses, of the samples that it has now, to its loss_stats.
void DataParallel::enqueue_loss(Loss loss, bool with_gradient) {
  on_each([&](Replica& replica, size_t rank) {
    Target& target = targets_[rank];
    const MatrixView<float> gradient =
        with_gradient ? replica.output_gradient().samples() : MatrixView<float>();
    const MatrixView<const float> outputs = ConstTensor(replica.output()).samples();
    const LossTarget wanted = target_of(rank, replica.batch());
    const Workspace workspace = {target.workspace.data(), target.workspace.bytes()};
    throw_if_error(loss == Loss::cross_entropy
                       ? softmax_cross_entropy(gradient, target.loss_stats.data(), outputs, wanted.labels, 1.0f,
                                               workspace, replica.stream())
                       : squared_error(gradient, target.loss_stats.data(), outputs, wanted.values, 1.0f, workspace,
                                       replica.stream()));
  });
}

// Keeps the gradients of a piece, to which the next one's pass writes anew.
void DataParallel::accumulate(int64_t piece) {
  on_each([&](Replica& replica, size_t rank) {
    const VectorView<float> sum = {accumulated_[rank].data(), accumulated_[rank].size()};
    const VectorView<float> gradients = replica.gradients();
    if (piece == 0)
      RONDO_CUDA_THROW(cudaMemcpyAsync(sum.data, gradients.data,
                                       static_cast<size_t>(sum.size) * sizeof(float),
                                       cudaMemcpyDeviceToDevice, replica.stream()));
    else
      throw_if_error(add(sum, sum, gradients, false, replica.stream()));
  });
}

// Adds a bucket over all pieces, and over all replicas beside the layers that still go backward.
void DataParallel::reduce(const GradientBucket& bucket) {
  std::vector<DataView> parts;
  on_each([&](Replica& replica, size_t rank) {
    const VectorView<float> part = {replica.gradients().data + bucket.begin, bucket.size};
    if (options_.micro_batches > 1)
      throw_if_error(
          add(part, {accumulated_[rank].data() + bucket.begin, bucket.size}, part, false, replica.stream()));
    if (!gradients_) return;
    const cudaStream_t exchange = exchange_.stream(static_cast<int>(rank));
    RONDO_CUDA_THROW(cudaEventRecord(ready_[rank], replica.stream()));
    RONDO_CUDA_THROW(cudaStreamWaitEvent(exchange, ready_[rank], 0));
    parts.push_back(part);
  });
  if (gradients_)
    throw_if_error(all_reduce(parts, {.algorithm = options_.algorithm, .order = options_.order}, *gradients_,
                              exchange_.streams()));
}

// The same step on every device. The gradients are sums over the batch: dividing by its whole size here, once, is right for
// any shards.
void DataParallel::update(int64_t batch, Optimizer& optimizer) {
  PhaseTimer& timer = batch == options_.batch ? timer_ : timer_of_rest_;
  const float mean = 1.0f / static_cast<float>(batch);
  on_each([&](Replica& replica, size_t rank) {
    if (gradients_) {
      RONDO_CUDA_THROW(cudaEventRecord(reduced_[rank], exchange_.stream(static_cast<int>(rank))));
      RONDO_CUDA_THROW(cudaStreamWaitEvent(replica.stream(), reduced_[rank], 0));
    }
    if (rank == 0) timer.end(Phase::reduce);
    if (replica.found_inf())
      throw_if_error(first_nonfinite({found_inf_[rank].data(), 1}, replica.gradients(), true, replica.stream()));
    optimizer.step(replica, rank, mean);
    throw_if_error(advance(replica.step(), 1, replica.stream()));
    if (rank == 0) timer.end(Phase::update);
  });
}

}  // namespace rondo::nn

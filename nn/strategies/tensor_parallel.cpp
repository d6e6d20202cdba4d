// Tensor parallelism: every layer is split, by its outputs.
//
// An output of a layer (a channel of a convolution or a unit of a fully connected layer) has its own weights.
// So n devices can share a layer: device r holds the weights of some outputs and computes these outputs for
// the whole batch. The numbers of outputs differ by at most one. All devices work on the same layer at the
// same time, and each holds one n-th of the parameters.
//
//               x (whole, on both)                    dx = dx0 + dx1
//               |                |                     |          |
//        W[:, outputs 0]   W[:, outputs 1]            dx0        dx1       partial gradients of x
//               |                |                     |          |
//             y[0]             y[1]                  dy[0]      dy[1]
//               +------ y -------+                     +--- dy ---+
//               |                |
//            y (whole, on both)                     forward: down; backward: up
//
// Every layer requires an exchange. Forward: an output needs all inputs, so all devices gather the outputs
// before the next layer. Backward: the gradient of the inputs is a sum over the outputs, and each device has
// the terms of its own outputs, so the partial sums are added over the devices, for each element from the
// lowest rank to the highest. No device can continue before the exchange, so computation cannot hide it.
// gather_op.h shows both exchanges.
//
// Operations before the gather reduce the data to send. A ReLU or a pooling layer treats each channel
// separately, so it runs on the device that has the channel: after a 2 x 2 pooling only a quarter of the
// values is sent. Flatten mixes channels and positions, so it runs after the gather. The loss is small: every
// device computes all of it instead of waiting for one.
//
// The gradients of the parameters need no exchange: each device sees the whole batch, so its sums are
// complete. It updates only its own weights.
//
// The host enqueues the work of one rank after the other. wait_for_all() is a barrier between the ranks'
// streams: each rank records an event and all others wait for it. An exchange is wait_for_all() (all inboxes
// are free, all blocks are ready), send(), wait_for_all() (all blocks have arrived).

#include <rondo/nn/strategies/tensor_parallel.h>

#include <rondo/collectives/types.h>
#include <rondo/kernels/core/counted.h>

#include <numeric>

namespace rondo::nn {

namespace {

constexpr const char* kTensorParallel = "tensor parallel";

const StrategyOptions& checked(const StrategyOptions& options) {
  nn::checked(kTensorParallel, options);
  if (options.devices.size() > kMaxRanks)
    throw Error(bad_argument(kTensorParallel, ": ", counted(options.devices.size(), "device"),
                             ", must be at most ", kMaxRanks));
  return options;
}

// Along one axis, a rank's parameter has fewer outputs than the whole parameter: columns of a Linear's matrix
// or filters of a convolution. If no axis differs, the rank has the whole parameter.
ParameterPart outputs_of_rank(const Parameter& whole, const Parameter& mine, Shard outputs) {
  ParameterPart part{.mine = mine.offset, .whole = whole.offset, .size = mine.size};
  size_t axis = 0;
  while (axis < whole.shape.size() && whole.shape[axis] == mine.shape[axis]) ++axis;
  if (axis == whole.shape.size()) return part;
  const auto begin = whole.shape.begin(), at = begin + static_cast<int64_t>(axis);
  const int64_t of_one = std::accumulate(at + 1, whole.shape.end(), int64_t{1}, std::multiplies<>());
  part.runs = std::accumulate(begin, at, int64_t{1}, std::multiplies<>());
  part.size = mine.shape[axis] * of_one;
  part.stride = whole.shape[axis] * of_one;
  part.whole += outputs.first * of_one;
  return part;
}

}  // namespace

// Builds a rank's graph from the chain of modules. The graph of the whole network provides the whole shapes.
class TensorParallel::Builder {
 public:
  Builder(Shape input, int rank, int ranks)
      : rank_(rank), ranks_(ranks), whole_(input), made_{Graph(input), {}, {}, {}, {}, {}} {
    x_ = made_.graph.input();
    whole_x_ = whole_.input();
  }

  Rank run(const AnyModule& network) {
    for (const AnyModule& module : chain_of(network)) add(module);
    gather();
    made_.graph.set_output(x_);
    return std::move(made_);
  }

 private:
  void add(const AnyModule& module) {
    if (module->outputs() > 0)
      layer(module);
    else if (module->channelwise())
      channelwise(module);
    else
      reshape(module);
  }

  void layer(const AnyModule& module) {
    gather();
    const int64_t outputs = module->outputs();
    const Shard share = shard_of(outputs, rank_, ranks_);
    if (last_gather_) {
      std::vector<int> senders;
      for (int r = 0; r < ranks_; ++r)
        if (shard_of(outputs, r, ranks_).size > 0) senders.push_back(r);
      last_gather_->set_senders(senders);
    }
    const size_t first_whole = whole_.parameters().size(), first = made_.graph.parameters().size();
    whole_x_ = module.build(whole_, whole_x_);
    split_ = ranks_ > 1;
    has_slice_ = share.size > 0;
    if (!has_slice_) return;
    x_ = module->with_outputs(share.size).build(made_.graph, x_);
    for (size_t i = first; i < made_.graph.parameters().size(); ++i)
      made_.parts.push_back(
          outputs_of_rank(whole_.parameters()[first_whole + i - first], made_.graph.parameters()[i], share));
  }

  void channelwise(const AnyModule& module) {
    whole_x_ = module.build(whole_, whole_x_);
    if (has_slice_) x_ = module.build(made_.graph, x_);
  }

  void reshape(const AnyModule& module) {
    gather();
    const size_t nodes = whole_.nodes().size();
    whole_x_ = module.build(whole_, whole_x_);
    if (whole_.nodes().size() > nodes)
      throw Error(bad_argument(
          kTensorParallel, ": the network has the layer '", whole_.nodes()[nodes].op->description(),
          "', must have none but linear layers, convolutions, ReLUs and pooling one after "
          "the other"));
    x_ = module.build(made_.graph, x_);
  }

  void gather() {
    if (!split_) return;
    auto op = std::make_unique<GatherOp>(whole_x_.shape, rank_, ranks_);
    last_gather_ = op.get();
    made_.gathers.push_back({static_cast<int>(made_.graph.nodes().size()), op.get()});
    x_ = made_.graph.add(std::move(op), {x_}, whole_x_.shape);
    split_ = false;
    has_slice_ = true;
  }

  int rank_, ranks_;
  Graph whole_;
  Rank made_;
  Value x_, whole_x_;
  bool split_ = false;     // x_ is this rank's columns of the result
  bool has_slice_ = true;  // this rank has at least one column
  GatherOp* last_gather_ = nullptr;
};

TensorParallel::TensorParallel(const AnyModule& network, Shape input, const StrategyOptions& options)
    : options_(checked(options)), whole_(make_graph(network, input)) {
  const std::vector<float> initial = initial_parameters(whole_, options.devices[0], options.seed);
  const auto ranks = static_cast<int>(options.devices.size());
  open_links(options.devices);
  ranks_.reserve(options.devices.size());  // a worker refers to its rank's graph: no reallocation
  for (int r = 0; r < ranks; ++r) {
    const int device = options.devices[static_cast<size_t>(r)];
    Rank& rank = ranks_.emplace_back(Builder(input, r, ranks).run(network));
    rank.worker = std::make_unique<Worker>(rank.graph, WorkerOptions{.device = device,
                                                                     .samples = options.batch,
                                                                     .seed = options.seed,
                                                                     .learning_rate = options.learning_rate});
    rank.worker->set_parameters(take_parts(initial, rank.parts, rank.graph.parameter_arena_size()));
    rank.head = std::make_unique<LossHead>(device, rank.worker->stream(), options.batch,
                                           whole_.output().shape.size());
    const DeviceScope scope(device);
    rank.reached = std::make_unique<Event>();
  }
}

// cudaFree() waits for one device only, and the others copy to its memory.
TensorParallel::~TensorParallel() {
  for (const Rank& rank : ranks_) static_cast<void>(cudaStreamSynchronize(rank.worker->stream()));
}

Shard TensorParallel::between(const Rank& rank, size_t layer) const {
  const int begin = layer == 0 ? 0 : rank.gathers[layer - 1].node + 1;
  const int end = layer < rank.gathers.size() ? rank.gathers[layer].node : rank.worker->nodes();
  return {begin, end - begin};
}

// Orders all work enqueued later on any rank's stream after all work enqueued so far on every rank's stream.
void TensorParallel::wait_for_all() {
  for (Rank& rank : ranks_) {
    const DeviceScope scope(rank.worker->device());
    RONDO_CUDA_THROW(cudaEventRecord(*rank.reached, rank.worker->stream()));
  }
  for (Rank& rank : ranks_)
    for (Rank& other : ranks_)
      if (&other != &rank) RONDO_CUDA_THROW(cudaStreamWaitEvent(rank.worker->stream(), *other.reached, 0));
}

void TensorParallel::send(int from, const float* what, int to, float* where, int64_t size) {
  if (size == 0) return;
  Worker& sender = *ranks_[static_cast<size_t>(from)].worker;
  const int64_t bytes = size * static_cast<int64_t>(sizeof(float));
  const DeviceScope scope(sender.device());
  RONDO_CUDA_THROW(cudaMemcpyPeerAsync(where, ranks_[static_cast<size_t>(to)].worker->device(), what,
                                       sender.device(), static_cast<size_t>(bytes), sender.stream()));
  sent_bytes_ += bytes;
}

// Sends every rank's slice of a layer's result to every other rank.
void TensorParallel::gather(size_t layer) {
  std::vector<OpCall> calls(ranks_.size());
  for (size_t r = 0; r < calls.size(); ++r)
    ranks_[r].worker->prepare(calls[r], ranks_[r].gathers[layer].node, 0, ScheduleEntry::Kind::forward);
  wait_for_all();
  for (int from = 0; from < ranks(); ++from)
    for (int to = 0; to < ranks(); ++to) {
      const OpContext& sender = calls[static_cast<size_t>(from)].context;
      const GatherOp& op = *ranks_[static_cast<size_t>(to)].gathers[layer].op;
      if (from == to) continue;
      send(from, sender.inputs[0].as(), to, op.forward_inbox(calls[static_cast<size_t>(to)].context, from),
           op.block_size(sender.batch, from));
    }
  wait_for_all();
  for (Rank& rank : ranks_) rank.worker->forward(rank.gathers[layer].node);
}

// Sends the columns of each rank's partial sums to the ranks that own them, which add them.
void TensorParallel::scatter(size_t layer) {
  std::vector<OpCall> calls(ranks_.size());
  for (size_t r = 0; r < calls.size(); ++r)
    ranks_[r].worker->prepare(calls[r], ranks_[r].gathers[layer].node, 0, ScheduleEntry::Kind::backward);
  const std::vector<int>& senders = ranks_[0].gathers[layer].op->senders();
  for (int from : senders) {
    const Rank& sender = ranks_[static_cast<size_t>(from)];
    const DeviceScope scope(sender.worker->device());
    throw_if_error(sender.gathers[layer].op->pack(calls[static_cast<size_t>(from)].context));
  }
  if (!senders.empty()) wait_for_all();
  for (int from : senders)
    for (int to = 0; to < ranks(); ++to) {
      if (from == to) continue;
      const OpContext& receiver = calls[static_cast<size_t>(to)].context;
      const GatherOp& op = *ranks_[static_cast<size_t>(to)].gathers[layer].op;
      send(from,
           ranks_[static_cast<size_t>(from)].gathers[layer].op->outbox(
               calls[static_cast<size_t>(from)].context, to),
           to, op.backward_inbox(receiver, from), op.block_size(receiver.batch, to));
    }
  if (!senders.empty()) wait_for_all();
  for (Rank& rank : ranks_) rank.worker->backward(rank.gathers[layer].node);
}

void TensorParallel::train_step(const Batch& batch) {
  const int64_t size = checked_size(kTensorParallel, batch, whole_, options_.batch);
  for (Rank& rank : ranks_) {
    Replica& replica = rank.worker->replica();
    replica.set_batch(size, 0);
    rank.worker->uploads().enqueue(
        {upload_of(replica.input().as(), batch.x), upload_of_targets(*rank.head, batch)});
  }
  const size_t layers = ranks_[0].gathers.size();
  for (size_t layer = 0; layer <= layers; ++layer) {
    for (Rank& rank : ranks_) {
      const Shard nodes = between(rank, layer);
      for (int64_t i = 0; i < nodes.size; ++i) rank.worker->forward(static_cast<int>(nodes.first + i));
    }
    if (layer < layers) gather(layer);
  }
  for (Rank& rank : ranks_) {
    Replica& replica = rank.worker->replica();
    rank.head->run(batch.loss(), ConstTensor(replica.output()).samples(), replica.output_gradient().samples(),
                   0);
  }
  for (size_t layer = layers + 1; layer-- > 0;) {
    if (layer < layers) scatter(layer);
    for (Rank& rank : ranks_) {
      const Shard nodes = between(rank, layer);
      for (int64_t i = nodes.size; i-- > 0;) rank.worker->backward(static_cast<int>(nodes.first + i));
    }
  }
  for (Rank& rank : ranks_) rank.worker->update(1.0f / static_cast<float>(size));
}

// All ranks have the same sums. Reading all of them resets all of them; returns those of rank 0.
LossStats TensorParallel::take_loss_stats() {
  LossStats loss_stats;
  for (size_t r = ranks_.size(); r-- > 0;) loss_stats = ranks_[r].head->take_stats();
  return loss_stats;
}

std::vector<float> TensorParallel::parameters() {
  std::vector<float> all(static_cast<size_t>(whole_.parameter_arena_size()), 0.0f);
  for (Rank& rank : ranks_) put_parts(all, rank.parts, parameters_of(rank.worker->replica()));
  return all;
}

std::vector<RankMemory> TensorParallel::memory() const {
  std::vector<RankMemory> all;
  for (const Rank& rank : ranks_) {
    all.push_back(rank.worker->memory());
    all.back().buffers += LossHead::bytes(options_.batch, whole_.output().shape.size());
  }
  return all;
}

}  // namespace rondo::nn

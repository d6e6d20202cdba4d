#include <rondo/nn/strategies/worker.h>

#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/nn/graph/arena.h>

#include <algorithm>

namespace rondo::nn {

namespace {

// Parameter size, in floats, of the node with the most, including the gaps for 16-byte alignment.
int64_t largest_node(const Graph& graph) {
  int64_t most = 0;
  for (const Graph::Node& node : graph.nodes()) {
    ArenaLayout layout;
    for (int p : node.parameters) layout.place(nullptr, graph.parameters()[static_cast<size_t>(p)].size);
    most = std::max(most, layout.size());
  }
  return most;
}

const Graph& without_states(const Graph& graph) {
  if (!graph.states().empty())
    throw Error(
        bad_argument("strategy: '", graph.states()[0].name,
                     "' is a state that a layer keeps, as batch normalisation does; the network must have "
                     "none where it is cut"));
  return graph;
}

}  // namespace

Worker::Worker(const Graph& graph, const WorkerOptions& options)
    : options_(options),
      stream_(stream_on(options.device)),
      uploads_(options.device, stream_, static_cast<int>(2 * (options.micro_batches + 1))),
      replica_(without_states(graph), options.device, stream_,
               plan_training(graph, options.samples, {.input_gradient = options.input_gradient}),
               options.samples, options.micro_batches) {
  const DeviceScope scope(options.device);
  if (options.micro_batches > 1) node_gradients_ = Buffer<float>(largest_node(graph));
  if (!graph.parameters().empty())
    sgd_.emplace(std::span(&replica_, 1), Sgd::Options{.learning_rate = options.learning_rate});
}

void Worker::prepare(OpCall& call, int index, int64_t micro, ScheduleEntry::Kind kind, float* gradients) {
  Replica& replica = at(micro);
  const Pass pass = {.training = true, .seed = options_.seed};
  replica.prepare(call, replica.step_of(kind, index), pass, replica.batch(), gradients);
}

void Worker::forward(int index, int64_t micro) {
  const DeviceScope scope(device());
  OpCall call;
  prepare(call, index, micro, ScheduleEntry::Kind::forward);
  throw_if_error(op(index).forward(call.context));
}

void Worker::backward(int index, int64_t micro, bool add) {
  const DeviceScope scope(device());
  const bool apart = add && !node(index).parameters.empty();
  OpCall call;
  prepare(call, index, micro, ScheduleEntry::Kind::backward, apart ? node_gradients_.data() : nullptr);
  throw_if_error(op(index).backward(call.context));
  if (apart) add_to_sums(index);
  replica_.add_contributions(replica_.step_of(ScheduleEntry::Kind::backward, index));
}

void Worker::add_to_sums(int index) {
  ArenaLayout layout;
  for (int p : node(index).parameters) {
    const Parameter& parameter = replica_.graph().parameters()[static_cast<size_t>(p)];
    const VectorView<float> sum = {replica_.gradients().data + parameter.offset, parameter.size};
    throw_if_error(rondo::add(
        sum, sum, {layout.place(node_gradients_.data(), parameter.size), parameter.size}, false, stream_));
  }
}

void Worker::update(float scale) {
  const DeviceScope scope(device());
  if (sgd_) sgd_->step(replica_, 0, scale);
  throw_if_error(advance(replica_.step(), 1, stream_));
}

void Worker::set_parameters(const std::vector<float>& values) {
  if (static_cast<int64_t>(values.size()) != replica_.parameters().size)
    throw Error(bad_argument("set_parameters: ", there_are(values.size(), "value"), ", must be ",
                             replica_.parameters().size));
  if (values.empty()) return;
  const DeviceScope scope(device());
  RONDO_CUDA_THROW(cudaMemcpy(replica_.parameters().data, values.data(), values.size() * sizeof(float),
                              cudaMemcpyHostToDevice));
  RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));
}

RankMemory Worker::memory() const {
  return rank_memory(device(), replica_.memory(), node_gradients_.bytes() + (sgd_ ? Sgd::size(0).bytes : 0));
}

}  // namespace rondo::nn

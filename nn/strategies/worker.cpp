#include <rondo/nn/strategies/worker.h>

#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/nn/graph/arena.h>
#include <rondo/nn/graph/replica.h>

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

}  // namespace

Worker::Worker(const Graph& graph, const WorkerOptions& options)
    : graph_(graph),
      options_(options),
      plan_(plan_training(graph, options.samples, {.input_gradient = options.input_gradient})),
      stream_(stream_on(options.device)),
      uploads_(options.device, stream_, static_cast<int>(2 * options.micro_batches)),
      samples_(static_cast<size_t>(options.micro_batches), 0),
      firsts_(samples_) {
  if (!graph.states().empty())
    throw Error(
        bad_argument("strategy: '", graph.states()[0].name,
                     "' is a state that a layer keeps, as batch normalisation does; the network must have "
                     "none where it is cut"));
  const DeviceScope scope(options.device);
  parameters_ = Buffer<float>(graph.parameter_arena_size());
  gradients_ = Buffer<float>(graph.parameter_arena_size());
  if (options.micro_batches > 1) node_gradients_ = Buffer<float>(largest_node(graph));
  for (int64_t micro = 0; micro < options.micro_batches; ++micro) arenas_.emplace_back(plan_.size);
  step_ = Buffer<int64_t>(1);
  learning_rate_ = Buffer<float>(std::vector<float>{options.learning_rate});
  workspace_ = Buffer<std::byte>(workspace_bytes(graph, options.samples));
  gradients_.fill_bytes(0);  // the gaps must stay 0
  step_.fill_bytes(0);
}

void Worker::set_batch(int64_t micro, int64_t samples, int64_t first) {
  samples_[static_cast<size_t>(micro)] = samples;
  firsts_[static_cast<size_t>(micro)] = first;
}

// The plan's steps: all nodes forward, the loss, all nodes backward in reverse.
const Step& Worker::step_of(int index, Direction direction) const {
  return plan_.steps[static_cast<size_t>(direction == Direction::forward ? index : 2 * nodes() - index)];
}

void Worker::prepare(OpCall& call, int index, int64_t micro, Direction direction, float* into) {
  const Graph::Node& n = node(index);
  ArenaLayout layout;
  for (int p : n.parameters) {
    const Parameter& parameter = graph_.parameters()[static_cast<size_t>(p)];
    call.parameters.push_back(parameters_.data() + parameter.offset);
    call.gradients.push_back(into ? layout.place(into, parameter.size)
                                  : gradients_.data() + parameter.offset);
  }
  OpContext& context = call.context;
  context.batch = context.summed_batch = samples_[static_cast<size_t>(micro)];
  context.first = firsts_[static_cast<size_t>(micro)];
  context.training = true;
  context.seed = options_.seed;
  context.step = step_.data();
  context.workspace = {workspace_.data(), workspace_.bytes()};
  context.stream = stream_;
  call.bind(n, step_of(index, direction),
            [&](int64_t place, int value) { return tensor(micro, place, value); });
}

void Worker::upload_input(int64_t micro, std::span<const float> x) {
  uploads_.enqueue({upload_of(input(micro).as(), x)});
}

void Worker::forward(int index, int64_t micro) {
  const DeviceScope scope(device());
  OpCall call;
  prepare(call, index, micro, Direction::forward);
  throw_if_error(op(index).forward(call.context));
}

void Worker::backward(int index, int64_t micro, bool add) {
  const DeviceScope scope(device());
  const bool apart = add && !node(index).parameters.empty();
  OpCall call;
  prepare(call, index, micro, Direction::backward, apart ? node_gradients_.data() : nullptr);
  throw_if_error(op(index).backward(call.context));
  if (apart) add_to_sums(index);
  add_contributions(node(index), step_of(index, Direction::backward), stream_,
                    [&](int64_t place, int value) { return tensor(micro, place, value); });
}

void Worker::add_to_sums(int index) {
  ArenaLayout layout;
  for (int p : node(index).parameters) {
    const Parameter& parameter = graph_.parameters()[static_cast<size_t>(p)];
    const VectorView<float> sum = {gradients_.data() + parameter.offset, parameter.size};
    throw_if_error(rondo::add(
        sum, sum, {layout.place(node_gradients_.data(), parameter.size), parameter.size}, false, stream_));
  }
}

void Worker::update(float scale) {
  const DeviceScope scope(device());
  throw_if_error(sgd_update({parameters_.data(), parameters_.size()}, {},
                            {gradients_.data(), gradients_.size()}, learning_rate_.data(), {.scale = scale},
                            stream_));
  throw_if_error(advance(step_.data(), 1, stream_));
}

void Worker::set_parameters(const std::vector<float>& values) {
  const DeviceScope scope(device());
  parameters_.upload(values);
}

std::vector<float> Worker::parameters() const {
  const DeviceScope scope(device());
  stream_.synchronize();
  return parameters_.download();
}

RankMemory Worker::memory() const {
  RankMemory memory{.device = device(), .parameters = parameters_.bytes(), .gradients = gradients_.bytes()};
  memory.buffers = node_gradients_.bytes() + step_.bytes() + learning_rate_.bytes() + workspace_.bytes();
  for (const Buffer<float>& arena : arenas_) memory.activations += arena.bytes();
  return memory;
}

}  // namespace rondo::nn

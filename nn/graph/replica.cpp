#include <rondo/nn/graph/replica.h>

#include <rondo/kernels/activation/cast.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/data/fill.h>
#include <rondo/kernels/random/random.h>

#include <algorithm>

namespace rondo::nn {

namespace {

// The operations use the buffer one after the other. Each needs shared_sums() for forward and for backward.
int64_t sums_size(const Graph& graph) {
  int64_t size = 0;
  for (const Graph::Node& node : graph.nodes()) size = std::max(size, 2 * node.op->shared_sums());
  return size;
}

}  // namespace

int64_t workspace_bytes(const Graph& graph, int64_t max_batch) {
  int64_t most = 0;
  for (const Graph::Node& node : graph.nodes()) {
    for (int64_t batch = 0; batch <= std::min(max_batch, kMostBatchesTried); ++batch)
      most = std::max(most, node.op->workspace_bytes(batch));
    if (max_batch > kMostBatchesTried) most = std::max(most, node.op->workspace_bound(max_batch));
  }
  return most;
}

Replica::Replica(const Graph& graph, int device, cudaStream_t stream, MemoryPlan plan, int64_t max_batch,
                 int64_t in_flight)
    : graph_(graph), device_(device), stream_(stream), plan_(std::move(plan)), max_batch_(max_batch) {
  const DeviceScope scope(device);
  parameters_ = Buffer<float>(graph.parameter_arena_size());
  gradients_ = Buffer<float>(graph.parameter_arena_size());
  states_ = Buffer<float>(graph.state_arena_size());
  for (int64_t i = 0; i < in_flight; ++i) batches_.push_back({0, 0, Buffer<float>(plan_.size)});
  sums_ = Buffer<double>(sums_size(graph));
  step_ = Buffer<int64_t>(1);
  workspace_ = Buffer<std::byte>(workspace_bytes(graph, max_batch));
  if (graph.activations() == DType::bfloat16)
    rounded_parameters_ = Buffer<__nv_bfloat16>(graph.parameter_arena_size());
  for (Buffer<float>* buffer : {&parameters_, &gradients_, &states_}) buffer->fill_bytes(0);
  step_.fill_bytes(0);
}

ReplicaMemory Replica::memory(const Graph& graph, const MemoryPlan& plan, int64_t max_batch) {
  constexpr int64_t kFloat = sizeof(float);
  return {.parameters = graph.parameter_arena_size() * kFloat,
          .gradients = graph.parameter_arena_size() * kFloat,
          .rounded_parameters = graph.activations() == DType::float32
                                    ? 0
                                    : graph.parameter_arena_size() * size_of(graph.activations()),
          .states = graph.state_arena_size() * kFloat,
          .arena = plan.size * kFloat,
          .statistics =
              sums_size(graph) * static_cast<int64_t>(sizeof(double)) + static_cast<int64_t>(sizeof(int64_t)),
          .workspace = workspace_bytes(graph, max_batch)};
}

ReplicaMemory Replica::memory() const {
  ReplicaMemory memory = {.parameters = parameters_.bytes(),
                          .gradients = gradients_.bytes(),
                          .rounded_parameters = rounded_parameters_.bytes(),
                          .states = states_.bytes(),
                          .statistics = sums_.bytes() + step_.bytes(),
                          .workspace = workspace_.bytes()};
  for (const Batch& batch : batches_) memory.arena += batch.arena.bytes();
  return memory;
}

void Replica::set_batch(int64_t batch, int64_t first) {
  if (batch < 0 || batch > max_batch_)
    throw Error(bad_argument("replica: a batch of ", counted(batch, "sample"),
                             ", must be at least 0 and at most ", max_batch_,
                             ", for which the memory was planned"));
  batches_[selected_].size = batch;
  batches_[selected_].first = first;
}

void Replica::fill(float* data, const Parameter& parameter, uint64_t seed, uint64_t sequence) {
  const VectorView<float> view = {data, parameter.size};
  const Init& init = parameter.init;
  switch (init.kind) {
    case Init::Kind::zeros:
      RONDO_CUDA_THROW(
          cudaMemsetAsync(data, 0, static_cast<size_t>(parameter.size) * sizeof(float), stream_));
      break;
    case Init::Kind::ones:
      throw_if_error(rondo::fill(view, 1, stream_));
      break;
    case Init::Kind::normal:
      throw_if_error(fill_normal(view, 0, init.scale, {seed, sequence}, stream_));
      break;
    case Init::Kind::uniform:
      throw_if_error(fill_uniform(view, -init.scale, init.scale, {seed, sequence}, stream_));
      break;
  }
}

void Replica::initialise(uint64_t seed) {
  const DeviceScope scope(device_);
  uint64_t sequence = 0;
  for (const Parameter& p : graph_.parameters()) fill(parameter(p), p, seed, sequence++);
  for (const Parameter& s : graph_.states()) fill(state(s), s, seed, sequence++);
}

void Replica::round_parameters() {
  if (rounded_parameters_.size() > 0) throw_if_error(cast(rounded_parameters(), view(parameters_), stream_));
  rounded_is_current_ = true;
}

const Step& Replica::step_of(ScheduleEntry::Kind kind, int node) const {
  const auto step = std::ranges::find(plan_.steps, ScheduleEntry{kind, node}, &Step::entry);
  if (step == plan_.steps.end())
    throw Error(bad_argument("replica: node ", node, " has no such step, ",
                             there_are(graph_.nodes().size(), "node"),
                             ", and the memory may be planned for evaluation"));
  return *step;
}

Tensor Replica::output_of(int node) {
  const Step& step = step_of(ScheduleEntry::Kind::forward, node);
  return tensor(step.output, graph_.nodes()[static_cast<size_t>(node)].output);
}

Tensor Replica::input_gradient_of(int node, int i) {
  const Step& step = step_of(ScheduleEntry::Kind::backward, node);
  const int value = graph_.nodes()[static_cast<size_t>(node)].inputs.at(static_cast<size_t>(i));
  return tensor(step.input_gradients[static_cast<size_t>(i)], value);
}

Tensor Replica::added_to_by(int node, int i) {
  const Step& step = step_of(ScheduleEntry::Kind::backward, node);
  const int value = graph_.nodes()[static_cast<size_t>(node)].inputs.at(static_cast<size_t>(i));
  return tensor(step.added_to[static_cast<size_t>(i)], value);
}

}  // namespace rondo::nn

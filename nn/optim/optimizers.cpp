#include <rondo/nn/optim/optimizers.h>

#include <rondo/kernels/data/fill.h>
#include <rondo/kernels/optimizer/sgd.h>

#include <cmath>

namespace rondo::nn {

Optimizer::Optimizer(std::span<Replica> replicas, float learning_rate, std::vector<std::string> arenas,
                     int64_t bytes)
    : learning_rate_(0), arena_names_(std::move(arenas)) {
  if (replicas.empty() || replicas[0].graph().parameters().empty())
    throw Error(bad_argument("optimizer: the network has no parameters, must have at least one to train"));
  for (Replica& replica : replicas) {
    const DeviceScope scope(replica.device());
    State& state = states_.emplace_back(State{&replica, Buffer<float>(1), {}, Buffer<std::byte>(bytes)});
    for (size_t i = 0; i < arena_names_.size(); ++i)
      state.arenas.emplace_back(replica.parameters().size).fill_bytes(0);
    state.beside.fill_bytes(0);
  }
  set_learning_rate(learning_rate);
}

Optimizer::~Optimizer() {
  for (const State& state : states_) static_cast<void>(cudaStreamSynchronize(state.replica->stream()));
}

void Optimizer::set_learning_rate(float rate) {
  if (!(rate >= 0) || !std::isfinite(rate))
    throw Error(bad_argument("optimizer: the learning rate is ", rate, ", must be finite and not negative"));
  learning_rate_ = rate;
  for (State& state : states_) {
    const DeviceScope scope(state.replica->device());
    // Passed as a kernel argument, the rate changes in stream order, after the steps already enqueued. A copy
    // from pageable memory would make the host wait for the stream.
    throw_if_error(fill({state.rate.data(), 1}, rate, state.replica->stream()));
  }
}

OptimizerMemory Optimizer::memory(size_t rank) {
  OptimizerMemory memory;
  for (size_t i = 0; i < arena_names_.size(); ++i) {
    Buffer<float>& arena = states_[rank].arenas[i];
    memory.arenas.push_back({arena_names_[i], {arena.data(), arena.size()}});
  }
  return memory;
}

Sgd::Sgd(std::span<Replica> replicas, Options options)
    : Optimizer(replicas, options.learning_rate,
                options.momentum != 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{}),
      options_(options) {}

std::vector<OptimizerSetting> Sgd::settings() const {
  return {{"momentum", options_.momentum},
          {"weight_decay", options_.weight_decay},
          {"nesterov", options_.nesterov ? 1.0f : 0.0f}};
}

void Sgd::step(Replica& replica, size_t rank, float scale) {
  State& s = state(rank);
  const rondo::SgdOptions options = {scale, options_.momentum, options_.weight_decay, options_.nesterov,
                                     replica.first_nonfinite()};
  VectorView<float> velocity;
  if (!s.arenas.empty()) velocity = {s.arenas[0].data(), s.arenas[0].size()};
  throw_if_error(sgd_update(replica.parameters(), replica.rounded_parameters(), velocity,
                            VectorView<const float>(replica.gradients()), s.rate.data(), options,
                            replica.stream()));
}

Adam::Adam(std::span<Replica> replicas, Options options)
    : Optimizer(replicas, options.learning_rate, {"first_moment", "second_moment"}, sizeof(AdamState)),
      options_(options) {}

AdamState* Adam::adam_state(size_t rank) { return reinterpret_cast<AdamState*>(state(rank).beside.data()); }

std::vector<OptimizerSetting> Adam::settings() const {
  return {{"beta1", options_.beta1},
          {"beta2", options_.beta2},
          {"eps", options_.eps},
          {"weight_decay", options_.weight_decay},
          {"decoupled", options_.decoupled ? 1.0f : 0.0f}};
}

// The step count is sufficient: each step computes the rest of AdamState from it.
OptimizerMemory Adam::memory(size_t rank) {
  OptimizerMemory memory = Optimizer::memory(rank);
  memory.counters.push_back({"steps", &adam_state(rank)->steps});
  return memory;
}

void Adam::step(Replica& replica, size_t rank, float scale) {
  State& s = state(rank);
  const rondo::AdamOptions options = {scale,
                                      options_.beta1,
                                      options_.beta2,
                                      options_.eps,
                                      options_.weight_decay,
                                      options_.decoupled,
                                      replica.first_nonfinite()};
  const auto arena = [&](size_t i) { return VectorView<float>{s.arenas[i].data(), s.arenas[i].size()}; };
  throw_if_error(adam_begin_step(adam_state(rank), s.rate.data(), options, replica.stream()));
  throw_if_error(adam_update(replica.parameters(), replica.rounded_parameters(), arena(0), arena(1),
                             VectorView<const float>(replica.gradients()), adam_state(rank), options,
                             replica.stream()));
}

}  // namespace rondo::nn

#include <rondo/nn/strategies/one_device.h>

#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/optimizer/sgd.h>

namespace rondo::nn {

namespace {

constexpr const char* kOneDevice = "one device";

}  // namespace

OneDevice::OneDevice(const AnyModule& network, Shape input, const StrategyOptions& options)
    : options_(checked(kOneDevice, options)),
      graph_(make_graph(network, input)),
      plan_(plan_training(graph_, options.batch)),
      stream_(stream_on(options.devices[0])),
      uploads_(options.devices[0], stream_),
      replica_(graph_, options.devices[0], stream_, plan_, options.batch),
      head_(options.devices[0], stream_, options.batch, graph_.output().shape.size()) {
  replica_.initialise(options.seed);
  const DeviceScope scope(replica_.device());
  learning_rate_ = Buffer<float>(std::vector<float>{options.learning_rate});
}

OneDevice::~OneDevice() { static_cast<void>(cudaStreamSynchronize(stream_)); }

void OneDevice::train_step(const Batch& batch) {
  const int64_t size = checked_size(kOneDevice, batch, graph_, options_.batch);
  const DeviceScope scope(replica_.device());
  const std::span<Replica> alone(&replica_, 1);
  const Pass pass = {.training = true, .seed = options_.seed};
  replica_.set_batch(size, 0);
  uploads_.enqueue({upload_of(replica_.input().as(), batch.x)});
  head_.upload(batch, 0);
  forward(alone, pass);
  head_.run(replica_.output(), replica_.output_gradient(), 0);
  backward(alone, pass);
  throw_if_error(sgd_update(replica_.parameters(), {}, replica_.gradients(), learning_rate_.data(),
                            {.scale = 1.0f / static_cast<float>(size)}, stream_));
  throw_if_error(advance(replica_.step(), 1, stream_));
}

std::vector<RankMemory> OneDevice::memory() const {
  constexpr int64_t kFloat = sizeof(float);
  RankMemory memory{.device = replica_.device(),
                    .parameters = graph_.parameter_arena_size() * kFloat,
                    .gradients = graph_.parameter_arena_size() * kFloat,
                    .activations = plan_.size * kFloat};
  memory.buffers =
      Replica::bytes(graph_, plan_, options_.batch) - memory.total() + head_.bytes() + learning_rate_.bytes();
  return {memory};
}

}  // namespace rondo::nn

#include <rondo/nn/strategies/one_device.h>

#include <rondo/kernels/data/batch.h>

namespace rondo::nn {

namespace {

constexpr const char* kOneDevice = "one device";

}  // namespace

OneDevice::OneDevice(const AnyModule& network, Shape input, const StrategyOptions& options)
    : options_(checked(kOneDevice, options)),
      graph_(make_graph(network, input)),
      stream_(stream_on(options.devices[0])),
      uploads_(options.devices[0], stream_),
      replica_(graph_, options.devices[0], stream_, plan_training(graph_, options.batch), options.batch),
      head_(options.devices[0], stream_, options.batch, graph_.output().shape.size()) {
  if (!graph_.parameters().empty())
    sgd_.emplace(std::span(&replica_, 1), Sgd::Options{.learning_rate = options.learning_rate});
  replica_.initialise(options.seed);
}

OneDevice::~OneDevice() { static_cast<void>(cudaStreamSynchronize(stream_)); }

void OneDevice::train_step(const Batch& batch) {
  const int64_t size = checked_size(kOneDevice, batch, graph_, options_.batch);
  const DeviceScope scope(replica_.device());
  const std::span<Replica> alone(&replica_, 1);
  const Pass pass = {.training = true, .seed = options_.seed};
  replica_.set_batch(size, 0);
  uploads_.enqueue({upload_of(replica_.input().as(), batch.x), upload_of_targets(head_, batch)});
  forward(alone, pass);
  head_.run(batch.loss(), ConstTensor(replica_.output()).samples(), replica_.output_gradient().samples(), 0);
  backward(alone, pass);
  if (sgd_) sgd_->step(replica_, 0, 1.0f / static_cast<float>(size));
  throw_if_error(advance(replica_.step(), 1, stream_));
}

std::vector<RankMemory> OneDevice::memory() const {
  return {rank_memory(
      replica_.device(), replica_.memory(),
      LossHead::bytes(options_.batch, graph_.output().shape.size()) + (sgd_ ? Sgd::size(0).bytes : 0))};
}

}  // namespace rondo::nn

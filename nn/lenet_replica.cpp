#include <rondo/nn/lenet_replica.h>

#include <rondo/collectives/arguments.h>
#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/nn/data/labels.h>
#include <rondo/nn/graph/arena.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace rondo::lenet {

Parameters parameters_in(float* arena) {
  ArenaLayout layout;
  const auto vector = [&](int64_t size) { return VectorView<float>{layout.place(arena, size), size}; };
  const auto filter = [&](int64_t k, int64_t side, int64_t c) {
    return FilterView<float>{layout.place(arena, k * side * side * c), k, side, side, c};
  };
  const auto dense = [&](int64_t inputs, int64_t outputs) {
    return matrix(layout.place(arena, inputs * outputs), inputs, outputs);
  };
  Parameters p;
  p.w1 = filter(20, 3, 1);
  p.b1 = vector(20);
  p.w2 = filter(50, 5, 20);
  p.b2 = vector(50);
  p.w3 = dense(kFlat, kHidden);
  p.b3 = vector(kHidden);
  p.w4 = dense(kHidden, kClasses);
  p.b4 = vector(kClasses);
  p.all = {arena, layout.size()};
  return p;
}

Activations activations_in(float* arena, int64_t images) {
  ArenaLayout layout;
  const auto image = [&](int64_t side, int64_t channels) {
    return ImageView<float>{layout.place(arena, images * side * side * channels), images, side, side,
                            channels};
  };
  const auto rows = [&](int64_t cols) { return matrix(layout.place(arena, images * cols), images, cols); };
  Activations a;
  a.x = image(kSide, 1);
  a.h1 = image(26, 20);
  a.p1 = image(13, 20);
  a.h2 = image(9, 50);
  a.p2 = image(4, 50);
  a.flat = matrix(a.p2.data, images, kFlat);
  a.h3 = rows(kHidden);
  a.logits = rows(kClasses);
  a.all = {arena, layout.size()};
  return a;
}

namespace {

DeviceData::Split upload(const std::vector<uint8_t>& images, const std::vector<uint8_t>& labels,
                         int64_t count, const char* which) {
  nn::check_labels(which, std::span(labels), kClasses);
  return {Buffer<uint8_t>(images), Buffer<uint8_t>(labels), count};
}

// The largest workspace of any operation in a step on `n` images.
int64_t scratch_bytes_of(int64_t n) {
  const Parameters w = parameters_in(nullptr);
  const Activations a = activations_in(nullptr, n);
  const auto conv = [](const auto& x, const auto& filter) {
    const Conv2dWorkspaceBytes bytes = conv2d_workspace_bytes(x, filter, {});
    return std::max({bytes.forward, bytes.data_gradient, bytes.filter_gradient_bias});
  };
  return std::max({
      gemm_workspace_bytes({n, kHidden, kFlat}),     // h3
      gemm_workspace_bytes({kFlat, kHidden, n}),     // w3
      gemm_workspace_bytes({n, kFlat, kHidden}),     // flat
      gemm_workspace_bytes({n, kClasses, kHidden}),  // logits
      gemm_workspace_bytes({kHidden, kClasses, n}),  // w4
      gemm_workspace_bytes({n, kHidden, kClasses}),  // gradient of h3
      conv(a.x, w.w1),
      conv(a.p1, w.w2),
      bias_gradient_workspace_bytes(n, kHidden),
      bias_gradient_workspace_bytes(n, kClasses),
      softmax_cross_entropy_workspace_bytes(n, kClasses),
  });
}

// The maximum over all image counts: fewer images can need more, where a sum is split into more parts.
int64_t scratch_bytes(int64_t max_images) {
  int64_t most = 0;
  for (int64_t n = 0; n <= max_images; ++n) most = std::max(most, scratch_bytes_of(n));
  return most;
}

template <class T>
Buffer<T> zeros(int64_t size) {
  Buffer<T> buffer(size);
  buffer.fill_bytes(0);
  return buffer;
}

}  // namespace

DeviceData::DeviceData(const FashionMnist& host, int device) {
  DeviceScope scope(device);
  train = upload(host.train_images, host.train_labels, host.train_count, "lenet: the training images");
  test = upload(host.test_images, host.test_labels, host.test_count, "lenet: the test images");
}

Replica::Replica(int device, cudaStream_t stream, std::shared_ptr<const DeviceData> data, int64_t max_images,
                 float learning_rate)
    : device(device), stream(stream), data(std::move(data)), max_images(max_images) {
  DeviceScope scope(device);
  // The gaps between an arena's tensors take part in the all-reduce and in the update, so they must be zero.
  parameter_arena = zeros<float>(parameters_in(nullptr).all.size);
  gradient_arena = zeros<float>(parameter_arena.size());
  value_arena = Buffer<float>(activations_in(nullptr, max_images).all.size);
  value_gradient_arena = Buffer<float>(value_arena.size());
  parameters = parameters_in(parameter_arena.data());
  gradients = parameters_in(gradient_arena.data());
  labels = Buffer<int32_t>(max_images);
  order = Buffer<int32_t>(this->data->train.count);
  step = zeros<int64_t>(1);
  epoch = zeros<int64_t>(1);
  zero = zeros<int64_t>(1);
  lr = Buffer<float>(std::vector<float>{learning_rate});
  loss_stats = zeros<LossStats>(1);
  scratch = Buffer<unsigned char>(scratch_bytes(max_images));
}

void check_options(const FashionMnist& data, const Options& options) {
  const auto refuse = [](auto... parts) { throw Error(bad_argument("training LeNet: ", parts...)); };
  if (options.devices.empty()) refuse("no device was given, must be at least 1");
  throw_if_error(check_devices("training LeNet", options.devices));
  if (options.epochs < 1) refuse("epochs is ", options.epochs, ", must be at least 1");
  if (!std::isfinite(options.lr) || options.lr <= 0) refuse("lr is ", options.lr, ", must be above 0");
  if (data.train_count < 1 || data.test_count < 1)
    refuse("there are ", data.train_count, " training and ", counted(data.test_count, "test image"),
           ", must be at least 1 each");
  throw_if_error(check_algorithm("training LeNet", options.algorithm,
                                 {Algorithm::ring, Algorithm::direct, Algorithm::root}));
  if (options.batch_size < 1) refuse("batch_size is ", options.batch_size, ", must be at least 1");
  const auto ranks = static_cast<int64_t>(options.devices.size());
  if (ranks > options.batch_size)
    refuse(counted(ranks, "rank"), " share a batch of ", options.batch_size,
           ": there must be at least one sample for each");
  if (ranks > data.train_count)
    refuse(counted(ranks, "rank"), " share ", counted(data.train_count, "training image"),
           ": there must be at least one for each");
}

std::vector<Replica> make_replicas(const FashionMnist& data, const Options& options,
                                   const StreamGroup& streams) {
  const auto ranks = static_cast<int64_t>(options.devices.size());
  const int64_t largest_shard = (std::min(options.batch_size, data.train_count) + ranks - 1) / ranks;
  std::map<int, std::shared_ptr<const DeviceData>> data_on;
  std::vector<Replica> replicas;
  for (int rank = 0; rank < streams.size(); ++rank) {
    const int device = streams.device(rank);
    if (!data_on.contains(device)) data_on[device] = std::make_shared<const DeviceData>(data, device);
    replicas.emplace_back(device, streams.stream(rank), data_on[device], largest_shard, options.lr);
  }
  return replicas;
}

}  // namespace rondo::lenet

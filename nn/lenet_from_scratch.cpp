// LeNet from scratch, on several devices at once.
//
// Data parallelism in one picture. Every device holds the whole network; the batch is what is split:
//
//               batch of 256 images
//                |               |
//           128 images      128 images           split_batch
//                |               |
//           LeNet, copy 0   LeNet, copy 1        forward, backward
//                |               |
//           gradients g0    gradients g1
//                |               |
//                +--- g0 + g1 ---+               all_reduce
//                |               |
//       w -= lr/256 * g     w -= lr/256 * g      sgd_update: the same step on both
//
// Both copies start equal, see the same sum of gradients and take the same step: so they stay equal, bit for
// bit, without ever being copied again. What one device would have computed from all 256 images is the same
// sum, so the number of devices changes the time and not the training.
//
// The file reads from top to bottom: the network (forward, backward), the four words of data parallelism
// (get_params, split_batch, all_reduce, train_batch), the evaluation, and the loop that calls them (train).
// Where the memory lies is in lenet_replica.h; layouts are NHWC, filters KRSC, matrices row-major.

#include <rondo/nn/lenet_from_scratch.h>

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/core/launch_trace.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/random/random.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/nn/lenet_processes.h>
#include <rondo/nn/lenet_setup.h>
#include <rondo/nn/loss_probe.h>
#include <rondo/nn/replica_check.h>
#include <rondo/nn/step_graph.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

namespace rondo::lenet {
namespace {

void check(Status status) { throw_if_error(std::move(status)); }

// ---------------------------------------------------------------------------------------------------------
// The network
// ---------------------------------------------------------------------------------------------------------

// logits = LeNet(x) for the `images` images in x.
void forward(Replica& r, int64_t images) {
  const DeviceScope scope(r.device);
  const Parameters& w = r.parameters;
  const Activations a = r.values(images);
  check(conv2d_forward(a.h1, a.x, w.w1, {}, {.bias = w.b1, .relu = true}, r.workspace(), r.stream));
  check(avg_pool(a.p1, a.h1, PoolWindow{}, AverageOver::window, r.stream));
  check(conv2d_forward(a.h2, a.p1, w.w2, {}, {.bias = w.b2, .relu = true}, r.workspace(), r.stream));
  check(avg_pool(a.p2, a.h2, PoolWindow{}, AverageOver::window, r.stream));
  check(gemm(a.h3, a.flat, w.w3, {.bias = w.b3, .relu = true}, r.workspace(), r.stream));
  check(gemm(a.logits, a.h3, w.w4, {.bias = w.b4}, r.workspace(), r.stream));
}

// The rows of an image tensor: one for each image and position, one column for each channel.
MatrixView<const float> rows(const ImageView<float>& image) {
  return matrix<const float>(image.data, image.images * image.height * image.width, image.channels);
}

VectorView<float> elements(const MatrixView<float>& m) { return {m.data, m.rows * m.cols}; }

// Gradients of the shard's summed loss with respect to every parameter, by the chain rule from the last layer
// to the first. Each layer asks for three things: what its weights did (a product of its input and the
// gradient of its output), what its bias did (the sum of that gradient), and what to tell the layer before.
void backward(Replica& r, int64_t images) {
  const DeviceScope scope(r.device);
  const Parameters& w = r.parameters;
  const Parameters& g = r.gradients;
  const Activations a = r.values(images);
  const Activations d = r.value_gradients(images);

  // The loss: d logits = softmax(logits) - onehot(label), not divided by anything yet.
  check(softmax_cross_entropy(d.logits, r.tally.data(), a.logits, r.shard_labels(images), 1.0f, r.workspace(),
                              r.stream));

  check(gemm(g.w4, a.h3, d.logits, {.transpose_a = true}, r.workspace(), r.stream));
  check(bias_gradient(g.b4, d.logits, 0.0f, r.workspace(), r.stream));
  check(gemm(d.h3, d.logits, w.w4, {.transpose_b = true}, r.workspace(), r.stream));
  check(relu_backward(elements(d.h3), elements(d.h3), elements(a.h3), r.stream));

  check(gemm(g.w3, a.flat, d.h3, {.transpose_a = true}, r.workspace(), r.stream));
  check(bias_gradient(g.b3, d.h3, 0.0f, r.workspace(), r.stream));
  check(gemm(d.flat, d.h3, w.w3, {.transpose_b = true}, r.workspace(), r.stream));
  check(avg_pool_relu_backward(d.h2, d.p2, a.h2, PoolWindow{}, AverageOver::window, r.stream));

  check(conv2d_filter_gradient(g.w2, d.h2, a.p1, {}, r.workspace(), r.stream));
  check(bias_gradient(g.b2, rows(d.h2), 0.0f, r.workspace(), r.stream));
  check(conv2d_data_gradient(d.p1, d.h2, w.w2, {}, r.workspace(), r.stream));
  check(avg_pool_relu_backward(d.h1, d.p1, a.h1, PoolWindow{}, AverageOver::window, r.stream));

  check(conv2d_filter_gradient(g.w1, d.h1, a.x, {}, r.workspace(), r.stream));
  check(bias_gradient(g.b1, rows(d.h1), 0.0f, r.workspace(), r.stream));  // and the images want no gradient
}

// ---------------------------------------------------------------------------------------------------------
// Data parallelism
// ---------------------------------------------------------------------------------------------------------

// Initial parameters: weights from N(0, 0.01^2), biases 0. Each tensor has its own sequence of random
// numbers. The generator gives the same numbers everywhere, but a copy is a copy: the replicas are copied
// from rank 0 below, and would be equal whatever had filled it.
void get_params(Replica& r, uint64_t seed) {
  constexpr float kDeviation = 0.01f;
  const DeviceScope scope(r.device);
  const Parameters& w = r.parameters;
  const VectorView<float> weights[] = {
      {w.w1.data, w.w1.size()}, {w.w2.data, w.w2.size()}, elements(w.w3), elements(w.w4)};
  RONDO_CUDA_THROW(cudaMemsetAsync(w.all.data, 0, static_cast<size_t>(r.parameter_arena.bytes()), r.stream));
  for (uint64_t i = 0; i < std::size(weights); ++i)  // between them are the biases'
    check(fill_normal(weights[i], 0.0f, kDeviation, {seed, 2 * i}, r.stream));
}

void copy_params(Replica& to, const Replica& from) {
  RONDO_CUDA_THROW(cudaMemcpyPeerAsync(to.parameter_arena.data(), to.device, from.parameter_arena.data(),
                                       from.device, static_cast<size_t>(from.parameter_arena.bytes()),
                                       from.stream));
}

// Which part of a batch a rank computes: samples first .. first + size - 1 of it. The parts differ by at most
// one sample; with fewer samples than ranks, some are empty, and their gradients are zero.
struct Shard {
  int64_t first = 0;
  int64_t size = 0;
};

std::vector<Shard> split_batch(int64_t batch, int ranks) {
  std::vector<Shard> shards;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t first = batch * rank / ranks;
    shards.push_back({first, batch * (rank + 1) / ranks - first});
  }
  return shards;
}

// Replaces every replica's gradients by their sum over all replicas: collectives/README.md tells the ways.
void all_reduce(std::vector<Replica>& replicas, Communicator& ring, const StreamGroup& streams,
                const Options& options) {
  std::vector<DataView> gradients;
  for (Replica& r : replicas) gradients.push_back(r.gradients.all);
  check(rondo::all_reduce(gradients, {.algorithm = options.algorithm, .order = options.order}, ring,
                          streams.streams()));
}

// Brings `images` samples into the replica's x, from the bytes on its device; 0..255 becomes 0..1.
void load(Replica& r, const DeviceData::Split& split, VectorView<const int32_t> order, BatchPosition position,
          int64_t images) {
  const DeviceScope scope(r.device);
  check(gather_batch(r.values(images).x, r.shard_labels(images), split.images(), split.label_view(), order,
                     position, 1.0f / 255.0f, 0.0f, r.stream));
}

// The replica counts its steps by itself: a recorded step, replayed, must find the next samples.
void next_step(Replica& r) {
  const DeviceScope scope(r.device);
  check(advance(r.step.data(), 1, r.stream));
}

void update(Replica& r, float scale) {
  const DeviceScope scope(r.device);
  check(sgd_update(r.parameters.all, {}, r.gradients.all, r.lr.data(), {.scale = scale}, r.stream));
}

// One training step on `samples` samples: the size of the batch, or what is left of it at an epoch's end.
void train_batch(std::vector<Replica>& replicas, Communicator& ring, StreamGroup& streams, PhaseTimer& timer,
                 const Options& options, int64_t samples) {
  const std::vector<Shard> shards = split_batch(samples, total_ranks(options));
  const auto shard_of = [&](const Replica& r) { return shards[static_cast<size_t>(r.rank)]; };

  // Each call only enqueues work on the replica's own stream, so the replicas run side by side.
  timer.begin();
  for (Replica& r : replicas) {
    const BatchPosition position = {r.step.data(), options.batch_size, shard_of(r).first};
    load(r, r.data->train, r.order_view(), position, shard_of(r).size);
    next_step(r);
  }
  timer.end(Phase::load);
  for (Replica& r : replicas) forward(r, shard_of(r).size);
  timer.end(Phase::forward);
  for (Replica& r : replicas) backward(r, shard_of(r).size);
  timer.end(Phase::backward);
  all_reduce(replicas, ring, streams, options);
  timer.end(Phase::reduce);
  // The gradients are sums over the batch: dividing by its whole size here, once, is right for any shards.
  const float mean = 1.0f / static_cast<float>(samples);
  for (Replica& r : replicas) update(r, mean);
  timer.end(Phase::update);
}

// The share of the test images whose largest logit is the right one. The images are split over the devices as
// a batch is, and each replica takes its part in pieces that fit.
double evaluate(std::vector<Replica>& replicas, StreamGroup& streams, const Options& options) {
  const int64_t images = replicas[0].data->test.count;
  const std::vector<Shard> shards = split_batch(images, total_ranks(options));
  for (Replica& r : replicas) {
    const Shard shard = shards[static_cast<size_t>(r.rank)];
    DeviceScope scope(r.device);
    RONDO_CUDA_THROW(cudaMemsetAsync(r.test_tally.data(), 0, sizeof(LossTally), r.stream));
    for (int64_t done = 0; done < shard.size; done += r.max_images) {
      const int64_t piece = std::min(r.max_images, shard.size - done);
      load(r, r.data->test, {}, {r.zero.data(), images, shard.first + done}, piece);
      forward(r, piece);
      check(softmax_cross_entropy({}, r.test_tally.data(), r.values(piece).logits, r.shard_labels(piece),
                                  1.0f, r.workspace(), r.stream));
    }
  }
  streams.synchronize();
  int64_t correct = 0;
  for (const Replica& r : replicas) correct += r.test_tally.download()[0].correct;
  return static_cast<double>(sum_over_processes(correct, options)) / static_cast<double>(images);
}

// ---------------------------------------------------------------------------------------------------------
// Training
// ---------------------------------------------------------------------------------------------------------

constexpr int64_t kTracedSteps = 3;     // how many steps a timeline shows
constexpr int64_t kLooksPerEpoch = 50;  // how often the host looks at the loss

// Every replica finds the epoch's order of the samples by itself: the same numbers everywhere.
void begin_epoch(std::vector<Replica>& replicas, StreamGroup& streams, uint64_t seed) {
  for (Replica& r : replicas) {
    const DeviceScope scope(r.device);
    check(advance(r.epoch.data(), 1, r.stream));
    check(shuffle({r.order.data(), r.order.size()}, seed, r.epoch.data(), r.stream));
    RONDO_CUDA_THROW(cudaMemsetAsync(r.step.data(), 0, sizeof(int64_t), r.stream));
    RONDO_CUDA_THROW(cudaMemsetAsync(r.tally.data(), 0, sizeof(LossTally), r.stream));
  }
  streams.join();
}

template <class T, class Field>
std::vector<T> of_each(const std::vector<Replica>& replicas, Field field) {
  std::vector<T> all;
  for (const Replica& r : replicas) all.push_back(field(r));
  return all;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Result train(const FashionMnist& data, const Options& options, Observer& observer, Trace* trace) {
  check_options(data, options);
  check_same_training(data, options);
  const DeviceScope first_device(options.devices[0]);
  StreamGroup streams(options.devices);
  std::vector<Replica> replicas = make_replicas(data, options, streams);

  // One initial state, copied to every device.
  get_params(replicas[0], options.seed);
  copy_params_from_first_process(replicas[0], options);
  for (size_t rank = 1; rank < replicas.size(); ++rank) copy_params(replicas[rank], replicas[0]);
  streams.synchronize();

  Communicator ring(options.devices, communicator_options(options));
  PhaseTimer timer(replicas[0].stream), timer_of_rest(replicas[0].stream);
  ReplicaCheck replica_check(
      streams, of_each<VectorView<const float>>(replicas, [](const Replica& r) { return r.parameters.all; }),
      options.verify ? options.processes : nullptr);
  const int64_t longest_step = std::min(options.batch_size, data.train_count);
  const auto step_on = [&](int64_t samples) {
    train_batch(replicas, ring, streams, samples == longest_step ? timer : timer_of_rest, options, samples);
    if (options.verify) replica_check.enqueue();
  };
  // An epoch is `whole` steps of a batch and one of what is left; a graph of each serves every epoch.
  const int64_t whole = data.train_count / options.batch_size;
  const int64_t rest = data.train_count % options.batch_size;
  const int64_t steps = whole + (rest > 0 ? 1 : 0);
  std::optional<StepGraph> whole_step, last_step;
  if (whole > 0) whole_step.emplace(streams, [&] { step_on(options.batch_size); });
  if (rest > 0) last_step.emplace(streams, [&] { step_on(rest); });

  LossProbe probe(replicas[0].device, replicas[0].stream,
                  of_each<const LossTally*>(replicas, [](const Replica& r) { return r.tally.data(); }),
                  kLooksPerEpoch + 1);
  const auto loss_of_all = [&] { return sum(tallies_of_all(probe.wait_for_each(), options)).loss; };
  // Instead of a replay: the same step, enqueued call by call, for those who want to look inside.
  const auto watch_step = [&](int64_t step, int64_t samples) {
    const bool traced = trace && step < kTracedSteps;
    const LaunchTrace kernels_shown(traced ? trace : nullptr, streams.streams());
    const bool inspected = step < options.inspect_steps;
    const double loss_before = inspected ? loss_of_all() : probe.wait().loss;
    ring.set_trace(traced ? trace : nullptr);
    streams.fork();
    step_on(samples);
    streams.join();
    ring.set_trace(nullptr);
    if (!inspected) return;
    const double loss = (loss_of_all() - loss_before) / static_cast<double>(samples);
    observer.on_step({step, loss, replicas[0].gradient_arena.download()});
  };
  const int64_t watched = std::max(options.inspect_steps, trace ? kTracedSteps : 0);

  const int64_t processes = total_ranks(options) / streams.size();
  Result result;
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    begin_epoch(replicas, streams, options.seed);
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t steps_before = (epoch - 1) * steps + step;
      if (steps_before < watched)
        watch_step(steps_before, step < whole ? options.batch_size : rest);
      else
        (step < whole ? whole_step : last_step)->launch();
      if ((step + 1) * kLooksPerEpoch / steps > step * kLooksPerEpoch / steps) probe.look();
    }
    // All steps are queued; the host has nothing to do but to tell how far the devices are.
    while (probe.in_flight()) {
      check(ring.state());  // other processes may not come
      if (const std::optional<LossTally> seen = probe.poll())
        observer.on_progress({epoch, std::min(seen->rows * processes, data.train_count), data.train_count,
                              seen->loss / static_cast<double>(seen->rows), seconds_since(begin)});
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EpochReport report;
    report.epoch = epoch;
    report.train_loss = loss_of_all() / static_cast<double>(data.train_count);
    report.seconds = seconds_since(begin);
    report.phases = share_out(report.seconds, timer.read());
    streams.fork();
    report.test_accuracy = evaluate(replicas, streams, options);
    result.epochs.push_back(report);
    observer.on_epoch(report);
  }
  for (const auto* graph : {&last_step, &whole_step})
    if (*graph && !(*graph)->refusal().ok()) result.graph_refusal = (*graph)->refusal();
  result.parameters = replicas[0].parameter_arena.download();
  if (options.verify) {
    result.verified_steps = steps * options.epochs;
    result.differing_values = sum_over_processes(replica_check.differences(), options);
  }
  return result;
}

}  // namespace rondo::lenet

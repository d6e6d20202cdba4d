// LeNet from scratch: training on several devices with data parallelism.
//
// Each device holds a copy of the whole network: a replica, numbered by its rank. The batch is split:
//
//               batch of 256 images
//                |               |
//           128 images      128 images           split_batch
//                |               |
//           replica 0       replica 1            forward, backward
//                |               |
//           gradients g0    gradients g1
//                |               |
//                +--- g0 + g1 ---+               all_reduce
//                |               |
//       w -= lr/256 * g     w -= lr/256 * g      sgd_update: the same step on both
//
// All replicas start with the same parameters, get the same sum of gradients and take the same step, so they
// stay equal bit for bit. A single device would compute the same sum from all 256 images, up to rounding.
// Device memory and shapes: lenet_replica.h. Images are NHWC, filters KRSC, matrices row-major.
#include <rondo/nn/lenet_from_scratch.h>

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/activation/relu.h>
#include <rondo/kernels/conv/conv2d.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/gemm/gemm.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/random/random.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/nn/graph/shard.h>
#include <rondo/nn/train/recorded_steps.h>

#include <algorithm>
#include <chrono>

namespace rondo::lenet {
namespace {

void check(Status status) { throw_if_error(std::move(status)); }

// ---- The network ----

// logits = LeNet(x) for the `images` images in x.
void forward(Replica& r, int64_t images) {
  const DeviceScope scope(r.device);
  const Parameters& w = r.parameters;
  const Activations a = r.values(images);
  check(conv2d_forward(a.h1, a.x, w.w1, {}, {.bias = w.b1, .relu = true}, r.workspace(), r.stream));
  check(avg_pool(a.p1, a.h1, PoolWindow{}, AverageOver::window, r.stream));
  check(conv2d_forward(a.h2, a.p1, w.w2, {}, {.bias = w.b2, .relu = true}, r.workspace(), r.stream));
  check(avg_pool(a.p2, a.h2, PoolWindow{}, AverageOver::window, r.stream));
  check(gemm(a.h3, a.flat, w.w3, {.bias = w.b3, .activation = Activation::relu}, r.workspace(), r.stream));
  check(gemm(a.logits, a.h3, w.w4, {.bias = w.b4}, r.workspace(), r.stream));
}

// Computes the gradient of the shard's summed loss with respect to every parameter. The chain rule goes from
// the last layer to the first. From the gradient of its output, each layer computes three others: of its
// weights, of its bias, and of its input, which is the output of the layer before.
void backward(Replica& r, int64_t images) {
  const DeviceScope scope(r.device);
  const Parameters& w = r.parameters;
  const Parameters& g = r.gradients;
  const Activations a = r.values(images);
  const Activations d = r.value_gradients(images);

  // Loss: d logits = softmax(logits) - onehot(label). The division by the batch size follows in update().
  check(softmax_cross_entropy(d.logits, r.loss_stats.data(), a.logits, r.shard_labels(images), 1.0f,
                              r.workspace(), r.stream));

  check(gemm(g.w4, a.h3, d.logits, {.transpose_a = true}, r.workspace(), r.stream));
  check(bias_gradient(g.b4, d.logits, 0.0f, r.workspace(), r.stream));
  check(gemm(d.h3, d.logits, w.w4, {.transpose_b = true}, r.workspace(), r.stream));
  check(relu_backward(elements(d.h3), elements(d.h3), elements(a.h3), r.stream));

  check(gemm(g.w3, a.flat, d.h3, {.transpose_a = true}, r.workspace(), r.stream));
  check(bias_gradient(g.b3, d.h3, 0.0f, r.workspace(), r.stream));
  check(gemm(d.flat, d.h3, w.w3, {.transpose_b = true}, r.workspace(), r.stream));
  check(avg_pool_relu_backward(d.h2, d.p2, a.h2, PoolWindow{}, AverageOver::window, r.stream));

  check(conv2d_filter_gradient(g.w2, d.h2, a.p1, {}, {.bias_gradient = g.b2}, r.workspace(), r.stream));
  check(conv2d_data_gradient(d.p1, d.h2, w.w2, {}, {}, r.workspace(), r.stream));
  check(avg_pool_relu_backward(d.h1, d.p1, a.h1, PoolWindow{}, AverageOver::window, r.stream));

  check(conv2d_filter_gradient(g.w1, d.h1, a.x, {}, {.bias_gradient = g.b1}, r.workspace(),
                               r.stream));  // the images need no gradient
}

// ---- Data parallelism ----

// Sets the same initial parameters on every device (d2l.ai's get_params): weights N(0, 0.01^2), biases 0.
// Each weight tensor has its own random sequence. Rank 0 generates the values and copies them to the others.
void get_params(std::vector<Replica>& replicas, uint64_t seed) {
  constexpr float kStdDev = 0.01f;
  const Replica& first = replicas[0];
  const DeviceScope scope(first.device);
  const Parameters& w = first.parameters;
  const auto bytes = static_cast<size_t>(first.parameter_arena.bytes());
  RONDO_CUDA_THROW(cudaMemsetAsync(w.all.data, 0, bytes, first.stream));
  const VectorView<float> weights[] = {elements(w.w1), elements(w.w2), elements(w.w3), elements(w.w4)};
  for (uint64_t i = 0; i < std::size(weights); ++i)  // sequence 2 * i + 1 would be the bias, which is 0
    check(fill_normal(weights[i], 0.0f, kStdDev, {seed, 2 * i}, first.stream));
  for (size_t rank = 1; rank < replicas.size(); ++rank)
    RONDO_CUDA_THROW(cudaMemcpyPeerAsync(replicas[rank].parameters.all.data, replicas[rank].device,
                                         w.all.data, first.device, bytes, first.stream));
  RONDO_CUDA_THROW(cudaStreamSynchronize(first.stream));
}

// Splits a batch: each rank computes `size` samples, starting with sample `first`. Sizes differ by at most
// one. With fewer samples than ranks, some shards are empty and their gradients are zero.
std::vector<nn::Shard> split_batch(int64_t batch, int64_t ranks) {
  std::vector<nn::Shard> shards;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t first = batch * rank / ranks;
    shards.push_back({first, batch * (rank + 1) / ranks - first});
  }
  return shards;
}

// Replaces every replica's gradients with their sum over all replicas (collectives/README.md).
void all_reduce(std::vector<Replica>& replicas, Communicator& comm, const StreamGroup& streams,
                Algorithm algorithm) {
  std::vector<DataView> gradients;
  for (Replica& r : replicas) gradients.push_back(r.gradients.all);
  check(rondo::all_reduce(gradients, {.algorithm = algorithm}, comm, streams.streams()));
}

// Loads `images` samples and their labels from the device's data set. Bytes 0..255 become floats 0..1.
void load(Replica& r, const DeviceData::Split& split, VectorView<const int32_t> order, BatchPosition position,
          int64_t images) {
  const DeviceScope scope(r.device);
  check(gather_batch(r.values(images).x, r.shard_labels(images), split.images(), split.label_view(), order,
                     position, 1.0f / 255.0f, 0.0f, r.stream));
}

// Takes the step of the optimizer. The step counter is in device memory and advances here, so that the next
// replay of the graph loads the next samples.
void update(Replica& r, float scale) {
  const DeviceScope scope(r.device);
  check(advance(r.step.data(), 1, r.stream));
  check(sgd_update(r.parameters.all, {}, r.gradients.all, r.lr.data(), {.scale = scale}, r.stream));
}

// One training step on `samples` samples: a full batch, or the rest at the end of an epoch. The calls only
// enqueue work, each replica's on its own stream, so the replicas run in parallel.
void train_batch(std::vector<Replica>& replicas, Communicator& comm, const StreamGroup& streams,
                 const Options& options, int64_t samples) {
  const std::vector<nn::Shard> shards = split_batch(samples, streams.size());
  for (size_t rank = 0; rank < replicas.size(); ++rank) {
    Replica& r = replicas[rank];
    load(r, r.data->train, r.order_view(), {r.step.data(), options.batch_size, shards[rank].first},
         shards[rank].size);
    forward(r, shards[rank].size);
    backward(r, shards[rank].size);
  }
  all_reduce(replicas, comm, streams, options.algorithm);
  // The gradients are sums over the batch, so one division by the batch size is right for shards of any size.
  for (Replica& r : replicas) update(r, 1.0f / static_cast<float>(samples));
}

// Sums the losses and the correct predictions of all replicas. Waits for their streams.
LossStats sum_of_stats(const std::vector<Replica>& replicas, const StreamGroup& streams) {
  streams.synchronize();
  LossStats sum;
  for (const Replica& r : replicas) sum += r.loss_stats.download()[0];
  return sum;
}

// Returns the fraction of the test images whose largest logit is that of the label. The images are split
// between the ranks like a batch, and each rank evaluates up to max_images at a time.
double evaluate(std::vector<Replica>& replicas, StreamGroup& streams) {
  const int64_t images = replicas[0].data->test.count;
  const std::vector<nn::Shard> shards = split_batch(images, streams.size());
  for (size_t rank = 0; rank < replicas.size(); ++rank) {
    Replica& r = replicas[rank];
    const DeviceScope scope(r.device);
    RONDO_CUDA_THROW(cudaMemsetAsync(r.loss_stats.data(), 0, sizeof(LossStats), r.stream));
    for (int64_t done = 0; done < shards[rank].size; done += r.max_images) {
      const int64_t count = std::min(r.max_images, shards[rank].size - done);
      load(r, r.data->test, {}, {r.zero.data(), images, shards[rank].first + done}, count);
      forward(r, count);
      check(softmax_cross_entropy({}, r.loss_stats.data(), r.values(count).logits, r.shard_labels(count),
                                  1.0f, r.workspace(), r.stream));
    }
  }
  return static_cast<double>(sum_of_stats(replicas, streams).correct) / static_cast<double>(images);
}

// ---- Training ----

// Each replica computes the epoch's sample order itself, from the seed and the epoch: all get the same order.
void begin_epoch(std::vector<Replica>& replicas, uint64_t seed) {
  for (Replica& r : replicas) {
    const DeviceScope scope(r.device);
    check(advance(r.epoch.data(), 1, r.stream));
    check(shuffle({r.order.data(), r.order.size()}, seed, r.epoch.data(), r.stream));
    RONDO_CUDA_THROW(cudaMemsetAsync(r.step.data(), 0, sizeof(int64_t), r.stream));
    RONDO_CUDA_THROW(cudaMemsetAsync(r.loss_stats.data(), 0, sizeof(LossStats), r.stream));
  }
}

}  // namespace

Result train(const FashionMnist& data, const Options& options, Observer& observer) {
  check_options(data, options);
  StreamGroup streams(options.devices);
  std::vector<Replica> replicas = make_replicas(data, options, streams);
  Communicator comm(options.devices, {.bucket_bytes = 0});
  const DrainAtEnd drained(streams);  // an exception must not free memory that another device writes

  get_params(replicas, options.seed);

  // An epoch has `whole` full batches and, if anything is left, one batch of `rest` samples. The first step
  // of each size is enqueued call by call, which loads its kernels. The second one is recorded as a CUDA
  // graph over all devices; it and all later ones are one launch each.
  const int64_t whole = data.train_count / options.batch_size, rest = data.train_count % options.batch_size;
  nn::RecordedSteps steps;

  Result result;
  for (int64_t epoch = 1; epoch <= options.epochs; ++epoch) {
    const auto begin = std::chrono::steady_clock::now();
    begin_epoch(replicas, options.seed);
    for (int64_t step = 0; step < whole + (rest > 0 ? 1 : 0); ++step) {
      const int64_t samples = step < whole ? options.batch_size : rest;
      steps.run({.batch = samples}, streams,
                [&, samples] { train_batch(replicas, comm, streams, options, samples); });
      observer.after_step(epoch, std::min((step + 1) * options.batch_size, data.train_count), replicas);
    }
    const LossStats seen = sum_of_stats(replicas, streams);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    EpochReport report{.epoch = epoch, .seconds = took.count(), .phases = {}};
    report.train_loss = seen.loss / static_cast<double>(data.train_count);
    report.test_accuracy = evaluate(replicas, streams);
    report.learning_rate = options.lr;
    result.epochs.push_back(report);
    observer.after_epoch(report);
  }
  result.parameters = replicas[0].parameter_arena.download();
  result.graph_refusal = steps.refusal();
  return result;
}

}  // namespace rondo::lenet

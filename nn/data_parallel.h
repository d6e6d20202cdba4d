// DataParallel: a network on several devices, to be used as if it were on one.
//
//   nn::DataParallel model(nn::resnet18(), {28, 28, 1}, {.devices = {0, 1}, .batch = 512});
//   nn::Sgd sgd(model, {.learning_rate = 0.2f});
//   for (...) model.train_step(images, labels, sgd);
//
// Every device holds the whole network; the batch is split, the gradients are summed, and every device takes the same step:
// the parameters stay equal, bit for bit, and the number of devices changes the time and not the training. The gradients are
// reduced in buckets, from the last layer to the first, each as soon as it is complete, while the layers before it
// are still going backward.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/collectives/reduction.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/module.h>
#include <rondo/nn/optimizers.h>
#include <rondo/nn/stream_group.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rondo::nn {

struct DataParallelOptions {
  std::vector<int> devices = {0};  // a replica an entry; the same device may appear several times
  int64_t batch = 256;             // the most samples of a step, over all devices
  uint64_t seed = 0;               // of the parameters, and of what is random in training
  // Batch normalisation over the whole batch, as one device would have it. false: each replica over its own shard, as many
  // libraries do by default, without the all-reduce inside each layer; then each replica has running statistics of
  // its own too, the training differs with the number of devices, and so does what evaluation says of an image with its
  // place in the batch.
  bool shared_statistics = true;
  Algorithm algorithm = Algorithm::automatic;  // of the gradients' all-reduce
  int64_t bucket_bytes =
      int64_t{1} << 20;  // of a bucket of gradients; larger ones are quicker and begin later
};

// A part of the gradient arena, in floats, that is complete when a node has gone backward.
struct GradientBucket {
  int node;
  int64_t begin, size;
};
// Buckets of at least `bytes`, from the end of the arena to its beginning, in the order in which they become complete.
std::vector<GradientBucket> gradient_buckets(const Graph& graph, int64_t bytes);

class DataParallel {
 public:
  // Throws rondo::Error: bad_argument, out_of_resources.
  DataParallel(const AnyModule& network, Shape input, DataParallelOptions options = {});

  int devices() const { return static_cast<int>(replicas_.size()); }
  const Graph& graph() const { return graph_; }
  std::span<Replica> replicas() { return replicas_; }
  const DataParallelOptions& options() const { return options_; }

  // One step on a batch in the host's memory: x holds samples of the input's shape, one after the other, at most
  // options().batch of them. The loss is the softmax cross-entropy of labels[i] in [0, outputs), or the squared error summed
  // over a sample's outputs, and its mean over the batch is what goes down. The work goes on after the call: pageable memory
  // may be used again at once, pinned memory when the step is done (take_tally() waits for it). The optimizer must have been
  // made for this model. Throws rondo::Error: bad_argument for sizes that do not belong together, and nothing has happened;
  // after any other failure in the middle of a step the replicas may differ, and every later step is refused with the
  // first reason.
  void train_step(std::span<const float> x, std::span<const int32_t> labels, Optimizer& optimizer);
  void train_step(std::span<const float> x, std::span<const float> targets, Optimizer& optimizer);

  // Sums since the last call, over all replicas: losses, correct predictions, samples. Waits.
  LossTally take_tally();

  // The network's outputs in evaluation, in the order of the samples, of any number of them. Waits.
  std::vector<float> predict(std::span<const float> x);

  // Losses and correct predictions in evaluation, of any number of samples. Waits.
  LossTally evaluate(std::span<const float> x, std::span<const int32_t> labels);

  // How many values differ in any bit between the replicas' parameters: 0, or something is wrong. Waits.
  int64_t differing_values();

 private:
  // What the loss needs beside the network.
  struct Target {
    Buffer<int32_t> labels;
    Buffer<float> values;
    Buffer<LossTally> tally;
    Buffer<std::byte> workspace;
  };

  int64_t scatter(std::span<const float> x);
  void finish_step(int64_t batch, Optimizer& optimizer, const Pass& pass);
  void reduce(const GradientBucket& bucket);
  int64_t batch_of(std::span<const float> x) const;
  void check_step(const Optimizer& optimizer) const;
  template <class Work>
  void step(Work work);
  template <class Work>
  void on_each(Work work);
  Pass pass(bool training);

  Graph graph_;
  DataParallelOptions options_;
  StreamGroup compute_, exchange_;
  std::vector<Replica> replicas_;
  std::vector<Target> targets_;
  std::vector<GradientBucket> buckets_;
  std::vector<Event> ready_, reduced_;  // of each rank: a bucket is complete; all are reduced
  Communicator gradients_, statistics_;
  Status failure_;  // of a step that was not finished
};

}  // namespace rondo::nn

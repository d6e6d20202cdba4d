// DataParallel: a network on several devices, to be used as if it were on one.
//
//   nn::DataParallel model(nn::resnet18(), {28, 28, 1}, {.devices = {0, 1}, .batch = 512});
//   nn::Sgd sgd(model, {.learning_rate = 0.2f});
//   for (...) model.train_step(images, labels, sgd);
//
// Every device holds the whole network; the batch is split, the gradients are summed, and every device takes the same step:
// the parameters stay equal, bit for bit, and the number of devices changes the time and not the training. The gradients are
// reduced in buckets, from the last layer to the first, each as soon as it is complete, while the layers before it
// are still going backward. A kind of step that is taken again is recorded, and then is one launch of a graph over all devices.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/collectives/reduction.h>
#include <rondo/kernels/runtime/trace.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/nn/data/batch_iterator.h>
#include <rondo/nn/diagnostics/nonfinite.h>
#include <rondo/nn/train/gradient_buckets.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/diagnostics/memory_estimate.h>
#include <rondo/nn/layers/module.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/nn/train/phase_timer.h>
#include <rondo/nn/train/recorded_steps.h>
#include <rondo/nn/data/staged_batch.h>
#include <rondo/nn/train/stream_group.h>
#include <rondo/nn/train/world.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rondo::nn {

class DeviceImages;

// Where the samples of a training step go.
enum class BatchPlacement {
  sharded,     // every device gets a part of the batch
  replicated,  // every device gets the whole batch, and all compute the same: nothing is exchanged
};

struct DataParallelOptions {
  std::vector<int> devices = {0};  // a replica an entry; the same device may appear several times
  int64_t batch = 256;             // the most samples of a step, over all devices
  uint64_t seed = 0;               // of the parameters, and of what is random in training
  // Batch normalisation over the whole batch, as one device would have it. false: each replica over its own shard, as many
  // libraries do by default, without the all-reduce inside each layer; then each replica has running statistics of
  // its own too, the training differs with the number of devices, and so does what evaluation says of an image with its
  // place in the batch.
  bool sync_batch_norm = true;
  // Of the gradients' all-reduce: with groups or several processes it is hierarchical.
  Algorithm algorithm = Algorithm::automatic;
  SumOrder order = SumOrder::left_to_right;  // of sums over replicas; balanced_tree: with Algorithm::direct
  int group_size = 0;                        // CommunicatorOptions::group_size
  int64_t bucket_bytes =
      int64_t{1} << 20;  // of a bucket of gradients; larger ones are quicker and begin later
  // Gradient accumulation: each device takes its shard in so many pieces, one after the other, adds up their gradients, and takes
  // one step. The memory for activations shrinks accordingly; batch normalisation then is over each piece.
  int64_t micro_batches = 1;
  // Activation checkpointing: PlanOptions::checkpoint_layers (graph/memory_plan.h)
  int checkpoint_layers = 0;
  BatchPlacement placement = BatchPlacement::sharded;
  // A step whose gradients hold a NaN or infinity changes neither parameters nor optimizer, and nor does any after it: so that
  // first_nonfinite_tensor() finds where it came from. Reads the gradients once more.
  bool keep_finite = false;
  // Processes that train together, each with as many devices; null: this one alone. `batch` is over the ranks
  // of all. All processes make the same calls with the same values, and the same batches. The group must
  // outlive the model.
  ProcessGroup* processes = nullptr;
};

// Options with which the parameters have the same bits on 1 to 8 devices: each batch is cut into
// kSampleBlocks blocks of samples, each block has a replica, the devices share the replicas, and sums over
// blocks are balanced trees. (GPUs of different architectures may still differ.) Throws a bad_argument Error
// for more devices than blocks, fewer samples than blocks, several processes, groups, or another algorithm
// than automatic and direct.
inline constexpr int kSampleBlocks = 8;
DataParallelOptions with_device_count_invariance(DataParallelOptions options);

// The device memory that each replica will take, with its optimizer (Sgd::size(), Adam::kSize); a batch from the host or images
// on the devices come on top. Throws a bad_argument Error.
MemoryEstimate estimate_memory(const Graph& graph, const DataParallelOptions& options, OptimizerSize optimizer);

class DataParallel {
 public:
  // Throws rondo::Error: bad_argument, out_of_resources.
  DataParallel(const AnyModule& network, Shape input, DataParallelOptions options = {});

  ~DataParallel();  // waits for the steps

  int devices() const { return static_cast<int>(replicas_.size()); }  // of this process
  const World& world() const { return world_; }
  const Graph& graph() const { return graph_; }
  std::span<Replica> replicas() { return replicas_; }
  const DataParallelOptions& options() const { return options_; }

  // One step on a batch in the host's memory: x holds samples of the input's shape, one after the other, at most
  // options().batch of them. The loss is the softmax cross-entropy of labels[i] in [0, outputs), or the squared error summed
  // over a sample's outputs, and its mean over the batch is what goes down. The work goes on after the call: pageable memory
  // may be used again at once, pinned memory when the step is done (take_loss_stats() waits for it). The optimizer must have been
  // made for this model. Throws rondo::Error: bad_argument for sizes that do not belong together, and nothing has happened;
  // after any other failure in the middle of a step the replicas may differ, and every later step is refused with the
  // first reason.
  void train_step(std::span<const float> x, std::span<const int32_t> labels, Optimizer& optimizer);
  void train_step(std::span<const float> x, std::span<const float> targets, Optimizer& optimizer);
  // One more step on the batch that the host gave last: nothing is copied.
  void repeat_step(Optimizer& optimizer);
  // One step on the next batch of a source on the devices, such as ShuffledBatches.
  void train_step(BatchIterator& source, Optimizer& optimizer);

  // Why steps are enqueued call by call and not as recorded graphs (StepGraph::refusal()); ok where they are
  // graphs.
  const Status& graph_refusal() const { return recorded_.refusal(); }

  // Sums since the last call, over all replicas: losses, correct predictions, samples. Waits.
  LossStats take_loss_stats();

  // The network's outputs in evaluation, in the order of the samples, of any number of them. Waits. Each
  // process computes all of them.
  std::vector<float> predict(std::span<const float> x);

  // Losses and correct predictions in evaluation, of any number of samples. Waits.
  LossStats evaluate(std::span<const float> x, std::span<const int32_t> labels);
  LossStats evaluate(const DeviceImages& images);

  // With keep_finite: the parameter whose gradient was the first that was not finite, "" as long as all were. Waits.
  std::string nonfinite_gradient();
  // Throws rondo::Error where the model is not what its steps should have made of it: a step failed, a device has, or a gradient
  // was not finite. Waits.
  void check_sound();
  // Steps change something again. load_checkpoint() and load_parameters() do this, too.
  void clear_nonfinite_gradient();

  // Takes the source's next step again, as it was `steps_ago` steps before, operation by operation, until one makes a NaN or
  // infinity; nothing when none does. Parameters, states and optimizer stay as they are. With keep_finite, which has kept the
  // parameters. Waits. Throws rondo::Error.
  std::optional<NonfiniteTensor> first_nonfinite_tensor(BatchIterator& source, int64_t steps_ago);

  // How many values differ in any bit between the replicas' parameters: 0, or something is wrong. Waits.
  int64_t differing_values();

  // ---- for those who look inside ----

  // The replicas' streams. After a step that of rank 0 is behind all of it.
  StreamGroup& streams() { return compute_; }
  // Of the ranks whose samples count, in device memory: what take_loss_stats() adds and sets to zero.
  std::vector<const LossStats*> loss_stats() const;
  // Where the time of the last step of a whole batch went, all 0 where there was none yet. The steps must be done.
  PhaseSeconds phases() const;
  // While there is one, steps are not replayed but enqueued kernel by kernel and shown in it.
  void set_trace(Trace* trace);

 private:
  // What the loss needs beside the network.
  struct Target {
    Buffer<int32_t> labels;
    Buffer<float> values;
    Buffer<LossStats> loss_stats;
    Buffer<std::byte> workspace;
  };

  bool sharded() const { return options_.placement == BatchPlacement::sharded; }
  Shard training_shard(int64_t batch, int64_t rank) const;  // of all ranks
  Shard piece_of_shard(int64_t batch, int64_t rank, int64_t piece) const;
  int64_t batch_of(std::span<const float> x) const;
  void check_step(const Optimizer& optimizer) const;
  template <class Targets>
  void stage(std::span<const float> x, Targets targets);
  void take_step(BatchIterator& source, Optimizer& optimizer);
  void enqueue_step(BatchIterator& source, int64_t batch, Optimizer& optimizer);
  void copy_initial_values();
  void load_piece(BatchIterator& source, int64_t batch, int64_t piece);
  void enqueue_loss(Loss loss, bool with_gradient);
  void accumulate(int64_t piece);
  void reduce(const GradientBucket& bucket);
  void update(int64_t batch, Optimizer& optimizer);
  template <class Load, class After>
  void evaluate_in_batches(int64_t samples, const World& ranks, Load load, After after);
  template <class Work>
  auto beside_training(Work work);
  template <class Load>
  LossStats evaluate_with(int64_t samples, Load load);
  std::vector<LossStats> clear_loss_stats();
  template <class Work>
  void on_each(Work work);
  Pass training_pass(int64_t batch, int64_t piece);
  LossTarget target_of(size_t rank, int64_t samples);

  Graph graph_;
  DataParallelOptions options_;
  World world_;
  StreamGroup compute_, exchange_;
  int64_t most_;  // samples that a replica has room for
  std::vector<Replica> replicas_;
  std::vector<Target> targets_;
  std::vector<Buffer<unsigned long long>> found_inf_;  // with keep_finite
  std::vector<Buffer<float>> accumulated_;  // the gradients of a step's pieces so far; with several of them
  std::vector<GradientBucket> buckets_;
  std::vector<Event> ready_, reduced_;  // of each rank: a bucket is complete; all are reduced
  std::unique_ptr<Communicator> gradients_, statistics_;  // where there is something to exchange
  std::unique_ptr<StagedBatch> staged_;                   // once the host has given one
  PhaseTimer timer_, timer_of_rest_;                      // of whole batches; of all others
  bool timed_ = false;                                    // there was a whole batch
  RecordedSteps recorded_;
  Trace* trace_ = nullptr;
  Status failure_;  // of a step that was not finished
};

template <class Work>
void DataParallel::on_each(Work work) {
  for (size_t rank = 0; rank < replicas_.size(); ++rank) {
    const DeviceScope scope(replicas_[rank].device());
    work(replicas_[rank], rank);
  }
}

}  // namespace rondo::nn

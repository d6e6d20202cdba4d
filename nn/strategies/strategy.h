// Strategy: one way of training a network on several devices. There are four of them, all with the same parameters at the
// beginning, the same batches, the same loss and the same plain step of SGD, so that they can be laid side by side:
//
//   single     one device has all                                            one_device.h
//   pipeline   each device has some of the layers, one after the other      pipeline_parallel.h
//   tensor     each device has some of the outputs of every layer           tensor_parallel.h
//   data       each device has some of the samples                          data_partition.h
//
// docs/strategies.md draws them and says what each costs.
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/nn/layers/module.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace rondo::nn {

struct StrategyOptions {
  std::vector<int> devices = {0};  // a rank an entry; the same device may appear several times
  int64_t batch = 256;             // the most samples of a step
  float learning_rate = 0.1f;
  uint64_t seed = 0;  // of the parameters
  int64_t micro_batches = 4;  // of the pipeline; at most one for each sample
};

// Samples in the host's memory, one after the other, and what is wanted of them: a label each (softmax cross-entropy), or as
// many values as the network has outputs (squared error, summed over them). The mean over the batch goes down.
struct Batch {
  std::span<const float> x;
  std::span<const int32_t> labels = {};
  std::span<const float> targets = {};
};

// Device memory of a rank, in bytes: what has been allocated. A step allocates nothing, so it is the most at any time.
struct RankMemory {
  int device = 0;
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t activations = 0;  // and their gradients
  int64_t buffers = 0;      // workspaces, labels, what is on its way
  int64_t total() const { return parameters + gradients + activations + buffers; }
  bool operator==(const RankMemory&) const = default;
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // One step. Only enqueues work: pageable memory may be used again when it returns. Throws rondo::Error: bad_argument for
  // sizes that don't belong together, and nothing has happened.
  virtual void train_step(const Batch& batch) = 0;
  // Sums since the last call: losses, right predictions, samples. Waits.
  virtual LossStats take_loss_stats() = 0;
  // The whole network's, as make_graph() lays them out. Waits.
  virtual std::vector<float> parameters() = 0;
  // Of each rank.
  virtual std::vector<RankMemory> memory() const = 0;
  // Bytes from rank to rank since the beginning, counted as they are enqueued. What comes from the host is not counted.
  virtual int64_t sent_bytes() const = 0;
};

enum class StrategyKind { single, pipeline, tensor, data };
inline constexpr StrategyKind kStrategies[] = {StrategyKind::single, StrategyKind::pipeline,
                                               StrategyKind::tensor, StrategyKind::data};
constexpr const char* name_of(StrategyKind kind) {
  constexpr const char* kNames[] = {"single", "pipeline", "tensor", "data"};
  return kNames[static_cast<int>(kind)];
}

// `single` uses the first device alone. Throws rondo::Error: bad_argument, out_of_resources.
std::unique_ptr<Strategy> make_strategy(StrategyKind kind, const AnyModule& network, Shape input,
                                        const StrategyOptions& options);

// ---- for the strategies ----

// The options; throws a bad_argument Error that begins with `name` where they make no sense.
const StrategyOptions& checked(const char* name, const StrategyOptions& options);
// The number of samples; throws a bad_argument Error where sizes don't belong together.
int64_t checked_size(const char* name, const Batch& batch, const Graph& graph, int64_t most);
// Samples [first, first + size) of a batch of `whole`.
Batch part_of(const Batch& batch, int64_t whole, int64_t first, int64_t size);

// All parameters as the seed makes them, in the order of the graph's arena, made on `device`. Waits.
std::vector<float> initial_parameters(const Graph& graph, int device, uint64_t seed);

// Where a rank's parameters lie among all: a number of equal runs of floats. A rank has either whole parameters (one run) or
// those of some outputs, which are some columns of one matrix and some rows of another.
struct ParameterPart {
  int64_t mine = 0, whole = 0;  // offsets of the first run in the rank's arena and in the arena of all
  int64_t runs = 1, size = 0;   // floats of a run
  int64_t stride = 0;           // from run to run in the arena of all; in the rank's they follow each other
};
std::vector<float> take_parts(const std::vector<float>& whole, const std::vector<ParameterPart>& parts,
                              int64_t size);
void put_parts(std::vector<float>& whole, const std::vector<ParameterPart>& parts,
               const std::vector<float>& mine);

// Lets copies between each two of these devices go directly where the machine can do that. Waits.
void open_links(const std::vector<int>& devices);

}  // namespace rondo::nn

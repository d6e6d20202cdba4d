// Strategy: a way of training a network on several devices. All strategies start with the same parameters and
// use the same batches, loss and plain SGD step, so that their results can be compared:
//
//   single     one device has everything                                    one_device.h
//   pipeline   each device has consecutive layers                           pipeline_parallel.h
//   tensor     each device has some of the outputs of every layer           tensor_parallel.h
//   data       each device has some of the samples                          data_partition.h
//
// docs/strategies.md shows each with a picture and its costs.
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/host_uploads.h>
#include <rondo/nn/graph/loss.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/layers/module.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace rondo::nn {

struct StrategyOptions {
  std::vector<int> devices = {0};  // one rank per entry; the same device may appear several times
  int64_t batch = 256;             // maximum number of samples in a step
  float learning_rate = 0.1f;
  uint64_t seed = 0;          // of the initial parameters
  int64_t micro_batches = 4;  // pipeline only; at most one per sample is used
};

// Samples in host memory, one after the other. Each has either a label (softmax cross-entropy) or one target
// value per network output (squared error, summed over the outputs). The loss is the mean over the batch.
struct Batch {
  std::span<const float> x;
  std::span<const int32_t> labels = {};
  std::span<const float> targets = {};

  Loss loss() const { return targets.empty() ? Loss::cross_entropy : Loss::squared_error; }
};

// Device memory allocated by a rank, in bytes. A step allocates nothing, so this is also the peak.
struct RankMemory {
  int device = 0;
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t activations = 0;  // and their gradients
  int64_t buffers = 0;      // workspaces, labels, transfers
  int64_t total() const { return parameters + gradients + activations + buffers; }
  bool operator==(const RankMemory&) const = default;
};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // Enqueues one step. The caller may reuse the batch's memory after the return, but pinned memory after the
  // step. Blocks until the step before the last has begun, and while the queue of a stream is full
  // (docs/gpu.md). Throws rondo::Error: bad_argument for inconsistent sizes and for labels out of range,
  // before anything is enqueued.
  virtual void train_step(const Batch& batch) = 0;
  // Sums since the last call: losses, correct predictions, samples. Waits.
  virtual LossStats take_loss_stats() = 0;
  // Parameters of the whole network, in the layout of make_graph(). Waits.
  virtual std::vector<float> parameters() = 0;
  // One entry per rank.
  virtual std::vector<RankMemory> memory() const = 0;
  // Bytes sent from rank to rank so far, counted when enqueued. Copies from the host are not included.
  virtual int64_t sent_bytes() const = 0;
};

enum class StrategyKind { single, pipeline, tensor, data };
inline constexpr StrategyKind kStrategies[] = {StrategyKind::single, StrategyKind::pipeline,
                                               StrategyKind::tensor, StrategyKind::data};
constexpr const char* name_of(StrategyKind kind) {
  constexpr const char* kNames[] = {"single", "pipeline", "tensor", "data"};
  return kNames[static_cast<int>(kind)];
}

// StrategyKind::single uses only the first device. Throws rondo::Error: bad_argument, out_of_resources.
std::unique_ptr<Strategy> make_strategy(StrategyKind kind, const AnyModule& network, Shape input,
                                        const StrategyOptions& options);

// ---- For implementations of Strategy ----

// Returns the options. Throws a bad_argument Error that begins with `name` if they are invalid.
const StrategyOptions& checked(const char* name, const StrategyOptions& options);
// Returns the number of samples. Throws a bad_argument Error if the sizes are inconsistent, or a label is
// outside the network's outputs.
int64_t checked_size(const char* name, const Batch& batch, const Graph& graph, int64_t most);
// Samples [first, first + size) of a batch of `whole` samples.
Batch part_of(const Batch& batch, int64_t whole, int64_t first, int64_t size);

// The copy of the labels or targets of `batch` to the head's memory, from sample 0 on.
HostUploads::Part upload_of_targets(LossHead& head, const Batch& batch);

Stream stream_on(int device);
RankMemory rank_memory(int device, const ReplicaMemory& replica, int64_t other_buffers);
// The replica's parameters in host memory. Waits for its stream.
std::vector<float> parameters_of(Replica& replica);
// All initial parameters for this seed, in the order of the graph's arena, computed on `device`. Waits.
std::vector<float> initial_parameters(const Graph& graph, int device, uint64_t seed);

// Maps one of a rank's parameters to the arena of the whole network: a number of runs of equal size. A whole
// parameter is one run. A parameter split by outputs has columns of a matrix or filters of a convolution.
struct ParameterPart {
  int64_t mine = 0, whole = 0;  // offsets of the first run: in the rank's arena, in the whole arena
  int64_t runs = 1, size = 0;   // size: floats per run
  int64_t stride = 0;           // between runs in the whole arena; contiguous in the rank's arena
};
std::vector<float> take_parts(const std::vector<float>& whole, const std::vector<ParameterPart>& parts,
                              int64_t size);
void put_parts(std::vector<float>& whole, const std::vector<ParameterPart>& parts,
               const std::vector<float>& mine);

// Enables peer access between all pairs of these devices that support it. Waits.
void open_links(const std::vector<int>& devices);

}  // namespace rondo::nn

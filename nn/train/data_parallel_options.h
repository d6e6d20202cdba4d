// DataParallelOptions: how DataParallel splits and exchanges.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/collectives/reduction.h>
#include <rondo/nn/graph/graph.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo::nn {

// Where the samples of a training step go.
enum class BatchPlacement {
  sharded,     // each replica computes a part of the batch
  replicated,  // each replica computes the whole batch, so they exchange no gradients
};

struct DataParallelOptions {
  std::vector<int> devices = {0};  // one replica for each entry; a device may appear several times
  int64_t batch = 256;             // the largest batch, over all replicas of all processes
  uint64_t seed = 0;               // of the initial parameters and of random layers
  Math math = Math::fp32;          // of convolutions and linear layers that do not choose their own
  // The type of activations, of their gradients and of the factors of products: float32 or bfloat16.
  // Parameters, their gradients, the optimizer, statistics, sums and the loss are always float32.
  DType activations = DType::float32;
  // The type in which gradients are all-reduced: float32, or bfloat16 with half the bytes. With bfloat16 each
  // replica rounds its gradients, summed over its micro-batches, to nearest even. They are added over the
  // replicas in float32, and the sum is rounded once more. A single replica, and replicated ones, round none.
  DType reduce_dtype = DType::float32;
  // true: batch normalisation over the whole batch, with an all-reduce in each such layer. false: each
  // replica normalises over its own shard and keeps its own running statistics. Training then depends on the
  // number of replicas, and evaluation of an image depends on its place in the batch.
  bool sync_batch_norm = true;
  Algorithm algorithm =
      Algorithm::automatic;  // of the gradients' all-reduce; hierarchical with groups or processes
  SumOrder order = SumOrder::left_to_right;  // of sums over replicas; balanced_tree needs Algorithm::direct
  int group_size = 0;                        // CommunicatorOptions::group_size
  int64_t bucket_bytes = int64_t{1} << 20;   // of a gradient bucket: larger ones are faster and start later
  // Gradient accumulation: each replica computes its shard in this many micro-batches and adds up their
  // gradients before the step. Activations take less memory. Batch normalisation is over each micro-batch.
  int64_t micro_batches = 1;
  int64_t checkpoint_layers = 0;  // activation checkpointing: PlanOptions (graph/memory_plan.h)
  BatchPlacement placement = BatchPlacement::sharded;
  // A step with a loss or a gradient that is NaN or infinite, on any replica, changes no parameter, and
  // neither does any step after it, so that find_nonfinite_tensor() can search for the cause. Reads the
  // gradients once more in each step.
  bool keep_finite = false;
  // Processes that train together, each with the same number of devices; null: this process alone. All
  // processes make the same calls with the same values and the same batches. Must outlive the model.
  ProcessGroup* processes = nullptr;
};

// Options with which the parameters have the same bits on 1 to kSampleBlocks devices. Each batch is cut into
// kSampleBlocks blocks of samples, each block has a replica, the devices share the replicas, and sums over
// blocks are balanced trees. GPUs of different architectures may still differ. Throws a bad_argument Error
// for more devices than blocks, fewer samples than blocks, several processes, groups, or an algorithm other
// than automatic and direct.
inline constexpr int kSampleBlocks = 8;
DataParallelOptions with_device_count_invariance(DataParallelOptions options);

// ---- For DataParallel's own parts ----

// `options` with the algorithm that groups and processes imply. Throws a bad_argument Error.
DataParallelOptions checked(DataParallelOptions options);
// The most samples that a replica computes at a time.
int64_t samples_per_replica(const DataParallelOptions& options);
// The communicators of the gradients and of batch normalisation; nullopt if the replicas exchange none.
std::optional<CommunicatorOptions> gradient_exchange(const DataParallelOptions& options, const Graph& graph);
std::optional<CommunicatorOptions> statistics_exchange(const DataParallelOptions& options);

}  // namespace rondo::nn

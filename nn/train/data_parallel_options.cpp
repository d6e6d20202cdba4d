#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/collectives/arguments.h>
#include <rondo/kernels/core/counted.h>
#include <rondo/nn/train/data_parallel_options.h>

#include <algorithm>
#include <utility>

namespace rondo::nn {

namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t rank_count(const DataParallelOptions& options) {
  return static_cast<int64_t>(options.devices.size()) * (options.processes ? options.processes->size() : 1);
}

// Replicas of the same samples have nothing to exchange.
bool exchanges(const DataParallelOptions& options) {
  return options.placement == BatchPlacement::sharded && rank_count(options) > 1;
}

CommunicatorOptions exchange(const DataParallelOptions& options, CommunicatorOptions communicator) {
  communicator.bucket_bytes = 0;
  communicator.group_size = options.group_size;
  communicator.processes = options.processes;
  return communicator;
}

}  // namespace

DataParallelOptions checked(DataParallelOptions options) {
  const auto refuse = [](const auto&... why) { throw Error(bad_argument("DataParallel: ", why...)); };
  constexpr int64_t kMostSamples = int64_t{1} << 31;
  if (options.devices.empty()) refuse("the list of devices is empty");
  if (options.batch < 1) refuse("the batch is ", options.batch, ", must be at least 1");
  if (options.batch > kMostSamples)
    refuse("the batch is ", options.batch, ", must be at most ", kMostSamples);
  if (options.bucket_bytes < 1) refuse("bucket_bytes is ", options.bucket_bytes, ", must be at least 1");
  if (options.micro_batches < 1 || options.micro_batches > options.batch)
    refuse("micro_batches is ", options.micro_batches, ", must be at least 1 and at most ", options.batch,
           ", the batch");
  if (options.checkpoint_layers < 0)
    refuse("checkpoint_layers is ", options.checkpoint_layers, ", must be at least 0");
  if (options.processes && options.order != SumOrder::left_to_right)
    refuse("the order of sums is a balanced tree, must be left to right with several processes");
  if (options.processes || options.group_size > 0) {
    if (options.algorithm != Algorithm::automatic && options.algorithm != Algorithm::hierarchical)
      refuse("the algorithm is ", name_of(options.algorithm), ", must be automatic or hierarchical in ",
             options.processes ? "several processes" : "groups");
    options.algorithm = Algorithm::hierarchical;
  }
  throw_if_error(
      check_options("DataParallel", {.algorithm = options.algorithm, .order = options.order},
                    {Algorithm::ring, Algorithm::direct, Algorithm::root, Algorithm::hierarchical}));
  if (options.placement != BatchPlacement::sharded && options.placement != BatchPlacement::replicated)
    refuse("the placement is ", static_cast<int>(options.placement), ", must be sharded or replicated");
  if (options.reduce_dtype != DType::float32 && options.reduce_dtype != DType::bfloat16)
    refuse("reduce_dtype is ", name_of(options.reduce_dtype), ", must be float32 or bfloat16");
  return options;
}

int64_t samples_per_replica(const DataParallelOptions& options) {
  const bool sharded = options.placement == BatchPlacement::sharded;
  const int64_t shard = sharded ? ceil_div(options.batch, rank_count(options)) : options.batch;
  return ceil_div(shard, options.micro_batches);
}

std::optional<CommunicatorOptions> gradient_exchange(const DataParallelOptions& options, const Graph& graph) {
  if (!exchanges(options) || graph.parameter_arena_size() == 0) return std::nullopt;
  return exchange(options, {});
}

std::optional<CommunicatorOptions> statistics_exchange(const DataParallelOptions& options) {
  if (!exchanges(options) || !options.sync_batch_norm) return std::nullopt;
  return exchange(options, {.slot_bytes = 64 << 10});
}

DataParallelOptions with_device_count_invariance(DataParallelOptions options) {
  const auto refuse = [](const auto&... why) {
    throw Error(bad_argument("with_device_count_invariance: ", why...));
  };
  const auto devices = static_cast<int>(options.devices.size());
  if (devices < 1 || devices > kSampleBlocks)
    refuse(there_are(devices, "device"), ", must be 1 to ", kSampleBlocks, ", the number of sample blocks");
  if (options.batch < kSampleBlocks)
    refuse("the batch has ", counted(options.batch, "sample"), ", must have at least ", kSampleBlocks,
           ", one for each sample block");
  if (options.processes) refuse("there are several processes, must be one");
  if (options.group_size > 0) refuse("group_size is ", options.group_size, ", must be 0");
  if (options.algorithm != Algorithm::automatic && options.algorithm != Algorithm::direct)
    refuse("the algorithm is ", name_of(options.algorithm), ", must be automatic or direct");
  std::vector<int> device_of_block;
  for (int block = 0; block < kSampleBlocks; ++block)
    device_of_block.push_back(options.devices[static_cast<size_t>(block * devices / kSampleBlocks)]);
  options.devices = std::move(device_of_block);
  options.algorithm = Algorithm::direct;
  options.order = SumOrder::balanced_tree;
  return options;
}

}  // namespace rondo::nn

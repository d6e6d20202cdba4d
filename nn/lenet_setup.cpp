#include <rondo/nn/lenet_setup.h>

#include <rondo/collectives/arguments.h>
#include <rondo/collectives/ring_schedule.h>
#include <rondo/nn/lenet_processes.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace rondo::lenet {

namespace {

int64_t largest_shard(const FashionMnist& data, const Options& options) {
  const int64_t ranks = total_ranks(options);
  return (std::min(options.batch_size, data.train_count) + ranks - 1) / ranks;
}

}  // namespace

void check_options(const FashionMnist& data, const Options& options) {
  const auto refuse = [](auto... parts) { throw Error(bad_argument("training LeNet: ", parts...)); };
  if (options.devices.empty()) refuse("no device was given, must be at least 1");
  throw_if_error(check_devices("training LeNet", options.devices));
  if (options.epochs < 1) refuse("epochs is ", options.epochs, ", must be at least 1");
  if (!std::isfinite(options.lr) || options.lr <= 0) refuse("lr is ", options.lr, ", must be above 0");
  if (data.train_count < 1 || data.test_count < 1)
    refuse("there are ", data.train_count, " training and ", data.test_count,
           " test images, must be at least 1 each");
  if (options.inspect_steps < 0) refuse("inspect_steps is ", options.inspect_steps, ", must not be negative");
  throw_if_error(
      rondo::check_options("training LeNet", {.algorithm = options.algorithm, .order = options.order},
                           {Algorithm::ring, Algorithm::direct, Algorithm::root, Algorithm::hierarchical}));
  if (options.batch_size < 1) refuse("batch_size is ", options.batch_size, ", must be at least 1");
  if (options.processes && options.order != SumOrder::left_to_right)
    refuse("several processes add from left to right, and have no fixed order over any number of devices");
  const int64_t ranks = total_ranks(options);
  if (ranks > options.batch_size)
    refuse(ranks, " ranks share a batch of ", options.batch_size,
           ": there must be at least one sample for each");
  if (ranks > data.train_count)
    refuse(ranks, " ranks share ", data.train_count, " training images: there must be at least one for each");
}

Options in_fixed_order(Options options) {
  const auto devices = static_cast<int>(options.devices.size());
  if (devices < 1 || devices > kSampleBlocks)
    throw Error(bad_argument("training LeNet in fixed order: there are ", devices, " devices, must be 1 to ",
                             kSampleBlocks, ", the number of sample blocks"));
  if (options.batch_size < kSampleBlocks)
    throw Error(bad_argument("training LeNet in fixed order: the batch has ", options.batch_size,
                             " samples, must have at least ", kSampleBlocks, ", one for each sample block"));
  std::vector<int> of_block;
  for (int block = 0; block < kSampleBlocks; ++block)
    of_block.push_back(options.devices[static_cast<size_t>(block * devices / kSampleBlocks)]);
  options.devices = of_block;
  options.algorithm = Algorithm::direct;
  options.order = SumOrder::balanced_tree;
  return options;
}

std::vector<Replica> make_replicas(const FashionMnist& data, const Options& options,
                                   const StreamGroup& streams) {
  const int64_t max_images = largest_shard(data, options);
  std::map<int, std::shared_ptr<const DeviceData>> data_on;  // ranks on one device share it
  std::vector<Replica> replicas;
  replicas.reserve(options.devices.size());
  for (int rank = 0; rank < streams.size(); ++rank) {
    const int device = streams.device(rank);
    if (!data_on.contains(device)) data_on[device] = std::make_shared<const DeviceData>(data, device);
    replicas.emplace_back(first_rank(options) + rank, device, streams.stream(rank), data_on[device],
                          max_images, options.lr);
  }
  return replicas;
}

CommunicatorOptions communicator_options(const Options& options) {
  const auto ranks = static_cast<int>(options.devices.size());
  const int in_ring = options.group_size > 0 ? options.group_size : ranks;
  const int64_t element_bytes = sizeof(float);
  const int64_t chunk_bytes =
      ring::whole_chunk(parameter_arena_size(), in_ring, element_bytes) * element_bytes;
  // An alignment unit more for itself, and one for the slice of each group
  const int64_t spare_bytes = (1 + ranks / in_ring) * ring::kChunkAlignment;
  CommunicatorOptions made{.slot_bytes = chunk_bytes / ring::kSlots + spare_bytes, .bucket_bytes = 0};
  made.group_size = options.group_size;
  made.processes = options.processes;
  return made;
}

int64_t bytes_per_rank(const FashionMnist& data, const Options& options) {
  check_options(data, options);
  const auto data_set =
      data.train_images.size() + data.train_labels.size() + data.test_images.size() + data.test_labels.size();
  const auto ranks = static_cast<int>(options.devices.size());
  return replica_bytes(largest_shard(data, options), data.train_count) + static_cast<int64_t>(data_set) +
         Communicator::bytes_per_rank(ranks, communicator_options(options));
}

std::vector<LayerSummary> summary() {
  const Parameters w = parameters_in(nullptr);
  return {
      {"conv 20 @ 3x3, ReLU", "26 x 26 x 20", w.w1.size() + w.b1.size},
      {"average pool 2x2", "13 x 13 x 20", 0},
      {"conv 50 @ 5x5, ReLU", "9 x 9 x 50", w.w2.size() + w.b2.size},
      {"average pool 2x2", "4 x 4 x 50", 0},
      {"linear, ReLU", "128", w.w3.rows * w.w3.cols + w.b3.size},
      {"linear", "10", w.w4.rows * w.w4.cols + w.b4.size},
  };
}

}  // namespace rondo::lenet

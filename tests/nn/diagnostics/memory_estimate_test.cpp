// Compares the estimate of a training's memory with the executor's count.
#include <gtest/gtest.h>

#include <rondo/kernels/core/size.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/data/device_images.h>
#include <rondo/nn/diagnostics/memory_estimate.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/tests/nn/models/small_networks.h>
#include <rondo/tests/nn/train/model_fixture.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/status_checks.h>

#include <limits>
#include <memory>

namespace rondo::nn {
namespace {

int64_t free_bytes(int device) {
  const DeviceScope scope(device);
  size_t free = 0, total = 0;
  RONDO_CUDA_THROW(cudaMemGetInfo(&free, &total));
  return static_cast<int64_t>(free);
}

int64_t part(const MemoryEstimate& estimate, const std::string& name) {
  for (const MemoryPart& part : estimate.parts)
    if (part.name == name) return part.bytes;
  ADD_FAILURE() << "no part " << name;
  return -1;
}

TEST(MemoryEstimate, AReplicaAllocatesThat) {
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "only the executor counts bytes";
  for (const auto& [name, network] : small_networks())
    for (int64_t checkpoint_layers : {0, 2})
      for (int64_t batch : {1, 10}) {
        const DType activations = batch == 1 ? DType::float32 : DType::bfloat16;
        SCOPED_TRACE(concat(name, ", checkpoint_layers ", checkpoint_layers, ", batch ", batch, ", ",
                            name_of(activations)));
        const Graph graph = make_graph(network, kNetworkInput, Math::fp32, activations);
        const MemoryPlan plan = plan_training(graph, batch, {.checkpoint_layers = checkpoint_layers});
        const Stream stream;
        const int64_t before = free_bytes(0);
        const Replica replica(graph, 0, stream, plan, batch);
        EXPECT_EQ(before - free_bytes(0), Replica::memory(graph, plan, batch).total());
      }
}

TEST(MemoryEstimate, TrainingAllocatesThat) {
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "only the executor counts bytes";
  for (const auto& [name, network] : small_networks())
    for (int ranks : {1, 3})
      for (bool adam : {false, true})  // with Adam, also every other option that changes the memory
        for (BatchPlacement placement : {BatchPlacement::sharded, BatchPlacement::replicated}) {
          const float momentum = ranks == 1 ? 0.9f : 0;
          SCOPED_TRACE(concat(name, ", ", ranks, " devices, ", adam ? "Adam" : "SGD", ", placement ",
                              static_cast<int>(placement)));
          const DataParallelOptions options = {.devices = spread(ranks),
                                               .batch = 7,
                                               .activations = ranks == 3 ? DType::bfloat16 : DType::float32,
                                               .reduce_dtype = adam ? DType::bfloat16 : DType::float32,
                                               .micro_batches = adam ? 2 : 1,
                                               .checkpoint_layers = adam ? 2 : 0,
                                               .placement = placement,
                                               .keep_finite = adam};
          std::vector<int64_t> before;
          for (int device : options.devices) before.push_back(free_bytes(device));
          DataParallel model(network, kNetworkInput, options);
          std::unique_ptr<Optimizer> optimizer;
          if (adam)
            optimizer = std::make_unique<Adam>(model);
          else
            optimizer = std::make_unique<Sgd>(model, Sgd::Options{.momentum = momentum});
          const int64_t total =
              estimate_memory(model.graph(), options, adam ? Adam::kSize : Sgd::size(momentum)).total();
          for (size_t rank = 0; rank < options.devices.size(); ++rank) {
            const int device = options.devices[rank];
            const int64_t sharing = std::ranges::count(options.devices, device);
            EXPECT_EQ(before[rank] - free_bytes(device), sharing * total) << "rank " << rank;
          }
        }
}

TEST(MemoryEstimate, OnlyWhatExchangesHasRoomForIt) {
  const Graph graph = make_graph(small_lenet(), kNetworkInput);
  const auto all_reduce = [&](int ranks, BatchPlacement placement, bool sync_batch_norm) {
    return part(estimate_memory(graph,
                                {.devices = spread(ranks),
                                 .batch = 7,
                                 .sync_batch_norm = sync_batch_norm,
                                 .placement = placement},
                                Sgd::size(0)),
                "all-reduce");
  };
  EXPECT_EQ(all_reduce(1, BatchPlacement::sharded, true), 0);
  EXPECT_EQ(all_reduce(3, BatchPlacement::replicated, true), 0);
  EXPECT_GT(all_reduce(3, BatchPlacement::sharded, false), 0);
  EXPECT_GT(all_reduce(3, BatchPlacement::sharded, true), all_reduce(3, BatchPlacement::sharded, false));
}

// Images once on a device, their order once for each replica.
TEST(MemoryEstimate, ImagesTakeThat) {
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "only the executor counts bytes";
  for (const int64_t count : {1, 5, 100})
    for (const int replicas : {1, 2}) {
      DataParallel model(Sequential{Flatten(), Linear(3)}, kNetworkInput,
                         {.devices = std::vector<int>(static_cast<size_t>(replicas), 0), .batch = 2});
      const std::vector<uint8_t> bytes(static_cast<size_t>(count * kNetworkInput.size()));
      const std::vector<uint8_t> labels(static_cast<size_t>(count), 1);
      const int64_t before = free_bytes(0);
      const DeviceImages images(model, bytes, labels);
      const int64_t between = free_bytes(0);
      EXPECT_EQ(before - between, DeviceImages::bytes_on_device(count, kNetworkInput));
      {
        const std::vector<float> floats(bytes.size());
        const DeviceImages of_floats(model, floats, labels);
        EXPECT_EQ(between - free_bytes(0),
                  DeviceImages::bytes_on_device(count, kNetworkInput, DType::float32));
      }
      {
        const DeviceImages of_ints(model, bytes, std::vector<int32_t>(labels.size(), 1));
        EXPECT_EQ(between - free_bytes(0),
                  DeviceImages::bytes_on_device(count, kNetworkInput, DType::uint8, DType::int32));
      }
      const ShuffledBatches batches(model, images, 2, 1);
      EXPECT_EQ(between - free_bytes(0), replicas * ShuffledBatches::bytes_of_replica(count));
    }
}

TEST(MemoryEstimate, NamesItsParts) {
  const Graph graph = make_graph(mlp(), {1, 1, 1024});
  const MemoryEstimate plain = estimate_memory(graph, {.batch = 6912}, Adam::kSize),
                       less = estimate_memory(graph, {.batch = 6912, .checkpoint_layers = 10}, Adam::kSize);
  EXPECT_EQ(part(plain, "parameters"), graph.parameter_arena_size() * 4);
  EXPECT_EQ(part(plain, "gradients"), part(plain, "parameters"));
  EXPECT_EQ(part(plain, "optimizer"), 2 * part(plain, "parameters") + Adam::kSize.bytes);
  EXPECT_EQ(part(plain, "all-reduce"), 0);
  EXPECT_LT(part(less, "activations and their gradients"),
            part(plain, "activations and their gradients") / 4);
  EXPECT_EQ(plain.total() - less.total(),
            part(plain, "activations and their gradients") - part(less, "activations and their gradients"));
}

TEST(MemoryEstimate, SaysWhatDoesNotFit) {
  const int64_t free = free_bytes(0);
  EXPECT_TRUE(test::ok(check_fits({{{"parameters", 1000}, {"workspace", 24}}}, 0)));
  EXPECT_TRUE(test::ok(check_fits({{{"parameters", free}}}, 0)));
  EXPECT_EQ(check_fits({{{"parameters", free}, {"workspace", 1}}}, 0).code(), StatusCode::out_of_resources);
  const Status status = check_fits({{{"parameters", free}, {"workspace", 0}, {"gradients", 3 << 20}}}, 0);
  EXPECT_EQ(status.code(), StatusCode::out_of_resources);
  for (const char* part : {"training needs ", " free: parameters ", ", gradients 3.0 MiB"})
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find("workspace"), std::string::npos) << status.message();
  const Graph graph = make_graph(small_lenet(), kNetworkInput);
  EXPECT_THROW(estimate_memory(graph, {.batch = -1}, {}), Error);
  EXPECT_THROW(estimate_memory(graph, {.batch = 1}, {.arenas = -1}), Error);
  EXPECT_THROW(estimate_memory(graph, {.devices = {}, .batch = 1}, {}), Error);
  for (const int64_t batch : {(int64_t{1} << 31) + 1, int64_t{1} << 62})
    EXPECT_EQ(test::error_of([&] { estimate_memory(graph, {.batch = batch}, {}); }),
              concat("DataParallel: the batch is ", batch, ", must be at most 2147483648"));
  EXPECT_EQ(
      test::error_of([&] { estimate_memory(graph, {.devices = std::vector<int>(65), .batch = 65}, {}); }),
      "communicator: there are 65 ranks, must be 1 to 64");
}

TEST(MemoryEstimate, SumsDoNotOverflow) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const MemoryEstimate huge = {{{"parameters", kMost - 1}, {"gradients", 2}}};
  EXPECT_EQ(huge.total(), kMost);
  EXPECT_EQ(check_fits(huge, 0).code(), StatusCode::out_of_resources);
  EXPECT_EQ((MemoryEstimate{{{"parameters", kMost - 2}, {"gradients", 2}}}.total()), kMost);

  const Graph graph = make_graph(Linear(1 << 24), {1, 1, 1 << 24});  // 2^50 bytes
  const OptimizerSize sizes[] = {
      {.arenas = 1 << 13}, {.arenas = 1 << 14}, {.arenas = 1 << 30}, {.arenas = 8191, .bytes = kMaxBytes}};
  for (const OptimizerSize& size : sizes) {
    const MemoryEstimate estimate = estimate_memory(graph, {.batch = 1}, size);
    EXPECT_GE(part(estimate, "optimizer"), int64_t{8191} << 50) << size.arenas;
    EXPECT_EQ(check_fits(estimate, 0).code(), StatusCode::out_of_resources) << size.arenas;
  }
  EXPECT_EQ(test::error_of([&] { estimate_memory(graph, {.batch = 1}, {.bytes = kMaxBytes + 1}); }),
            concat("memory estimate: the optimizer has 0 arenas and ", kMaxBytes + 1,
                   " bytes beside them, must be at least 0, and the bytes at most ", kMaxBytes));
}

}  // namespace
}  // namespace rondo::nn

// The four strategies take the same steps in any order of execution, with the documented memory and traffic.
// The file exceeds 400 lines because every property is checked for all four on the same networks and runs.
#include <gtest/gtest.h>

#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/strategies/pipeline_parallel.h>
#include <rondo/nn/strategies/strategy.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/late_copies.h>
#include <rondo/tests/support/random_order.h>

#include <map>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::distance;
using test::normal_values;

// A network, the shape of its input, and whether it is trained on labels or target values.
struct Task {
  const char* name;
  AnyModule network;
  Shape input;
  bool by_label;
};

Task lenet_task() { return {"lenet", lenet(), {28, 28, 1}, true}; }
Task mlp_task() { return {"mlp", mlp(3, 22, 5), {1, 1, 17}, false}; }
// Fewer outputs than ranks, nested Sequentials, and Flattens at the beginning and between ReLUs.
Task odd_task() {
  return {"odd",
          Sequential{Flatten(), Linear(99), Sequential{ReLU(), Linear(3)}, ReLU(), Linear(2), Flatten(),
                     ReLU(), Linear(7)},
          {5, 5, 3},
          true};
}
// Strides, padding, max pooling, no bias, a ReLU that cannot be fused, and fewer channels than ranks.
Task conv_task() {
  return {"conv",
          Sequential{Conv2d(6, 3, {.stride = 2, .padding = 1, .bias = false}), MaxPool2d(2), ReLU(),
                     Conv2d(3, 2), ReLU(), GlobalAvgPool(), Flatten(), Linear(4)},
          {9, 9, 2},
          true};
}

struct HostBatch {
  std::vector<float> x, targets;
  std::vector<int32_t> labels;
  Batch view() const { return {x, labels, targets}; }
};

HostBatch some_batch(const Task& task, int64_t size, uint64_t seed) {
  const int64_t outputs = make_graph(task.network, task.input).output().shape.size();
  HostBatch batch{normal_values(size * task.input.size(), seed), {}, {}};
  test::Random random(seed);
  if (!task.by_label) batch.targets = normal_values(size * outputs, seed + 1000);
  for (int64_t i = 0; task.by_label && i < size; ++i)
    batch.labels.push_back(static_cast<int32_t>(random.below(outputs)));
  return batch;
}

StrategyOptions options_for(int ranks, int64_t micro_batches = 4) {
  StrategyOptions options;
  options.devices.clear();
  for (int rank = 0; rank < ranks; ++rank) options.devices.push_back(rank % device_count());
  options.batch = 13;
  options.learning_rate = 0.05f;
  options.seed = 5;
  options.micro_batches = micro_batches;
  return options;
}

struct Trained {
  std::vector<double> losses;  // per step
  std::vector<float> parameters;
};

// Several steps, including uneven batches and one with fewer samples than ranks and micro-batches.
Trained train(Strategy& strategy, const Task& task) {
  Trained trained;
  uint64_t seed = 1;
  for (int64_t size : {13, 13, 7, 2, 13}) {
    strategy.train_step(some_batch(task, size, ++seed).view());
    const LossStats loss_stats = strategy.take_loss_stats();
    EXPECT_EQ(loss_stats.rows, size);
    trained.losses.push_back(loss_stats.loss);
  }
  trained.parameters = strategy.parameters();
  return trained;
}

Trained train(StrategyKind kind, const Task& task, const StrategyOptions& options) {
  return train(*make_strategy(kind, task.network, task.input, options), task);
}

// The host overwrites each batch right after the call.
TEST(Strategies, TheBatchMayBeOverwrittenAtOnce) {
  const test::LateCopies late;
  for (const Task& task : {mlp_task(), odd_task()})
    for (const StrategyKind kind : kStrategies) {
      std::vector<float> parameters[2];
      for (const bool overwritten : {false, true}) {
        const auto strategy = make_strategy(kind, task.network, task.input, options_for(2));
        for (uint64_t step = 1; step <= 4; ++step) {
          HostBatch batch = some_batch(task, 13, step);
          strategy->train_step(batch.view());
          if (!overwritten) strategy->take_loss_stats();
          std::fill(batch.x.begin(), batch.x.end(), 100.0f);
          std::fill(batch.targets.begin(), batch.targets.end(), 100.0f);
          std::fill(batch.labels.begin(), batch.labels.end(), 0);
        }
        parameters[overwritten] = strategy->parameters();
      }
      EXPECT_TRUE(all_equal_bits(parameters[0], parameters[1])) << task.name << ", " << name_of(kind);
    }
}

// Both bounds are documented in docs/strategies.md.
constexpr double kLossBound = 1e-5, kParameterBound = 1e-5;

// 2048 samples are summed in eight parts, 2049 in seven.
TEST(Strategies, HaveTheWorkspaceOfEverySmallerBatch) {
  const AnyModule network = Sequential{Linear(16), ReLU(), Linear(10)};
  constexpr Shape kInput = {1, 1, 8};
  const Graph graph = make_graph(network, kInput);
  for (const Graph::Node& node : graph.nodes())
    EXPECT_LT(node.op->workspace_bytes(2049), node.op->workspace_bytes(2048));
  for (const StrategyKind kind : kStrategies) {
    SCOPED_TRACE(name_of(kind));
    // In data parallelism each rank has a half of the batch.
    const int64_t most = kind == StrategyKind::data ? 2 * 2049 : 2049;
    const std::vector<int> devices = options_for(kind == StrategyKind::single ? 1 : 2).devices;
    const auto strategy =
        make_strategy(kind, network, kInput, {.devices = devices, .batch = most, .micro_batches = 1});
    for (const int64_t size : {most, most - most / 2049}) {
      const std::vector<float> x = normal_values(size * kInput.size(), 1);
      const std::vector<int32_t> labels(static_cast<size_t>(size), 3);
      EXPECT_NO_THROW(strategy->train_step({x, labels, {}})) << size;
    }
    EXPECT_EQ(strategy->take_loss_stats().rows, most + most - most / 2049);
  }
}

TEST(Strategies, AllTakeTheStepsOfOneDevice) {
  for (const Task& task : {lenet_task(), mlp_task(), conv_task(), odd_task()}) {
    auto untouched = make_strategy(StrategyKind::single, task.network, task.input, options_for(1));
    const std::vector<float> before = untouched->parameters();
    const Trained one = train(*untouched, task);
    EXPECT_GT(distance(one.parameters, before), 1e-3) << task.name << ": nothing was learned";
    for (const StrategyKind kind : {StrategyKind::pipeline, StrategyKind::tensor, StrategyKind::data})
      for (int ranks : {1, 2, 3, 4})
        for (int64_t micro_batches : {1, 2, 5, 40}) {
          if (kind != StrategyKind::pipeline && micro_batches > 1) continue;
          SCOPED_TRACE(concat(task.name, ", ", name_of(kind), ", ", ranks, " ranks, ", micro_batches,
                              " micro-batches"));
          auto strategy = make_strategy(kind, task.network, task.input, options_for(ranks, micro_batches));
          EXPECT_TRUE(all_equal_bits(strategy->parameters(), before)) << "another beginning";
          const Trained many = train(*strategy, task);
          EXPECT_LE(distance(many.parameters, one.parameters), kParameterBound);
          EXPECT_TRUE(test::all_near(many.losses, one.losses, 0, kLossBound));
        }
  }
}

// With one micro-batch every kernel works on the same sizes as on one device.
TEST(Strategies, OneMicroBatchGivesTheBitsOfOneDevice) {
  for (const Task& task : {lenet_task(), mlp_task(), conv_task(), odd_task()}) {
    const Trained one = train(StrategyKind::single, task, options_for(1));
    for (int ranks : {1, 2, 3, 4}) {
      SCOPED_TRACE(concat(task.name, ", ", ranks, " ranks"));
      const Trained many = train(StrategyKind::pipeline, task, options_for(ranks, 1));
      EXPECT_TRUE(all_equal_bits(many.parameters, one.parameters));
      EXPECT_EQ(many.losses, one.losses);
    }
    EXPECT_TRUE(all_equal_bits(train(StrategyKind::tensor, task, options_for(1)).parameters, one.parameters));
  }
}

// The result must not depend on the streams' execution order; a missing event would show. The host does not
// wait between steps, so that they overlap.
TEST(Strategies, NoOrderOfExecutionShows) {
  for (const StrategyKind kind : {StrategyKind::pipeline, StrategyKind::tensor})
    for (const Task& task : {mlp_task(), conv_task(), odd_task()}) {
      std::vector<float> first;
      std::vector<HostBatch> batches;
      for (int64_t size : {13, 7, 3, 13})
        batches.push_back(some_batch(task, size, static_cast<uint64_t>(size)));
      for (uint64_t seed = 0; seed < 12; ++seed) {
        std::optional<test::RandomOrder> order;
        if (seed > 0) order.emplace(seed);
        auto strategy = make_strategy(kind, task.network, task.input, options_for(3));
        for (const HostBatch& batch : batches) strategy->train_step(batch.view());
        const std::vector<float> after = strategy->parameters();
        if (first.empty()) first = after;
        EXPECT_TRUE(all_equal_bits(after, first)) << task.name << ", " << name_of(kind) << ", seed " << seed;
      }
    }
}

// Here the first and the last rank share a device.
TEST(Strategies, RanksMayShareADevice) {
  const int other = device_count() > 1 ? 1 : 0;
  for (const StrategyKind kind : {StrategyKind::pipeline, StrategyKind::tensor}) {
    StrategyOptions shared = options_for(3);
    shared.devices = {other, 0, other};
    EXPECT_TRUE(all_equal_bits(train(kind, conv_task(), shared).parameters,
                               train(kind, conv_task(), options_for(3)).parameters));
  }
}

// Random numbers depend on the position in the network and in the batch, not on stage and micro-batch.
TEST(Strategies, ANetworkThatIsCutDropsTheSame) {
  const Task task = {"dropout",
                     Sequential{Linear(20), Dropout(0.3f), ReLU(), Linear(9), Dropout(0.4f), Linear(4)},
                     {1, 1, 6},
                     true};
  const Trained one = train(StrategyKind::single, task, options_for(1));
  EXPECT_EQ(train(StrategyKind::pipeline, task, options_for(4, 1)).losses, one.losses);
  EXPECT_TRUE(test::all_near(train(StrategyKind::pipeline, task, options_for(4, 5)).losses, one.losses, 0,
                             kLossBound));
}

// ---- Splitting a network ----

TEST(Strategies, StagesKeepFusedOperations) {
  const std::vector<StagePart> parts = stage_parts(lenet(), {28, 28, 1}, 10);
  std::vector<size_t> modules;
  std::vector<int> nodes;
  for (const StagePart& part : parts) modules.push_back(part.modules.size()), nodes.push_back(part.nodes);
  // conv + ReLU, pool, conv + ReLU, pool + Flatten, linear + ReLU, linear
  EXPECT_EQ(modules, (std::vector<size_t>{2, 1, 2, 2, 2, 1}));
  EXPECT_EQ(nodes, (std::vector<int>{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(parts[2].input, (Shape{13, 13, 20}));
  // Forward, the gradient of the filters and the update, but no gradient of the network's input.
  const double conv1 = 2.0 * 26 * 26 * 20 * 9;
  EXPECT_EQ(parts[0].cost, 2 * 10 * conv1 + 2 * (20 * 9 + 20));
  const double linear = 2.0 * 128 * 10;
  EXPECT_EQ(parts[5].cost, 3 * 10 * linear + 2 * (1280 + 10));
}

TEST(Strategies, ModulesWithoutOperationsMakeNoStage) {
  const std::vector<StagePart> parts =
      stage_parts(Sequential{Flatten(), Flatten(), Linear(4), Flatten(), Linear(3)}, {2, 2, 1}, 10);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].modules.size(), 4u);
  EXPECT_EQ(parts[1].modules.size(), 1u);
}

std::vector<std::pair<size_t, size_t>> sizes_and_parts(size_t most) {
  std::vector<std::pair<size_t, size_t>> all;
  for (size_t size = 1; size <= most; ++size)
    for (size_t parts = 1; parts <= size; ++parts) all.emplace_back(size, parts);
  return all;
}

TEST(Strategies, TheMostExpensiveStageCostsLeast) {
  test::Random random(3);
  int against_squares = 0;  // cases where the least sum of squares alone gives another split
  for (int draw = 0; draw < 40; ++draw)
    for (const auto& [size, parts] : sizes_and_parts(7)) {
      std::vector<double> costs;
      for (size_t i = 0; i < size; ++i) costs.push_back(static_cast<double>(random.below(20)));
      // First the most expensive part, then the sum of squares.
      const auto value_of = [&](const std::vector<size_t>& begins) {
        double most = 0, squares = 0;
        for (size_t k = 0; k < begins.size(); ++k) {
          double sum = 0;
          for (size_t i = begins[k]; i < (k + 1 < begins.size() ? begins[k + 1] : size); ++i) sum += costs[i];
          most = std::max(most, sum);
          squares += sum * sum;
        }
        return std::pair(most, squares);
      };
      std::pair<double, double> least = {1e9, 0}, of_least_squares = {0, 1e9};
      for (unsigned cuts = 0; cuts < 1u << (size - 1); ++cuts) {  // bit i: a part begins at i + 1
        std::vector<size_t> begins = {0};
        for (size_t i = 0; i + 1 < size; ++i)
          if (cuts >> i & 1) begins.push_back(i + 1);
        if (begins.size() != parts) continue;
        const std::pair<double, double> value = value_of(begins);
        least = std::min(least, value);
        if (value.second < of_least_squares.second) of_least_squares = value;
      }
      against_squares += of_least_squares.first > least.first;
      const std::vector<size_t> begins = balanced_parts(costs, parts);
      ASSERT_EQ(begins.size(), parts);
      EXPECT_EQ(begins[0], 0u);
      for (size_t k = 1; k < parts; ++k) EXPECT_LT(begins[k - 1], begins[k]);
      ASSERT_EQ(value_of(begins), least);
    }
  EXPECT_GT(against_squares, 0);
}

// ---- Memory ----

std::map<int, int64_t> used_bytes() {
  std::map<int, int64_t> used;
  for (int device = 0; device < device_count(); ++device) {
    const DeviceScope scope(device);
    size_t free = 0, total = 0;
    RONDO_CUDA_THROW(cudaMemGetInfo(&free, &total));
    used[device] = static_cast<int64_t>(total - free);
  }
  return used;
}

TEST(Strategies, MemoryIsWhatTheRuntimeCounts) {
  if (platform() != std::string("cpu")) GTEST_SKIP() << "a GPU hands out memory in large units";
  for (const Task& task : {lenet_task(), odd_task()})
    for (const StrategyKind kind : kStrategies)
      for (int ranks : {1, 3}) {
        SCOPED_TRACE(concat(task.name, ", ", name_of(kind), ", ", ranks, " ranks"));
        const auto before = used_bytes();
        auto strategy = make_strategy(kind, task.network, task.input, options_for(ranks));
        strategy->train_step(some_batch(task, 13, 1).view());
        strategy->take_loss_stats();
        std::map<int, int64_t> said = before;
        for (const RankMemory& rank : strategy->memory()) said[rank.device] += rank.total();
        EXPECT_EQ(used_bytes(), said);
        strategy.reset();
        EXPECT_EQ(used_bytes(), before);
      }
}

// Each of the ranks of a device has a share of the buffers.
TEST(Strategies, RanksOfOneDeviceShareItsBuffers) {
  if (platform() != std::string("cpu")) GTEST_SKIP() << "a GPU hands out memory in large units";
  const Task task = lenet_task();
  StrategyOptions options = options_for(2);
  options.devices = {0, 0};
  const int64_t before = used_bytes()[0];
  const auto strategy = make_strategy(StrategyKind::data, task.network, task.input, options);
  strategy->train_step(some_batch(task, 13, 1).view());
  strategy->take_loss_stats();
  int64_t said = 0;
  for (const RankMemory& rank : strategy->memory()) said += rank.total();
  EXPECT_NEAR(static_cast<double>(used_bytes()[0] - before), static_cast<double>(said), 4);
}

// The formulas of docs/strategies.md, in bytes, for n ranks.
TEST(Strategies, MemoryIsWhatTheFormulasSay) {
  const Task task = lenet_task();
  const StrategyOptions options = options_for(3);
  const Graph graph = make_graph(task.network, task.input);
  const auto memory = [&](StrategyKind kind) {
    return make_strategy(kind, task.network, task.input, options)->memory();
  };
  const int64_t p = 4 * graph.parameter_arena_size(), a = 4 * plan_training(graph, 13).size;
  const RankMemory single = memory(StrategyKind::single).at(0);
  EXPECT_EQ(single.parameters, p);
  EXPECT_EQ(single.gradients, p);
  EXPECT_EQ(single.activations, a);

  const std::vector<StagePart> stages = stages_of(task.network, task.input, 13, 3);
  const std::vector<RankMemory> network = memory(StrategyKind::pipeline);
  int64_t sum = 0;
  for (size_t s = 0; s < 3; ++s) {
    const Graph stage = make_graph(Sequential(stages[s].modules), stages[s].input);
    EXPECT_EQ(network[s].parameters, 4 * stage.parameter_arena_size());
    EXPECT_EQ(network[s].gradients, network[s].parameters);
    EXPECT_EQ(network[s].activations, 4 * 4 * plan_training(stage, 4, {.input_gradient = s > 0}).size);
    sum += network[s].parameters;
  }
  EXPECT_EQ(sum, p);

  sum = 0;
  for (const RankMemory& rank : memory(StrategyKind::tensor)) {
    EXPECT_EQ(rank.gradients, rank.parameters);
    EXPECT_NEAR(static_cast<double>(rank.parameters), static_cast<double>(p) / 3,
                0.05 * static_cast<double>(p));
    sum += rank.parameters;
  }
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(p), 3 * 8 * 3 * 4);  // gaps between the tensors

  for (const RankMemory& rank : memory(StrategyKind::data)) {
    EXPECT_EQ(rank.parameters, p);
    EXPECT_EQ(rank.activations, 4 * plan_training(graph, 5).size);
  }
}

// ---- Traffic ----

int64_t sent_by_a_step(StrategyKind kind, const Task& task, const StrategyOptions& options, int64_t size) {
  auto strategy = make_strategy(kind, task.network, task.input, options);
  strategy->train_step(some_batch(task, size, 1).view());
  const int64_t once = strategy->sent_bytes();
  strategy->train_step(some_batch(task, size, 2).view());
  EXPECT_EQ(strategy->sent_bytes(), 2 * once);
  strategy->take_loss_stats();
  return once;
}

TEST(Strategies, TrafficIsWhatTheFormulasSay) {
  const Task task = lenet_task();
  // Floats per sample that each layer of LeNet passes on, after pooling.
  const int64_t gathered[] = {13 * 13 * 20, 4 * 4 * 50, 128, 10};
  for (int64_t n : {1, 2, 3, 4})
    for (int64_t size : {13, 3}) {
      const auto ranks = static_cast<int>(n);
      SCOPED_TRACE(concat(n, " ranks, ", size, " samples"));
      EXPECT_EQ(sent_by_a_step(StrategyKind::single, task, options_for(ranks), size), 0);
      int64_t cuts = 0;
      for (const StagePart& stage : stages_of(task.network, task.input, 13, static_cast<size_t>(n)))
        if (stage.first_node > 0) cuts += stage.input.size();
      for (int64_t micro_batches : {1, 5})
        EXPECT_EQ(sent_by_a_step(StrategyKind::pipeline, task, options_for(ranks, micro_batches), size),
                  2 * 4 * size * cuts);
      int64_t all = 0;
      for (int64_t one : gathered) all += one;
      EXPECT_EQ(sent_by_a_step(StrategyKind::tensor, task, options_for(ranks), size),
                4 * size * (n - 1) * (2 * all - gathered[3]));
      EXPECT_EQ(sent_by_a_step(StrategyKind::data, task, options_for(ranks), size),
                2 * (n - 1) * 4 * make_graph(task.network, task.input).parameter_arena_size());
    }
}

// ---- Errors ----

testing::AssertionResult says(const std::string& text, const char* part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << text;
}

TEST(Strategies, RefuseWhatTheyCannotCut) {
  const auto made = [](StrategyKind kind, const AnyModule& network, const StrategyOptions& options) {
    return test::error_of([&] { make_strategy(kind, network, {6, 6, 2}, options); });
  };
  const AnyModule normalised = Sequential{Conv2d(4, 3), BatchNorm2d(), ReLU(), Flatten(), Linear(3)};
  EXPECT_TRUE(says(made(StrategyKind::pipeline, normalised, options_for(2)), "the network must have none"));
  EXPECT_TRUE(says(made(StrategyKind::tensor, normalised, options_for(2)), "has the layer 'batch norm"));
  EXPECT_TRUE(says(made(StrategyKind::tensor, Sequential{Linear(3), Dropout(0.5f)}, options_for(2)),
                   "has the layer 'dropout 0.5'"));
  EXPECT_TRUE(says(made(StrategyKind::pipeline, Sequential{Linear(3), ReLU(), Linear(2)}, options_for(3)),
                   "3 devices, must be at most 2"));
  for (const StrategyKind kind : kStrategies) {
    SCOPED_TRACE(name_of(kind));
    StrategyOptions options = options_for(2);
    options.devices = {};
    EXPECT_TRUE(says(made(kind, Linear(3), options), "the list of devices is empty"));
    options.devices = {0, -1};
    EXPECT_TRUE(says(made(kind, Linear(3), options), "the device of rank 1 is -1, must be at least 0"));
    options.devices = {device_count()};
    EXPECT_TRUE(says(made(kind, Linear(3), options), "the device of rank 0 is"));
    options = options_for(1);
    options.batch = 0;
    EXPECT_TRUE(says(made(kind, Linear(3), options), "the batch is 0, must be at least 1"));
    options = options_for(1);
    options.micro_batches = 0;
    EXPECT_TRUE(says(made(kind, Linear(3), options), "there are 0 micro-batches"));
    options = options_for(1);
    options.learning_rate = -1;
    EXPECT_TRUE(says(made(kind, Linear(3), options), "the learning rate is -1"));
  }
}

TEST(Strategies, RefuseABatchThatDoesNotFit) {
  for (const StrategyKind kind : kStrategies) {
    SCOPED_TRACE(name_of(kind));
    auto strategy = make_strategy(kind, Linear(3), {1, 1, 4}, options_for(1));
    const std::vector<float> x(56), targets(39);
    const std::vector<int32_t> labels(13);
    const std::span<const float> two(x.data(), 8);
    EXPECT_TRUE(says(test::error_of([&] {
                       strategy->train_step({x, labels});
                     }),
                     "has 56 values, must have 4 for each of 1 to 13"));
    EXPECT_TRUE(says(test::error_of([&] {
                       strategy->train_step({std::span(x).first(7), labels});
                     }),
                     "has 7 values"));
    EXPECT_TRUE(says(test::error_of([&] { strategy->train_step({two}); }),
                     "0 labels and 0 target values for 2 samples"));
    EXPECT_TRUE(says(test::error_of([&] { strategy->train_step({two, labels}); }), "13 labels"));
    EXPECT_TRUE(says(test::error_of([&] { strategy->train_step({two, {}, targets}); }), "39 target values"));
    const std::vector<int32_t> beyond = {2, 3};
    EXPECT_TRUE(says(test::error_of([&] {
                       strategy->train_step({two, beyond});
                     }),
                     "the label of sample 1 is 3, must be 0 to 2, for the network's 3 outputs"));
    EXPECT_TRUE(says(test::error_of([&] {
                       strategy->train_step({two, std::span(labels).first(2), targets});
                     }),
                     "must be 2 labels or 6"));
    EXPECT_EQ(strategy->take_loss_stats().rows, 0);
  }
}

}  // namespace
}  // namespace rondo::nn

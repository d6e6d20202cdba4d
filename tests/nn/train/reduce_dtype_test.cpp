// Gradients that are all-reduced in bfloat16: the documented roundings and order of additions, and what they
// must not change.
#include <gtest/gtest.h>

#include <rondo/collectives/ring_schedule.h>
#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/diagnostics/memory_estimate.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/train/gradient_exchange.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/random_order.h>
#include <rondo/tests/support/status_checks.h>

#include <bit>
#include <limits>
#include <memory>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::error_of;
using test::gradients_of;
using test::kSmallInput;
using test::normal_values;
using test::parameters_of;
using test::small_network;
using test::some_labels;
using test::spread;

DataParallelOptions options_for(int ranks, DType reduce_dtype = DType::bfloat16) {
  DataParallelOptions options = test::small_options(ranks);
  options.reduce_dtype = reduce_dtype;
  return options;
}

// No batch normalisation and no random layer: the gradient of a shard does not depend on the other shards.
AnyModule without_exchange() {
  return Sequential{
      Conv2d(6, 3, {.padding = 1}), ReLU(), MaxPool2d(2), Flatten(), Linear(16), ReLU(), Linear(4)};
}

// Finite values; to nearest even.
float rounded(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bits += 0x7fff + (bits >> 16 & 1);
  return std::bit_cast<float>(bits & 0xffff0000u);
}

// A batch of 11 samples: the shards of several replicas differ in size.
constexpr int64_t kBatch = 11;

struct Case {
  int ranks;
  Algorithm algorithm;
  int64_t micro_batches;
  DType reduce_dtype = DType::bfloat16;

  DataParallelOptions options() const {
    DataParallelOptions options = options_for(ranks, reduce_dtype);
    options.algorithm = algorithm;
    options.micro_batches = micro_batches;
    // In groups of one the order is that of direct.
    if (algorithm == Algorithm::hierarchical) options.group_size = 1;
    return options;
  }
  // The same on one device.
  DataParallelOptions alone() const {
    DataParallelOptions options = this->options();
    options.devices = {0};
    options.batch = samples_per_replica(this->options()) * micro_batches;
    options.algorithm = Algorithm::automatic;
    return options;
  }
};

// The gradients of each replica's shard before the exchange, from a model on one device with the same memory.
std::vector<std::vector<float>> gradients_of_shards(const Case& c) {
  const std::vector<float> x = normal_values(kBatch * kSmallInput.size(), 3);
  const std::vector<int32_t> labels = some_labels(kBatch, 4);
  std::vector<std::vector<float>> all;
  for (int rank = 0; rank < c.ranks; ++rank) {
    const Shard shard = shard_of(kBatch, rank, c.ranks);
    DataParallel model(without_exchange(), kSmallInput, c.alone());
    Sgd sgd(model, {.learning_rate = 0});
    model.train_step(
        std::span(x).subspan(static_cast<size_t>(shard.first * kSmallInput.size()),
                             static_cast<size_t>(shard.size * kSmallInput.size())),
        std::span(labels).subspan(static_cast<size_t>(shard.first), static_cast<size_t>(shard.size)), sgd);
    all.push_back(gradients_of(model, 0));
  }
  return all;
}

// The sum over the replicas as documented in collectives.h: in fp32, from rank 0 on; with the ring, from the
// rank with the number of the chunk on.
std::vector<float> sum_of(std::vector<std::vector<float>> shards, const Case& c) {
  const bool rounds = c.reduce_dtype == DType::bfloat16;
  const auto in_dtype = [&](float value) { return rounds ? rounded(value) : value; };
  const Graph graph = make_graph(without_exchange(), kSmallInput);
  std::vector<float> sum(static_cast<size_t>(graph.parameter_arena_size()));
  for (const GradientBucket& bucket : gradient_buckets(graph, c.options().bucket_bytes))
    for (int index = 0; index < c.ranks; ++index) {
      const ring::Chunk chunk = ring::chunk_of(bucket.size, c.ranks, index, size_of(c.reduce_dtype));
      const int first = c.algorithm == Algorithm::ring ? index : 0;
      for (int64_t i = 0; i < chunk.size; ++i) {
        const auto element = static_cast<size_t>(bucket.begin + chunk.begin + i);
        float value = in_dtype(shards[static_cast<size_t>(first)][element]);
        for (int next = 1; next < c.ranks; ++next)
          value += in_dtype(shards[static_cast<size_t>((first + next) % c.ranks)][element]);
        sum[element] = in_dtype(value);
      }
    }
  return sum;
}

std::vector<float> after_one_step_with(const std::vector<float>& gradients, const Case& c) {
  DataParallel model(without_exchange(), kSmallInput, c.alone());
  Sgd sgd(model, {.learning_rate = 0.05f});
  Replica& replica = model.replicas()[0];
  RONDO_CUDA_THROW(cudaMemcpyAsync(replica.gradients().data, gradients.data(),
                                   gradients.size() * sizeof(float), cudaMemcpyHostToDevice,
                                   replica.stream()));
  sgd.step(replica, 0, 1.0f / static_cast<float>(kBatch));
  return parameters_of(model);
}

TEST(ReduceDtype, EachReplicaRoundsOnceAndTheSumOnce) {
  for (const int ranks : {2, 3, 4})
    for (const Algorithm algorithm :
         {Algorithm::direct, Algorithm::root, Algorithm::ring, Algorithm::hierarchical})
      for (const int64_t micro_batches : {1, 2}) {
        const Case c = {ranks, algorithm, micro_batches};
        SCOPED_TRACE(concat(ranks, " ranks, ", name_of(algorithm), ", ", micro_batches, " micro-batches"));
        DataParallel model(without_exchange(), kSmallInput, c.options());
        ASSERT_GE(gradient_buckets(model.graph(), c.options().bucket_bytes).size(), 2u);
        Sgd sgd(model, {.learning_rate = 0.05f});
        model.train_step(normal_values(kBatch * kSmallInput.size(), 3), some_labels(kBatch, 4), sgd);
        const auto shards = gradients_of_shards(c);
        const std::vector<float> want = sum_of(shards, c);
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_TRUE(all_equal_bits(gradients_of(model, static_cast<size_t>(rank)), want))
              << "rank " << rank;
        EXPECT_TRUE(all_equal_bits(parameters_of(model), after_one_step_with(want, c)));
        EXPECT_EQ(differing_values(model), 0);
        // The reference can tell the types apart.
        EXPECT_FALSE(all_equal_bits(sum_of(shards, {ranks, algorithm, micro_batches, DType::float32}), want));
      }
}

// The same reference without rounding: what the trainer does by default.
TEST(ReduceDtype, Float32IsNotRounded) {
  for (const int ranks : {2, 3}) {
    const Case c = {ranks, Algorithm::ring, 2, DType::float32};
    DataParallel model(without_exchange(), kSmallInput, c.options());
    Sgd sgd(model);
    model.train_step(normal_values(kBatch * kSmallInput.size(), 3), some_labels(kBatch, 4), sgd);
    EXPECT_TRUE(all_equal_bits(gradients_of(model, 0), sum_of(gradients_of_shards(c), c)))
        << ranks << " ranks";
  }
}

// Batches of several sizes, also with fewer samples than replicas, repeated until their steps are replayed.
std::vector<float> train(DataParallel& model, Optimizer& optimizer) {
  for (const int64_t batch : {12, 12, 7, 2, 12, 7, 12, 2, 7, 12})
    model.train_step(normal_values(batch * kSmallInput.size(), static_cast<uint64_t>(batch)),
                     some_labels(batch, 4), optimizer);
  return parameters_of(model);
}
std::vector<float> trained(const DataParallelOptions& options, bool traced = false) {
  DataParallel model(small_network(), kSmallInput, options);
  Sgd sgd(model, {.learning_rate = 0.05f, .momentum = 0.9f});
  Trace trace(model.options().devices);
  if (traced) model.set_trace(&trace);
  const std::vector<float> after = train(model, sgd);
  EXPECT_EQ(differing_values(model), 0);
  return after;
}

TEST(ReduceDtype, AllReplicasTakeTheSameSteps) {
  const std::vector<float> one = trained(options_for(1));
  for (const int ranks : {2, 3, 4}) {
    EXPECT_LE(test::distance(trained(options_for(ranks, DType::float32)), one), 1e-4) << ranks << " ranks";
    const double rounding = test::distance(trained(options_for(ranks)), one);
    EXPECT_LE(rounding, 5e-3) << ranks << " ranks";
    EXPECT_GE(rounding, 1e-4) << ranks << " ranks: nothing was rounded";
  }
  DataParallelOptions groups = options_for(4);
  groups.group_size = 2;
  EXPECT_LE(test::distance(trained(groups), one), 5e-3);
}

// With a trace, steps are enqueued call by call; without one, they are replayed.
TEST(ReduceDtype, BucketsGraphsAndOrderChangeNothing) {
  const auto options = [](int64_t bucket_bytes) {
    DataParallelOptions options = options_for(3);
    options.bucket_bytes = bucket_bytes;
    options.algorithm = Algorithm::direct;
    options.micro_batches = 2;
    return options;
  };
  const std::vector<float> first = trained(options(1 << 30), true);
  for (const int64_t bucket_bytes : {1, 3000, 1 << 30}) {
    EXPECT_TRUE(all_equal_bits(trained(options(bucket_bytes)), first)) << bucket_bytes << " bytes";
    for (const uint64_t seed : {1, 2, 3}) {
      const test::RandomOrder order(seed);
      EXPECT_TRUE(all_equal_bits(trained(options(bucket_bytes)), first))
          << bucket_bytes << " bytes, seed " << seed;
    }
  }
}

TEST(ReduceDtype, DeviceCountInvarianceHolds) {
  const auto invariant = [](int devices, DType reduce_dtype) {
    return trained(with_device_count_invariance(options_for(devices, reduce_dtype)));
  };
  const std::vector<float> one = invariant(1, DType::bfloat16);
  for (const int devices : {2, 3, 4})
    EXPECT_TRUE(all_equal_bits(invariant(devices, DType::bfloat16), one)) << devices << " devices";
  EXPECT_FALSE(all_equal_bits(invariant(1, DType::float32), one)) << "nothing was rounded";
}

TEST(ReduceDtype, NothingIsRoundedWhereNothingIsExchanged) {
  const std::vector<float> one = trained(options_for(1, DType::float32));
  EXPECT_TRUE(all_equal_bits(trained(options_for(1)), one));
  DataParallelOptions replicated = options_for(3);
  replicated.placement = BatchPlacement::replicated;
  EXPECT_TRUE(all_equal_bits(trained(replicated), one));
}

// The bands are about twice the largest relative difference of ten seeds: 5 % after 50 steps, and 46 % after
// 150, where the loss is a ten-thousandth of the first.
TEST(ReduceDtype, LearnsAsWithFloat32) {
  const std::vector<float> x = normal_values(32 * 5, 1);
  std::vector<float> targets;
  for (size_t i = 0; i < 32; ++i) {
    targets.push_back(x[5 * i] - x[5 * i + 1]);
    targets.push_back(std::abs(x[5 * i + 2]));
  }
  const auto losses = [&](DType reduce_dtype, uint64_t seed) {
    DataParallel model(mlp(3, 24, 2), {1, 1, 5},
                       {.devices = spread(3), .batch = 32, .seed = seed, .reduce_dtype = reduce_dtype});
    Adam adam(model, {.learning_rate = 1e-2f});
    std::vector<double> all;
    for (int step = 0; step < 151; ++step) {
      model.train_step(x, targets, adam);
      all.push_back(model.take_loss_stats().loss);
    }
    EXPECT_EQ(differing_values(model), 0);
    return all;
  };
  for (const uint64_t seed : {0, 4}) {
    const std::vector<double> fp32 = losses(DType::float32, seed), bf16 = losses(DType::bfloat16, seed);
    EXPECT_NEAR(bf16[50], fp32[50], 0.1 * fp32[50]) << "seed " << seed;
    EXPECT_LE(bf16[50], 0.02 * bf16[0]) << "seed " << seed;
    EXPECT_NEAR(bf16[150], fp32[150], fp32[150]) << "seed " << seed;
    EXPECT_LE(bf16[150], 5e-4 * bf16[0]) << "seed " << seed;
    EXPECT_NE(bf16[150], fp32[150]) << "nothing was rounded";
  }
}

// Stops after `steps` steps.
class StopAfter : public FitObserver {
 public:
  explicit StopAfter(int64_t steps) : left_(steps) {}
  bool stop() override { return --left_ == 0; }

 private:
  int64_t left_;
};

TEST(ReduceDtype, ATrainingGoesOnBitForBit) {
  const FashionMnist data = test::small_data(70, 20);
  for (const int ranks : {2, 3}) {
    const auto train_from = [&](const std::string& from, const std::string& to, int64_t stop_after) {
      DataParallelOptions options = options_for(ranks);
      options.batch = 16;
      options.micro_batches = 2;
      DataParallel model(lenet(), {28, 28, 1}, options);
      Adam adam(model);
      FitOptions fit_options = {.epochs = 2, .seed = 8, .learning_rate = LearningRate::constant(0.01)};
      fit_options.checkpoint = to;
      if (!from.empty()) fit_options.from = load_checkpoint(from, model, adam);
      StopAfter stop(stop_after);
      fit(model, adam, data, fit_options, stop);
      return test::read_text(to);
    };
    const test::TemporaryDirectory files;
    const std::string straight = train_from("", files / "straight", -1);
    train_from("", files / "part", 7);
    EXPECT_TRUE(train_from(files / "part", files / "rest", -1) == straight) << ranks << " ranks";
  }
}

TEST(ReduceDtype, AGradientThatIsNotFiniteChangesNothing) {
  DataParallelOptions options = options_for(2);
  options.keep_finite = true;
  DataParallel model(without_exchange(), kSmallInput, options);
  Sgd sgd(model, {.learning_rate = 0.05f});
  std::vector<float> x = normal_values(12 * kSmallInput.size(), 1);
  model.train_step(x, some_labels(12, 4), sgd);
  const std::vector<float> before = parameters_of(model);
  x[5] = std::numeric_limits<float>::quiet_NaN();
  model.train_step(x, some_labels(12, 4), sgd);
  EXPECT_TRUE(all_equal_bits(parameters_of(model), before));
  EXPECT_NE(nonfinite_value(model), "");
}

TEST(ReduceDtype, TheLargestBucketIsTheMemory) {
  const auto part = [](const DataParallelOptions& options) {
    const Graph graph = make_graph(without_exchange(), kSmallInput);
    for (const MemoryPart& part : estimate_memory(graph, options, Sgd::size(0)).parts)
      if (part.name == "gradients in bfloat16") return part.bytes;
    return int64_t{-1};
  };
  const Graph graph = make_graph(without_exchange(), kSmallInput);
  DataParallelOptions options = options_for(2);
  options.bucket_bytes = 1 << 30;
  EXPECT_EQ(part(options), 2 * graph.parameter_arena_size());
  options.bucket_bytes = 1;  // a bucket for each parameter: the largest is that of the first linear layer
  EXPECT_EQ(part(options), 2 * 96 * 16);
  EXPECT_EQ(part(options_for(1)), -1);
  EXPECT_EQ(part(options_for(2, DType::float32)), -1);
}

TEST(ReduceDtype, OthersAreRefused) {
  for (const DType dtype : {DType::float16, DType::float64, DType::int32})
    EXPECT_EQ(error_of([&] { DataParallel(small_network(), kSmallInput, options_for(2, dtype)); }),
              concat("DataParallel: reduce_dtype is ", name_of(dtype), ", must be float32 or bfloat16"));
}

}  // namespace
}  // namespace rondo::nn

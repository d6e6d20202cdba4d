// DataParallel: training gives the same network on any number of devices.
#include <gtest/gtest.h>

#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/conv2d.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/no_capture_loads.h>
#include <rondo/tests/support/random_order.h>

#ifdef __SIMT__
#include <rondo/tests/support/peer_links.h>
#include <rondo/tests/support/skip_without_devices.h>
#endif

#include <cmath>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::distance;
using test::kSmallInput;
using test::normal_values;
using test::parameters_of;
using test::small_network;
using test::small_options;
using test::some_labels;
using test::spread;

// Several steps, including uneven batches and one with fewer samples than devices.
std::vector<float> parameters_after_steps(DataParallel& model, Optimizer& optimizer) {
  test::take_steps(model, optimizer, {12, 12, 7, 2, 12});
  return parameters_of(model);
}

TEST(DataParallel, AnyNumberOfDevicesTakesTheSameSteps) {
  for (const bool adam : {false, true}) {
    std::vector<float> one;
    for (int ranks : {1, 2, 3, 4}) {
      SCOPED_TRACE(concat(ranks, " devices", adam ? ", Adam" : ", SGD"));
      DataParallel model(small_network(), kSmallInput, small_options(ranks));
      const std::unique_ptr<Optimizer> optimizer = test::make_optimizer(model, adam);
      const std::vector<float> before = parameters_of(model),
                               after = parameters_after_steps(model, *optimizer);
      EXPECT_GT(distance(after, before), 1e-3) << "nothing was learned";
      EXPECT_EQ(differing_values(model), 0) << "the replicas differ";
      if (ranks == 1) one = after;
      // Adam divides by the gradient's magnitude: for gradients near 0 the result depends on rounding.
      EXPECT_LE(distance(after, one), adam ? 2e-3 : 2e-5);
    }
  }
}

TEST(DataParallel, RecordsOnlyLoadedKernels) {
  for (const bool narrow : {false, true}) {
    const test::NoCaptureLoads old_driver;
    DataParallelOptions options = small_options(2);
    if (narrow) options.reduce_dtype = DType::bfloat16;
    if (narrow) options.micro_batches = 2;
    DataParallel model(small_network(), kSmallInput, options);
    Adam adam(model);
    parameters_after_steps(model, adam);
    EXPECT_TRUE(model.graph_refusal().ok()) << model.graph_refusal().message();
  }
}

#ifdef __SIMT__
TEST(DataParallel, TellsWhyStepsAreNotGraphs) {
  SKIP_WITHOUT_DEVICES(2);
  test::set_all_links(simt::PeerAccess::absent);
  std::vector<float> replayed;
  for (const auto copies : {simt::StagedGraphCopies::work, simt::StagedGraphCopies::not_captured,
                            simt::StagedGraphCopies::not_instantiated}) {
    simt::set_staged_graph_copies(copies);
    DataParallel model(small_network(), kSmallInput, small_options(2));
    Sgd sgd(model, {.learning_rate = 0.05f});
    const std::vector<float> after = parameters_after_steps(model, sgd);
    const Status& refusal = model.graph_refusal();
    if (copies == simt::StagedGraphCopies::work) {
      EXPECT_TRUE(refusal.ok()) << refusal.message();
      replayed = after;
    } else {
      const bool captured = copies == simt::StagedGraphCopies::not_instantiated;
      const char* part = captured ? "making the step's graph executable" : "recording the step";
      EXPECT_NE(refusal.message().find(part), std::string::npos) << refusal.message();
    }
    EXPECT_TRUE(all_equal_bits(after, replayed));
  }
  simt::set_staged_graph_copies(simt::StagedGraphCopies::work);
  test::set_all_links(simt::PeerAccess::works);
}
#endif

// The bits must not depend on the gradient buckets or on the order in which the devices' work runs.
TEST(DataParallel, BucketsAndOrderChangeNothing) {
  std::vector<float> first;
  for (int64_t bucket_bytes : {1, 3000, 1 << 30})
    for (uint64_t seed : {1, 2, 3}) {
      DataParallelOptions options = small_options(3);
      options.bucket_bytes = bucket_bytes;
      options.algorithm = Algorithm::direct;
      DataParallel model(small_network(), kSmallInput, options);
      Sgd sgd(model, {.learning_rate = 0.05f});
      const test::RandomOrder order(seed);
      const std::vector<float> after = parameters_after_steps(model, sgd);
      if (first.empty()) first = after;
      EXPECT_TRUE(all_equal_bits(after, first)) << bucket_bytes << " bytes, seed " << seed;
    }
}

TEST(DataParallel, BucketsCoverTheGradientsOnceFromTheEnd) {
  const Graph graph = make_graph(resnet18(), {28, 28, 1});
  for (int64_t bytes : {1, 100'000, 4 << 20, 1 << 30}) {
    const std::vector<GradientBucket> buckets = gradient_buckets(graph, bytes);
    int64_t end = graph.parameter_arena_size();
    int node = static_cast<int>(graph.nodes().size());
    for (const GradientBucket& bucket : buckets) {
      EXPECT_EQ(bucket.begin + bucket.size, end);
      EXPECT_LE(bucket.node, node) << "complete before the bucket before it";
      EXPECT_TRUE(bucket.size * 4 >= bytes || bucket.begin == 0);
      end = bucket.begin;
      node = bucket.node;
      for (size_t i = 0; i < graph.nodes().size(); ++i)
        for (int p : graph.nodes()[i].parameters) {
          const int64_t offset = graph.parameters()[static_cast<size_t>(p)].offset;
          const bool inside = offset >= bucket.begin && offset < bucket.begin + bucket.size;
          EXPECT_TRUE(!inside || static_cast<int>(i) >= bucket.node) << "a parameter is not complete yet";
        }
    }
    EXPECT_EQ(end, 0);
  }
  EXPECT_EQ(gradient_buckets(graph, 1 << 30).size(), 1u);
  EXPECT_GT(gradient_buckets(graph, 4 << 20).size(), 5u);
}

// Each layer has a weight of 64 bytes and a bias of 16.
TEST(DataParallel, ABucketIsFullWithExactlyItsBytes) {
  const Graph graph = make_graph(Sequential{Linear(4), Linear(4), Linear(4)}, {1, 1, 4});
  const auto sizes = [&](int64_t bytes) {
    std::vector<int64_t> sizes;
    for (const GradientBucket& bucket : gradient_buckets(graph, bytes)) sizes.push_back(4 * bucket.size);
    return sizes;
  };
  using Bytes = std::vector<int64_t>;
  EXPECT_EQ(sizes(16), (Bytes{16, 64, 16, 64, 16, 64}));
  EXPECT_EQ(sizes(17), (Bytes{80, 80, 80}));
  EXPECT_EQ(sizes(80), (Bytes{80, 80, 80}));
  EXPECT_EQ(sizes(81), (Bytes{96, 144}));
  EXPECT_EQ(sizes(144), (Bytes{160, 80}));
  EXPECT_EQ(sizes(240), (Bytes{240}));
  EXPECT_EQ(sizes(241), (Bytes{240}));
}

// Creates its parameters long before it uses them, and in another order.
class LastFirst : public Module {
 public:
  explicit LastFirst(std::vector<AnyModule> modules) : modules_(std::move(modules)) {}
  Value build(Graph& graph, Value x) const override {
    class Bias : public Op {
     public:
      std::string description() const override { return "bias"; }
      Status forward(const OpContext& context) const override {
        RONDO_CUDA(cudaMemcpyAsync(context.output.data, context.inputs[0].data,
                                   static_cast<size_t>(context.output.size()) * sizeof(float),
                                   cudaMemcpyDeviceToDevice, context.stream));
        return {};
      }
      Status backward(const OpContext&) const override { return {}; }
    };
    const int early = graph.parameter("early", {100}, Init::zeros());
    x = modules_[0].build(graph, x);
    return graph.add(std::make_unique<Bias>(), {x}, x.shape, {early});
  }

 private:
  std::vector<AnyModule> modules_;
};

TEST(DataParallel, ABucketWaitsForTheFirstOfItsNodes) {
  const Graph graph = make_graph(LastFirst({Linear(4)}), {1, 1, 4});
  const std::vector<GradientBucket> one = gradient_buckets(graph, 1 << 20), many = gradient_buckets(graph, 1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].node, 0) << "the parameter of node 1 lies first, but that of node 0 is in the bucket too";
  ASSERT_EQ(many.size(), 3u);
  for (const GradientBucket& bucket : many)
    EXPECT_EQ(bucket.node, 0) << "buckets are complete in their order";
}

// The step counter is in device memory, so random numbers differ from step to step.
TEST(DataParallel, EveryStepDrawsAnew) {
  DataParallelOptions options;
  options.devices = spread(2);
  options.batch = 8;
  DataParallel model(Sequential{Flatten(), Dropout(0.5f), Linear(4)}, kSmallInput, options);
  Sgd sgd(model, {.learning_rate = 0});
  const std::vector<float> x = normal_values(8 * kSmallInput.size(), 1);
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step) {
    model.train_step(x, some_labels(8, 4), sgd);
    losses.push_back(model.take_loss_stats().loss);
  }
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_NE(losses[1], losses[2]);
}

// LeNet on images that are easy to tell apart.
TEST(DataParallel, Learns) {
  const FashionMnist data = test::small_data(400, 200);
  const auto floats = [](const std::vector<uint8_t>& bytes) {
    std::vector<float> values;
    for (uint8_t byte : bytes) values.push_back(static_cast<float>(byte) / 255.0f);
    return values;
  };
  const auto ints = [](const std::vector<uint8_t>& bytes) {
    return std::vector<int32_t>(bytes.begin(), bytes.end());
  };
  const std::vector<float> x = floats(data.train_images), test_x = floats(data.test_images);
  const std::vector<int32_t> labels = ints(data.train_labels), test_labels = ints(data.test_labels);
  DataParallelOptions options;
  options.devices = spread(2);
  options.batch = 50;
  DataParallel model(lenet(), {28, 28, 1}, options);
  nn::Adam adam(model, {.learning_rate = 2e-3f});
  const LossStats before = model.evaluate(test_x, test_labels);
  EXPECT_EQ(before.rows, 200);
  EXPECT_NEAR(before.loss / 200, std::log(10.0), 0.3);
  LossStats last;
  for (int epoch = 0; epoch < 10; ++epoch) {
    for (size_t begin = 0; begin < 400; begin += 50)
      model.train_step(std::span(x).subspan(begin * 784, 50 * 784), std::span(labels).subspan(begin, 50),
                       adam);
    last = model.take_loss_stats();
    EXPECT_EQ(last.rows, 400);
  }
  EXPECT_LT(last.loss / 400, 0.5);
  const LossStats after = model.evaluate(test_x, test_labels);
  EXPECT_GT(after.correct, 160) << "of 200";
  EXPECT_EQ(differing_values(model), 0);
}

TEST(DataParallel, SquaredErrorGoesDown) {
  DataParallelOptions options;
  options.devices = spread(3);
  options.batch = 32;
  DataParallel model(mlp(3, 24, 2), {1, 1, 5}, options);
  nn::Adam adam(model, {.learning_rate = 1e-2f});
  const std::vector<float> x = normal_values(32 * 5, 1);
  std::vector<float> targets;
  for (size_t i = 0; i < 32; ++i) {
    targets.push_back(x[5 * i] - x[5 * i + 1]);
    targets.push_back(std::abs(x[5 * i + 2]));
  }
  double first = 0, last = 0;
  for (int step = 0; step < 150; ++step) {
    model.train_step(x, targets, adam);
    if (step == 0) first = model.take_loss_stats().loss;
    if (step == 148) model.take_loss_stats();
  }
  last = model.take_loss_stats().loss;
  EXPECT_LT(last, 0.02 * first);
  EXPECT_EQ(differing_values(model), 0);
}

// Predictions for any number of samples, including more than a batch and no multiple of it, are in order.
TEST(DataParallel, PredictionsComeInOrder) {
  DataParallel one(small_network(), kSmallInput, small_options(1)),
      three(small_network(), kSmallInput, small_options(3));
  const std::vector<float> x = normal_values(29 * kSmallInput.size(), 3);
  const std::vector<float> want = one.predict(x);
  ASSERT_EQ(want.size(), 29u * 4);
  EXPECT_TRUE(test::all_near(three.predict(x), test::to_double(want), 1e-5, 1e-5));
  EXPECT_TRUE(three.predict({}).empty());
  const std::vector<int32_t> labels = some_labels(29, 4);
  int64_t correct = 0;
  for (size_t i = 0; i < 29; ++i) {
    const auto begin = want.begin() + static_cast<int64_t>(4 * i);
    correct += std::max_element(begin, begin + 4) - begin == labels[i];
  }
  EXPECT_EQ(three.evaluate(x, labels).correct, correct);
}

TEST(DataParallel, EvaluationDoesNotChangeTheLossStatsOfTraining) {
  DataParallel model(small_network(), kSmallInput, small_options(2));
  Sgd sgd(model);
  model.train_step(normal_values(12 * kSmallInput.size(), 1), some_labels(12, 4), sgd);
  EXPECT_EQ(model.evaluate(normal_values(5 * kSmallInput.size(), 1), some_labels(5, 4)).rows, 5);
  EXPECT_EQ(model.take_loss_stats().rows, 12);
  EXPECT_EQ(model.take_loss_stats().rows, 0);
}

TEST(DataParallel, LearningRateFollowsASchedule) {
  DataParallel model(small_network(), kSmallInput, small_options(2));
  Sgd sgd(model, {.learning_rate = 0});
  const std::vector<float> before = parameters_of(model), x = normal_values(12 * kSmallInput.size(), 1);
  model.train_step(x, some_labels(12, 4), sgd);
  EXPECT_TRUE(all_equal_bits(parameters_of(model), before));
  sgd.set_learning_rate(0.1f);
  EXPECT_EQ(sgd.learning_rate(), 0.1f);
  model.train_step(x, some_labels(12, 4), sgd);
  EXPECT_FALSE(all_equal_bits(parameters_of(model), before));
}

// An optimizer that fails on one of the devices.
class Failing : public Sgd {
 public:
  using Sgd::Sgd;
  void step(Replica& replica, size_t rank, float scale) override {
    if (rank == 1) throw std::runtime_error("no more");
    Sgd::step(replica, rank, scale);
  }
};

TEST(DataParallel, AfterAStepThatFailedInTheMiddleNoneIsTaken) {
  DataParallel model(small_network(), kSmallInput, small_options(2));
  Failing failing(model);
  Sgd sgd(model);
  const std::vector<float> x = normal_values(12 * kSmallInput.size(), 1);
  EXPECT_THROW(model.train_step(x, some_labels(12, 4), failing), std::runtime_error);
  EXPECT_THROW(model.train_step(x, some_labels(12, 4), sgd), Error);
}

TEST(DataParallel, RefusesAnOptimizerOfAnotherModel) {
  DataParallel one(small_network(), kSmallInput, small_options(1)),
      two(small_network(), kSmallInput, small_options(2));
  Sgd sgd(one);
  const std::vector<float> x = normal_values(12 * kSmallInput.size(), 1);
  EXPECT_THROW(two.train_step(x, some_labels(12, 4), sgd), Error);
  one.train_step(x, some_labels(12, 4), sgd);
}

// All replicas use the same running statistics, so an image's result is the same anywhere in the batch.
TEST(DataParallel, EvaluationDoesNotDependOnThePlaceInTheBatch) {
  DataParallelOptions options = small_options(2);
  options.sync_batch_norm = DataParallelOptions{}.sync_batch_norm;
  DataParallel model(small_network(), kSmallInput, options);
  Sgd sgd(model);
  for (uint64_t seed : {1, 2, 3})
    model.train_step(normal_values(12 * kSmallInput.size(), seed), some_labels(12, 4), sgd);
  std::vector<float> image = normal_values(kSmallInput.size(), 9), images;
  for (int copy = 0; copy < 4; ++copy) images.insert(images.end(), image.begin(), image.end());
  const std::vector<float> outputs = model.predict(images);
  for (size_t i = 4; i < outputs.size(); ++i) EXPECT_EQ(outputs[i], outputs[i % 4]);
}

TEST(DataParallel, RefusesWhatDoesNotFit) {
  const auto made_with = [](DataParallelOptions options) {
    return test::error_of([&] { DataParallel(small_network(), kSmallInput, options); });
  };
  DataParallelOptions options = small_options(1);
  options.devices = {};
  EXPECT_EQ(made_with(options), "DataParallel: the list of devices is empty");
  options.devices = {0, -1};
  EXPECT_EQ(made_with(options),
            concat("DataParallel: the device of rank 1 is -1, must be at least 0 and below ", device_count(),
                   ", the number of devices"));
  options.devices = {device_count()};
  EXPECT_EQ(test::missing(made_with(options), {"the device of rank 0 is", "the number of devices"}), "");
  options = small_options(2);
  options.algorithm = static_cast<Algorithm>(77);
  EXPECT_EQ(made_with(options),
            "DataParallel: the algorithm is 77, must be one of: automatic, ring, direct, root, "
            "hierarchical");
  options = small_options(2);
  options.placement = static_cast<BatchPlacement>(9);
  EXPECT_EQ(made_with(options), "DataParallel: the placement is 9, must be sharded or replicated");
  options = small_options(1);
  options.batch = 0;
  EXPECT_EQ(made_with(options), "DataParallel: the batch is 0, must be at least 1");
  options = small_options(1);
  options.bucket_bytes = 0;
  EXPECT_EQ(made_with(options), "DataParallel: bucket_bytes is 0, must be at least 1");

  DataParallel model(small_network(), kSmallInput, small_options(2));
  Sgd sgd(model);
  const std::vector<float> x = normal_values(13 * kSmallInput.size(), 1);
  const auto step = [&](int64_t values, int64_t labels) {
    return test::error_of([&] {
      model.train_step(std::span(x).first(static_cast<size_t>(values)), some_labels(labels, 4), sgd);
    });
  };
  EXPECT_EQ(step(63, 1),
            "DataParallel: the batch has 63 values, must have a multiple of 64, the size of a sample");
  EXPECT_EQ(step(13 * 64, 13), "DataParallel: the batch has 13 samples, must have 1 to 12");
  EXPECT_EQ(step(0, 0), "DataParallel: the batch has 0 samples, must have 1 to 12");
  EXPECT_EQ(step(5 * 64, 4), "DataParallel: there are 4 labels, must be 5, one for each sample");
  EXPECT_EQ(step(5 * 64, 6), "DataParallel: there are 6 labels, must be 5, one for each sample");
  for (const size_t targets : {0, 7, 9, 12})
    EXPECT_EQ(
        test::error_of([&] { model.train_step(std::span(x).first(128), std::span(x).first(targets), sgd); }),
        concat("DataParallel: there are ", targets, " target values, must be 8, 4 for each sample"));
  EXPECT_EQ(test::error_of([&] { model.evaluate(x, some_labels(12, 4)); }),
            "DataParallel: there are 832 values and 12 labels, must be 64 values for each label");
  EXPECT_EQ(test::error_of([&] { sgd.set_learning_rate(NAN); }),
            "optimizer: the learning rate is nan, must be finite and not negative");
}

}  // namespace
}  // namespace rondo::nn

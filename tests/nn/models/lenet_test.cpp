// The lesson: the result does not depend on the number of devices, and the trainer computes the same bits.

#include <gtest/gtest.h>

#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/no_capture_loads.h>

#ifdef __SIMT__
#include <rondo/tests/support/peer_links.h>
#endif

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rondo::lenet {
namespace {

// `ranks` ranks on the available devices.
std::vector<int> devices_for(int ranks) {
  static_cast<void>(request_devices(ranks));  // no effect on GPUs
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(rank % device_count());
  return devices;
}

// Records the results of each step.
struct Recorder : Observer {
  struct Step {
    double loss;                   // mean over its samples
    std::vector<float> gradients;  // of rank 0, after the all-reduce
  };
  std::vector<Step> steps;
  std::vector<EpochReport> epochs;
  int64_t samples = 0, differing_replicas = 0;

  void after_step(int64_t, int64_t samples_done, std::span<const Replica> replicas) override {
    RONDO_CUDA_THROW(cudaStreamSynchronize(replicas[0].stream));
    if (samples_done < samples) samples = 0, loss_ = 0;  // a new epoch
    double loss = 0;
    for (const Replica& replica : replicas) {
      loss += replica.loss_stats.download()[0].loss;
      differing_replicas +=
          !test::all_equal_bits(replica.parameter_arena.download(), replicas[0].parameter_arena.download());
    }
    steps.push_back({(loss - loss_) / static_cast<double>(samples_done - samples),
                     replicas[0].gradient_arena.download()});
    samples = samples_done, loss_ = loss;
  }
  void after_epoch(const EpochReport& epoch) override { epochs.push_back(epoch); }

 private:
  double loss_ = 0;
};

Options options_for(int ranks) {
  Options options;
  options.devices = devices_for(ranks);
  options.batch_size = 32;
  options.epochs = 2;
  options.seed = 3;
  return options;
}

double norm(const std::vector<float>& x) {
  return std::sqrt(
      std::accumulate(x.begin(), x.end(), 0.0, [](double sum, double v) { return sum + v * v; }));
}

double distance(const std::vector<float>& x, const std::vector<float>& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
  return std::sqrt(sum);
}

// 75 images in batches of 32: two full steps and one of 11, which 2 to 5 ranks cannot divide evenly.
class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, ReplicasStayBitwiseEqualAfterEveryStep) {
  Recorder recorder;
  train(test::small_data(75, 20), options_for(GetParam()), recorder);
  EXPECT_EQ(recorder.steps.size(), 6u);
  EXPECT_EQ(recorder.differing_replicas, 0);
}

TEST_P(Ranks, GradientsAndLossesAreThoseOfOneDevice) {
  const FashionMnist data = test::small_data(75, 20);
  Recorder one, many;
  train(data, options_for(1), one);
  train(data, options_for(GetParam()), many);
  ASSERT_EQ(one.steps.size(), 6u);
  ASSERT_EQ(many.steps.size(), 6u);
  // Only the first step starts from the same parameters; later ones include its rounding errors.
  EXPECT_LE(distance(many.steps[0].gradients, one.steps[0].gradients), 1e-6 * norm(one.steps[0].gradients));
  EXPECT_GT(norm(one.steps[0].gradients), 1e-3);
  for (size_t step = 0; step < 6; ++step)
    EXPECT_LE(std::abs(many.steps[step].loss - one.steps[step].loss), 1e-5 * one.steps[step].loss)
        << "step " << step;
}

#ifdef __SIMT__
TEST_P(Ranks, WithoutGraphsItIsTheSame) {
  const FashionMnist data = test::small_data(75, 20);
  const Options options = options_for(GetParam());
  Observer no_observer;
  test::set_all_links(simt::PeerAccess::absent);
  const Result replayed = train(data, options, no_observer);
  for (const auto copies : {simt::StagedGraphCopies::not_captured, simt::StagedGraphCopies::not_launched}) {
    simt::set_staged_graph_copies(copies);
    const Result call_by_call = train(data, options, no_observer);
    EXPECT_EQ(call_by_call.parameters, replayed.parameters);
    // Ranks of a single device need no copies between devices.
    EXPECT_EQ(call_by_call.graph_refusal.ok(), GetParam() == 1 || device_count() == 1);
  }
  EXPECT_TRUE(replayed.graph_refusal.ok()) << replayed.graph_refusal.message();
  simt::set_staged_graph_copies(simt::StagedGraphCopies::work);
  test::set_all_links(simt::PeerAccess::works);
}
#endif

INSTANTIATE_TEST_SUITE_P(LeNet, Ranks, testing::Values(1, 2, 3, 4, 5), testing::PrintToStringParamName());

// A batch of fewer images can need more, where a sum has more parts.
TEST(Lesson, HasTheWorkspaceOfEverySmallerBatch) {
  const nn::Graph graph = nn::make_graph(nn::lenet(), {28, 28, 1});
  const auto data = std::make_shared<const DeviceData>(test::small_data(4, 2), 0);
  const Stream stream;
  int64_t most = 0;
  int fewer_needed_more = 0;
  for (int64_t images = 0; images <= 300; ++images) {
    int64_t wanted = 0;
    for (const nn::Graph::Node& node : graph.nodes())
      wanted = std::max(wanted, node.op->workspace_bytes(images));
    most = std::max(most, wanted);
    if (wanted == most || ++fewer_needed_more % 12 != 1) continue;
    const Replica replica(0, stream, data, images, 0.1f);
    EXPECT_GE(replica.scratch.bytes(), most) << images;
  }
  EXPECT_GT(fewer_needed_more, 24);
}

// The lesson and the trainer are independent implementations; each checks the other.
class Trainer : public testing::TestWithParam<int> {};

TEST_P(Trainer, GivesTheBitsOfTheLesson) {
  const FashionMnist data = test::small_data(75, 20);
  Options options = options_for(GetParam());
  // The trainer reduces in buckets, so the order of additions must not depend on the position in the arena.
  options.algorithm = Algorithm::direct;
  Observer no_observer;
  const Result lesson = train(data, options, no_observer);

  nn::DataParallel model(nn::lenet(10, nn::weight_init("normal")), {28, 28, 1},
                         {.devices = options.devices,
                          .batch = options.batch_size,
                          .seed = options.seed,
                          .algorithm = options.algorithm});
  nn::Sgd sgd(model);
  const nn::FitResult trained =
      nn::fit(model, sgd, data,
              {.epochs = 2, .seed = options.seed, .learning_rate = nn::LearningRate::constant(options.lr)});
  EXPECT_TRUE(test::all_equal_bits(test::parameters_of(model), lesson.parameters));
  ASSERT_EQ(trained.epochs.size(), 2u);
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(trained.epochs[epoch].train_loss, lesson.epochs[epoch].train_loss);
    EXPECT_EQ(trained.epochs[epoch].test_accuracy, lesson.epochs[epoch].test_accuracy);
  }
}

INSTANTIATE_TEST_SUITE_P(LeNet, Trainer, testing::Values(1, 2, 3), testing::PrintToStringParamName());

TEST(LeNet, RanksMayShareADevice) {
  const FashionMnist data = test::small_data(75, 20);
  Options options = options_for(2);
  Recorder recorder;
  const Result apart = train(data, options, recorder);
  options.devices = {0, 0};
  const Result together = train(data, options, recorder);
  EXPECT_EQ(recorder.differing_replicas, 0);
  EXPECT_EQ(together.parameters, apart.parameters);
}

TEST(LeNet, RecordsOnlyLoadedKernels) {
  const test::NoCaptureLoads old_driver;
  Observer no_observer;
  const Result result = train(test::small_data(75, 20), options_for(2), no_observer);
  EXPECT_TRUE(result.graph_refusal.ok()) << result.graph_refusal.message();
}

TEST(LeNet, AShardMayBeEmpty) {
  Recorder recorder;  // the last step has 3 samples for 5 ranks
  train(test::small_data(67, 3), options_for(5), recorder);
  EXPECT_EQ(recorder.differing_replicas, 0);
  EXPECT_EQ(recorder.samples, 67);
}

TEST(LeNet, ABatchMayBeLargerThanTheDataSet) {
  Options options = options_for(2);
  options.batch_size = 1000;
  Recorder recorder;
  const Result result = train(test::small_data(30, 20), options, recorder);
  ASSERT_EQ(result.epochs.size(), 2u);
  EXPECT_NEAR(result.epochs[0].train_loss, std::log(10.0), 0.01);
}

// Dark and bright images, which a network separates quickly if its gradients are right.
TEST(LeNet, Learns) {
  FashionMnist data = test::small_data(64, 50);
  const auto paint = [](std::vector<uint8_t>& images, std::vector<uint8_t>& labels) {
    for (size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<uint8_t>(i % 2);
      for (size_t pixel = 784 * i; pixel < 784 * (i + 1); ++pixel)
        images[pixel] = static_cast<uint8_t>(images[pixel] / 8 + (labels[i] == 1 ? 200 : 0));
    }
  };
  paint(data.train_images, data.train_labels);
  paint(data.test_images, data.test_labels);
  Options options = options_for(2);
  options.batch_size = 16;
  options.epochs = 30;
  options.lr = 0.5f;
  Recorder recorder;
  const Result result = train(data, options, recorder);
  EXPECT_EQ(result.epochs.back().test_accuracy, 1.0);
  EXPECT_LT(result.epochs.back().train_loss, 0.1);
}

TEST(LeNet, ReportsWhatItDid) {
  Recorder recorder;
  const Result result = train(test::small_data(75, 20), options_for(2), recorder);
  ASSERT_EQ(recorder.epochs.size(), 2u);
  EXPECT_EQ(result.epochs.size(), 2u);
  const EpochReport& epoch = recorder.epochs[1];
  EXPECT_EQ(epoch.epoch, 2);
  EXPECT_GT(epoch.seconds, 0);
}

TEST(LeNet, RefusesOptionsThatMakeNoSense) {
  FashionMnist data = test::small_data(4, 4);
  const auto message_for = [&](auto change) {
    Options options = options_for(2);
    change(options);
    Recorder recorder;
    try {
      train(data, options, recorder);
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), StatusCode::bad_argument);
      return error.status().message();
    }
    return std::string("accepted");
  };
  const auto contains = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(contains(message_for([](Options& o) { o.devices.clear(); }), "no device"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.devices = {0, 9999}; }), "9999"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.devices = {-1}; }), "-1"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.epochs = 0; }), "epochs is 0"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.algorithm = static_cast<Algorithm>(77); }),
                       "training LeNet: the algorithm is 77"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.lr = -0.5f; }), "lr is -0.5"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.lr = std::nanf(""); }), "lr is nan"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.batch_size = 0; }), "batch_size is 0"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.batch_size = 1; }), "2 ranks share a batch of 1"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.devices = {0, 0, 0, 0, 0}; }), "5 ranks share 4"));
  data.test_labels[2] = 10;
  EXPECT_EQ(message_for([](Options&) {}),
            "lenet: the test images: the label of sample 2 is 10, must be 0 to 9, for the network's 10 "
            "outputs");
}

}  // namespace
}  // namespace rondo::lenet

// The promises of data-parallel training: the number of devices changes nothing but the time.

#include <gtest/gtest.h>

#include <rondo/kernels/core/platform.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/nn/lenet_replica.h>
#include <rondo/nn/lenet_setup.h>
#include <rondo/tests/nn/small_data.h>

#ifdef __SIMT__
#include <simt/faults.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rondo::lenet {
namespace {

// `ranks` ranks on as many devices as the machine has.
std::vector<int> devices_for(int ranks) {
  static_cast<void>(request_devices(ranks));  // GPUs are as many as they are
  std::vector<int> devices;
  for (int rank = 0; rank < ranks; ++rank) devices.push_back(rank % device_count());
  return devices;
}

struct Recorder : Observer {
  std::vector<StepReport> steps;
  std::vector<EpochReport> epochs;
  std::vector<TrainingProgress> progress;
  void on_step(const StepReport& step) override { steps.push_back(step); }
  void on_epoch(const EpochReport& epoch) override { epochs.push_back(epoch); }
  void on_progress(const TrainingProgress& seen) override { progress.push_back(seen); }
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

// 75 images in batches of 32: two whole steps and one of 11, which 2 to 5 ranks cannot share evenly.
class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, ReplicasStayBitwiseEqualAfterEveryStep) {
  Options options = options_for(GetParam());
  options.verify = true;
  Recorder recorder;
  const Result result = train(test::small_data(75, 20), options, recorder);
  EXPECT_EQ(result.verified_steps, 6);
  EXPECT_EQ(result.differing_values, 0);
}

TEST_P(Ranks, GradientsAndLossesAreThoseOfOneDevice) {
  const FashionMnist data = test::small_data(75, 20);
  Recorder one, many;
  Options options = options_for(1);
  options.inspect_steps = 6;
  train(data, options, one);
  options.devices = devices_for(GetParam());
  train(data, options, many);
  ASSERT_EQ(one.steps.size(), 6u);
  ASSERT_EQ(many.steps.size(), 6u);
  // Only the first step starts from the same parameters; later ones carry its rounding along.
  EXPECT_LE(distance(many.steps[0].gradients, one.steps[0].gradients), 1e-6 * norm(one.steps[0].gradients));
  EXPECT_GT(norm(one.steps[0].gradients), 1e-3);
  for (size_t step = 0; step < 6; ++step)
    EXPECT_LE(std::abs(many.steps[step].loss - one.steps[step].loss), 1e-5 * one.steps[step].loss)
        << "step " << step;
}

// The graph is the step, and not something like it.
TEST_P(Ranks, StepsReplayedFromGraphsGiveTheSameBitsAsStepsOneByOne) {
  const FashionMnist data = test::small_data(75, 20);
  Options options = options_for(GetParam());
  Recorder recorder;
  const Result replayed = train(data, options, recorder);
  options.inspect_steps = std::numeric_limits<int64_t>::max();
  const Result one_by_one = train(data, options, recorder);
  ASSERT_EQ(recorder.steps.size(), 6u);
  EXPECT_EQ(replayed.parameters, one_by_one.parameters);
}

#ifdef __SIMT__
TEST_P(Ranks, WithoutGraphsItIsTheSameAndTold) {
  const FashionMnist data = test::small_data(75, 20);
  const Options options = options_for(GetParam());
  Recorder recorder;
  const auto set_access = [&](simt::PeerAccess access) {
    for (const int a : options.devices)
      for (const int b : options.devices)
        if (a != b) ASSERT_EQ(simt::set_peer_access(a, b, access), cudaSuccess);
  };
  set_access(simt::PeerAccess::absent);
  const Result replayed = train(data, options, recorder);
  simt::set_staged_graph_copies(simt::StagedGraphCopies::not_launched);
  const Result call_by_call = train(data, options, recorder);
  simt::set_staged_graph_copies(simt::StagedGraphCopies::work);
  set_access(simt::PeerAccess::works);
  EXPECT_TRUE(replayed.graph_refusal.ok()) << replayed.graph_refusal.message();
  EXPECT_EQ(call_by_call.graph_refusal.ok(), GetParam() == 1) << "a single rank copies nothing";
  EXPECT_EQ(call_by_call.parameters, replayed.parameters);
}
#endif

INSTANTIATE_TEST_SUITE_P(LeNet, Ranks, testing::Values(1, 2, 3, 4, 5), testing::PrintToStringParamName());

TEST(LeNet, RanksMayShareADevice) {
  const FashionMnist data = test::small_data(75, 20);
  Options options = options_for(2);
  Recorder recorder;
  const Result apart = train(data, options, recorder);
  options.devices = {0, 0};
  options.verify = true;
  const Result together = train(data, options, recorder);
  EXPECT_EQ(together.differing_values, 0);
  EXPECT_EQ(together.parameters, apart.parameters);
}

TEST(LeNet, AShardMayBeEmpty) {
  Options options = options_for(5);  // the last step of 67 images in batches of 32 has 3, for 5 ranks
  options.verify = true;
  Recorder recorder;
  const Result result = train(test::small_data(67, 3), options, recorder);
  EXPECT_EQ(result.differing_values, 0);
  EXPECT_EQ(recorder.progress.back().samples_done, 67);
}

TEST(LeNet, ABatchMayBeLargerThanTheDataSet) {
  Options options = options_for(2);
  options.batch_size = 1000;
  Recorder recorder;
  const Result result = train(test::small_data(30, 20), options, recorder);
  ASSERT_EQ(result.epochs.size(), 2u);
  EXPECT_NEAR(result.epochs[0].train_loss, std::log(10.0), 0.01);
}

// Dark images and bright ones: a network tells them apart at once, if its gradients lead anywhere.
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
  const EpochReport& epoch = recorder.epochs[1];
  EXPECT_EQ(epoch.epoch, 2);
  EXPECT_GT(epoch.seconds, 0);
  EXPECT_NEAR(std::accumulate(epoch.phases.begin(), epoch.phases.end(), 0.0), epoch.seconds, 1e-9);
  for (double phase : epoch.phases) EXPECT_GT(phase, 0);
  EXPECT_EQ(result.verified_steps, 0);
}

TEST(LeNet, ATimelineShowsKernelsAndRingSteps) {
  Options options = options_for(2);
  options.algorithm = Algorithm::ring;
  Trace trace(options.devices);
  Recorder recorder;
  train(test::small_data(75, 20), options, recorder, &trace);
  int kernels = 0, copies = 0;
  for (const TraceSpan& span : trace.collect()) {
    EXPECT_GE(span.end_us, span.begin_us) << span.name;
    if (span.category == "kernel") ++kernels;
    if (span.category == "copy") ++copies;
  }
  EXPECT_GE(kernels, 3 * 2 * 20);    // 3 steps, 2 ranks, at least 20 kernels each
  EXPECT_EQ(copies, 3 * 2 * 2 * 2);  // 3 steps, 2 ranks, 2 (n - 1) copies each, in 2 pieces
}

// What is announced is what is taken. On a GPU the device's free memory is everybody's, and rounded.
// The share of an epoch that the phases of training spend in the update, whose work does not depend on the batch:
// the median of many epochs, as each is measured on a single step.
double update_share(int64_t train_images, int64_t batch_size) {
  Options options = options_for(1);
  options.batch_size = batch_size;
  options.epochs = 15;
  Recorder recorder;
  train(test::small_data(train_images, 1), options, recorder);
  std::vector<double> shares;
  for (const EpochReport& epoch : recorder.epochs)
    shares.push_back(epoch.phases[static_cast<size_t>(Phase::update)] / epoch.seconds);
  std::nth_element(shares.begin(), shares.begin() + 7, shares.end());
  return shares[7];
}

// In an epoch that ends with a batch of a single image, the phases are not split as that one was.
TEST(LeNet, PhasesAreThoseOfAWholeBatch) {
  if (std::string(platform()) != "cpu")
    GTEST_SKIP() << "a GPU may be as quick with a batch as with one image";
  const double whole = update_share(64, 64), single = update_share(1, 1);
  ASSERT_LT(3 * whole, single);
  EXPECT_LT(update_share(64 + 1, 64), std::sqrt(whole * single)) << whole << " and " << single;
}

TEST(LeNet, BytesPerRankIsWhatIsAllocated) {
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "only the executor counts bytes";
  const FashionMnist data = test::small_data(75, 20);
  for (const int ranks : {1, 3})
    for (const int64_t batch_size : {32, 100}) {
      Options options = options_for(ranks);
      options.batch_size = batch_size;
      const auto free_bytes = [&](int device) {
        const DeviceScope scope(device);
        size_t free = 0, total = 0;
        RONDO_CUDA_THROW(cudaMemGetInfo(&free, &total));
        return static_cast<int64_t>(free);
      };
      std::vector<int64_t> before;
      for (const int device : options.devices) before.push_back(free_bytes(device));
      const StreamGroup streams(options.devices);
      const std::vector<Replica> replicas = make_replicas(data, options, streams);
      const Communicator ring(options.devices, communicator_options(options));
      for (size_t rank = 0; rank < before.size(); ++rank)
        EXPECT_EQ(before[rank] - free_bytes(options.devices[rank]), bytes_per_rank(data, options))
            << "rank " << rank << " of " << ranks << ", batch " << batch_size;
    }
}

TEST(LeNet, TheParametersAreTheTextbooks) {
  int64_t parameters = 0;
  for (const LayerSummary& layer : summary()) parameters += layer.parameters;
  EXPECT_EQ(parameters, 129068);
}

TEST(LeNet, RefusesOptionsThatMakeNoSense) {
  const FashionMnist data = test::small_data(4, 4);
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
  EXPECT_TRUE(contains(message_for([](Options& o) { o.inspect_steps = -1; }), "inspect_steps is -1"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.group_size = -1; }), "group_size is -1"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.algorithm = static_cast<Algorithm>(77); }),
                       "training LeNet: the algorithm is 77"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.order = static_cast<SumOrder>(77); }),
                       "training LeNet: the order is 77"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.lr = -0.5f; }), "lr is -0.5"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.lr = std::nanf(""); }), "lr is nan"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.batch_size = 0; }), "batch_size is 0"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.batch_size = 1; }), "2 ranks share a batch of 1"));
  EXPECT_TRUE(contains(message_for([](Options& o) { o.devices = {0, 0, 0, 0, 0}; }), "5 ranks share 4"));
  // The forecast refuses what the training refuses.
  Options none = options_for(2), groups = options_for(2);
  none.devices = {};
  groups.group_size = -1;
  EXPECT_THROW(bytes_per_rank(data, none), Error);
  EXPECT_THROW(bytes_per_rank(data, groups), Error);
}

}  // namespace
}  // namespace rondo::lenet

// The time of a counted program: which operations overlap.
#include <gtest/gtest.h>

#include <rondo/tools/rondo/judge/timeline.h>

namespace rondo::program {
namespace {

using simt::CountedOperation;

const simt::GpuProperties& a100() { return *simt::gpu_named("a100"); }

CountedOperation copy(int from, int to, std::vector<size_t> after = {}) {
  CountedOperation operation;
  operation.from = from, operation.to = to;
  operation.bytes = 1 << 20;
  operation.after = std::move(after);
  return operation;
}

CountedOperation launch(int device, std::vector<size_t> after = {}) {
  CountedOperation operation;
  operation.kernel = 0;
  operation.device = device;
  operation.after = std::move(after);
  return operation;
}

double seconds(std::vector<CountedOperation> operations) {
  simt::ProgramProfile profile;
  simt::KernelProfile kernel;
  kernel.grid = kernel.block = {1, 1, 1};
  kernel.launches = kernel.observed_launches = kernel.blocks = kernel.observed_blocks = 1;
  kernel.launch_bytes_read = 100 << 20;
  profile.kernels = {kernel};
  profile.operations = std::move(operations);
  return counted_seconds(profile, a100());
}

constexpr int kHost = simt::kHostMemory;

TEST(JudgeTimeline, OperationsFollowWhatComesBeforeThem) {
  const double one = seconds({copy(kHost, 0)}), kernel = seconds({launch(0)});
  EXPECT_GT(one, 0);
  EXPECT_DOUBLE_EQ(seconds({copy(kHost, 0), launch(0, {0})}), one + kernel);
  EXPECT_DOUBLE_EQ(seconds({copy(kHost, 0), launch(0)}), std::max(one, kernel));
}

TEST(JudgeTimeline, AnEngineDoesOneThingAtATime) {
  const double one = seconds({copy(kHost, 0)}), kernel = seconds({launch(0)});
  EXPECT_DOUBLE_EQ(seconds({copy(kHost, 0), copy(kHost, 0)}), 2 * one);
  EXPECT_DOUBLE_EQ(seconds({copy(kHost, 0), copy(0, kHost)}), one);  // two directions
  EXPECT_DOUBLE_EQ(seconds({copy(kHost, 0), copy(kHost, 1)}), one);
  EXPECT_DOUBLE_EQ(seconds({launch(0), launch(0)}), 2 * kernel);
  EXPECT_DOUBLE_EQ(seconds({launch(0), launch(1)}), kernel);
}

TEST(JudgeTimeline, TheDirectionsOfALinkAreIndependent) {
  const auto kernel = [](uint64_t read, uint64_t written) {
    CountedOperation operation = launch(0);
    operation.host_link.read = read, operation.host_link.written = written;
    return seconds({operation});
  };
  const double one = kernel(1 << 30, 0);
  EXPECT_GT(one, kernel(0, 0));
  EXPECT_DOUBLE_EQ(kernel(1 << 30, 1 << 30), one);
  EXPECT_DOUBLE_EQ(kernel(0, 1 << 30), one);
}

TEST(JudgeTimeline, ACopyBetweenDevicesNeedsBoth) {
  const double one = seconds({copy(0, 1)});
  EXPECT_LT(one, seconds({copy(kHost, 0)}));                             // NVLink
  EXPECT_DOUBLE_EQ(seconds({copy(0, 1), copy(1, 2), copy(2, 0)}), one);  // a ring
  EXPECT_DOUBLE_EQ(seconds({copy(1, 0), copy(2, 0)}), 2 * one);          // both to device 0
  EXPECT_DOUBLE_EQ(seconds({copy(0, 1), copy(0, 2)}), 2 * one);
}

// By hand: 1000 sectors, 100 wavefronts, a launch; one block, so one multiprocessor.
TEST(JudgeTimeline, ALaunchTakesTheSumOfItsResources) {
  simt::KernelProfile kernel;
  kernel.grid = kernel.block = {1, 1, 1};
  kernel.launches = kernel.observed_launches = kernel.blocks = kernel.observed_blocks = 1;
  simt::AccessCounts global, shared;
  global.sectors = 900, global.same_address = 100;
  shared.space = simt::AccessSpace::shared;
  shared.wavefronts = 60, shared.same_address = 40;
  kernel.accesses = {global, shared};
  const simt::GpuProperties& gpu = a100();
  const double hertz = gpu.boost_ghz * 1e9;
  const double one = 1000 / 2.0 / hertz + 100 / gpu.shared_wavefronts / hertz;
  EXPECT_DOUBLE_EQ(counted_time(kernel, gpu).seconds, one + gpu.graph_node_us * 1e-6);
  EXPECT_STREQ(counted_time(kernel, gpu).bound, "launches");

  // With many blocks L2 is the bound of the sectors.
  kernel.blocks = kernel.observed_blocks = 1080;
  const double many =
      1000 * 32 / (gpu.l2_gb_s * 1e9) + 100 / gpu.shared_wavefronts / hertz / gpu.multiprocessors;
  EXPECT_DOUBLE_EQ(counted_time(kernel, gpu).seconds, many + gpu.graph_node_us * 1e-6);
}

}  // namespace
}  // namespace rondo::program

// LeNet under every algorithm of the all-reduce, and in fixed order on any number of devices.
#include <gtest/gtest.h>

#include <rondo/kernels/core/platform.h>
#include <rondo/nn/lenet_from_scratch.h>
#include <rondo/tests/nn/small_data.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/status_checks.h>

namespace rondo::lenet {
namespace {

using test::all_equal_bits;

std::vector<int> ranks(int count) {
  std::vector<int> devices;
  for (int rank = 0; rank < count; ++rank) devices.push_back(rank % device_count());
  return devices;
}

Result run(const Options& options) {
  Observer silent;
  return train(test::small_data(123, 20), options, silent);
}

class Algorithms : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, Algorithms,
                         testing::Values(Algorithm::automatic, Algorithm::ring, Algorithm::direct,
                                         Algorithm::root),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(Algorithms, ReplicasStayEqual) {
  for (int count : {2, 4, 8}) {
    Options options;
    options.devices = ranks(count);
    options.batch_size = 50;
    options.epochs = 2;
    options.verify = true;
    options.algorithm = GetParam();
    const Result result = run(options);
    EXPECT_GT(result.verified_steps, 0);
    EXPECT_EQ(result.differing_values, 0) << count << " devices";
  }
}

// Ragged batches too: blocks of different sizes, and some that are empty.
TEST(FixedOrder, ParametersDoNotDependOnTheNumberOfDevices) {
  std::vector<float> of_one;
  for (int count : {1, 2, 3, 4, 8}) {
    Options options;
    options.devices = ranks(count);
    options.batch_size = 50;
    options.epochs = 3;
    options.verify = true;
    options = in_fixed_order(options);
    EXPECT_EQ(options.devices.size(), static_cast<size_t>(kSampleBlocks));
    const Result result = run(options);
    EXPECT_EQ(result.differing_values, 0);
    if (count == 1) of_one = result.parameters;
    EXPECT_TRUE(all_equal_bits(result.parameters, of_one)) << count << " devices";
  }
}

// Else the test above would show nothing.
TEST(FixedOrder, WithoutItTheNumberOfDevicesShows) {
  Options options;
  options.batch_size = 50;
  options.epochs = 3;
  options.algorithm = Algorithm::direct;
  options.devices = ranks(1);
  const Result one = run(options);
  options.devices = ranks(8);
  EXPECT_FALSE(all_equal_bits(run(options).parameters, one.parameters));
}

TEST(FixedOrder, RefusesMoreDevicesThanBlocks) {
  Options options;
  options.devices = std::vector<int>(9, 0);
  try {
    in_fixed_order(options);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_TRUE(test::refused(error.status(), "there are 9 devices, must be 1 to 8"));
  }
}

TEST(FixedOrder, RefusesFewerSamplesThanBlocks) {
  Options options;
  options.devices = ranks(1);
  options.batch_size = 8;
  EXPECT_EQ(in_fixed_order(options).devices.size(), 8u);
  options.batch_size = 7;
  try {
    in_fixed_order(options);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& error) {
    EXPECT_TRUE(test::refused(error.status(),
                              "the batch has 7 samples, must have at least 8, one for each sample block"));
  }
}

}  // namespace
}  // namespace rondo::lenet

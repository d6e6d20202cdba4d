// Missing devices are an error before the data set is loaded, which takes longer.
#include <gtest/gtest.h>

#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/strategies/strategies.h>
#include <rondo/tools/rondo/train/train_from_scratch.h>
#include <rondo/tools/rondo/train/train_network.h>

#include <sstream>

#ifdef __SIMT__
#include <simt/faults.h>

namespace rondo::program {
namespace {

// The error of `run`, where no device can be used and there is no data set.
template <class Run>
std::string error_without_devices(const Run& run) {
  std::ostringstream out;
  simt::set_driver(simt::Driver::insufficient);
  std::string error = "none";
  try {
    run(out);
  } catch (const Error& thrown) {
    error = thrown.what();
  }
  simt::set_driver(simt::Driver::current);
  EXPECT_EQ(out.str(), "");
  return error;
}

TEST(MissingDevices, AreAnErrorBeforeTheDataSet) {
  NetworkArguments network;
  network.data = "/none";
  network.devices = {0, 1};
  const std::string expected = "cudaErrorInsufficientDriver";
  for (const bool from_scratch : {false, true}) {
    network.model = "lenet";
    network.recipe = kLeNetRecipe;
    network.from_scratch = from_scratch;
    const std::string error = error_without_devices([&](std::ostream& out) {
      if (from_scratch)
        train_from_scratch(network, out, Terminal{});
      else
        train_network(network, out, Terminal{});
    });
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  }
  StrategiesArguments strategies;
  strategies.model = "lenet";
  strategies.data = "/none";
  strategies.devices = {0, 1};
  const std::string error =
      error_without_devices([&](std::ostream& out) { run_strategies(strategies, out); });
  EXPECT_NE(error.find(expected), std::string::npos) << error;
}

}  // namespace
}  // namespace rondo::program
#endif

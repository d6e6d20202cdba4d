// A program of its own, because the GPU of a process is set once.
#include <gtest/gtest.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/profile/profile.h>

#include <simt/observe.h>

#include <string>

namespace rondo::program {
namespace {

TEST(Profile, AStepWithoutItsTensorCoresIsRefused) {
  if (!simt::can_observe()) GTEST_SKIP() << "needs RONDO_OBSERVE";
  ProfileArguments arguments;
  arguments.work = ProfiledWork::train;
  arguments.model = "lenet";
  arguments.batch = 32;
  arguments.gpu = "t4";
  for (const Precision precision : {Precision::tf32, Precision::tf32x3, Precision::bf16}) {
    arguments.precision = precision;
    try {
      run_profile(arguments);
      FAIL() << name_of(precision);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("needs compute capability 8.0; the device has 7.5"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace rondo::program

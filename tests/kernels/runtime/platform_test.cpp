#include <rondo/kernels/runtime/platform.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace rondo::test {
namespace {

constexpr const char* kConnections = "CUDA_DEVICE_MAX_CONNECTIONS";

TEST(Platform, SetsTheNumberOfConnectionsUnlessTheUserHas) {
  const char* const value = std::getenv(kConnections);
  const std::string before = value ? value : "";
  setenv(kConnections, "8", 1);
  set_cuda_environment();
  EXPECT_STREQ(std::getenv(kConnections), "8");
  unsetenv(kConnections);
  set_cuda_environment();
  EXPECT_STREQ(std::getenv(kConnections), "32");
  if (value)
    setenv(kConnections, before.c_str(), 1);
  else
    unsetenv(kConnections);
}

}  // namespace
}  // namespace rondo::test

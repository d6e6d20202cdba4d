#include <gtest/gtest.h>
#include <rondo/tools/rondo/devices.h>

namespace rondo::program {
namespace {

TEST(Devices, TwoRanksByDefault) {
  EXPECT_EQ(default_devices(1), (std::vector<int>{0, 0})) << "one device carries both";
  EXPECT_EQ(default_devices(2), (std::vector<int>{0, 1}));
  EXPECT_EQ(default_devices(8), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace rondo::program

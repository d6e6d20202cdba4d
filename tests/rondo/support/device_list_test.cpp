#include <gtest/gtest.h>
#include <rondo/tools/rondo/support/device_list.h>

namespace rondo::program {
namespace {

TEST(Devices, RanksTakeTurns) {
  EXPECT_EQ(in_turn(2, 1), (std::vector<int>{0, 0})) << "one device carries both";
  EXPECT_EQ(in_turn(2, 2), (std::vector<int>{0, 1}));
  EXPECT_EQ(in_turn(3, 2), (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(in_turn(2, 8), (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace rondo::program

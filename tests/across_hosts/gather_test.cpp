// gather(): values in the order of the processes. Gathers of different kinds or sizes do not mix.
#include <gtest/gtest.h>

#include <rondo/collectives/across_hosts/gather.h>
#include <rondo/tests/support/process_pair.h>

#include <array>
#include <string>
#include <vector>

namespace rondo::test {
namespace {

using Large = std::array<int64_t, 100>;  // does not fit the first message

template <class T>
std::vector<std::string> errors_of(const std::array<std::string, 2>& whats,
                                   const std::array<std::string, 2>& kinds) {
  std::vector<std::string> errors(2);
  ProcessPair::run([&](ProcessGroup& processes, int index) {
    const auto own = static_cast<size_t>(index);
    T mine = {};
    if constexpr (std::is_same_v<T, Large>)
      mine[99] = 7 + index;
    else
      mine = static_cast<T>(7 + index);
    std::vector<T> all;
    const Status status = gather(processes, mine, all, whats[own], kinds[own]);
    errors[own] = status.message();
    if (!status.ok()) return;
    EXPECT_EQ(all.size(), 2u);
    for (size_t process = 0; process < all.size(); ++process) {
      T expected = {};
      if constexpr (std::is_same_v<T, Large>)
        expected[99] = 7 + static_cast<int64_t>(process);
      else
        expected = static_cast<T>(7 + process);
      EXPECT_EQ(all[process], expected);
    }
  });
  return errors;
}

using Texts = std::vector<std::string>;

TEST(Gather, HasTheValueOfEachProcess) {
  EXPECT_EQ(errors_of<int>({"counting", "counting"}, {"", ""}), Texts(2));
  EXPECT_EQ(errors_of<Large>({"counting", "counting"}, {"", ""}), Texts(2));
}

// The purpose is for messages: the kind decides. Without a kind, it is the purpose.
TEST(Gather, ComparesKinds) {
  EXPECT_EQ(errors_of<int>({"counting", "adding"}, {"numbers", "numbers"}), Texts(2));
  const std::string kinds =
      "process 1 is at 'words' (4 bytes) and process 0 at 'numbers' (4 bytes), must be at the same";
  EXPECT_EQ(errors_of<int>({"counting", "counting"}, {"numbers", "words"}), Texts(2, kinds));
  const std::string purposes =
      "process 1 is at 'adding' (4 bytes) and process 0 at 'counting' (4 bytes), must be at the same";
  EXPECT_EQ(errors_of<int>({"counting", "adding"}, {"", ""}), Texts(2, purposes));
}

// The next gather is not disturbed by one that was refused.
TEST(Gather, ComparesSizes) {
  std::vector<std::string> errors(2);
  ProcessPair::run([&](ProcessGroup& processes, int index) {
    std::vector<int32_t> narrow;
    std::vector<Large> wide;
    const Status status = index == 0 ? gather(processes, int32_t{1}, narrow, "counting")
                                     : gather(processes, Large{}, wide, "counting");
    errors[static_cast<size_t>(index)] = status.message();
    EXPECT_TRUE(gather(processes, index, narrow, "counting").ok());
    EXPECT_EQ(narrow, (std::vector<int32_t>{0, 1}));
  });
  const std::string sizes =
      "process 1 is at 'counting' (800 bytes) and process 0 at 'counting' (4 bytes), must be at the same";
  EXPECT_EQ(errors, Texts(2, sizes));
}

}  // namespace
}  // namespace rondo::test

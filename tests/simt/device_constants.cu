// Constants that g++ stores as a whole: structs of 32 and 64 bytes, passed by value and copied from arrays
// (tools/cmake/native.cmake).
#include <cstdint>
#include <iterator>
#include <vector>

#include "device_testing.h"

namespace {

struct Sizes {
  int64_t m, n, k;
  bool first = false, second = false;
};

struct Box {
  int64_t size[4];
};

struct Counts {
  int values[16];
};

// The last two words. noipa: the arguments stay where the caller has put them.
__attribute__((noipa)) int64_t upper(Sizes sizes) { return 10 * sizes.first + sizes.second; }
__attribute__((noipa)) int64_t upper(Box box) { return 10 * box.size[2] + box.size[3]; }
__attribute__((noipa)) int64_t upper(Counts counts) { return 10 * counts.values[14] + counts.values[15]; }

TEST(Constants, KeepUpperWordsOfZero) {
  EXPECT_EQ(upper(Sizes{1024, 1024, 1024}), 0);
  EXPECT_EQ(upper(Sizes{257, 257, 257, true}), 10);
  EXPECT_EQ(upper(Box{3, 3, 3, 0}), 30);
  EXPECT_EQ(upper(Box{3, 3, 0, 0}), 0);
  EXPECT_EQ(upper(Counts{7, 7, 7, 7, 7, 7, 7, 7, 7, 7}), 0);
}

TEST(Constants, OfArraysKeepUpperWordsOfZero) {
  constexpr Sizes kSizes[] = {{4096, 4096, 4096}, {4096, 4096, 4096, true}, {257, 257, 257}};
  std::vector<Sizes> copy;
  copy.insert(copy.end(), std::begin(kSizes), std::end(kSizes));
  EXPECT_EQ(upper(copy[0]), 0);
  EXPECT_EQ(upper(copy[1]), 10);
  EXPECT_EQ(upper(copy[2]), 0);
}

}  // namespace

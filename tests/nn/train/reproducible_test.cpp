// Two runs with the same arguments give the same bits, for any number of worker threads and any order in
// which the executor runs independent work.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

std::string fingerprint(const std::string& environment) {
  FILE* pipe = popen((environment + " " LENET_FINGERPRINT).c_str(), "r");
  if (pipe == nullptr) return "could not be started";
  std::array<char, 64> line = {};
  const bool read = std::fgets(line.data(), line.size(), pipe) != nullptr;
  const int exit = pclose(pipe);
  return read && exit == 0 ? line.data() : "failed under " + environment;
}

TEST(Reproducible, SameBitsInEveryRun) {
  const std::string first = fingerprint("");
  ASSERT_EQ(first.size(), 17u) << first;
  EXPECT_EQ(fingerprint(""), first);
}

// On a GPU these variables have no effect, and the runs are plain repetitions.
TEST(Reproducible, SameBitsWithAnyNumberOfWorkers) {
  const std::string first = fingerprint("");
  for (const char* workers : {"1", "2", "3", "7"})
    EXPECT_EQ(fingerprint(std::string("SIMT_WORKERS=") + workers), first) << workers << " workers";
}

TEST(Reproducible, SameBitsInEveryOrderOfExecution) {
  const std::string first = fingerprint("");
  for (int seed = 1; seed <= 6; ++seed)
    EXPECT_EQ(fingerprint("SIMT_SEED=" + std::to_string(seed)), first) << "seed " << seed;
}

TEST(Reproducible, SameBitsWhenCopiesAreLate) {
  EXPECT_EQ(fingerprint("SIMT_LATE_COPIES=1"), fingerprint(""));
}

}  // namespace

// Two runs with the same arguments give the same bits, for any number of worker threads and any order in
// which the executor runs independent work.

#include <gtest/gtest.h>

#include <rondo/kernels/core/math_mode.h>
#include <rondo/tests/support/status_checks.h>

#include <array>
#include <cstdio>
#include <string>

namespace rondo {
namespace {

std::string fingerprint(const std::string& environment, const std::string& precision = "") {
  FILE* pipe = popen((environment + " " TRAINING_FINGERPRINT " " + precision).c_str(), "r");
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

// By mma.sync and, with the properties of an H100, by wgmma.
TEST(Reproducible, SameBitsWithTensorCores) {
  SKIP_IF_REFUSED(check_math("tf32", Math::tf32));
  for (const std::string gpu : {"SIMT_GPU=a100", "SIMT_GPU=h100"}) {
    std::string firsts[2];
    for (const int bf16 : {0, 1}) {
      const std::string precision = bf16 ? "bf16" : "tf32";
      const std::string first = firsts[bf16] = fingerprint(gpu, precision);
      ASSERT_EQ(first.size(), 17u) << first;
      for (const char* setting : {"SIMT_WORKERS=1", "SIMT_WORKERS=7 SIMT_SEED=1", "SIMT_LATE_COPIES=1",
                                  "SIMT_SEED=2 SIMT_LATE_COPIES=1"})
        EXPECT_EQ(fingerprint(gpu + " " + setting, precision), first)
            << gpu << " " << setting << ", " << precision;
    }
    EXPECT_NE(firsts[0], firsts[1]) << "the precisions have the same bits";
  }
}

}  // namespace
}  // namespace rondo

#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/support/status_checks.h>
#include <rondo/tools/rondo/collective/session.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace rondo::program {
namespace {

// One rank whose operations take 50 ms.
class SlowEngine final : public Engine {
 public:
  int ranks() const override { return 1; }
  int first_rank() const override { return 0; }
  const std::vector<int>& devices() const override { return devices_; }
  Status enqueue(const CollectiveCall&, RankOutputs, RankInputs, RankStreams streams) override {
    const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
    RONDO_CUDA(cudaLaunchHostFunc(streams[0], sleep, nullptr));
    return {};
  }
  Algorithm algorithm_of(const CollectiveCall&, int64_t) const override { return Algorithm::ring; }
  bool peers_reachable() const override { return true; }
  void set_trace(Trace*) override {}

 private:
  std::vector<int> devices_ = {0};
};

TEST(Session, MemoryIsWhatTheRuntimeCounts) {
  if (platform() != std::string("cpu")) GTEST_SKIP() << "a GPU hands out memory in large units";
  const auto free_bytes = [] {
    size_t free = 0, total = 0;
    RONDO_CUDA_THROW(cudaMemGetInfo(&free, &total));
    return static_cast<int64_t>(free);
  };
  for (const int64_t most : {1, 64, 4097})
    for (const int misalign : {0, 3}) {
      SlowEngine engine;
      const SessionOptions options = {.misalign = misalign};
      const int64_t before = free_bytes();
      const Session session(engine, most, options);
      EXPECT_EQ(before - free_bytes(), Session::bytes_per_rank(most, options)) << most << ", " << misalign;
    }
}

// All operations together take no longer than the call that measures them, however busy the machine is.
TEST(Session, ATimeIsThatOfOneOperation) {
  for (const auto& [iterations, launches] : {std::pair{4, 0}, {1, 4}, {2, 2}}) {
    SCOPED_TRACE(concat(iterations, " iterations, ", launches, " launches"));
    SlowEngine engine;
    Session session(engine, 64,
                    {.iterations = iterations, .warmup = 0, .checks = 0, .graph_launches = launches});
    const auto begin = std::chrono::steady_clock::now();
    const Measured measured = session.measure({}, 4, false, 1);
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
    ASSERT_EQ(measured.seconds.size(), 1u);
    EXPECT_GE(measured.seconds[0], 0.049);
    EXPECT_LE(measured.seconds[0] * iterations * std::max(launches, 1), all.count());
  }
}

}  // namespace
}  // namespace rondo::program

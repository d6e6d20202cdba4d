#include <gtest/gtest.h>

#include <rondo/nn/diagnostics/loss_probe.h>

namespace rondo {
namespace {

LossStats loss_stats(double loss, int64_t rows) {
  LossStats t;
  t.loss = loss;
  t.rows = rows;
  t.correct = rows / 2;
  return t;
}

TEST(LossProbe, AddsTheRanksAndKeepsTheOrderOfItsCopies) {
  Stream stream;
  Buffer<LossStats> first(1), second(1);
  Buffer<unsigned long long> found(1);
  LossProbe probe(0, stream, {first.data(), second.data()}, found.data(), 4);
  EXPECT_FALSE(probe.in_flight());
  for (int i = 1; i <= 3; ++i) {
    first.upload(std::vector<LossStats>{loss_stats(i, 10 * i)});
    second.upload(std::vector<LossStats>{loss_stats(0.5, 1)});
    found.upload(std::vector<unsigned long long>{static_cast<unsigned long long>(100 * i)});
    ASSERT_TRUE(probe.enqueue_copy());
    stream.synchronize();
  }
  for (int i = 1; i <= 3; ++i) {
    const auto [seen, first_nonfinite] = probe.wait_for_oldest();
    EXPECT_EQ(first_nonfinite, 100 * i);
    EXPECT_EQ(seen.loss, i + 0.5);
    EXPECT_EQ(seen.rows, 10 * i + 1);
    EXPECT_EQ(seen.correct, 5 * i);
  }
  EXPECT_FALSE(probe.in_flight());
}

TEST(LossProbe, RefusesACopyBeyondItsCapacityAndLosesNone) {
  Stream stream;
  Buffer<LossStats> only(std::vector<LossStats>{loss_stats(7, 3)});
  LossProbe probe(0, stream, {only.data()}, nullptr, 2);
  EXPECT_TRUE(probe.enqueue_copy());
  EXPECT_TRUE(probe.enqueue_copy());
  EXPECT_FALSE(probe.enqueue_copy());
  EXPECT_EQ(probe.wait_for_oldest().losses.loss, 7);
  const LossProbe::Copy last = probe.wait_for_oldest();
  EXPECT_EQ(last.losses.loss, 7);
  EXPECT_EQ(last.first_nonfinite, kAllFinite);
  EXPECT_FALSE(probe.in_flight());
  EXPECT_TRUE(probe.enqueue_copy());
}

}  // namespace
}  // namespace rondo

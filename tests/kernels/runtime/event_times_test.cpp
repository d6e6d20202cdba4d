// Event times keep their resolution long after the first event.
#include <gtest/gtest.h>

#include <rondo/kernels/runtime/event_times.h>

#include <cmath>

namespace rondo {
namespace {

// Runs event_times() on `times` (microseconds). Like CUDA, it gets only differences, as float milliseconds.
std::vector<double> measured(const std::vector<double>& times) {
  const auto milliseconds = [](double us) { return static_cast<float>(us * 1e-3); };
  return event_times(
      times.size(), [&](size_t i) { return milliseconds(times[i]); },
      [&](size_t i, size_t j) { return milliseconds(times[j] - times[i]); });
}

TEST(EventTimes, OfNoEventsAreEmpty) { EXPECT_TRUE(measured({}).empty()); }

TEST(EventTimes, AreExactAfterMinutesOfEvents) {
  std::vector<double> times;
  for (double t = 3; t < 200e6; t += 20'000.25) times.push_back(t);
  const std::vector<double> found = measured(times);
  for (size_t i = 0; i < times.size(); ++i)
    ASSERT_NEAR(found[i], times[i], 0.02 * (1 + times[i] / 100e3)) << i;
  for (size_t i = 1; i < times.size(); ++i) ASSERT_NEAR(found[i] - found[i - 1], 20'000.25, 0.02) << i;
}

// After a pause the first time has the error of one float step. Later times are exact relative to it.
TEST(EventTimes, DifferencesAreExactAfterALongPause) {
  std::vector<double> times = {1, 2.5};
  for (int i = 0; i < 1000; ++i) times.push_back(120e6 + i * 1.25);
  const std::vector<double> found = measured(times);
  EXPECT_NEAR(found[2], times[2], 8);
  for (size_t i = 3; i < times.size(); ++i) ASSERT_NEAR(found[i] - found[2], times[i] - times[2], 0.02) << i;
}

// Spans of several streams may be opened in an order other than that of their beginnings.
TEST(EventTimes, NeedNoOrder) {
  const std::vector<double> times = {150e6 + 3, 2, 150e6 + 1, 150e6, 70e6, 150e6 + 2};
  const std::vector<double> found = measured(times);
  for (size_t i : {0, 2, 5}) EXPECT_NEAR(found[i] - found[3], times[i] - times[3], 0.02);
  EXPECT_NEAR(found[4], times[4], 8);
}

}  // namespace
}  // namespace rondo

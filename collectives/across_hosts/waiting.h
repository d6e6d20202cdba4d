// Waiting: how long somebody has waited for messages, and whether those that are missed are to blame.
//
// A process that is stopped keeps others waiting, and these keep others waiting in turn. So that the right one is
// named, whoever has waited for half of the timeout calls out from then on; who is missed and was not heard of lately
// has not even come as far as to wait.
//
//   while (something is missing)  if (it came) something_happened(); else pause();
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

namespace rondo {

class Waiting {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Waiting(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  // A message has arrived or was taken.
  void something_happened() {
    waited_ = {};
    rounds_ = 0;
  }
  void heard_of(int process) { heard_[process] = Clock::now(); }

  bool is_long() const { return waited_ >= timeout_ / 2; }

  // Of those that are missed: who was not heard of lately.
  std::vector<int> silent(const std::vector<int>& missed) const {
    std::vector<int> found;
    for (int process : missed) {
      const auto heard = heard_.find(process);
      if (heard == heard_.end() || Clock::now() - heard->second > timeout_ / 4) found.push_back(process);
    }
    return found;
  }

  // Whoever waits for one that waits itself gives up later, so that the last in such a row is the one to tell.
  bool is_over(const std::vector<int>& missed) const {
    return waited_ >= timeout_ && (!silent(missed).empty() || waited_ >= timeout_ * 3 / 2);
  }

  // Whether it is time to call out (again).
  bool call_out() {
    if (!is_long() || Clock::now() - called_ < timeout_ / 16) return false;
    called_ = Clock::now();
    return true;
  }

  // Lets others have the core: messages between neighbours take microseconds, those for which it takes longer are
  // looked for every 50 us.
  void pause() {
    constexpr int kYields = 1000;
    if (++rounds_ < kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    // A process that was itself stopped in between has not waited for so long.
    const Clock::time_point now = Clock::now();
    waited_ += std::min<Clock::duration>(now - last_, timeout_ / 8);
    last_ = now;
  }

 private:
  std::chrono::milliseconds timeout_;
  Clock::duration waited_ = {};
  Clock::time_point last_ = Clock::now(), called_ = {};
  std::map<int, Clock::time_point> heard_;
  int rounds_ = 0;
};

}  // namespace rondo

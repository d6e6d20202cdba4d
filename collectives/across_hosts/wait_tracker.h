// WaitTracker: measures how long a thread has waited for messages and decides which process the error names.
//
// A stopped process blocks others, and these block others in turn. The error should name the stopped one. So
// after half of the timeout a waiting process sends keep-alives to all others. A missing process that sent no
// keep-alive recently is not waiting, so it has stopped.
//
//   while (a message is missing)  if (one arrived) on_progress(); else pause();
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>
#include <vector>

namespace rondo {

class WaitTracker {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WaitTracker(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  // Call when a message has arrived or was sent.
  void on_progress() {
    waited_ = {};
    rounds_ = 0;
  }
  void on_keepalive(int process) { heard_[process] = Clock::now(); }

  bool past_half_timeout() const { return waited_ >= timeout_ / 2; }

  // The processes in `missed` from which no keep-alive came recently.
  std::vector<int> unresponsive(const std::vector<int>& missed) const {
    std::vector<int> found;
    for (int process : missed) {
      const auto heard = heard_.find(process);
      if (heard == heard_.end() || Clock::now() - heard->second > timeout_ / 4) found.push_back(process);
    }
    return found;
  }

  // If all missing processes are themselves waiting, the timeout is longer, so that the process that waits
  // for the stopped one reports the error first.
  bool is_over(const std::vector<int>& missed) const {
    return waited_ >= timeout_ && (!unresponsive(missed).empty() || waited_ >= timeout_ * 3 / 2);
  }

  // Whether to send keep-alives now.
  bool should_send_keepalive() {
    if (!past_half_timeout() || Clock::now() - sent_ < timeout_ / 16) return false;
    sent_ = Clock::now();
    return true;
  }

  // Yields the core. Messages between nearby processes take microseconds; after 1000 yields it sleeps 50 us
  // each time.
  void pause() {
    constexpr int kYields = 1000;
    if (++rounds_ < kYields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    // If this process was itself stopped, the time does not count as waiting.
    const Clock::time_point now = Clock::now();
    waited_ += std::min<Clock::duration>(now - last_, timeout_ / 8);
    last_ = now;
  }

 private:
  std::chrono::milliseconds timeout_;
  Clock::duration waited_ = {};
  Clock::time_point last_ = Clock::now(), sent_ = {};
  std::map<int, Clock::time_point> heard_;
  int rounds_ = 0;
};

}  // namespace rondo

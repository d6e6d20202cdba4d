// Waiting: measures how long a thread has waited for messages and decides which process to blame.
//
// A stopped process blocks others, and these block others in turn. Waiting processes announce it, so that the
// error names the one that stopped: after half of the timeout a process sends calls to all others. A missing
// process from which no call came recently is not waiting itself.
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

  // Call when a message has arrived or was sent.
  void something_happened() {
    waited_ = {};
    rounds_ = 0;
  }
  void heard_of(int process) { heard_[process] = Clock::now(); }

  bool is_long() const { return waited_ >= timeout_ / 2; }

  // The processes in `missed` from which no call came recently.
  std::vector<int> silent(const std::vector<int>& missed) const {
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
    return waited_ >= timeout_ && (!silent(missed).empty() || waited_ >= timeout_ * 3 / 2);
  }

  // Whether to send calls now.
  bool call_out() {
    if (!is_long() || Clock::now() - called_ < timeout_ / 16) return false;
    called_ = Clock::now();
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
  Clock::time_point last_ = Clock::now(), called_ = {};
  std::map<int, Clock::time_point> heard_;
  int rounds_ = 0;
};

}  // namespace rondo

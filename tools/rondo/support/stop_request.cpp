#include <rondo/tools/rondo/support/stop_request.h>
#include <signal.h>

#include <atomic>
#include <iterator>

namespace rondo::program {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction before[std::size(kSignals)];
std::atomic<int> arrived{0};
static_assert(std::atomic<int>::is_always_lock_free);

// Records the first signal and restores the previous handlers; further SIGHUPs are ignored.
void note(int signal) {
  arrived = signal;
  for (size_t i = 0; i < std::size(kSignals); ++i)
    if (kSignals[i] == SIGHUP)
      ::signal(SIGHUP, SIG_IGN);
    else
      sigaction(kSignals[i], &before[i], nullptr);
}

}  // namespace

StopRequest::StopRequest() {
  arrived = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], nullptr, &before[i]);
  for (size_t i = 0; i < std::size(kSignals); ++i)
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
}

StopRequest::~StopRequest() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before[i], nullptr);
}

int StopRequest::signal() { return arrived; }

}  // namespace rondo::program

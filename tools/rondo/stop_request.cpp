#include <rondo/tools/rondo/stop_request.h>

#include <atomic>

namespace rondo::program {

namespace {

std::atomic<int> arrived{0};
static_assert(std::atomic<int>::is_always_lock_free);

// The first is noted; from then on all of them do what they always did.
void note(int signal) {
  arrived = signal;
  for (const int each : {SIGINT, SIGTERM}) std::signal(each, SIG_DFL);
}

}  // namespace

StopRequest::StopRequest() {
  arrived = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], &action, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN)
      sigaction(kSignals[i], &before_[i], nullptr);  // it was not to be heard
  }
}

StopRequest::~StopRequest() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int StopRequest::signal() { return arrived; }

}  // namespace rondo::program

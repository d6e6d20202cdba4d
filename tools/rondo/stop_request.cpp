#include <rondo/tools/rondo/stop_request.h>

#include <atomic>

namespace rondo::program {

namespace {

std::atomic<int> arrived{0};
static_assert(std::atomic<int>::is_always_lock_free);

// All that a handler may touch.
void note(int signal) { arrived = signal; }

}  // namespace

StopRequest::StopRequest() {
  arrived = 0;
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // the second one does what it always did
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before_[i]);
}

StopRequest::~StopRequest() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

int StopRequest::signal() { return arrived; }

}  // namespace rondo::program

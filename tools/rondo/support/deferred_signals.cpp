#include <rondo/tools/rondo/support/deferred_signals.h>

#include <atomic>

namespace rondo::program {
namespace {

// One bit per signal. The signal handler accesses nothing else.
std::atomic<unsigned> arrived_signals{0};
static_assert(std::atomic<unsigned>::is_always_lock_free);

void note(int signal) { arrived_signals |= 1u << signal; }

}  // namespace

DeferredSignals::DeferredSignals() {
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

DeferredSignals::~DeferredSignals() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  const unsigned missed = arrived_signals.exchange(0);
  for (const int signal : kSignals)
    if (missed >> signal & 1) raise(signal);
}

int DeferredSignals::arrived() {
  for (const int signal : kSignals)
    if (arrived_signals >> signal & 1) return signal;
  return 0;
}

}  // namespace rondo::program

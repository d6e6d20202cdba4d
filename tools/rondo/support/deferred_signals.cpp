#include <rondo/tools/rondo/support/deferred_signals.h>

#include <atomic>

namespace rondo::program {
namespace {

// One bit per signal. The signal handler accesses nothing else.
std::atomic<unsigned> arrived{0};
static_assert(std::atomic<unsigned>::is_always_lock_free);

void note(int signal) { arrived |= 1u << signal; }

}  // namespace

DeferredSignals::DeferredSignals() {
  struct sigaction action = {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &before_[i]);
}

DeferredSignals::~DeferredSignals() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  const unsigned missed = arrived.exchange(0);
  for (const int signal : kSignals)
    if (missed >> signal & 1) raise(signal);
}

}  // namespace rondo::program

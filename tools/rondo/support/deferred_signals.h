// DeferredSignals: SIGINT, SIGTERM and SIGHUP wait until the end of the scope, whichever thread they reach.
#pragma once

#include <csignal>
#include <iterator>

namespace rondo::program {

// One at a time. At the end a signal that came meanwhile does what it would have done.
class DeferredSignals {
 public:
  DeferredSignals();
  ~DeferredSignals();
  DeferredSignals(const DeferredSignals&) = delete;
  DeferredSignals& operator=(const DeferredSignals&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace rondo::program

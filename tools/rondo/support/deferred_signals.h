// DeferredSignals: defers SIGINT, SIGTERM and SIGHUP to the end of the scope, in all threads.
#pragma once

#include <csignal>
#include <iterator>

namespace rondo::program {

// At most one instance at a time. The destructor raises the signals that arrived in the meantime.
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

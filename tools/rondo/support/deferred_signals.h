// DeferredSignals: defers SIGINT, SIGTERM, SIGHUP and SIGPIPE to the end of the scope, in all threads.
#pragma once

#include <csignal>
#include <iterator>

namespace rondo::program {

// Instances may be nested. The destructor raises the signals that arrived in the meantime. Signals that the
// process ignores stay ignored, as SIGHUP under nohup.
class DeferredSignals {
 public:
  DeferredSignals();
  ~DeferredSignals();
  DeferredSignals(const DeferredSignals&) = delete;
  DeferredSignals& operator=(const DeferredSignals&) = delete;

  // A signal that has arrived and is deferred, or 0: a long work asks whether it must end.
  static int arrived();

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace rondo::program

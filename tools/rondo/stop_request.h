// StopRequest: Ctrl-C and SIGTERM ask the work to end by itself; a second one ends the program at once.
#pragma once

#include <csignal>
#include <iterator>

namespace rondo::program {

// One at a time.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // The signal that came, 0 as long as none did.
  static int signal();

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM};
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace rondo::program

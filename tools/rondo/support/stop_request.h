// StopRequest: the first Ctrl-C, SIGTERM or SIGHUP requests a regular end of the work; a second Ctrl-C or
// SIGTERM ends the program at once. A second SIGHUP is ignored: when a terminal closes, the system and the
// shell may each send one.
#pragma once

namespace rondo::program {

// At most one instance at a time. A signal that was ignored before (nohup) stays ignored.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // The signal that arrived, or 0.
  static int signal();
};

}  // namespace rondo::program

// StopRequest: Ctrl-C, SIGTERM and SIGHUP ask the work to end by itself; a second Ctrl-C or SIGTERM ends the
// program at once. SIGHUP may come twice when a terminal goes, from the system and from the shell: more of it
// changes nothing.
#pragma once

namespace rondo::program {

// One at a time. A signal that was ignored before (nohup) stays ignored.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  // The signal that came, 0 as long as none did.
  static int signal();
};

}  // namespace rondo::program

// Runs another program to its end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rondo::program {

struct ProcessOptions {
  std::map<std::string, std::string> environment = {};  // besides that of this process
  std::vector<std::string> left_out =
      {};  // beginnings of names: variables of this process that are not passed
  // Files; empty: those of this process. The same file for output and error takes both in order.
  std::string standard_input = {}, standard_output = {}, standard_error = {};
  std::string file_3 = {};   // written as file descriptor 3; empty: none
  std::string folder = {};   // the working folder; empty: that of this process
  double seconds = 0;        // the most that it may take, also of each processor (RLIMIT_CPU); 0: no limit
  int64_t memory_bytes = 0;  // the most that it may allocate (RLIMIT_DATA); 0: no limit
  int64_t file_bytes = 0;    // the most that it may write to a file (RLIMIT_FSIZE); 0: no limit
};

struct ProcessEnd {
  int code = 0;    // the exit code, or 128 plus the signal as in shells
  int signal = 0;  // that ended the process; 0: it has exited
  bool timed_out = false;
};

// Starts words[0], which is looked up in PATH, with the other words as arguments, and waits for its end.
// Meanwhile this process ignores Ctrl-C, which the other one gets, too. The other one ends if this process is
// killed. Throws an Error if the program can't be started. If a signal has arrived that is deferred
// (DeferredSignals), the other process gets it, too, and an Error is thrown when it has ended or was killed
// after a second. Several threads may run processes at the same time.
ProcessEnd run_process(const std::vector<std::string>& words, const ProcessOptions& options = {});

}  // namespace rondo::program

// Runs another program to its end.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace rondo::program {

struct ProcessOptions {
  std::map<std::string, std::string> environment = {};    // besides that of this process
  std::string standard_output = {}, standard_error = {};  // files; empty: those of this process
};

struct ProcessEnd {
  int code = 0;    // the exit code, or 128 plus the signal as in shells
  int signal = 0;  // that ended the process; 0: it has exited
};

// Starts words[0], which is looked up in PATH, with the other words as arguments, and waits for its end.
// Meanwhile this process ignores Ctrl-C, which the other one gets, too. Throws an Error if the program can't
// be started.
ProcessEnd run_process(const std::vector<std::string>& words, const ProcessOptions& options = {});

}  // namespace rondo::program

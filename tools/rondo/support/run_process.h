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

// Starts words[0], which is looked up in PATH, with the other words as arguments, and waits. Returns its exit
// code, or 128 plus the signal that ended it. Meanwhile this process ignores Ctrl-C, which the other one
// gets, too. Throws an Error if the program can't be started.
int run_process(const std::vector<std::string>& words, const ProcessOptions& options = {});

}  // namespace rondo::program

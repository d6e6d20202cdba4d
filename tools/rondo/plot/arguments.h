// Options of `rondo plot`.
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <string>
#include <vector>

namespace rondo::program {

inline constexpr size_t kMostRuns = 8;  // the number of distinguishable colours

struct PlotArguments {
  std::vector<std::string> runs;   // paths of logs
  std::vector<std::string> names;  // of the runs, in order; empty: the file names
  std::string svg;
};

void add_plot(Program& program);
// Checks the options against each other. Throws a bad_argument Error.
void check(const PlotArguments& arguments);

// The legend's name of each run: its --name, or its file name without directories and .csv. Throws a
// bad_argument Error if two names are equal.
std::vector<std::string> run_names(const PlotArguments& arguments);

}  // namespace rondo::program

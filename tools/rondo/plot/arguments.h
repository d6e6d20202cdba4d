// What may be said to `rondo plot`.
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <string>
#include <vector>

namespace rondo::program {

inline constexpr size_t kMostRuns = 8;  // as many colours as can be told apart

struct PlotArguments {
  std::vector<std::string> runs;   // paths of logs
  std::vector<std::string> names;  // of the runs, in their order; empty: the files' names
  std::string svg;
};

Command add_plot(const Command& app, PlotArguments& to);
// What only shows when all was read. Throws a bad_argument Error.
void check(const PlotArguments& arguments);

// What the legend calls each run: its --name, or the name of its file without directories and .csv. Throws a bad_argument
// Error where two are the same.
std::vector<std::string> run_names(const PlotArguments& arguments);

}  // namespace rondo::program

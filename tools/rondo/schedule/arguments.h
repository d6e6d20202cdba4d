// Options of `rondo schedule`.
#pragma once

#include <rondo/tools/rondo/scale/arguments.h>
#include <rondo/tools/rondo/support/command.h>

#include <cstdint>
#include <string>

namespace rondo::program {

struct ScheduleArguments : LinkArguments {
  int ranks = 0;
  int64_t bytes = int64_t{16} << 20;
  int group = 0;    // ranks in a group of the hierarchical algorithm; 0: default_group_size()
  std::string svg;  // empty: not requested. Without any file the command prints a table.
  std::string html;
  std::string json;
};

// The numbers of ranks that the page of --html and the file of --json can show.
inline constexpr int kLeastPageRanks = 2, kMostPageRanks = 16;

void add_schedule(Program& program);

}  // namespace rondo::program

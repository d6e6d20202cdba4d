// Options of `rondo schedule`.
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <cstdint>
#include <string>

namespace rondo::program {

struct ScheduleArguments {
  int ranks = 0;
  int64_t bytes = int64_t{16} << 20;
  std::string svg;  // empty: print a table
};

void add_schedule(Program& program);

}  // namespace rondo::program

// Options of `rondo devices`.
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <optional>

namespace rondo::program {

struct DevicesArguments {
  std::optional<int> count;  // request at least this many devices
};

void add_devices(Program& program);

}  // namespace rondo::program

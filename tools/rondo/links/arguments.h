// Options of `rondo links`.
#pragma once

#include <rondo/tools/rondo/support/command.h>

#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

struct LinksArguments {
  std::optional<std::vector<int>> devices;  // not given: all
  std::string store = {};                   // empty: the default file
  bool no_store = false;
};

void add_links(Program& program);

}  // namespace rondo::program

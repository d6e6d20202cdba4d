// What may be said to `rondo links`.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rondo::program {

struct LinksArguments {
  std::optional<std::vector<int>> devices;  // not given: all
  std::string store = {};                   // empty: the default file
  bool no_store = false;
};

CLI::App* add_links(CLI::App& app, LinksArguments& to);

}  // namespace rondo::program

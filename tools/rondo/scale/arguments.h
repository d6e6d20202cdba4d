// Options of `rondo scale`.
#pragma once

#include <rondo/collectives/models/scale_links.h>

#include <rondo/tools/rondo/support/command.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::program {

// The links inside nodes and between them.
struct LinkArguments {
  NamedLink inside = *find_link("nvlink"), between = *find_link("network");
  std::optional<std::pair<double, double>> alpha_us;      // inside, between nodes; not given: the links' own
  std::optional<std::pair<double, double>> bandwidth_gb;  // inside, between nodes; not given: the links' own
  bool links_given = false;

  // A cluster of these links. The other members keep their defaults.
  Cluster cluster() const;
};

// Adds --links, --alpha and --bandwidth.
void add_link_options(const Command& command, LinkArguments& to);

struct ScaleArguments : LinkArguments {
  int devices_per_node = 8;
  std::optional<int> adapters_per_node;  // not given: one per device
  std::vector<int64_t> bytes = {1'000'000, 25'000'000, 1'000'000'000};
  int64_t devices = 8192;
  std::string plot;  // empty: not requested
  std::string json;
};

void add_scale(Program& program);

// "nvlink,network": the link inside nodes and the link between nodes.
std::pair<NamedLink, NamedLink> parse_links(const std::string& text);

// "3.4,14": one number above 0 for inside nodes and one for between nodes.
std::pair<double, double> parse_inside_between(const std::string& option, const std::string& text);

// "1MB,25MB,1GB": ascending sizes, at most kMostSizes.
std::vector<int64_t> parse_sizes(const std::string& option, const std::string& text);
inline constexpr size_t kMostSizes = 12;

}  // namespace rondo::program

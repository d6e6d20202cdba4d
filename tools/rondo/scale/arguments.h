// Readers of the options of `rondo scale`.
#pragma once

#include <rondo/collectives/models/scale_links.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rondo::program {

// "nvlink,network": the link inside nodes and the link between nodes.
std::pair<NamedLink, NamedLink> parse_links(const std::string& text);

// "3.4,14": one number above 0 for inside nodes and one for between nodes.
std::pair<double, double> parse_inside_between(const std::string& option, const std::string& text);

// "1MB,25MB,1GB": ascending sizes, at most kMostSizes.
std::vector<int64_t> parse_sizes(const std::string& option, const std::string& text);
inline constexpr size_t kMostSizes = 12;

}  // namespace rondo::program

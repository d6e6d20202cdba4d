#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/parse.h>
#include <rondo/tools/rondo/scale/scale.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <tuple>

namespace rondo::program {
namespace {

constexpr double kLeastValue = 1e-9,
                 kMostValue = 1e9;  // microseconds or GB/s; only a mistyped number is outside

}  // namespace

std::pair<NamedLink, NamedLink> parse_links(const std::string& text) {
  std::string names;
  for (const NamedLink& link : kScaleLinks) names += (names.empty() ? "" : ", ") + std::string(link.name);
  const auto fail = [&](const auto&... why) {
    throw Error(bad_argument("--links is '", text, "', ", why..., ", such as nvlink,network"));
  };
  const std::vector<std::string> list = split(text, ',');
  if (list.size() != 2) fail("must be the link inside nodes and the one between them");
  for (const std::string& name : list)
    if (!find_link(name)) fail("whose entry '", name, "' must be one of ", names);
  return {*find_link(list[0]), *find_link(list[1])};
}

std::pair<double, double> parse_inside_between(const std::string& option, const std::string& text) {
  const std::vector<std::string> list = split(text, ',');
  double values[2] = {0, 0};
  bool valid = list.size() == 2;
  for (size_t i = 0; valid && i < 2; ++i) {
    values[i] = read_number<double>(list[i]).value_or(0);
    valid = values[i] >= kLeastValue && values[i] <= kMostValue;  // NaN fails
  }
  if (valid) return {values[0], values[1]};
  throw Error(bad_argument(option, " is '", text, "', must be two numbers from 1e-9 to 1e9, ",
                           "inside nodes and between them, such as 3.4,14"));
}

Cluster LinkArguments::cluster() const {
  Cluster cluster{.inside = inside.link, .between = between.link};
  if (alpha_us) {
    cluster.inside.alpha = alpha_us->first * 1e-6;
    cluster.between.alpha = alpha_us->second * 1e-6;
  }
  if (bandwidth_gb) {
    cluster.inside.bandwidth = bandwidth_gb->first * 1e9;
    cluster.between.bandwidth = bandwidth_gb->second * 1e9;
  }
  return cluster;
}

void add_link_options(const Command& command, LinkArguments& to) {
  command.add("--links", "INSIDE,BETWEEN",
              "Links inside and between nodes: nvlink, pcie or network [nvlink,network]",
              [&](const std::string& s) {
                std::tie(to.inside, to.between) = parse_links(s);
                to.links_given = true;
              });
  command.add("--alpha", "US,US",
              "Latency of a step in microseconds, inside and between nodes [the links' own]",
              [&](const std::string& s) { to.alpha_us = parse_inside_between("--alpha", s); });
  command.add("--bandwidth", "GB/S,GB/S",
              "Bandwidth of a device inside nodes and of an adapter between nodes [the links' own]",
              [&](const std::string& s) { to.bandwidth_gb = parse_inside_between("--bandwidth", s); });
}

std::vector<int64_t> parse_sizes(const std::string& option, const std::string& text) {
  std::vector<int64_t> sizes;
  for (const std::string& entry : read_list(option, text)) {
    sizes.push_back(parse_byte_count(option, entry, 1));
    if (sizes.size() > 1 && sizes[sizes.size() - 2] >= sizes.back())
      throw Error(bad_argument(option, " is '", text, "', whose entry '", entry,
                               "' must be larger than the one before"));
  }
  if (sizes.size() <= kMostSizes) return sizes;
  throw Error(
      bad_argument(option, " has ", counted(sizes.size(), "size"), ", must have at most ", kMostSizes));
}

namespace {

// Limits that only a mistyped number exceeds.
constexpr int kMaxDevicesPerNode = 4096;
constexpr int64_t kMaxClusterDevices = 1 << 20;

void add_scale_options(const Command& scale, ScaleArguments& to) {
  add_link_options(scale, to);
  add_integer(scale, "--gpus-per-node", "N", "Devices per node [8]", to.devices_per_node, 1,
              kMaxDevicesPerNode);
  add_integer(scale, "--adapters-per-node", "N", "Network adapters per node [as many as devices]",
              to.adapters_per_node, 1, kMaxDevicesPerNode);
  scale.add("--bytes", "LIST", "Sizes of each device's data [1MB,25MB,1GB]",
            [&](const std::string& s) { to.bytes = parse_sizes("--bytes", s); });
  add_integer(scale, "--devices", "N", "The largest number of devices [8192]", to.devices, 2,
              kMaxClusterDevices);
  add_path(scale, "--plot", "FILE.svg", "Plot the time over the number of devices, both axes logarithmic",
           to.plot);
  add_path(scale, "--json", "FILE.json", "Write all figures as JSON", to.json);
}

}  // namespace

void add_scale(Program& program) {
  program.add<ScaleArguments>(
      "scale", "Predict the time of an all-reduce on up to thousands of devices", add_scale_options,
      [](const ScaleArguments& arguments, const RunContext& context) { show_scale(arguments, context.out); });
}

}  // namespace rondo::program

// The command line of `rondo`: its options and their values.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/collectives/models/scale_links.h>
#include <rondo/tools/rondo/banks/arguments.h>
#include <rondo/tools/rondo/collective/arguments.h>
#include <rondo/tools/rondo/links/arguments.h>
#include <rondo/tools/rondo/numerics/arguments.h>
#include <rondo/tools/rondo/plot/arguments.h>
#include <rondo/tools/rondo/profile/arguments.h>
#include <rondo/tools/rondo/shard/arguments.h>
#include <rondo/tools/rondo/strategies/arguments.h>
#include <rondo/tools/rondo/train/arguments.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::program {

struct DevicesArguments {
  std::optional<int> count;  // request at least this many devices
};

struct ScheduleArguments {
  int ranks = 0;
  int64_t bytes = int64_t{16} << 20;
  std::string svg;  // empty: print a table
};

struct SummaryArguments {
  std::string model;
  int64_t checkpoint_layers = 0;
  int64_t batch = 256;
  Precision precision = Precision::fp32;
  std::string svg;  // empty: not requested
};

struct ScaleArguments {
  NamedLink inside = *find_link("nvlink"), between = *find_link("network");
  std::optional<std::pair<double, double>> alpha_us;      // inside, between nodes; not given: the links' own
  std::optional<std::pair<double, double>> bandwidth_gb;  // inside, between nodes; not given: the links' own
  int devices_per_node = 8;
  std::optional<int> adapters_per_node;  // not given: one per device
  std::vector<int64_t> bytes = {1'000'000, 25'000'000, 1'000'000'000};
  int64_t devices = 8192;
  std::string plot;  // empty: not requested
  std::string json;
};

struct CommandLine {
  enum class Action {
    print_text,
    train_lenet,
    train_resnet18,
    train_mlp,
    check,
    devices,
    links,
    numerics,
    plot,
    collective,
    profile,
    schedule,
    scale,
    shard,
    strategies,
    summary,
    banks,
    sectors
  };
  Action action = Action::print_text;
  std::string text;  // for print_text: the help or the version
  std::vector<std::string> checked;  // the command that `check` runs
  NetworkArguments lenet, resnet18;
  MlpArguments mlp;
  DevicesArguments devices;
  LinksArguments links;
  NumericsArguments numerics;
  PlotArguments plot;
  CollectiveArguments collective;
  ProfileArguments profile;
  ScheduleArguments schedule;
  ScaleArguments scale;
  ShardArguments shard;
  StrategiesArguments strategies;
  SummaryArguments summary;
  AccessArguments banks, sectors;
};

// Throws a bad_argument Error with a one-line message that names the value and the valid values.
CommandLine parse_command_line(int argc, const char* const* argv);

// "4" is devices 0 to 3; "0,1,0" is three ranks, of which device 0 holds two.
std::vector<int> parse_devices(const std::string& text);

}  // namespace rondo::program

#include <CLI/CLI.hpp>

#include <rondo/kernels/core/platform.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/arguments.h>
#include <rondo/tools/rondo/byte_count.h>
#include <rondo/tools/rondo/format.h>
#include <rondo/tools/rondo/option_readers.h>
#include <rondo/tools/rondo/scale_arguments.h>
#include <rondo/version.h>

#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>

namespace rondo::program {
namespace {

// Bounds that only an accident goes beyond: they turn a slip of the finger into a message instead of an hour.
constexpr int kMaxDevices = 64;
constexpr int kMaxRanks = 64;
constexpr int kMaxDevicesPerNode = 4096;
constexpr int64_t kMaxClusterDevices = 1 << 20;
constexpr int64_t kMaxBatch = 1'000'000;

CLI::App* add_devices(CLI::App& app, DevicesArguments& to) {
  CLI::App* devices = app.add_subcommand("devices", "Show the devices and which of them reach each other");
  add(*devices, "--devices", "N", "Show at least this many; the CPU executor makes as many as asked",
      [&](const std::string& s) { to.count = read_integer<int>("--devices", s, 1, kMaxDevices); });
  return devices;
}

CLI::App* add_summary(CLI::App& app, SummaryArguments& to) {
  CLI::App* summary = app.add_subcommand("summary", "Show the layers of a network and what they cost");
  add(*summary, "model", "MODEL", "lenet, resnet18 or mlp", [&](const std::string& s) {
    to.model = s;
  })->required();
  add(*summary, "--batch", "N", "Samples on one device, for the memory [256]",
      [&](const std::string& s) { to.batch = read_integer<int64_t>("--batch", s, 1, kMaxBatch); });
  add(*summary, "--checkpoint-layers", "N",
      "Keep activations only every N operations and compute the others again; 0: keep all [0]",
      [&](const std::string& s) {
        to.checkpoint_layers = read_integer<int>("--checkpoint-layers", s, 0, 1'000'000);
      });
  add(*summary, "--svg", "FILE.svg", "Draw the network, too",
      [&](const std::string& s) { to.svg = read_path("--svg", s); });
  return summary;
}

CLI::App* add_schedule(CLI::App& app, ScheduleArguments& to) {
  CLI::App* schedule =
      app.add_subcommand("schedule", "Show which chunk goes where at which step of the ring");
  add(*schedule, "--ranks", "N", "Ranks in the ring, from 1 to 64", [&](const std::string& s) {
    to.ranks = read_integer<int>("--ranks", s, 1, kMaxRanks);
  })->required();
  add(*schedule, "--bytes", "SIZE", "Size of each rank's data, such as 1000, 25MB or 16MiB [16MiB]",
      [&](const std::string& s) { to.bytes = parse_byte_count("--bytes", s, 0); });
  add(*schedule, "--svg", "FILE.svg", "Draw it instead of printing a table",
      [&](const std::string& s) { to.svg = read_path("--svg", s); });
  return schedule;
}

CLI::App* add_scale(CLI::App& app, ScaleArguments& to) {
  CLI::App* scale = app.add_subcommand("scale", "Predict an all-reduce on up to thousands of devices");
  add(*scale, "--links", "INSIDE,BETWEEN",
      "nvlink, pcie or network: inside nodes and between them [nvlink,network]",
      [&](const std::string& s) { std::tie(to.inside, to.between) = parse_links(s); });
  add(*scale, "--alpha", "US,US", "Microseconds of a step, inside and between, instead of the links' own",
      [&](const std::string& s) { to.alpha_us = parse_inside_between("--alpha", s); });
  add(*scale, "--bandwidth", "GB/S,GB/S",
      "Of a device inside and of an adapter between, instead of the links' own",
      [&](const std::string& s) { to.bandwidth_gb = parse_inside_between("--bandwidth", s); });
  add(*scale, "--gpus-per-node", "N", "Devices of a node [8]", [&](const std::string& s) {
    to.devices_per_node = read_integer<int>("--gpus-per-node", s, 1, kMaxDevicesPerNode);
  });
  add(*scale, "--adapters-per-node", "N", "Network adapters of a node [as many as devices]",
      [&](const std::string& s) {
        to.adapters_per_node = read_integer<int>("--adapters-per-node", s, 1, kMaxDevicesPerNode);
      });
  add(*scale, "--bytes", "LIST", "Sizes of each device's data [1MB,25MB,1GB]",
      [&](const std::string& s) { to.bytes = parse_sizes("--bytes", s); });
  add(*scale, "--devices", "N", "The largest number of devices [8192]", [&](const std::string& s) {
    to.devices = read_integer<int64_t>("--devices", s, 2, kMaxClusterDevices);
  });
  add(*scale, "--plot", "FILE.svg", "Draw time by devices, both axes logarithmic",
      [&](const std::string& s) { to.plot = read_path("--plot", s); });
  add(*scale, "--json", "FILE.json", "Write all figures as JSON",
      [&](const std::string& s) { to.json = read_path("--json", s); });
  return scale;
}

std::string one_line(std::string text) {
  const size_t end = text.find('\n');
  return end == std::string::npos ? text : text.substr(0, end);
}

}  // namespace

std::vector<int> parse_devices(const std::string& text) {
  const auto fail = [&](const auto&... why) {
    throw Error(bad_argument("--devices is '", text, "', ", why...));
  };
  if (text.find(',') == std::string::npos) {
    const std::optional<int> count = read_number<int>(text);
    if (!count || *count < 1 || *count > kMaxDevices) {
      fail("must be a count from 1 to ", kMaxDevices, " or a list of devices such as 0,1,0");
    }
    std::vector<int> devices(static_cast<size_t>(*count));
    std::iota(devices.begin(), devices.end(), 0);
    return devices;
  }
  std::vector<int> devices;
  for (const std::string& entry : split(text, ',')) {
    const std::optional<int> device = read_number<int>(entry);
    if (!device || *device < 0 || *device >= kMaxDevices) {
      fail("whose entry '", entry, "' must be a device's number from 0 to ", kMaxDevices - 1);
    }
    devices.push_back(*device);
  }
  if (devices.size() > kMaxDevices) fail("must have at most ", kMaxDevices, " entries, has ", devices.size());
  return devices;
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CLI::App app(
      "Rondo: hand-written CUDA kernels, a ring all-reduce, and the data-parallel trainer built on both.\n"
      "The same kernels run on NVIDIA GPUs and, without one, on the CPU.",
      "rondo");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", concat("rondo ", RONDO_VERSION_STRING, " (", platform(), ")"));
  const TrainCommands train = add_train(app, line.lenet, line.resnet18, line.mlp);
  const CLI::App* devices = add_devices(app, line.devices);
  const CLI::App* links = add_links(app, line.links);
  std::array<CollectiveArguments, std::size(kVerbs)> collectives;
  std::array<const CLI::App*, std::size(kVerbs)> commands;
  for (size_t i = 0; i < std::size(kVerbs); ++i) commands[i] = add_collective(app, kVerbs[i], collectives[i]);
  const CLI::App* schedule = add_schedule(app, line.schedule);
  const CLI::App* scale = add_scale(app, line.scale);
  const CLI::App* shard = add_shard(app, line.shard);
  const CLI::App* strategies = add_strategies(app, line.strategies);
  const CLI::App* summary = add_summary(app, line.summary);
  const CLI::App* plot = add_plot(app, line.plot);

  try {
    const std::vector<std::string> words = words_of(argc, argv);
    std::vector<const char*> in_order = {argv[0]};
    for (const std::string& word : words) in_order.push_back(word.c_str());
    app.parse(static_cast<int>(in_order.size()), in_order.data());
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();  // of the subcommand, where one was named
    return line;
  } catch (const CLI::CallForVersion& version) {
    line.text = std::string(version.what()) + "\n";
    return line;
  } catch (const CLI::RequiredError&) {
    if (schedule->parsed()) throw Error(bad_argument("--ranks was not given: rondo schedule --ranks 4"));
    if (strategies->parsed())
      throw Error(bad_argument("no model was named, must be lenet or mlp: rondo strategies lenet"));
    if (summary->parsed())
      throw Error(bad_argument("no model was named, must be lenet, resnet18 or mlp: rondo summary resnet18"));
    throw Error(bad_argument("no model was named, must be ", kTrainedModels, ": rondo train lenet"));
  } catch (const CLI::ParseError& error) {
    const std::string command =
        app.get_subcommands().empty() ? "" : app.get_subcommands()[0]->get_name() + " ";
    throw Error(bad_argument(one_line(error.what()), "; rondo ", command, "--help shows what is valid"));
  }
  if (train.lenet->parsed()) {
    line.action = CommandLine::Action::train_lenet;
  } else if (train.resnet18->parsed()) {
    line.action = CommandLine::Action::train_resnet18;
  } else if (train.mlp->parsed()) {
    line.action = CommandLine::Action::train_mlp;
  } else if (devices->parsed()) {
    line.action = CommandLine::Action::devices;
  } else if (links->parsed()) {
    line.action = CommandLine::Action::links;
  } else if (schedule->parsed()) {
    line.action = CommandLine::Action::schedule;
  } else if (scale->parsed()) {
    line.action = CommandLine::Action::scale;
  } else if (strategies->parsed()) {
    line.action = CommandLine::Action::strategies;
  } else if (shard->parsed()) {
    line.action = CommandLine::Action::shard;
  } else if (summary->parsed()) {
    line.action = CommandLine::Action::summary;
  } else if (plot->parsed()) {
    check(line.plot);
    line.action = CommandLine::Action::plot;
  } else {
    line.text = app.help();
  }
  for (size_t i = 0; i < std::size(kVerbs); ++i) {
    if (!commands[i]->parsed()) continue;
    line.action = CommandLine::Action::collective;
    line.collective = collectives[i];
  }
  return line;
}

}  // namespace rondo::program

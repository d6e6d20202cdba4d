#include <rondo/kernels/runtime/platform.h>
#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/arguments.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/option_readers.h>
#include <rondo/tools/rondo/scale/arguments.h>
#include <rondo/version.h>

#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

namespace rondo::program {
namespace {

// Limits far above any sensible value: a mistyped number fails at once instead of running for an hour.
constexpr int kMaxDevices = 64;
constexpr int kMaxRanks = 64;
constexpr int kMaxDevicesPerNode = 4096;
constexpr int64_t kMaxClusterDevices = 1 << 20;
constexpr int64_t kMaxBatch = 1'000'000;

Command add_devices(const Command& app, DevicesArguments& to) {
  const Command devices = app.add_command("devices", "Show the devices and their peer access");
  add_integer(devices, "--devices", "N",
              "Show at least N devices; the CPU executor creates as many as requested", to.count, 1,
              kMaxDevices);
  return devices;
}

Command add_summary(const Command& app, SummaryArguments& to) {
  const Command summary = app.add_command("summary", "Show the layers of a network and their cost");
  summary.add("model", "MODEL", "lenet, resnet18 or mlp", [&](const std::string& s) { to.model = s; })
      .required();
  add_integer(summary, "--batch", "N", "Samples per step on one device, for the memory estimate [256]",
              to.batch, 1, kMaxBatch);
  add_integer(summary, "--checkpoint-layers", "N",
              "Keep activations only every N operations and recompute the others; 0: keep all [0]",
              to.checkpoint_layers, 0, 1'000'000);
  add_name(summary, "--precision", "NAME", kPrecisionHelp, to.precision, kPrecisions);
  add_path(summary, "--svg", "FILE.svg", "Also draw the network", to.svg);
  return summary;
}

Command add_schedule(const Command& app, ScheduleArguments& to) {
  const Command schedule =
      app.add_command("schedule", "Show which rank sends which chunk at each step of the ring");
  add_integer(schedule, "--ranks", "N", "Ranks in the ring, from 1 to 64", to.ranks, 1, kMaxRanks).required();
  schedule.add("--bytes", "SIZE", "Size of each rank's data, such as 1000, 25MB or 16MiB [16MiB]",
               [&](const std::string& s) { to.bytes = parse_byte_count("--bytes", s, 0); });
  add_path(schedule, "--svg", "FILE.svg", "Draw the schedule instead of printing a table", to.svg);
  return schedule;
}

Command add_scale(const Command& app, ScaleArguments& to) {
  const Command scale =
      app.add_command("scale", "Predict the time of an all-reduce on up to thousands of devices");
  scale.add("--links", "INSIDE,BETWEEN",
            "Links inside and between nodes: nvlink, pcie or network [nvlink,network]",
            [&](const std::string& s) { std::tie(to.inside, to.between) = parse_links(s); });
  scale.add("--alpha", "US,US",
            "Latency of a step in microseconds, inside and between nodes [the links' own]",
            [&](const std::string& s) { to.alpha_us = parse_inside_between("--alpha", s); });
  scale.add("--bandwidth", "GB/S,GB/S",
            "Bandwidth of a device inside nodes and of an adapter between nodes [the links' own]",
            [&](const std::string& s) { to.bandwidth_gb = parse_inside_between("--bandwidth", s); });
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
  return scale;
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
      fail("whose entry '", entry, "' must be a device number from 0 to ", kMaxDevices - 1);
    }
    devices.push_back(*device);
  }
  if (devices.size() > kMaxDevices) fail("must have at most ", kMaxDevices, " entries, has ", devices.size());
  return devices;
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine line;
  CommandParser parser(
      "rondo",
      "Rondo: hand-written CUDA kernels, a ring all-reduce, and the data-parallel trainer built on both.\n"
      "The same kernels run on NVIDIA GPUs and, without one, on the CPU.",
      concat("rondo ", RONDO_VERSION_STRING, " (", platform(), ")"));
  const Command program = parser.command();
  const TrainCommands train = add_train(program, line.lenet, line.resnet18, line.mlp);
  const Command devices = add_devices(program, line.devices);
  const Command links = add_links(program, line.links);
  std::array<CollectiveArguments, std::size(kVerbs)> collectives;
  std::vector<Command> commands;
  for (size_t i = 0; i < std::size(kVerbs); ++i)
    commands.push_back(add_collective(program, kVerbs[i], collectives[i]));
  const Command schedule = add_schedule(program, line.schedule);
  const Command profile = add_profile(program, line.profile);
  const Command scale = add_scale(program, line.scale);
  const Command shard = add_shard(program, line.shard);
  const Command strategies = add_strategies(program, line.strategies);
  const Command summary = add_summary(program, line.summary);
  const Command plot = add_plot(program, line.plot);
  const Command banks = add_banks(program, line.banks);
  const Command sectors = add_sectors(program, line.sectors);
  const Command numerics = add_numerics(program, line.numerics);
  program.add_command("check", "Run a command and check its kernels: rondo check COMMAND [OPTIONS]");

  std::vector<std::string> words = words_of(argc, argv);
  words.insert(words.begin(), argv[0]);
  // The words after it are another command line, which is not this parser's.
  if (words.size() > 1 && words[1] == "check" && !(words.size() > 2 && words[2] == "--help")) {
    line.action = CommandLine::Action::check;
    line.checked.assign(words.begin() + 2, words.end());
    return line;
  }
  const CommandParser::Outcome outcome = parser.parse(words);
  if (outcome == CommandParser::Outcome::text) {
    line.text = parser.text();
    return line;
  }
  if (outcome == CommandParser::Outcome::missing) {
    if (profile.parsed())
      throw Error(bad_argument(
          "nothing to profile was named, must be gemm, conv, pool, batch-norm, cross-entropy, all-reduce or "
          "train MODEL: rondo profile gemm"));
    if (schedule.parsed()) throw Error(bad_argument("--ranks was not given: rondo schedule --ranks 4"));
    if (strategies.parsed())
      throw Error(bad_argument("no model was named, must be lenet or mlp: rondo strategies lenet"));
    for (const Command& command : {banks, sectors})
      if (command.parsed())
        throw Error(bad_argument("no expression was given: rondo ", command.name(),
                                 " \"thread * 33\"; one that begins with - follows --"));
    if (summary.parsed())
      throw Error(bad_argument("no model was named, must be lenet, resnet18 or mlp: rondo summary resnet18"));
    throw Error(bad_argument("no model was named, must be ", kTrainedModels, ": rondo train lenet"));
  }
  using Action = CommandLine::Action;
  const std::pair<Command, Action> actions[] = {{train.lenet, Action::train_lenet},
                                                {train.resnet18, Action::train_resnet18},
                                                {train.mlp, Action::train_mlp},
                                                {devices, Action::devices},
                                                {links, Action::links},
                                                {numerics, Action::numerics},
                                                {profile, Action::profile},
                                                {schedule, Action::schedule},
                                                {scale, Action::scale},
                                                {strategies, Action::strategies},
                                                {shard, Action::shard},
                                                {summary, Action::summary},
                                                {plot, Action::plot},
                                                {banks, Action::banks},
                                                {sectors, Action::sectors}};
  for (const auto& [command, action] : actions)
    if (command.parsed()) line.action = action;
  if (plot.parsed()) check(line.plot);
  if (train.lenet.parsed()) check(line.lenet);
  if (train.resnet18.parsed()) check(line.resnet18);
  if (train.mlp.parsed()) check(line.mlp);
  for (size_t i = 0; i < std::size(kVerbs); ++i) {
    if (!commands[i].parsed()) continue;
    line.action = Action::collective;
    line.collective = collectives[i];
  }
  if (line.action == Action::print_text) line.text = parser.help();
  return line;
}

}  // namespace rondo::program

#include <rondo/tools/rondo/strategies/strategies.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <algorithm>
#include <limits>

namespace rondo::program {
namespace {

// Limits that only a mistyped number exceeds.
constexpr int64_t kMostSamples = 1'000'000, kMostLayers = 10'000, kMostWidth = 1 << 20;
constexpr int kMostSteps = 1'000'000;

}  // namespace

std::vector<nn::StrategyKind> parse_strategies(const std::string& text) {
  std::vector<nn::StrategyKind> kinds = {nn::StrategyKind::single};
  bool again = false;
  for (const std::string& entry : split(text, ',')) {
    const auto* const found = std::ranges::find(
        nn::kStrategies, entry, [](nn::StrategyKind kind) { return std::string(name_of(kind)); });
    if (found == std::end(nn::kStrategies))
      throw Error(bad_argument("--strategy is '", text, "', whose entry '", entry,
                               "' must be single, pipeline, tensor or data"));
    const bool single = *found == nn::StrategyKind::single;
    if (single ? again : std::ranges::count(kinds, *found) > 0)
      throw Error(bad_argument("--strategy is '", text, "', must name ", entry, " once"));
    if (single)
      again = true;
    else
      kinds.push_back(*found);
  }
  return kinds;
}

void check(const StrategiesArguments& arguments) {
  if (arguments.micro_batches > arguments.batch)
    throw Error(bad_argument("--micro-batches is ", *arguments.micro_batches, ", must be at most ",
                             arguments.batch, ", the batch"));
  if (arguments.micro_batches && std::ranges::count(arguments.strategies, nn::StrategyKind::pipeline) == 0)
    throw Error(bad_argument("--micro-batches is ", *arguments.micro_batches,
                             ", must not be given without the strategy pipeline"));
  if (arguments.model == "mlp") {
    if (arguments.data)
      throw Error(bad_argument("--data is '", *arguments.data,
                               "', must not be given for the mlp, whose data is random"));
    return;
  }
  const auto refuse = [](const char* option, const std::optional<int64_t>& value) {
    if (value) throw Error(bad_argument(option, " is ", *value, ", must not be given for lenet"));
  };
  refuse("--layers", arguments.layers);
  refuse("--width", arguments.width);
}

namespace {

void add_strategies_options(const Command& strategies, StrategiesArguments& to) {
  to.strategies.assign(std::begin(nn::kStrategies), std::end(nn::kStrategies));
  strategies
      .add("model", "MODEL", "lenet on Fashion-MNIST, or mlp on random data",
           [&](const std::string& s) {
             if (s != "lenet" && s != "mlp")
               throw Error(bad_argument("the model is '", s, "', must be lenet or mlp"));
             to.model = s;
           })
      .required();
  strategies.when_missing("no model was named, must be lenet or mlp: rondo strategies lenet");
  strategies.add("--strategy", "LIST",
                 "Comma-separated: pipeline, tensor, data; each is compared with a single device [all]",
                 [&](const std::string& s) { to.strategies = parse_strategies(s); });
  strategies.add("--devices", "N|LIST", "A count, or a list such as 0,1,0 with one rank per entry [2]",
                 [&](const std::string& s) { to.devices = parse_devices(s); });
  add_integer(strategies, "--batch", "N", "Samples per step [64]", to.batch, 1, kMostSamples);
  add_integer(strategies, "--micro-batches", "N", "Micro-batches of the pipeline [4]", to.micro_batches, 1,
              kMostSamples);
  add_integer(strategies, "--steps", "N", "Steps of each strategy [5]", to.steps, 1, kMostSteps);
  strategies.add("--lr", "RATE", "Learning rate [0.1 for lenet, 0.001 for the mlp]",
                 [&](const std::string& s) { to.lr = read_learning_rate<float>(s); });
  add_integer(strategies, "--layers", "N", "Hidden layers of the mlp [6]", to.layers, 0, kMostLayers);
  add_integer(strategies, "--width", "N", "Width of the mlp's hidden layers [128]", to.width, 1, kMostWidth);
  add_integer(strategies, "--seed", "N", "Seed of the weights and of the random data [0]", to.seed, 0,
              std::numeric_limits<uint64_t>::max());
  add_path(
      strategies, "--data", "DIR",
      "Folder with Fashion-MNIST's four files, gzipped or not [the environment variable RONDO_DATA, else the "
      "installed ones]",
      to.data);
  add_path(strategies, "--json", "FILE.json", "Write all figures as JSON", to.json);
  add_path(strategies, "--svg", "FILE.svg", "Draw time, memory and traffic side by side", to.svg);
}

}  // namespace

void add_strategies(Program& program) {
  program.add<StrategiesArguments>(
      "strategies",
      "Compare single-device, pipeline, tensor and data parallel training: loss, memory, traffic and time",
      add_strategies_options, [](const StrategiesArguments& arguments, const RunContext& context) {
        run_strategies(arguments, context.out);
      });
}

}  // namespace rondo::program

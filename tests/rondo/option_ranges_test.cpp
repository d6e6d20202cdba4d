// Every option that takes one whole number refuses what is just outside its range, and takes its ends.
#include <gtest/gtest.h>

#include <rondo/kernels/core/text.h>
#include <rondo/tests/rondo/support/command_line.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <regex>
#include <sstream>
#include <string>

namespace rondo::program {
namespace {

using test::error_of;

constexpr uint64_t kMostSeed = std::numeric_limits<uint64_t>::max();

struct Range {
  uint64_t least = 0, most = 0;
};
using Ranges = std::map<std::string, Range>;

// What begins a command line that is complete without the option.
std::string beginning(const std::string& command) {
  if (command == "judge show") return command + " vector_add";
  if (command == "judge check") return command + " vector_add.cu";
  if (command == "summary" || command == "strategies" || command == "profile train") return command + " mlp";
  return command;
}

// A number may still not fit other options.
bool refuses_number(const std::string& line) {
  try {
    parse(line);
  } catch (const Error& error) {
    return std::string(error.what()).find("must be a whole number") != std::string::npos;
  }
  return false;
}

void expect_range(const std::string& command, const std::string& option, const Range& range) {
  const std::string line = beginning(command) + " " + option + " ";
  const std::string must = concat("must be a whole number from ", range.least, " to ", range.most);
  for (const uint64_t good : {range.least, range.most})
    EXPECT_FALSE(refuses_number(line + concat(good))) << line << good;
  const std::string below = range.least == 0 ? "-1" : concat(range.least - 1);
  const std::string above = range.most == kMostSeed ? "18446744073709551616" : concat(range.most + 1);
  for (const std::string& bad : {below, above})
    EXPECT_EQ(test::missing(error_of([&] { parse(line + bad); }), {" is '" + bad + "'", must}), "")
        << line << bad;
}

Ranges with(Ranges ranges, const Ranges& more) {
  ranges.insert(more.begin(), more.end());
  return ranges;
}

const std::map<std::string, Ranges>& all_ranges() {
  constexpr uint64_t kElements = uint64_t{1} << 31, kDay = 86400;
  static const Ranges collective = {{"--stepfactor", {2, 1 << 20}}, {"--ngpus", {1, 64}},
                                    {"--iters", {1, 1'000'000}},    {"--warmup_iters", {0, 1'000'000}},
                                    {"--check", {0, 1'000'000}},    {"--cudagraph", {0, 1'000'000}},
                                    {"--misalign", {0, 4096}},      {"--timeout", {1, kDay}}};
  static const Ranges profile = {{"--blocks", {0, kElements}}};
  static const Ranges image = with(profile, {{"--images", {1, kElements}},
                                             {"--height", {1, kElements}},
                                             {"--width", {1, kElements}},
                                             {"--channels", {1, kElements}},
                                             {"--stride", {1, kElements}},
                                             {"--pad", {0, kElements}}});
  static const Ranges bench = {{"--samples", {1, 1'000'000}}};
  static const Ranges training = {{"--group", {1, 64}},
                                  {"--timeout", {1, kDay}},
                                  {"--seed", {0, kMostSeed}},
                                  {"--micro-batches", {1, 1'000'000'000}},
                                  {"--checkpoint-layers", {0, 1'000'000}}};
  static const Ranges network = with(training, {{"--batch", {1, 1'000'000'000}},
                                                {"--epochs", {1, 100'000}},
                                                {"--limit", {1, 1'000'000'000}},
                                                {"--classes", {2, 256}},
                                                {"--crop", {0, 10'000}},
                                                {"--warmup-steps", {0, 1'000'000'000}}});
  static const std::map<std::string, Ranges> all = {
      {"allreduce", with(collective, {{"--group", {1, 64}}})},
      {"reducescatter", collective},
      {"allgather", collective},
      {"broadcast", collective},
      {"reduce", collective},
      {"alltoall", collective},
      {"train lenet", network},
      {"evaluate",
       {{"--batch", {1, 1'000'000'000}}, {"--limit", {1, 1'000'000'000}}, {"--classes", {2, 256}}}},
      {"train resnet18", network},
      {"train mobilenet", network},
      {"train vit", network},
      {"train mlp", with(training, {{"--batch", {1, 10'000'000}},
                                    {"--layers", {1, 10'000}},
                                    {"--width", {1, 1'000'000}},
                                    {"--inputs", {1, 1'000'000}},
                                    {"--outputs", {1, 1'000'000}},
                                    {"--steps", {1, 1'000'000}}})},
      {"profile gemm",
       with(profile, {{"--m", {1, kElements}}, {"--n", {1, kElements}}, {"--k", {1, kElements}}})},
      {"profile conv", with(image, {{"--filters", {1, kElements}}, {"--filter-size", {1, kElements}}})},
      {"profile pool", with(image, {{"--window", {1, kElements}}, {"--dilation", {1, kElements}}})},
      {"profile batch-norm", with(profile, {{"--rows", {1, kElements}}, {"--channels", {1, kElements}}})},
      {"profile cross-entropy", with(profile, {{"--rows", {1, kElements}}, {"--classes", {1, kElements}}})},
      {"profile all-reduce", with(profile, {{"--devices", {2, 64}}, {"--bytes", {2, kElements}}})},
      {"profile train", with(profile, {{"--batch-size", {1, kElements}}, {"--layers", {1, 1000}}})},
      {"summary",
       {{"--batch", {1, 1'000'000}}, {"--checkpoint-layers", {0, 1'000'000}}, {"--classes", {2, 256}}}},
      {"convert", {{"--classes", {2, 256}}}},
      {"bench gemm", bench},
      {"bench conv", bench},
      {"bench pool", bench},
      {"bench norm", bench},
      {"bench loss", bench},
      {"bench softmax", bench},
      {"bench layout", bench},
      {"bench reduce", bench},
      {"bench activation", bench},
      {"bench optimizer", bench},
      {"bench conv_transpose", bench},
      {"bench elementwise", bench},
      {"bench all", bench},
      {"cuda", {{"--devices", {1, 1024}}, {"--seed", {0, kMostSeed}}}},
      {"judge show", {{"--hints", {0, 100}}}},
      {"judge check", {{"--seed", {0, kMostSeed}}, {"--seeds", {1, 1000}}}},
      {"strategies",
       {{"--batch", {1, 1'000'000}},
        {"--micro-batches", {1, 1'000'000}},
        {"--steps", {1, 1'000'000}},
        {"--layers", {0, 10'000}},
        {"--width", {1, 1 << 20}},
        {"--seed", {0, kMostSeed}}}},
      {"scale",
       {{"--gpus-per-node", {1, 4096}}, {"--adapters-per-node", {1, 4096}}, {"--devices", {2, 1 << 20}}}},
      {"shard", {{"--devices", {1, 64}}, {"--batch", {1, 1'000'000'000}}}},
      {"schedule", {{"--ranks", {1, 64}}, {"--group", {1, 64}}}},
      {"numerics", {{"--size", {1, 4096}}, {"--seed", {0, kMostSeed}}}},
      {"devices", {{"--devices", {1, 64}}}},
  };
  return all;
}

TEST(OptionRanges, AreChecked) {
  for (const auto& [command, ranges] : all_ranges())
    for (const auto& [option, range] : ranges) expect_range(command, option, range);
}

// Numbers in lists, and of options that also take words.
TEST(OptionRanges, OfOneNumberAmongOthersAreChecked) {
  struct Case {
    std::string option, before, after;
    Range range;
  };
  for (const Case& c :
       {Case{"numerics --k", "", "", {1, 1'000'000}}, Case{"numerics --k", "8,", "", {1, 1'000'000}},
        Case{"numerics --k", "", ",8", {1, 1'000'000}}, Case{"reduce -r", "", "", {0, 63}},
        Case{"broadcast -r", "", "", {0, 63}}, Case{"allreduce -a", "", "", {0, 3}}}) {
    const auto line = [&](int64_t value) { return c.option + " " + c.before + concat(value) + c.after; };
    const auto least = static_cast<int64_t>(c.range.least), most = static_cast<int64_t>(c.range.most);
    for (const int64_t good : {least, most}) EXPECT_FALSE(refuses_number(line(good))) << line(good);
    for (const int64_t bad : {least - 1, most + 1}) EXPECT_TRUE(refuses_number(line(bad))) << line(bad);
  }
}

// The help of each command, with the commands inside it.
void for_each_help(const std::string& command, const std::function<void(const std::string&)>& visit) {
  static const std::string kList = "\nSubcommands:\n";
  const std::string help = parse(command + " --help").text;
  visit(command);
  const size_t list = help.find(kList);
  if (list == std::string::npos) return;
  std::istringstream lines(help.substr(list + kList.size()));
  for (std::string line; std::getline(lines, line) && line.starts_with("  ");) {
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    if (!name.empty()) for_each_help(command.empty() ? name : command + " " + name, visit);
  }
}

TEST(OptionRanges, AreOfAllOptionsThatTakeANumber) {
  int commands = 0;
  for_each_help("", [&](const std::string& command) {
    ++commands;
    const std::string help = parse(command + " --help").text;
    const std::regex option(
        "(?:^|\\n) +(?:-[A-Za-z],)?(--[a-z0-9_-]+) (?:N|PIXELS|SECONDS|STEPS|SAMPLES)\\s");
    Ranges found;
    for (std::sregex_iterator match(help.begin(), help.end(), option), end; match != end; ++match)
      found[(*match)[1]];
    const auto known = all_ranges().find(command);
    for (const auto& [name, range] : found)
      EXPECT_TRUE(known != all_ranges().end() && known->second.contains(name)) << command << " " << name;
    const size_t count = known == all_ranges().end() ? 0 : known->second.size();
    EXPECT_EQ(found.size(), count) << "not in the help of " << command;
  });
  EXPECT_GT(commands, static_cast<int>(all_ranges().size()));
}

}  // namespace
}  // namespace rondo::program

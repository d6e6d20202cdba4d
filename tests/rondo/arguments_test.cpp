#include <rondo/tests/rondo/support/command_line.h>
#include <rondo/tools/rondo/profile/arguments.h>
#include <rondo/tools/rondo/scale/arguments.h>
#include <rondo/tools/rondo/schedule/arguments.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/train/arguments.h>

#include <regex>
#include <set>

namespace rondo::program {
namespace {

using test::error_of;
using test::missing;

NetworkArguments train(const std::string& options) {
  return parse_as<NetworkArguments>("train lenet " + options);
}

void expect_training_refused(const std::string& options, const std::vector<std::string>& parts) {
  expect_refused("train lenet " + options, parts);
}

TEST(Arguments, Defaults) {
  const NetworkArguments a = train("");
  EXPECT_FALSE(a.devices);
  EXPECT_FALSE(a.batch);
  EXPECT_FALSE(a.lr);
  EXPECT_EQ(a.recipe.rate, 0.2);
  EXPECT_EQ(a.epochs, 10);
  EXPECT_EQ(a.seed, 0u);
  EXPECT_FALSE(a.limit);
  EXPECT_FALSE(a.data);
  EXPECT_EQ(a.log + a.plot + a.trace + a.html, "");
  EXPECT_FALSE(a.verify);
}

TEST(Arguments, EveryOptionArrives) {
  const NetworkArguments a = train(
      "--devices 0,1,0 --batch 64 --lr 1e-2 --epochs 3 --seed 18446744073709551615 --limit 1000 --data d "
      "--log l.csv --plot p.svg --trace t.json --html r.html --verify");
  EXPECT_EQ(a.devices, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(a.batch, 64);
  EXPECT_EQ(a.lr, 0.01);
  EXPECT_EQ(a.epochs, 3);
  EXPECT_EQ(a.seed, ~uint64_t{0});
  EXPECT_EQ(a.limit, 1000);
  EXPECT_EQ(a.data, "d");
  EXPECT_EQ(a.log, "l.csv");
  EXPECT_EQ(a.plot, "p.svg");
  EXPECT_EQ(a.trace, "t.json");
  EXPECT_EQ(a.html, "r.html");
  EXPECT_EQ(parse_as<MlpArguments>("train mlp --html r.html").html, "r.html");
  EXPECT_TRUE(a.verify);
}

TEST(Arguments, OptionsMayStandBeforeTheModel) {
  EXPECT_EQ(parse_as<NetworkArguments>("train --epochs 3 lenet").epochs, 3);
  const auto lenet = parse_as<NetworkArguments>("train --verify --log resnet18 --epochs=3 lenet --seed 5");
  EXPECT_EQ(lenet.model, "lenet");
  EXPECT_EQ(lenet.log, "resnet18") << "a value is no model";
  EXPECT_TRUE(lenet.verify);
  EXPECT_EQ(lenet.epochs, 3);
  EXPECT_EQ(parse_as<NetworkArguments>("train --data mlp resnet18").model, "resnet18");
}

TEST(Arguments, Devices) {
  EXPECT_EQ(parse_devices("1"), std::vector<int>{0});
  EXPECT_EQ(parse_devices("3"), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(parse_devices("63,0"), (std::vector<int>{63, 0}));
  EXPECT_EQ(parse_devices("64").size(), 64u);
  for (const char* bad : {"",   "0",    "-1", "65",   "two",  "1.5",  "99999999999", "0x2",  " 2",  ",",
                          "3,", "0,1,", ",0", "0,,1", "0,-1", "0,64", "0,a",         "0, 1", "0;1", "nan"}) {
    EXPECT_EQ(missing(error_of([&] { parse_devices(bad); }), {"--devices", concat("'", bad, "'"), "must be"}),
              "");
  }
  std::string many = "0";
  for (int i = 0; i < 64; ++i) many += ",0";
  EXPECT_EQ(missing(error_of([&] { parse_devices(many); }), {"at most 64", "has 65"}), "");
}

TEST(Arguments, WholeNumbers) {
  for (const std::string option : {"--batch", "--epochs", "--limit"}) {
    for (const std::string bad :
         {"0", "-1", "abc", "1.5", "1e3", "99999999999999999999", "nan", "0x10", "5x"}) {
      expect_training_refused(option + " " + bad,
                              {option, "'" + bad + "'", "must be a whole number from 1 to"});
    }
  }
  for (const std::string bad : {"-1", "abc", "18446744073709551616"}) {
    expect_training_refused("--seed " + bad, {"--seed", "'" + bad + "'", "from 0 to 18446744073709551615"});
  }
}

TEST(Arguments, LearningRate) {
  for (const std::string bad :
       {"0", "-0", "-0.1", "nan", "-nan", "inf", "-inf", "1e50", "1e-60", "1001", "abc", "0,2"}) {
    expect_training_refused("--lr " + bad, {"--lr", "'" + bad + "'", "must be a number above 0"});
  }
  EXPECT_EQ(train("--lr 1000").lr, 1000.0);
}

TEST(Arguments, UnknownOptionsAreNamedWithASimilarOne) {
  EXPECT_EQ(error_of([] { parse("train lenet --learning-rate 0.1"); }),
            "train lenet has no option --learning-rate (did you mean --lr?); rondo train lenet --help shows "
            "what is valid");
  EXPECT_EQ(
      error_of([] { parse("train --learning-rate=0.1 --epochs 2 mlp --bogus"); }),
      "--epochs is not possible with mlp: its data are one random batch; --steps is the number of timed "
      "steps");
  EXPECT_EQ(error_of([] { parse("train mlp --step 2 --bogus"); }),
            "train mlp has no option --step (did you mean --steps?); rondo train mlp --help shows what is "
            "valid");
  EXPECT_EQ(error_of([] { parse("trian lenet"); }),
            "there is no command 'trian' (did you mean train?); rondo --help shows what is valid");
  EXPECT_EQ(error_of([] { parse("profile gemmm"); }),
            "profile has no command 'gemmm' (did you mean gemm?); rondo profile --help shows what is valid");
  EXPECT_EQ(error_of([] { parse("allreduce 32M"); }),
            "'32M' is not expected by rondo allreduce; rondo allreduce --help shows what is valid");
  // LeNet has --no-sync-bn only to refuse it.
  EXPECT_EQ(error_of([] { parse("train lenet --no-sync"); }),
            "train lenet has no option --no-sync; rondo train lenet --help shows what is valid");
}

TEST(Arguments, MissingAndSurplusValuesAreNamed) {
  EXPECT_EQ(error_of([] { parse("train lenet --lr"); }),
            "--lr has no value, must have one (RATE); rondo train lenet --help shows what is valid");
  EXPECT_EQ(error_of([] { parse("allreduce -e 4 -b"); }),
            "--minbytes has no value, must have one (SIZE); rondo allreduce --help shows what is valid");
  EXPECT_EQ(error_of([] { parse("plot --svg"); }),
            "--svg has no value, must have one (FILE.svg); rondo plot --help shows what is valid");
  EXPECT_EQ(error_of([] { parse("train lenet --nesterov=1"); }),
            "--nesterov has a value, must have none; rondo train lenet --help shows what is valid");
}

// The hint of each command, nested ones included, is a command that shows the options.
TEST(Arguments, TheHintIsTheHelpOfTheCommand) {
  for (const std::string command :
       {"train lenet", "train resnet18", "train mlp", "devices", "links", "allreduce", "broadcast",
        "schedule", "profile gemm", "profile conv", "profile train", "scale", "shard", "strategies",
        "summary", "plot", "banks", "sectors", "numerics"}) {
    std::string line = command + " --no-such-option";
    if (command == "schedule") line += " --ranks 2";
    if (command == "strategies" || command == "summary" || command == "profile train") line += " mlp";
    if (command == "banks" || command == "sectors") line += " thread";
    EXPECT_EQ(error_of([&] { parse(line); }), concat(command, " has no option --no-such-option; rondo ",
                                                     command, " --help shows what is valid"));
    EXPECT_NE(parse(command + " --help").text.find("--"), std::string::npos);
  }
  expect_refused("train lenet --lr", {"rondo train lenet --help"});
}

// The library's messages do not name options.
TEST(Arguments, ValuesThatTheLibraryReadsAreNamed) {
  for (const std::string bad : {"cosine:nan", "cosine:2000", "step:0:0.1", "linear"})
    expect_refused("train lenet --schedule " + bad, {"--schedule: ", "'" + bad + "'"});
  const auto refused = [](const std::string& options, const std::string& most) {
    expect_refused("train " + options, {"must be a number from 0 to " + most + "learning rate"});
  };
  refused("lenet --schedule cosine:nan", "0.2, the ");
  refused("lenet --schedule cosine:0.3 --batch 999", "0.2, the ");
  refused("lenet --schedule cosine:0.3 --lr 0.25", "0.25, the ");
  refused("resnet18 --lr 0.25 --schedule cosine:0.3", "0.25, the ");
  refused("resnet18 --schedule cosine:0.3 --batch 512", "0.2, the ");
  refused("resnet18 --schedule cosine:nan", "the ");  // the data determine it
  EXPECT_EQ(parse_as<NetworkArguments>("train lenet --schedule cosine:0.3 --lr 0.4").schedule, "cosine:0.3");
  EXPECT_EQ(parse_as<NetworkArguments>("train resnet18 --schedule cosine:0.3").schedule, "cosine:0.3");
  expect_refused("train lenet --weights uniform", {"--weights: ", "'uniform'"});
}

// Every command with a learning rate refuses it, whether the command reads a float or a double.
TEST(Arguments, ValuesOutOfTheRangeOfFloat) {
  for (const std::string command : {"train lenet", "train resnet18", "train mlp", "strategies lenet"}) {
    for (const std::string bad : {"1e-60", "1e-320", "1e-400", "1e60", "1e400"})
      expect_refused(
          command + " --lr " + bad,
          {"--lr is '" + bad + "'", "must be a number above 0 and at most 1000 that a float can hold"});
    parse(command + " --lr 1e-30");
  }
  for (const std::string command : {"train resnet18", "train mlp"})
    for (const std::string option : {"--momentum", "--weight-decay"})
      for (const std::string bad : {"1e-60", "1e60", "-1e-60", "nan"})
        expect_refused(
            command + " " + option + " " + bad,
            {option + " is '" + bad + "'", "must be a number from 0 to below 1 that a float can hold"});
  for (const std::string bad :
       {"step:1:1e-60", "step:1:1e60", "cosine:1e60", "cosine:-1e-60", "step:1:1e-400"})
    expect_refused("train resnet18 --schedule " + bad, {"'" + bad + "'"});
  for (const std::string option : {"--alpha", "--bandwidth"})
    for (const std::string bad : {"1e-300,1", "1,1e-400", "1e60,1", "1,1e400", "0,1", "1,nan"})
      expect_refused("scale " + option + " " + bad, {option + " is '" + bad + "'", "from 1e-9 to 1e9"});
}

// An extra comma is refused in every list and at every position: it is probably a typing error.
TEST(Arguments, EmptyEntriesOfLists) {
  const std::pair<std::string, std::string> lists[] = {{"train lenet --devices", "0,1"},
                                                       {"links --devices", "0,1"},
                                                       {"allreduce --devices", "0,1"},
                                                       {"strategies mlp --devices", "0,1"},
                                                       {"strategies mlp --strategy", "data,pipeline"},
                                                       {"scale --links", "nvlink,network"},
                                                       {"scale --alpha", "1,2"},
                                                       {"scale --bandwidth", "1,2"},
                                                       {"scale --bytes", "1MB,2MB"},
                                                       {"shard --mesh 2x2 --shape 8x8 --spec", "x,y"}};
  for (const auto& [option, good] : lists) {
    parse(option + " " + good);
    const size_t comma = good.find(',');
    for (const std::string& bad : {good + ",", "," + good, good.substr(0, comma + 1), good.substr(comma),
                                   good.substr(0, comma) + "," + good.substr(comma), std::string(",")})
      EXPECT_NE(error_of([&] { parse(option + " " + bad); }), "") << option << " " << bad;
  }
}

TEST(Arguments, EmptyValues) {
  for (const char* option : {"--data", "--log", "--plot", "--trace", "--html"}) {
    const std::vector<std::string> words = {"train", "lenet", option, ""};
    EXPECT_EQ(missing(error_of([&] { parse(words); }), {option, "empty", "must be a path"}), "");
  }
}

TEST(Arguments, UnknownOptionsAndMissingValues) {
  expect_training_refused("--bogus", {"--bogus", "--help"});
  expect_training_refused("surplus", {"surplus"});
  expect_training_refused("--batch", {"--batch"});
  expect_training_refused("--batch 1 --batch 2", {"--batch"});
  expect_training_refused("--verify=7", {"verify", "--help"});
  EXPECT_EQ(missing(error_of([] { parse("train resnet"); }), {"'resnet'", "lenet"}), "");
  EXPECT_EQ(missing(error_of([] { parse("train"); }), {"model", "lenet"}), "");
  EXPECT_EQ(missing(error_of([] { parse("dance"); }), {"dance"}), "");
  EXPECT_EQ(missing(error_of([] { parse("devices --devices 0"); }), {"'0'", "1 to 64"}), "");
}

TEST(Arguments, Schedule) {
  const auto schedule = parse_as<ScheduleArguments>("schedule --ranks 8 --bytes 25MB --svg s.svg");
  EXPECT_EQ(schedule.ranks, 8);
  EXPECT_EQ(schedule.bytes, 25'000'000);
  EXPECT_EQ(schedule.svg, "s.svg");
  EXPECT_EQ(parse_as<ScheduleArguments>("schedule --ranks 1").bytes, 16 << 20);
  for (const std::string bad : {"0", "65", "-1", "four", ""})
    EXPECT_EQ(missing(error_of([&] { parse("schedule --ranks=" + bad); }), {"--ranks"}), "") << bad;
  EXPECT_EQ(missing(error_of([] { parse("schedule --ranks 65"); }), {"'65'", "from 1 to 64"}), "");
  EXPECT_EQ(missing(error_of([] { parse("schedule"); }), {"--ranks", "rondo schedule --ranks 4"}), "");
  EXPECT_EQ(missing(error_of([] { parse("schedule --ranks 4 --bytes much"); }), {"--bytes", "'much'"}), "");
  EXPECT_EQ(
      missing(error_of([] { parse("schedule --ranks 4 --bogus"); }), {"--bogus", "rondo schedule --help"}),
      "");
  const auto page = parse_as<ScheduleArguments>(
      "schedule --ranks 6 --html p.html --json p.json --group 3 --links pcie,network --alpha 1,2 --bandwidth "
      "3,4");
  EXPECT_EQ(page.html, "p.html");
  EXPECT_EQ(page.json, "p.json");
  EXPECT_EQ(page.group, 3);
  EXPECT_EQ(page.cluster().inside.alpha, 1e-6);
  EXPECT_EQ(page.cluster().between.bandwidth, 4e9);
  const auto pcie = parse_as<ScheduleArguments>("schedule --ranks 2 --html p.html --links pcie,network");
  EXPECT_EQ(pcie.cluster().inside.bandwidth, 12e9);
}

TEST(Arguments, Scale) {
  const auto scale = parse_as<ScaleArguments>(
      "scale --links pcie,network --alpha 1,2 --bandwidth 3,4 --gpus-per-node 6 --adapters-per-node 2 "
      "--bytes 1kB,2kB --devices 100 --plot p.svg --json j.json");
  EXPECT_STREQ(scale.inside.name, "pcie");
  EXPECT_STREQ(scale.between.name, "network");
  EXPECT_EQ(scale.alpha_us, (std::pair<double, double>{1, 2}));
  EXPECT_EQ(scale.bandwidth_gb, (std::pair<double, double>{3, 4}));
  EXPECT_EQ(scale.devices_per_node, 6);
  EXPECT_EQ(scale.adapters_per_node, 2);
  EXPECT_EQ(scale.bytes, (std::vector<int64_t>{1000, 2000}));
  EXPECT_EQ(scale.devices, 100);
  EXPECT_EQ(scale.plot, "p.svg");
  EXPECT_EQ(scale.json, "j.json");
  EXPECT_EQ(parse_as<ScaleArguments>("scale").devices, 8192);
  for (const char* bad : {"--devices 1", "--devices 1048577", "--gpus-per-node 0", "--adapters-per-node x",
                          "--bytes 0", "--links nvlink", "--alpha 1", "--bandwidth 0,1"})
    EXPECT_EQ(missing(error_of([&] { parse(std::string("scale ") + bad); }),
                      {std::string(bad).substr(0, std::string(bad).find(' ')), "must be"}),
              "");
}

// The options in the help of `rondo train MODEL`.
std::set<std::string> options_of(const std::string& model) {
  const std::string help = parse("train " + model + " --help").text;
  const std::regex option("\n +(?:-\\w, *)?(--[a-z-]+)");
  std::set<std::string> names;
  for (auto it = std::sregex_iterator(help.begin(), help.end(), option); it != std::sregex_iterator(); ++it)
    names.insert((*it)[1]);
  names.erase("--help");
  return names;
}

// Every option works in every program, or is refused with a reason. The table in the documentation has it.
TEST(Arguments, EveryOptionOfATrainingWorksOrIsRefusedWithTheReason) {
  const std::string models[] = {"lenet", "resnet18", "mlp"};
  std::set<std::string> all;
  for (const std::string& model : models) all.merge(options_of(model));
  EXPECT_GE(all.size(), 37u);
  const std::string documented = test::read_text(SOURCE_DIR "/docs/training.md");
  for (const std::string& option : all) {
    EXPECT_NE(documented.find("`" + option + "`"), std::string::npos) << option;
    for (const std::string& model : models) {
      if (options_of(model).contains(option)) continue;
      const std::string begin = option + " is not possible with " + model + ": ";
      for (const char* value : {"", " 3", "=3"}) {
        const std::string message = error_of([&] { parse("train " + model + " " + option + value); });
        EXPECT_TRUE(message.starts_with(begin) && message.size() > begin.size() + 10) << message;
      }
    }
  }
}

TEST(Arguments, OptionsOfARunAreRefusedWithAPlan) {
  for (const std::string option : {"--blocks 3", "--lines", "--draw gemm.cu:23", "--draw-svg d.svg", "--warm",
                                   "--compiled c.json", "--json j.json", "--svg s.svg", "--variant all"}) {
    const std::string name = option.substr(0, option.find(' '));
    expect_refused("profile gemm --plan " + option, {name, "--plan", "excludes"});
  }
  EXPECT_TRUE(
      parse_as<ProfileArguments>("profile gemm --plan --gpu all --m 8 --transpose-a --math tf32").plan);
}

TEST(Arguments, HelpAndVersion) {
  for (const std::string words : {"", "--help", "-h"}) {
    const ParsedCommand command = parse(words);
    EXPECT_EQ(command.name, "");
    EXPECT_EQ(missing(command.text, {"train", "devices", "--version"}), "");
    std::ostringstream out;
    EXPECT_EQ(command.run({.out = out}), 0);
    EXPECT_EQ(out.str(), command.text);
  }
  EXPECT_EQ(missing(parse("train lenet --help").text,
                    {"rondo train", "--devices", "--batch", "--lr", "--epochs", "--seed", "--limit", "--data",
                     "--log", "--plot", "--trace", "--html", "--verify"}),
            "");
  EXPECT_EQ(parse("--version").text.rfind("rondo ", 0), 0u);
}

}  // namespace
}  // namespace rondo::program

// `rondo strategies`: its arguments, and that its table and JSON match the strategies.
#include <gtest/gtest.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/rondo/support/command_line.h>
#include <rondo/tests/rondo/support/devices.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/strategies/strategies.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <regex>
#include <sstream>

namespace rondo::program {
namespace {

using nn::StrategyKind;
using test::error_of;
using test::missing;

StrategiesArguments strategies_arguments(const std::string& words) {
  return parse_as<StrategiesArguments>("strategies " + words);
}

std::string run(const std::string& words) {
  std::ostringstream out;
  run_strategies(strategies_arguments(words), out);
  return out.str();
}

std::string strategies_refusal(const std::string& words) {
  return error_of([&] { run(words); });
}

nlohmann::json json_of(const std::string& words) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(missing(run(words + " --json " + (directory / "s.json")), {"wrote " + (directory / "s.json")}),
            "");
  return nlohmann::json::parse(test::read_text(directory / "s.json"));
}

TEST(StrategiesCommand, ReadsItsArguments) {
  const StrategiesArguments all = strategies_arguments("lenet");
  EXPECT_EQ(all.strategies.size(), 4u);
  EXPECT_FALSE(all.devices || all.lr || all.layers);
  const StrategiesArguments some = strategies_arguments(
      "mlp --strategy data,pipeline --devices 0,1,0 --batch 9 --micro-batches 3 --steps 2 --lr 0.5 --layers "
      "0 "
      "--width 7 "
      "--seed 4");
  EXPECT_EQ(some.strategies,
            (std::vector<StrategyKind>{StrategyKind::single, StrategyKind::data, StrategyKind::pipeline}));
  EXPECT_EQ(some.devices, (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(some.batch, 9);
  EXPECT_EQ(some.micro_batches, 3);
  EXPECT_EQ(some.steps, 2);
  EXPECT_EQ(some.lr, 0.5f);
  EXPECT_EQ(some.layers, 0);
  EXPECT_EQ(some.width, 7);
  EXPECT_EQ(some.seed, 4u);
  EXPECT_EQ(parse_strategies("tensor,single"),
            (std::vector<StrategyKind>{StrategyKind::single, StrategyKind::tensor}));
}

TEST(StrategiesCommand, RefusesBadArguments) {
  EXPECT_EQ(missing(strategies_refusal(""), {"no model was named", "lenet or mlp"}), "");
  EXPECT_EQ(missing(strategies_refusal("resnet18"), {"'resnet18'", "lenet or mlp"}), "");
  EXPECT_EQ(missing(strategies_refusal("mlp --strategy data,layerwise"),
                    {"'layerwise'", "pipeline, tensor or data"}),
            "");
  EXPECT_EQ(missing(strategies_refusal("mlp --strategy data,data"), {"must name data once"}), "");
  EXPECT_EQ(missing(strategies_refusal("mlp --strategy single,single"), {"must name single once"}), "");
  EXPECT_EQ(missing(strategies_refusal("mlp --strategy data,"), {"'data,'", "entry ''", "must be single"}),
            "");
  EXPECT_EQ(missing(strategies_refusal("mlp --batch 0"), {"--batch is '0'"}), "");
  EXPECT_EQ(missing(strategies_refusal("mlp --micro-batches 0"), {"--micro-batches is '0'"}), "");
  EXPECT_EQ(strategies_refusal("mlp --batch 3 --micro-batches 4"),
            "--micro-batches is 4, must be at most 3, the batch");
  EXPECT_EQ(missing(strategies_refusal("mlp --strategy data --micro-batches 4"),
                    {"4", "without the strategy pipeline"}),
            "");
  EXPECT_EQ(missing(strategies_refusal("mlp --steps 0"), {"--steps is '0'"}), "");
  EXPECT_EQ(missing(strategies_refusal("mlp --lr nan"), {"--lr is 'nan'"}), "");
  EXPECT_EQ(missing(strategies_refusal("mlp --width 0"), {"--width is '0'"}), "");
  EXPECT_EQ(missing(strategies_refusal("mlp --data /"), {"--data is '/'", "random"}), "");
  EXPECT_EQ(missing(strategies_refusal("lenet --layers 3"), {"--layers is 3", "lenet"}), "");
  EXPECT_EQ(missing(strategies_refusal("lenet --width 3"), {"--width is 3", "lenet"}), "");
  EXPECT_EQ(missing(strategies_refusal("lenet --data /absent"), {"/absent"}), "");
  EXPECT_EQ(missing(strategies_refusal("mlp --layers 2 --devices 4"), {"4 devices, must be at most 3"}), "");
}

TEST(StrategiesCommand, ComparesAllFour) {
  const nlohmann::json json =
      json_of("mlp --layers 2 --width 12 --batch 6 --steps 3 --devices " + test::devices(2));
  EXPECT_EQ(json["platform"], platform());
  EXPECT_EQ(json["batch"], 6);
  ASSERT_EQ(json["strategies"].size(), 4u);
  const nlohmann::json& single = json["strategies"][0];
  EXPECT_EQ(single["strategy"], "single");
  EXPECT_EQ(single["difference"], 0);
  EXPECT_EQ(single["sent_bytes"], 0);
  EXPECT_EQ(single["ranks"].size(), 1u);
  EXPECT_LT(single["losses"][2].get<double>(), single["losses"][0].get<double>());
  const int64_t parameters = 4 * nn::make_graph(nn::mlp(2, 12), {1, 1, 1024}).parameter_arena_size();
  const int64_t sent[] = {0, 2 * 6 * 4 * 12, 6 * 4 * (2 * (12 + 12 + 10) - 10), 2 * parameters};
  for (size_t i = 1; i < 4; ++i) {
    const nlohmann::json& run = json["strategies"][i];
    EXPECT_EQ(run["strategy"], name_of(nn::kStrategies[i]));
    EXPECT_EQ(run["sent_bytes"], sent[i]);
    EXPECT_LT(run["difference"], 1e-5);
    EXPECT_EQ(run["ranks"].size(), 2u);
    EXPECT_EQ(run["losses"].size(), 3u);
    for (size_t step = 0; step < 3; ++step)
      EXPECT_NEAR(run["losses"][step].get<double>(), single["losses"][step].get<double>(), 1e-4);
    EXPECT_GT(run["step_seconds"], 0);
    for (const nlohmann::json& rank : run["ranks"])
      EXPECT_EQ(rank["bytes"],
                rank["parameter_bytes"].get<int64_t>() + rank["gradient_bytes"].get<int64_t>() +
                    rank["activation_bytes"].get<int64_t>() + rank["buffer_bytes"].get<int64_t>());
  }
  // The results differ by rounding errors only.
  EXPECT_GT(json["strategies"][3]["difference"], 0);
}

// All values differ, so that none can stand at the place of another.
TEST(StrategiesCommand, TheReportHasEveryValue) {
  StrategyReport report = {.model = "mlp",
                           .devices = {0, 1},
                           .batch = 32,
                           .micro_batches = 4,
                           .parameters = 99,
                           .steps = 2,
                           .lr = 0.5f,
                           .runs = {}};
  report.runs.push_back({nn::StrategyKind::single, {3, 2.5}, 0, {{1, 10, 20, 30, 40}}, 0, 0.25});
  report.runs.push_back(
      {nn::StrategyKind::tensor, {3.5, INFINITY}, 0.125, {{0, 1, 2, 3, 4}, {1, 5, 6, 7, 8}}, 77, 0.75});
  nlohmann::json document = nlohmann::json::parse(strategies_json(report));
  EXPECT_EQ(document.at("platform"), platform());
  document.erase("platform");
  for (const int device : {0, 1}) EXPECT_EQ(document.at("devices").at(device), device_label(device));
  document.erase("devices");
  for (nlohmann::json& run : document.at("strategies"))
    for (nlohmann::json& rank : run.at("ranks")) {
      EXPECT_EQ(rank.at("device"), device_label(rank.at("bytes") == 10 ? 0 : 1));
      rank.erase("device");
    }
  EXPECT_EQ(document, nlohmann::json::parse(R"({
    "model": "mlp", "parameters": 99, "batch": 32, "micro_batches": 4, "learning_rate": 0.5, "steps": 2,
    "strategies": [
      {"strategy": "single", "losses": [3.0, 2.5], "difference": 0.0, "sent_bytes": 0, "step_seconds": 0.25,
       "ranks": [{"parameter_bytes": 10, "gradient_bytes": 20, "activation_bytes": 30, "buffer_bytes": 40,
                  "bytes": 100}]},
      {"strategy": "tensor", "losses": [3.5, null], "difference": 0.125, "sent_bytes": 77,
       "step_seconds": 0.75,
       "ranks": [{"parameter_bytes": 1, "gradient_bytes": 2, "activation_bytes": 3, "buffer_bytes": 4,
                  "bytes": 10},
                 {"parameter_bytes": 5, "gradient_bytes": 6, "activation_bytes": 7, "buffer_bytes": 8,
                  "bytes": 26}]}]})"));
}

TEST(StrategiesCommand, ThePictureHasEveryBar) {
  StrategyReport report = {.model = "mlp", .devices = {0, 1}, .batch = 32, .parameters = 99, .runs = {}};
  report.runs.push_back({nn::StrategyKind::single, {3}, 0, {{0, 100, 100, 100, 100}}, 0, 0.25});
  report.runs.push_back({nn::StrategyKind::data, {3}, 0, {{0, 1, 2, 3, 4}, {1, 50, 50, 50, 50}}, 2048, 0.75});
  const std::string svg = strategies_svg(report);
  EXPECT_EQ(test::XmlCheck::fault(svg), "");
  EXPECT_EQ(missing(svg, {"single: 250 ms, 400 bytes, 0 bytes", "data: 750 ms, 200 bytes, 2.0 KiB",
                          "99 parameters"}),
            "");
  const std::regex bar("<rect x=\"[0-9.]+\" y=\"([0-9.]+)\" width=\"([0-9.]+)\" height=\"30\"");
  std::vector<double> widths;
  for (std::sregex_iterator it(svg.begin(), svg.end(), bar), end; it != end; ++it)
    widths.push_back(std::stod((*it)[2]));
  const std::vector<double> want = {250 / 3.0, 62.5,  62.5,  62.5,  62.5,  0,
                                    250,       31.25, 31.25, 31.25, 31.25, 250};
  ASSERT_EQ(widths.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(widths[i], want[i], 0.01) << i;
}

TEST(StrategiesCommand, LeNetTakesItsBatchesFromTheData) {
  const test::TemporaryDirectory data;
  test::write_data_set(data.path(), 10, 5);
  const std::string words =
      "lenet --data " + data.path().string() + " --strategy tensor --batch 4 --steps 3 ";
  const nlohmann::json json = json_of(words);
  const auto losses = json["strategies"][0]["losses"];
  ASSERT_EQ(losses.size(), 3u);
  // 10 images are two batches of 4. The third step uses the first batch again, after two updates.
  EXPECT_NE(losses[0], losses[1]);
  const nlohmann::json still = json_of(words + "--lr 1e-30");
  EXPECT_EQ(still["strategies"][0]["losses"][0], still["strategies"][0]["losses"][2]);
  EXPECT_NE(still["strategies"][0]["losses"][0], still["strategies"][0]["losses"][1]);
  EXPECT_EQ(missing(strategies_refusal("lenet --batch 11 --data " + data.path().string()),
                    {"--batch is 11", "at most 10"}),
            "");
}

TEST(StrategiesCommand, ASampleIsOneMicroBatch) {
  EXPECT_EQ(missing(run("mlp --layers 1 --width 8 --devices 0,0 --batch 1 --steps 1"),
                    {"batches of 1 (pipeline: 1 micro-batch), "}),
            "");
}

TEST(StrategiesCommand, TheTableHasARowForEachRank) {
  const std::string text = run("mlp --layers 1 --width 8 --devices 0,0 --batch 3 --steps 1");
  EXPECT_EQ(missing(text, {"mlp, 8,290 parameters, batches of 3 (pipeline: 3 micro-batches)", "1 step\n",
                           "strategy", "sent a step", "none"}),
            "");
  size_t rows = 0;
  for (size_t at = 0; (at = text.find(":0 ", at)) != std::string::npos; ++at) ++rows;
  EXPECT_EQ(rows, 1u + 3 * 2);
}

}  // namespace
}  // namespace rondo::program

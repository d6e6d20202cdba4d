// Options of `rondo strategies`.
#pragma once

#include <rondo/nn/strategies/strategy.h>
#include <rondo/tools/rondo/support/command.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

struct StrategiesArguments {
  std::string model;                         // lenet or mlp
  std::vector<nn::StrategyKind> strategies;  // not given: all
  std::optional<std::vector<int>> devices;   // not given: two ranks
  int64_t batch = 64;
  std::optional<int64_t> micro_batches;  // of the pipeline; not given: kMicroBatches, at most the batch
  int steps = 5;
  std::optional<float> lr;               // not given: the model's learning rate
  std::optional<int64_t> layers, width;  // for the mlp only; not given: kLayers, kWidth
  uint64_t seed = 0;
  std::optional<std::string> data;
  std::string json;  // empty: not requested
  std::string svg;

  static constexpr float kLenetLearningRate = 0.1f, kMlpLearningRate = 0.001f;
  static constexpr int64_t kMicroBatches = 4;
  static constexpr int64_t kLayers = 6, kWidth = 128;
};

void add_strategies(Program& program);

// Checks the options against each other: mlp sizes with another model, more micro-batches than samples.
// Throws a bad_argument Error.
void check(const StrategiesArguments& arguments);

// "single,data": no duplicates. The single device always comes first, because the others are compared with
// it.
std::vector<nn::StrategyKind> parse_strategies(const std::string& text);

}  // namespace rondo::program

// `rondo strategies`: trains the same network with four strategies on several devices and compares them.
#pragma once

#include <rondo/nn/strategies/strategy.h>
#include <rondo/tools/rondo/strategies/arguments.h>

#include <ostream>
#include <string>
#include <vector>

namespace rondo::program {

// The results of one strategy.
struct StrategyRun {
  nn::StrategyKind kind = nn::StrategyKind::single;
  std::vector<double> losses;  // of each step: the mean over its batch, before its update
  double difference = 0;       // the largest parameter difference from the single device, after all steps
  std::vector<nn::RankMemory> memory;
  int64_t sent_bytes = 0;   // by all ranks, in the last step
  double step_seconds = 0;  // the median
};

struct StrategyReport {
  std::string model;
  std::vector<int> devices;
  int64_t batch = 0, micro_batches = 0, parameters = 0;
  int steps = 0;
  float lr = 0;
  std::vector<StrategyRun> runs;  // the single device first
};

std::string strategies_text(const StrategyReport& report);
std::string strategies_json(const StrategyReport& report);
// Time, memory and traffic of the strategies, side by side.
std::string strategies_svg(const StrategyReport& report);

// Throws rondo::Error.
void run_strategies(const StrategiesArguments& arguments, std::ostream& out);

}  // namespace rondo::program

// Options of `rondo evaluate`.
#pragma once

#include <rondo/tools/rondo/support/command.h>
#include <rondo/tools/rondo/support/precision.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

struct EvaluateArguments {
  std::string model, from;
  std::string names;  // JSON of nn::StateDictNames; empty: the same names
  std::optional<std::vector<int>> devices;
  int64_t batch = 256;
  std::optional<int64_t> limit;
  std::optional<std::string> data;
  std::optional<int64_t> classes;
  std::vector<float> mean, stddev;
  Precision precision = Precision::fp32;
};

void add_evaluate(Program& program);

}  // namespace rondo::program

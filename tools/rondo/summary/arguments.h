// Options of `rondo summary`.
#pragma once

#include <rondo/tools/rondo/support/command.h>
#include <rondo/tools/rondo/support/image_model.h>
#include <rondo/tools/rondo/support/precision.h>

#include <cstdint>
#include <string>

namespace rondo::program {

struct SummaryArguments {
  std::string model;
  ModelImages images;
  int64_t checkpoint_layers = 0;
  int64_t batch = 256;
  Precision precision = Precision::fp32;
  std::string svg;  // empty: not requested
};

void add_summary(Program& program);

}  // namespace rondo::program

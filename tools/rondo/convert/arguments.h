// Options of `rondo convert`.
#pragma once

#include <rondo/tools/rondo/support/command.h>
#include <rondo/tools/rondo/support/image_model.h>

#include <string>

namespace rondo::program {

struct ConvertArguments {
  std::string model, from, to;
  ModelImages images;
  std::string names;  // JSON of nn::StateDictNames; empty: the same names
};

void add_convert(Program& program);

}  // namespace rondo::program

// `rondo convert`: a checkpoint or parameters to a PyTorch state dict, or a state dict to parameters
// (nn/checkpoint/state_dict.h).
#pragma once

#include <rondo/tools/rondo/convert/arguments.h>

#include <ostream>

namespace rondo::program {

// Throws rondo::Error.
void convert(const ConvertArguments& arguments, std::ostream& out);

}  // namespace rondo::program

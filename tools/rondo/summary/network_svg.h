// A picture of a network: a box for each operation, with its output shape and parameters, and lines between
// them.
#pragma once

#include <rondo/nn/graph/graph.h>

#include <string>

namespace rondo::program {

std::string network_svg(const std::string& model, const nn::Graph& graph);

}  // namespace rondo::program

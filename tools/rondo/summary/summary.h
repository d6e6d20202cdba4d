// `rondo summary`: the layers of a network and their cost; --svg draws them (network_svg.h).
#pragma once

#include <rondo/nn/diagnostics/summary.h>
#include <rondo/tools/rondo/summary/arguments.h>

#include <ostream>
#include <string>

namespace rondo::program {

std::string summary_text(const std::string& model, const nn::Graph& graph, int64_t batch,
                         int64_t checkpoint_layers = 0);

// Throws rondo::Error.
void show_summary(const SummaryArguments& arguments, std::ostream& out);

}  // namespace rondo::program

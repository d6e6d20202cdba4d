// Splits a network into stages. All functions are pure.
//
// A network is a chain of modules (chain_of() in nn/layers/module.h). A module without an operation of its
// own (a ReLU that is fused into a convolution, a Flatten) stays with the module before it. The chain thus
// becomes a list of parts with one or more operations each; the network is only split between parts. The
// cost of a part is the number of multiplications and additions in a step with a given number of samples:
//
//   forward                          F       for each sample and operation
//   gradient of the parameters       F       if the operation has any
//   gradient of the operation's x    F       except for the network's own input
//   update                           2       for each parameter
//
// A stage is a non-empty run of parts. The slowest stage determines the time of a step, so the split
// minimises the cost of the most expensive stage. Ties are resolved by the smallest sum of squared costs,
// which makes the other stages similar, then by the earliest split points.
#pragma once

#include <rondo/nn/layers/module.h>

#include <cstddef>
#include <vector>

namespace rondo::nn {

struct StagePart {
  std::vector<AnyModule> modules;
  Shape input;
  int first_node = 0, nodes = 0;  // in the graph of the whole network
  double cost = 0;                // per step
};

// `batch`: samples per step. Throws a bad_argument Error if the network does not accept the input shape.
std::vector<StagePart> stage_parts(const AnyModule& network, Shape input, int64_t batch);

// The index at which each part begins; 1 <= parts <= costs.size().
std::vector<size_t> balanced_parts(const std::vector<double>& costs, size_t parts);

// Exactly `stages` stages, each a run of parts merged into one. Throws a bad_argument Error if there are
// fewer parts.
std::vector<StagePart> stages_of(const AnyModule& network, Shape input, int64_t batch, size_t stages);

}  // namespace rondo::nn

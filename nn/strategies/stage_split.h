// Where a network is cut into stages: pure functions.
//
// A network is a chain of modules (chain_of() in nn/layers/module.h). A module that adds no operation of its own, a ReLU that has gone
// into the convolution before it or a Flatten, stays with the module before it; so what the chain falls into are pieces of
// one or more operations, and the cuts lie between pieces. The cost of a piece is what it computes in a step of so many
// samples, in multiplications and additions:
//
//   forward                          F       for each sample and operation
//   gradient of the parameters       F       where there are any
//   gradient of the operation's x    F       but for the network's own input
//   update                           2       for each parameter
//
// The stages are runs of pieces, none of them empty. The step is as slow as its slowest stage, so the cuts are those whose
// most expensive stage costs least; of several, those with the least sum of squared costs, so that the other stages are
// alike; of several such, those that lie first.
#pragma once

#include <rondo/nn/layers/module.h>

#include <cstddef>
#include <vector>

namespace rondo::nn {

struct Piece {
  std::vector<AnyModule> modules;
  Shape input;
  int first_node = 0, nodes = 0;  // in the graph of the whole network
  double cost = 0;                // of a step
};

// `batch`: samples of a step. Throws a bad_argument Error where the network does not fit the input.
std::vector<Piece> pieces_of(const AnyModule& network, Shape input, int64_t batch);

// Of each part, where it begins; 1 <= parts <= costs.size().
std::vector<size_t> balanced_parts(const std::vector<double>& costs, size_t parts);

// As many stages as asked for, each a run of pieces made one. Throws a bad_argument Error where there are too many.
std::vector<Piece> stages_of(const AnyModule& network, Shape input, int64_t batch, size_t stages);

}  // namespace rondo::nn

// NetworkLayout: the positions of a network's operations in a picture, and the edges between them.
//
// The longest path from input to output is the first column, one box per row. Parallel operations, such as
// the convolution of a shortcut, are in columns further right.
#pragma once

#include <rondo/nn/diagnostics/summary.h>

#include <cstdint>
#include <vector>

namespace rondo::program {

struct NetworkBox {
  nn::SummaryRow of;  // the first operation; the network's input has no name
  int64_t times = 1;  // the number of equal consecutive operations in this box
  int row = 0, column = 0;
};
// Box indices.
struct NetworkEdge {
  size_t from, to;
  bool operator==(const NetworkEdge&) const = default;
};
struct NetworkLayout {
  std::vector<NetworkBox> boxes;  // the first is the network's input
  std::vector<NetworkEdge> edges;
  int rows = 0, columns = 0;
};

NetworkLayout lay_out(const nn::Graph& graph);

}  // namespace rondo::program

// NetworkLayout: where the operations of a network stand in a picture, and which of them feed which.
//
// The longest way from input to output goes down the first column, one box a row. What stands beside it, such as the
// convolution of a shortcut, has a column further right.
#pragma once

#include <rondo/nn/diagnostics/summary.h>

#include <cstdint>
#include <vector>

namespace rondo::program {

struct NetworkBox {
  nn::SummaryRow of;  // the first operation; the network's input has no name
  int64_t times = 1;  // so many equal operations, one behind the other
  int row = 0, column = 0;
};
// Between boxes, by their numbers.
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

// NetworkLayout: the positions of a network's operations in a picture, and the edges between them.
//
// The longest path from input to output is the first column, one box per row. Parallel operations, such as
// the convolution of a shortcut, are in columns further right. Normalisations and activations share the box
// of the operation before them, and a block that is repeated is drawn once.
#pragma once

#include <rondo/nn/diagnostics/summary.h>

#include <cstdint>
#include <vector>

namespace rondo::program {

struct NetworkBox {
  nn::SummaryRow of;                      // the first operation; the network's input has no name
  int64_t times = 1;                      // the number of equal consecutive operations in this box
  std::vector<nn::SummaryRow> then = {};  // normalisations and activations after the operation
  int64_t blocks = 1;                     // the repetitions of the block that the box belongs to
  int row = 0, column = 0;
};
// Boxes [first, end) that follow each other `times` times. Only their last box is read by others.
struct NetworkBlock {
  size_t first, end;
  int64_t times;
};
// Box indices.
struct NetworkEdge {
  size_t from, to;
  bool operator==(const NetworkEdge&) const = default;
};
struct NetworkLayout {
  std::vector<NetworkBox> boxes;  // the first is the network's input
  std::vector<NetworkEdge> edges;
  std::vector<NetworkBlock> blocks;
  int rows = 0, columns = 0;
};

NetworkLayout lay_out(const nn::Graph& graph);

}  // namespace rondo::program

// Gradient buckets: the parts of the gradient arena that are reduced one by one, while the layers before them still go backward.
#pragma once

#include <rondo/nn/graph/graph.h>

#include <cstdint>
#include <vector>

namespace rondo::nn {

// A part of the gradient arena, in floats, that is complete when a node has gone backward.
struct GradientBucket {
  int node;
  int64_t begin, size;
};

// Buckets of at least `bytes`, from the end of the arena to its beginning, in the order in which they become complete.
std::vector<GradientBucket> gradient_buckets(const Graph& graph, int64_t bytes);

}  // namespace rondo::nn

// Gradient buckets: parts of the gradient arena, each all-reduced while earlier layers still go backward.
#pragma once

#include <rondo/nn/graph/graph.h>

#include <cstdint>
#include <vector>

namespace rondo::nn {

// A part of the gradient arena, in floats, that is complete after the backward of `node`.
struct GradientBucket {
  int node;
  int64_t begin, size;
};

// Buckets of at least `bytes` (the last may be smaller), from the end of the arena to its beginning, in the
// order in which they become complete.
std::vector<GradientBucket> gradient_buckets(const Graph& graph, int64_t bytes);

}  // namespace rondo::nn

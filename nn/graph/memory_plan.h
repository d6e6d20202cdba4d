// MemoryPlan: where each activation and each gradient lies in one flat arena, made once for a graph and a batch.
//
// A step is a line of moments: the operations forward, then the same operations backward in reverse. Each tensor is needed
// from the moment that writes it to the last one that reads it. Two tensors may lie in the same place when these
// intervals don't meet. Tensors are placed from the largest to the smallest, each at the lowest place that is free for its
// whole life: simple, and in practice within a few per cent of the least possible.
#pragma once

#include <rondo/nn/graph/graph.h>

#include <cstdint>
#include <vector>

namespace rondo::nn {

struct MemoryPlan {
  static constexpr int64_t kNone = -1;

  std::vector<int64_t> values;  // of each value, in floats from the arena's beginning; kNone: it has no place
  std::vector<int64_t> gradients;  // of each value's gradient
  // Of each node's inputs: where backward leaves what is then added to a gradient that exists already
  std::vector<std::vector<int64_t>> contributions;
  int64_t size = 0;     // of the arena, in floats
  int64_t tensors = 0;  // the sum of all tensors' sizes: what the arena would take without reuse
};

// The gradient with respect to the network's input is made only where `input_gradient` asks for it.
MemoryPlan plan_training(const Graph& graph, int64_t batch, bool input_gradient = false);
MemoryPlan plan_inference(const Graph& graph, int64_t batch);

}  // namespace rondo::nn

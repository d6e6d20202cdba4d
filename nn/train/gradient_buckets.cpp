#include <rondo/nn/train/gradient_buckets.h>

#include <algorithm>
#include <limits>

namespace rondo::nn {

// The arena holds parameters in order of creation, which is nearly the order of the nodes. Backward completes
// nodes from the last to the first, so a bucket is complete after the first node with a parameter in it, and
// after the buckets before it.
std::vector<GradientBucket> gradient_buckets(const Graph& graph, int64_t bytes) {
  std::vector<int> node_of(graph.parameters().size(), 0);
  for (size_t node = 0; node < graph.nodes().size(); ++node)
    for (int parameter : graph.nodes()[node].parameters)
      node_of[static_cast<size_t>(parameter)] = static_cast<int>(node);
  std::vector<GradientBucket> buckets;
  int64_t end = graph.parameter_arena_size();
  int node = std::numeric_limits<int>::max();
  for (size_t i = graph.parameters().size(); i-- > 0;) {
    const int64_t begin = graph.parameters()[i].offset;
    node = std::min(node, node_of[i]);
    if ((end - begin) * static_cast<int64_t>(sizeof(float)) < bytes && i > 0) continue;
    buckets.push_back({node, begin, end - begin});
    end = begin;
  }
  return buckets;
}

}  // namespace rondo::nn

// Dependencies of graph nodes, and what a graph has: nodes, roots, edges.
#include <algorithm>
#include <set>
#include <utility>

#include "runtime.h"

namespace simt {
namespace {

// Other edges than full dependencies (programmatic launches) do not exist here.
void require_plain(const cudaGraphEdgeData* edges, size_t count) {
  for (size_t i = 0; edges && i < count; ++i)
    require(edges[i].from_port == 0 && edges[i].to_port == 0 && edges[i].type == 0, cudaErrorInvalidValue);
}

// CUDA's rule for these queries: without `list` only the count; else as many as there is room for, and null
// in the rest.
void answer_list(NodeHandles& handles, const std::vector<Node*>& found, cudaGraphNode_t* list,
                 size_t* count) {
  if (list) {
    for (size_t i = 0; i < *count; ++i) list[i] = i < found.size() ? handles.give(*found[i]) : nullptr;
    *count = std::min(*count, found.size());
  } else {
    *count = found.size();
  }
}

void answer_list(NodeHandles& handles, const std::vector<Node*>& found, cudaGraphNode_t* list,
                 cudaGraphEdgeData* edges, size_t* count) {
  require(count && (!edges || list), cudaErrorInvalidValue);
  if (edges) std::fill_n(edges, std::min(*count, found.size()), cudaGraphEdgeData{});
  answer_list(handles, found, list, count);
}

template <class IsWanted>
std::vector<Node*> nodes_that(const Graph& graph, const IsWanted& is_wanted) {
  std::vector<Node*> found;
  for (const auto& node : graph.nodes)
    if (is_wanted(*node)) found.push_back(node.get());
  return found;
}

// The nodes of a graph for which is_wanted(node) is true.
template <class IsWanted>
cudaError_t answer_nodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count,
                         const IsWanted& is_wanted) {
  return api([&](Runtime& runtime) {
    require(count, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    answer_list(runtime.nodes, nodes_that(*runtime.graphs.get(handle), is_wanted), nodes, count);
    return cudaSuccess;
  });
}

using Edge = std::pair<Node*, Node*>;

// The edges of a call. None is named twice.
std::vector<Edge> edges_of(const Runtime& runtime, const Graph& graph, const cudaGraphNode_t* from,
                           const cudaGraphNode_t* to, const cudaGraphEdgeData* data, size_t count) {
  require(count == 0 || (from && to), cudaErrorInvalidValue);
  require_plain(data, count);
  std::vector<Edge> edges;
  for (size_t i = 0; i < count; ++i) {
    edges.emplace_back(runtime.nodes.get(from[i]).get(), runtime.nodes.get(to[i]).get());
    require(edges.back().first->graph == &graph && edges.back().second->graph == &graph,
            cudaErrorInvalidValue);
  }
  require(std::set<Edge>(edges.begin(), edges.end()).size() == edges.size(), cudaErrorInvalidValue);
  return edges;
}

}  // namespace

std::vector<Node*> Runtime::nodes_of(const Graph& graph, const cudaGraphNode_t* handles,
                                     const cudaGraphEdgeData* edges, size_t count) const {
  require(count == 0 || handles, cudaErrorInvalidValue);
  require_plain(edges, count);
  std::vector<Node*> found;
  for (size_t i = 0; i < count; ++i) {
    found.push_back(nodes.get(handles[i]).get());
    require(found.back()->graph == &graph, cudaErrorInvalidValue);
  }
  require(std::set<Node*>(found.begin(), found.end()).size() == count, cudaErrorInvalidValue);
  return found;
}

}  // namespace simt

using namespace simt;

// A cycle is refused when the graph is instantiated.
cudaError_t cudaGraphAddDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData* data, size_t count) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    const std::vector<Edge> edges = edges_of(runtime, *runtime.graphs.get(handle), from, to, data, count);
    for (const auto& [before, after] : edges) require(!after->follows(*before), cudaErrorInvalidValue);
    for (const auto& [before, after] : edges) after->predecessors.push_back(before);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData* data,
                                        size_t count) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    const std::vector<Edge> edges = edges_of(runtime, *runtime.graphs.get(handle), from, to, data, count);
    for (const auto& [before, after] : edges) require(after->follows(*before), cudaErrorInvalidValue);
    for (const auto& [before, after] : edges) {
      std::erase(after->predecessors, before);
      before->must_join = false;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  return answer_nodes(handle, nodes, count, [](const Node&) { return true; });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  return answer_nodes(handle, nodes, count, [](const Node& node) { return node.predecessors.empty(); });
}

cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, size_t* count) {
  return api([&](Runtime& runtime) {
    require(count && (from != nullptr) == (to != nullptr), cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    std::vector<Node*> sources, targets;
    for (const auto& node : runtime.graphs.get(handle)->nodes)
      for (Node* const before : node->predecessors) {
        sources.push_back(before);
        targets.push_back(node.get());
      }
    size_t room = *count;
    answer_list(runtime.nodes, sources, from, edges, &room);
    answer_list(runtime.nodes, targets, to, count);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t handle, cudaGraphNode_t* nodes,
                                         cudaGraphEdgeData* edges, size_t* count) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    answer_list(runtime.nodes, runtime.nodes.get(handle)->predecessors, nodes, edges, count);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t handle, cudaGraphNode_t* nodes,
                                           cudaGraphEdgeData* edges, size_t* count) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    const auto node = runtime.nodes.get(handle);
    const auto follows = [&](const Node& other) { return other.follows(*node); };
    answer_list(runtime.nodes, nodes_that(*node->graph, follows), nodes, edges, count);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  return api([&](Runtime& runtime) {
    require(type, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    *type = runtime.nodes.get(handle)->type();
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* found, cudaGraphNode_t original, cudaGraph_t clone) {
  return api([&](Runtime& runtime) {
    require(found, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    const auto node = runtime.nodes.get(original);
    for (const auto& candidate : runtime.graphs.get(clone)->nodes) {
      if (candidate->origin != node->id) continue;
      *found = runtime.nodes.give(*candidate);
      return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    const auto node = runtime.nodes.get(handle);
    Graph& graph = *node->graph;
    require(!graph.captured_into, cudaErrorInvalidValue);
    for (const auto& other : graph.nodes) std::erase(other->predecessors, node.get());
    runtime.nodes.forget(*node);
    if (node->child) runtime.forget(*node->child);
    std::erase(graph.nodes, node);
    return cudaSuccess;
  });
}

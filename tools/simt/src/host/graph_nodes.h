// What the calls about one kind of graph nodes share. `make(runtime)` checks the parameters and returns a
// node that is in no graph; it takes the mutex.
#pragma once

#include "runtime.h"

namespace simt {

template <class Make>
cudaError_t add_graph_node(cudaGraphNode_t* handle, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                           size_t count, const Make& make) {
  return api([&](Runtime& runtime) {
    require(handle, cudaErrorInvalidValue);
    const std::shared_ptr<Node> node = make(runtime);
    std::lock_guard lock(runtime.mutex);
    Graph& target = *runtime.graphs.get(graph);
    node->predecessors = runtime.nodes_of(target, dependencies, nullptr, count);
    *handle = runtime.nodes.give(target.add(node));
    return cudaSuccess;
  });
}

template <class Make>
cudaError_t set_graph_node(cudaGraphNode_t handle, cudaGraphNodeType type, const Make& make) {
  return api([&](Runtime& runtime) {
    const std::shared_ptr<Node> fresh = make(runtime);
    std::lock_guard lock(runtime.mutex);
    const auto node = runtime.nodes.get(handle);
    require(node->type() == type, cudaErrorInvalidValue);
    node->take_work(*fresh);
    return cudaSuccess;
  });
}

// Launches that are under way have their operations already.
template <class Make>
cudaError_t set_exec_node(cudaGraphExec_t exec, cudaGraphNode_t handle, cudaGraphNodeType type,
                          const Make& make) {
  return api([&](Runtime& runtime) {
    const std::shared_ptr<Node> fresh = make(runtime);
    std::lock_guard lock(runtime.mutex);
    Node& node = runtime.execs.get(exec)->node(*runtime.nodes.get(handle));
    require(node.type() == type, cudaErrorInvalidValue);
    const Operation& old = *node.operation;
    require(may_replace(old, *fresh->operation), cudaErrorInvalidValue);
    if (type == cudaGraphNodeTypeMemcpy)
      require(old.transfer->rows() == 1 && fresh->operation->transfer->rows() == 1, cudaErrorInvalidValue);
    node.take_work(*fresh);
    return cudaSuccess;
  });
}

// Calls read(node).
template <class Params, class Read>
cudaError_t get_graph_node(cudaGraphNode_t handle, cudaGraphNodeType type, Params* params, const Read& read) {
  return api([&](Runtime& runtime) {
    require(params, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    const auto node = runtime.nodes.get(handle);
    require(node->type() == type, cudaErrorInvalidValue);
    *params = read(*node);
    return cudaSuccess;
  });
}

}  // namespace simt

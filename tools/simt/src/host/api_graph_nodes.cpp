// Host, empty, event and child graph nodes of graphs.
#include "graph_nodes.h"
#include "operations.h"

using namespace simt;

namespace {

std::shared_ptr<Node> host_node(const cudaHostNodeParams* params) {
  require(params, cudaErrorInvalidValue);
  const auto operation = host_operation(*params);
  operation->device = host_thread().device;
  auto node = std::make_shared<Node>();
  node->operation = operation;
  return node;
}

// `member`: Node::recorded or Node::awaited.
std::shared_ptr<Node> event_node(Runtime& runtime, cudaEvent_t event, std::shared_ptr<Event> Node::*member) {
  std::lock_guard lock(runtime.mutex);
  auto node = std::make_shared<Node>();
  node.get()->*member = runtime.event(event);
  return node;
}

}  // namespace

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, size_t count,
                                 const cudaHostNodeParams* params) {
  return add_graph_node(node, graph, dependencies, count, [&](Runtime&) { return host_node(params); });
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* params) {
  return set_graph_node(node, cudaGraphNodeTypeHost, [&](Runtime&) { return host_node(params); });
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* params) {
  return set_exec_node(exec, node, cudaGraphNodeTypeHost, [&](Runtime&) { return host_node(params); });
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* params) {
  return get_graph_node(node, cudaGraphNodeTypeHost, params,
                        [](const Node& found) { return *found.operation->host_function; });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count) {
  return add_graph_node(node, graph, dependencies, count, [](Runtime&) { return std::make_shared<Node>(); });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies, size_t count,
                                        cudaEvent_t event) {
  return add_graph_node(node, graph, dependencies, count,
                        [&](Runtime& runtime) { return event_node(runtime, event, &Node::recorded); });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies, size_t count, cudaEvent_t event) {
  return add_graph_node(node, graph, dependencies, count,
                        [&](Runtime& runtime) { return event_node(runtime, event, &Node::awaited); });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t count, cudaGraph_t child) {
  return add_graph_node(node, graph, dependencies, count, [&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    auto fresh = std::make_shared<Node>();
    fresh->child = clone(*runtime.graphs.get(child));
    fresh->child->of_node = true;
    return fresh;
  });
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t handle, cudaGraph_t* child) {
  return api([&](Runtime& runtime) {
    require(child, cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    const auto node = runtime.nodes.get(handle);
    require(node->child != nullptr, cudaErrorInvalidValue);
    *child = runtime.handle_of(node->child);
    return cudaSuccess;
  });
}

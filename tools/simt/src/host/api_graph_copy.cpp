// Copy and fill nodes of graphs.
#include "graph_nodes.h"
#include "operations.h"

using namespace simt;

namespace {

// On the current device.
std::shared_ptr<Node> node_of(const std::shared_ptr<Operation>& operation) {
  operation->device = host_thread().device;
  auto node = std::make_shared<Node>();
  node->operation = operation;
  return node;
}

std::shared_ptr<Node> copy_node(Runtime& runtime, const Transfer& copy) {
  require(copy.to && copy.from && copy.width > 0 && copy.rows() > 0, cudaErrorInvalidValue);
  require(copy.kind >= cudaMemcpyHostToHost && copy.kind <= cudaMemcpyDefault, cudaErrorInvalidValue);
  return node_of(copy_operation(runtime, copy));
}

std::shared_ptr<Node> copy_node(Runtime& runtime, void* to, const void* from, size_t bytes,
                                cudaMemcpyKind kind) {
  return copy_node(runtime, flat_copy(to, from, bytes, kind));
}

std::shared_ptr<Node> copy_node(Runtime& runtime, const cudaMemcpy3DParms* params) {
  return copy_node(runtime, box_copy(params));
}

std::shared_ptr<Node> fill_node(Runtime& runtime, const cudaMemsetParams* params) {
  require(params && params->width > 0 && params->height > 0, cudaErrorInvalidValue);
  const unsigned element = params->elementSize;
  require(element == 1 || element == 2 || element == 4, cudaErrorInvalidValue);
  Transfer fill = {.to = params->dst, .width = params->width * element, .height = params->height};
  require(fill.height == 1 || fill.width <= params->pitch, cudaErrorInvalidValue);
  require(reinterpret_cast<uintptr_t>(fill.to) % element == 0, cudaErrorInvalidValue);
  require(fill.height == 1 || params->pitch % element == 0, cudaErrorInvalidValue);
  fill.to_pitch = fill.height == 1 ? fill.width : params->pitch;
  fill.value = params->value;
  fill.element_bytes = element;
  return node_of(fill_operation(runtime, fill));
}

}  // namespace

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemcpy3DParms* params) {
  return add_graph_node(node, graph, dependencies, count,
                        [&](Runtime& runtime) { return copy_node(runtime, params); });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count, void* to,
                                     const void* from, size_t bytes, cudaMemcpyKind kind) {
  return add_graph_node(node, graph, dependencies, count,
                        [&](Runtime& runtime) { return copy_node(runtime, to, from, bytes, kind); });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* params) {
  return set_graph_node(node, cudaGraphNodeTypeMemcpy,
                        [&](Runtime& runtime) { return copy_node(runtime, params); });
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                           cudaMemcpyKind kind) {
  return set_graph_node(node, cudaGraphNodeTypeMemcpy,
                        [&](Runtime& runtime) { return copy_node(runtime, to, from, bytes, kind); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* params) {
  return set_exec_node(exec, node, cudaGraphNodeTypeMemcpy,
                       [&](Runtime& runtime) { return copy_node(runtime, params); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes, cudaMemcpyKind kind) {
  return set_exec_node(exec, node, cudaGraphNodeTypeMemcpy,
                       [&](Runtime& runtime) { return copy_node(runtime, to, from, bytes, kind); });
}

// With the positions of the copy in its pointers.
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* params) {
  return get_graph_node(node, cudaGraphNodeTypeMemcpy, params, [](const Node& found) {
    const Transfer& copy = *found.operation->transfer;
    const auto rows_of = [&](size_t slice, size_t pitch) {
      return copy.depth > 1 ? slice / pitch : copy.height;
    };
    cudaMemcpy3DParms result = {};
    result.srcPtr = {const_cast<void*>(copy.from), copy.from_pitch, copy.width,
                     rows_of(copy.from_slice, copy.from_pitch)};
    result.dstPtr = {copy.to, copy.to_pitch, copy.width, rows_of(copy.to_slice, copy.to_pitch)};
    result.extent = {copy.width, copy.height, copy.depth};
    result.kind = copy.kind;
    return result;
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemsetParams* params) {
  return add_graph_node(node, graph, dependencies, count,
                        [&](Runtime& runtime) { return fill_node(runtime, params); });
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* params) {
  return set_graph_node(node, cudaGraphNodeTypeMemset,
                        [&](Runtime& runtime) { return fill_node(runtime, params); });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* params) {
  return set_exec_node(exec, node, cudaGraphNodeTypeMemset,
                       [&](Runtime& runtime) { return fill_node(runtime, params); });
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* params) {
  return get_graph_node(node, cudaGraphNodeTypeMemset, params, [](const Node& found) {
    const Transfer& fill = *found.operation->transfer;
    cudaMemsetParams result = {};
    result.dst = fill.to;
    result.pitch = fill.to_pitch;
    result.value = fill.value;
    result.elementSize = fill.element_bytes;
    result.width = fill.width / fill.element_bytes;
    result.height = fill.height;
    return result;
  });
}

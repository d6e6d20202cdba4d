// Graphs: the nodes that a program has added or captured, and the executable graphs that are made of them.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "handles.h"
#include "task.h"

namespace simt {

struct Event;
struct Graph;

// The arguments of a kernel in one buffer, and the list that names it: cudaKernelNodeParams::extra.
struct PackedArguments {
  std::vector<unsigned char> storage;
  unsigned char* begin = nullptr;  // aligned for tensor maps
  size_t bytes = 0;
  void* extra[5] = {};
};

struct Node : std::enable_shared_from_this<Node> {
  const uintptr_t id = new_handle();  // also its handle
  uintptr_t origin = 0;               // of a node of a clone: the id of the node that was cloned
  Graph* graph = nullptr;
  std::vector<Node*> predecessors;  // in the order in which the program named them

  // One of these, or none of an empty node.
  std::shared_ptr<const Operation> operation;
  std::shared_ptr<Event> recorded, awaited;
  std::shared_ptr<Graph> child;

  bool must_join = false;  // it was captured, now: it must lead to the stream that began the capture

  // For cudaGraphKernelNodeGetParams(): the list of its arguments, if they were not packed.
  std::vector<void*> arguments;
  std::shared_ptr<PackedArguments> packed;

  cudaGraphNodeType type() const;
  bool follows(const Node& other) const;
  // Takes what `other`, a node of the same type, does.
  void take_work(const Node& other);
};

struct Graph {
  cudaGraph_t handle = nullptr;              // null: no program has asked for it
  bool captured_into = false;                // by a stream, now
  bool of_node = false;                      // the graph of a child graph node, which owns it
  std::vector<std::shared_ptr<Node>> nodes;  // in the order of their creation

  Node& add(std::shared_ptr<Node> node);
  // In an order in which predecessors come first: that of their creation, where that is one. Empty if there
  // is none, because the graph has a cycle.
  std::vector<Node*> in_order() const;
  std::vector<Node*> leaves() const;
};

std::shared_ptr<Graph> clone(const Graph& graph);

// What a launch does: a node, or, without one, the end of a child graph.
struct GraphStep {
  const Node* node = nullptr;
  std::vector<int> predecessors;  // earlier steps
};

struct GraphExec {
  std::shared_ptr<Graph> graph;                    // a clone, so that changes of the original have no effect
  std::unordered_map<uintptr_t, Node*> by_origin;  // its nodes, also those of child graphs
  std::vector<GraphStep> steps;
  std::vector<int> leaves;
  std::vector<int> devices;
  std::vector<size_t> nodes;  // operations on each of `devices`
  size_t node_bytes = 0;      // settings().graph_node_bytes at the instantiation
  int shares = 0;             // how often it has taken this memory: 1 instantiated, 2 uploaded
  TaskPtr last;               // the end of the latest launch: launches of the same exec never overlap
  Clock after;                // of the latest launch

  // Throws cudaErrorInvalidValue if the graph, or one in it, has a cycle.
  explicit GraphExec(const Graph& original);
  // Its own node for one of the graph that it was made of. Throws cudaErrorInvalidValue if there is none.
  Node& node(const Node& original) const;
};

// Whether an executable graph may do `fresh` in place of `old`: it stays on the devices of its memory.
bool may_replace(const Operation& old, const Operation& fresh);

// The handles of nodes that a program has got.
class NodeHandles {
 public:
  cudaGraphNode_t give(Node& node);
  // Throws cudaErrorInvalidValue.
  std::shared_ptr<Node> get(cudaGraphNode_t handle) const;
  void forget(const Node& node) { nodes_.erase(node.id); }

 private:
  std::unordered_map<uintptr_t, std::weak_ptr<Node>> nodes_;
};

}  // namespace simt

#include "graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>

namespace simt {

cudaGraphNodeType Node::type() const {
  if (child) return cudaGraphNodeTypeGraph;
  if (recorded) return cudaGraphNodeTypeEventRecord;
  if (awaited) return cudaGraphNodeTypeWaitEvent;
  if (!operation) return cudaGraphNodeTypeEmpty;
  if (operation->kernel) return cudaGraphNodeTypeKernel;
  if (operation->host_function) return cudaGraphNodeTypeHost;
  return operation->transfer->from ? cudaGraphNodeTypeMemcpy : cudaGraphNodeTypeMemset;
}

bool Node::follows(const Node& other) const {
  return std::find(predecessors.begin(), predecessors.end(), &other) != predecessors.end();
}

void Node::take_work(const Node& other) {
  operation = other.operation;
  recorded = other.recorded;
  awaited = other.awaited;
  packed = other.packed;
  arguments.clear();
}

Node& Graph::add(std::shared_ptr<Node> node) {
  node->graph = this;
  nodes.push_back(std::move(node));
  return *nodes.back();
}

std::vector<Node*> Graph::in_order() const {
  std::unordered_map<const Node*, size_t> numbers;
  for (size_t i = 0; i < nodes.size(); ++i) numbers[nodes[i].get()] = i;
  std::vector<size_t> missing(nodes.size());
  std::vector<std::vector<size_t>> successors(nodes.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    missing[i] = nodes[i]->predecessors.size();
    for (const Node* before : nodes[i]->predecessors) successors[numbers.at(before)].push_back(i);
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<Node*> ordered;
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    ordered.push_back(nodes[next].get());
    for (const size_t after : successors[next])
      if (--missing[after] == 0) ready.push(after);
  }
  if (ordered.size() < nodes.size()) ordered.clear();
  return ordered;
}

std::vector<Node*> Graph::leaves() const {
  std::unordered_set<const Node*> inner;
  for (const auto& node : nodes) inner.insert(node->predecessors.begin(), node->predecessors.end());
  std::vector<Node*> found;
  for (const auto& node : nodes)
    if (!inner.contains(node.get())) found.push_back(node.get());
  return found;
}

std::shared_ptr<Graph> clone(const Graph& graph) {
  auto copy = std::make_shared<Graph>();
  std::unordered_map<const Node*, Node*> copies;
  for (const auto& node : graph.nodes) {
    Node& twin = copy->add(std::make_shared<Node>());
    twin.origin = node->id;
    twin.take_work(*node);
    if (node->child) {
      twin.child = clone(*node->child);
      twin.child->of_node = true;
    }
    copies[node.get()] = &twin;
  }
  for (const auto& node : graph.nodes)
    for (const Node* before : node->predecessors)
      copies[node.get()]->predecessors.push_back(copies.at(before));
  return copy;
}

namespace {

// Appends the steps of `graph`, which come after the steps `before`. Returns those that nothing of them
// follows; of an empty graph `before`.
std::vector<int> append_steps(const Graph& graph, const std::vector<int>& before, GraphExec& exec) {
  const std::vector<Node*> ordered = graph.in_order();
  require(ordered.size() == graph.nodes.size(), cudaErrorInvalidValue);
  std::unordered_map<const Node*, int> ends;
  for (Node* const node : ordered) {
    exec.by_origin[node->origin] = node;
    GraphStep step;
    if (node->predecessors.empty()) step.predecessors = before;
    for (const Node* predecessor : node->predecessors) step.predecessors.push_back(ends.at(predecessor));
    if (node->child)
      step.predecessors = append_steps(*node->child, step.predecessors, exec);
    else
      step.node = node;
    ends[node] = static_cast<int>(exec.steps.size());
    exec.steps.push_back(std::move(step));
  }
  if (ordered.empty()) return before;
  std::vector<int> last;
  for (const Node* leaf : graph.leaves()) last.push_back(ends.at(leaf));
  return last;
}

}  // namespace

GraphExec::GraphExec(const Graph& original) : graph(clone(original)) {
  leaves = append_steps(*graph, {}, *this);
  for (const GraphStep& step : steps) {
    if (!step.node || !step.node->operation) continue;
    const int device = step.node->operation->device;
    const auto found = std::find(devices.begin(), devices.end(), device);
    const auto index = static_cast<size_t>(found - devices.begin());
    if (found == devices.end()) {
      devices.push_back(device);
      nodes.push_back(0);
    }
    ++nodes[index];
  }
}

Node& GraphExec::node(const Node& original) const {
  const auto found = by_origin.find(original.id);
  require(found != by_origin.end(), cudaErrorInvalidValue);
  return *found->second;
}

bool may_replace(const Operation& old, const Operation& fresh) {
  if (old.kernel) return old.device == fresh.device;
  if (!old.transfer) return true;
  const Transfer &a = *old.transfer, &b = *fresh.transfer;
  if (a.to_device != b.to_device || a.from_device != b.from_device) return false;
  if (a.from) return true;
  // The rules of CUDA for fills: the size of rows alone may change, and only where there is one.
  return a.height == b.height && (a.height == 1 || (a.width == b.width && a.to_pitch == b.to_pitch &&
                                                    a.element_bytes == b.element_bytes));
}

cudaGraphNode_t NodeHandles::give(Node& node) {
  nodes_.try_emplace(node.id, node.weak_from_this());
  return reinterpret_cast<cudaGraphNode_t>(node.id);
}

std::shared_ptr<Node> NodeHandles::get(cudaGraphNode_t handle) const {
  const auto found = nodes_.find(reinterpret_cast<uintptr_t>(handle));
  require(found != nodes_.end(), cudaErrorInvalidValue);
  const auto node = found->second.lock();
  require(node != nullptr, cudaErrorInvalidValue);
  return node;
}

}  // namespace simt

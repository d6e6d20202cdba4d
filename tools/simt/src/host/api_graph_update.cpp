// cudaGraphExecUpdate: an executable graph takes the parameters of a graph with the same nodes and edges.
#include <unordered_map>
#include <utility>

#include "runtime.h"

using namespace simt;

namespace {

struct Refusal {
  cudaGraphExecUpdateResult result;
  Node* node = nullptr;  // of the new graph
  Node* from = nullptr;
};

// Pairs the nodes of two graphs, by CUDA's rule: the last nodes in the order of their creation, then the
// dependencies of each pair in the order of its edges. Checks each pair.
class Pairing {
 public:
  Pairing(const Graph& old, const Graph& fresh) {
    refuse_if(old.nodes.size() != fresh.nodes.size(), {cudaGraphExecUpdateErrorTopologyChanged});
    const std::vector<Node*> old_leaves = old.leaves(), fresh_leaves = fresh.leaves();
    if (fresh_leaves.size() != old_leaves.size())
      throw Refusal{cudaGraphExecUpdateErrorTopologyChanged,
                    fresh_leaves.size() > old_leaves.size() ? fresh_leaves.back() : nullptr};
    for (size_t i = 0; i < fresh_leaves.size(); ++i) pair(old_leaves[i], fresh_leaves[i], nullptr);
    for (size_t i = 0; i < open_.size(); ++i) {  // it grows
      const auto [a, b] = open_[i];
      refuse_if(a->predecessors.size() != b->predecessors.size(),
                {cudaGraphExecUpdateErrorTopologyChanged, b});
      for (size_t k = 0; k < a->predecessors.size(); ++k) pair(a->predecessors[k], b->predecessors[k], b);
    }
    // Nodes of a cycle lead to no last node.
    refuse_if(open_.size() != fresh.nodes.size(), {cudaGraphExecUpdateErrorTopologyChanged});
    for (const auto& [a, b] : open_) check(*a, *b);
  }

  // With those of child graphs.
  std::vector<std::pair<Node*, Node*>> take() {
    open_.insert(open_.end(), inner_.begin(), inner_.end());
    return std::move(open_);
  }

 private:
  static void refuse_if(bool refused, const Refusal& refusal) {
    if (refused) throw refusal;
  }

  void pair(Node* old, Node* fresh, Node* of) {
    const auto [known, added] = old_of_.try_emplace(fresh, old);
    const bool other_is_new = fresh_of_.try_emplace(old, fresh).second;
    if (added && other_is_new) {
      open_.emplace_back(old, fresh);
      return;
    }
    refuse_if(known->second != old || fresh_of_[old] != fresh,
              {cudaGraphExecUpdateErrorTopologyChanged, of, fresh});
  }

  void check(Node& old, Node& fresh) {
    refuse_if(old.type() != fresh.type(), {cudaGraphExecUpdateErrorNodeTypeChanged, &fresh});
    if (old.child) {
      for (const auto& inner : Pairing(*old.child, *fresh.child).take()) inner_.push_back(inner);
      return;
    }
    if (!old.operation) return;
    refuse_if(old.operation->cooperative != fresh.operation->cooperative,
              {cudaGraphExecUpdateErrorAttributesChanged, &fresh});
    if (may_replace(*old.operation, *fresh.operation)) return;
    throw Refusal{old.operation->kernel ? cudaGraphExecUpdateErrorUnsupportedFunctionChange
                                        : cudaGraphExecUpdateErrorParametersChanged,
                  &fresh};
  }

  std::unordered_map<Node*, Node*> old_of_, fresh_of_;
  std::vector<std::pair<Node*, Node*>> open_, inner_;
};

}  // namespace

// Nothing changes if it fails.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  return api([&](Runtime& runtime) {
    require(info, cudaErrorInvalidValue);
    *info = {};
    info->result = cudaGraphExecUpdateError;
    std::lock_guard lock(runtime.mutex);
    const auto executable = runtime.execs.get(exec);
    const auto fresh = runtime.graphs.get(graph);
    try {
      for (const auto& [a, b] : Pairing(*executable->graph, *fresh).take()) a->take_work(*b);
    } catch (const Refusal& refusal) {
      info->result = refusal.result;
      if (refusal.node) info->errorNode = runtime.nodes.give(*refusal.node);
      if (refusal.from) info->errorFromNode = runtime.nodes.give(*refusal.from);
      return cudaErrorGraphExecUpdateFailure;
    }
    info->result = cudaGraphExecUpdateSuccess;
    return cudaSuccess;
  });
}

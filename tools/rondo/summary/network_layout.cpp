#include <rondo/tools/rondo/summary/network_layout.h>

#include <algorithm>
#include <map>

namespace rondo::program {
namespace {

class Layout {
 public:
  explicit Layout(const nn::Graph& graph) : graph_(graph), rows_(nn::summarise(graph, 1).rows) {
    result_.boxes.push_back({.of = {.name = "", .layer = "input", .output = graph.input().shape}});
    for (size_t node = 0; node < graph.nodes().size(); ++node) add(node);
    place();
  }
  NetworkLayout take() { return std::move(result_); }

 private:
  // The producers of a node's inputs; -1 is the network's input.
  std::vector<int> sources(size_t node) const {
    std::vector<int> result;
    for (const int value : graph_.nodes()[node].inputs)
      result.push_back(graph_.values()[static_cast<size_t>(graph_.resolved(value))].producer);
    return result;
  }
  size_t box_of(int node) const { return node < 0 ? 0 : box_of_[static_cast<size_t>(node)]; }

  // Whether a node joins the box of the previous node: it is the same operation and the only user of its
  // output.
  bool repeats(size_t node) const {
    if (node == 0 || sources(node) != std::vector<int>{static_cast<int>(node) - 1}) return false;
    const nn::SummaryRow &row = rows_[node], &before = rows_[node - 1];
    const int between = graph_.resolved(graph_.nodes()[node - 1].output);
    return row.layer == before.layer && row.output == before.output && row.parameters == before.parameters &&
           graph_.values()[static_cast<size_t>(between)].uses.size() == 1;
  }

  void add(size_t node) {
    if (repeats(node)) {
      box_of_.push_back(box_of_[node - 1]);
      ++result_.boxes[box_of_[node]].times;
      return;
    }
    NetworkBox box{.of = rows_[node]};
    for (const int source : sources(node)) {
      const NetworkEdge edge = {box_of(source), result_.boxes.size()};
      box.row = std::max(box.row, result_.boxes[edge.from].row + 1);
      if (std::ranges::count(result_.edges, edge) == 0)
        result_.edges.push_back(edge);  // only once: x + x reads it twice
    }
    box_of_.push_back(result_.boxes.size());
    result_.boxes.push_back(std::move(box));
  }

  // The first column is the path from the output back along the deepest inputs.
  void place() {
    std::vector<bool> main(result_.boxes.size(), false);
    size_t at = box_of(graph_.values()[static_cast<size_t>(graph_.output().id)].producer);
    while (!main[at]) {
      main[at] = true;
      for (const NetworkEdge& edge : result_.edges)
        if (edge.to == at && result_.boxes[edge.from].row + 1 == result_.boxes[at].row) {
          at = edge.from;
          break;
        }
    }
    std::map<int, int> beside;  // boxes per row outside the first column
    for (size_t i = 0; i < result_.boxes.size(); ++i) {
      NetworkBox& box = result_.boxes[i];
      box.column = main[i] ? 0 : ++beside[box.row];
      result_.rows = std::max(result_.rows, box.row + 1);
      result_.columns = std::max(result_.columns, box.column + 1);
    }
  }

  const nn::Graph& graph_;
  std::vector<nn::SummaryRow> rows_;
  std::vector<size_t> box_of_;
  NetworkLayout result_;
};

}  // namespace

NetworkLayout lay_out(const nn::Graph& graph) { return Layout(graph).take(); }

}  // namespace rondo::program

#include <rondo/tools/rondo/summary/network_layout.h>

#include <algorithm>
#include <map>

namespace rondo::program {
namespace {

// Finds boxes that follow each other several times, and keeps the first of them.
class RepeatedBlocks {
 public:
  explicit RepeatedBlocks(NetworkLayout& layout) : layout_(layout) {
    for (size_t box = 1; box < layout.boxes.size(); ++box)
      if (is_cut(box)) cuts_.push_back(box);
    cuts_.push_back(layout.boxes.size());
  }

  // Returns the place of `box` among the boxes that are left.
  size_t fold(size_t box) {
    std::vector<size_t> becomes;  // of each box
    for (size_t i = 0; i < cuts_.at(0); ++i) becomes.push_back(i);
    std::vector<NetworkBox> kept(layout_.boxes.begin(),
                                 layout_.boxes.begin() + static_cast<std::ptrdiff_t>(cuts_[0]));
    std::vector<bool> removed(layout_.boxes.size(), false);
    for (size_t part = 0; part + 1 < cuts_.size();) {
      const auto [period, times] = repetition(part);
      const size_t first = cuts_[part], end = cuts_[part + period], length = end - first;
      const size_t to = kept.size();
      for (size_t i = first; i < end; ++i) {
        kept.push_back(layout_.boxes[i]);
        kept.back().blocks = static_cast<int64_t>(times);
      }
      for (size_t i = 0; i < length * times; ++i) {
        becomes.push_back(to + i % length);
        removed[first + i] = i >= length;
      }
      if (times > 1) layout_.blocks.push_back({to, to + length, static_cast<int64_t>(times)});
      part += period * times;
    }
    std::vector<NetworkEdge> edges;
    for (const NetworkEdge& edge : layout_.edges)
      if (!removed[edge.to]) edges.push_back({becomes[edge.from], becomes[edge.to]});
    layout_.edges = std::move(edges);
    layout_.boxes = std::move(kept);
    return becomes[box];
  }

 private:
  // Whether the boxes from `box` on read no earlier box but the one before it.
  bool is_cut(size_t box) const {
    return std::ranges::all_of(layout_.edges, [&](const NetworkEdge& edge) {
      return edge.from >= box || edge.to < box || edge.from + 1 == box;
    });
  }

  bool equal(size_t part, size_t other) const {
    const size_t a = cuts_[part], b = cuts_[other], length = cuts_[part + 1] - a;
    if (cuts_[other + 1] - b != length) return false;
    const auto same_row = [](const nn::SummaryRow& x, const nn::SummaryRow& y) {
      return x.layer == y.layer && x.output == y.output && x.parameters == y.parameters;
    };
    for (size_t i = 0; i < length; ++i) {
      const NetworkBox &x = layout_.boxes[a + i], &y = layout_.boxes[b + i];
      if (x.times != y.times || !same_row(x.of, y.of) || !std::ranges::equal(x.then, y.then, same_row))
        return false;
    }
    return edges_of(part) == edges_of(other);
  }
  std::vector<NetworkEdge> edges_of(size_t part) const {
    std::vector<NetworkEdge> edges;  // relative to the box before the part
    for (const NetworkEdge& edge : layout_.edges)
      if (edge.to >= cuts_[part] && edge.to < cuts_[part + 1])
        edges.push_back({edge.from + 1 - cuts_[part], edge.to + 1 - cuts_[part]});
    return edges;
  }

  struct Repetition {
    size_t period, times;  // in parts
  };
  // The one that covers the most parts; the shortest of equal ones.
  Repetition repetition(size_t part) const {
    const size_t parts = cuts_.size() - 1;
    Repetition best = {1, 1};
    for (size_t period = 1; part + 2 * period <= parts; ++period) {
      size_t end = part + period;
      while (end < parts && equal(end - period, end)) ++end;
      const size_t times = (end - part) / period;
      if (times > 1 && period * times > best.period * best.times) best = {period, times};
    }
    return best;
  }

  NetworkLayout& layout_;
  std::vector<size_t> cuts_;  // the boxes at which a part begins, and the end
};

class Layout {
 public:
  explicit Layout(const nn::Graph& graph) : graph_(graph), rows_(nn::summarise(graph, 1).rows) {
    result_.boxes.push_back({.of = {.name = "", .layer = "input", .output = graph.input().shape}});
    for (size_t node = 0; node < graph.nodes().size(); ++node) add(node);
    const size_t output = box_of(graph_.values()[static_cast<size_t>(graph_.output().id)].producer);
    place(RepeatedBlocks(result_).fold(output));
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

  // Whether a node reads only the output of the previous node, and no other node does.
  bool follows(size_t node) const {
    if (node == 0 || sources(node) != std::vector<int>{static_cast<int>(node) - 1}) return false;
    const int between = graph_.resolved(graph_.nodes()[node - 1].output);
    return graph_.values()[static_cast<size_t>(between)].uses.size() == 1;
  }

  // Whether a node is the same operation as the previous node.
  bool repeats(size_t node) const {
    if (!follows(node) || !result_.boxes[box_of_[node - 1]].then.empty()) return false;
    const nn::SummaryRow &row = rows_[node], &before = rows_[node - 1];
    return row.layer == before.layer && row.output == before.output && row.parameters == before.parameters;
  }

  // Whether a node is a normalisation or an activation of the previous node's box.
  bool completes(size_t node) const {
    if (!follows(node) || result_.boxes[box_of_[node - 1]].times > 1) return false;
    for (const char* kind : {"batch norm", "ReLU", "GELU", "sigmoid"})
      if (rows_[node].layer.starts_with(kind)) return rows_[node].output == rows_[node - 1].output;
    return false;
  }

  void add(size_t node) {
    if (repeats(node)) {
      box_of_.push_back(box_of_[node - 1]);
      ++result_.boxes[box_of_[node]].times;
      return;
    }
    if (completes(node)) {
      box_of_.push_back(box_of_[node - 1]);
      result_.boxes[box_of_[node]].then.push_back(rows_[node]);
      return;
    }
    NetworkBox box{.of = rows_[node]};
    for (const int source : sources(node)) {
      const NetworkEdge edge = {box_of(source), result_.boxes.size()};
      if (std::ranges::count(result_.edges, edge) == 0)
        result_.edges.push_back(edge);  // only once: x + x reads it twice
    }
    box_of_.push_back(result_.boxes.size());
    result_.boxes.push_back(std::move(box));
  }

  // The first column is the path from the output back along the deepest inputs.
  void place(size_t output) {
    for (const NetworkEdge& edge : result_.edges)  // in the order of their targets
      result_.boxes[edge.to].row = std::max(result_.boxes[edge.to].row, result_.boxes[edge.from].row + 1);
    std::vector<bool> main(result_.boxes.size(), false);
    size_t at = output;
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

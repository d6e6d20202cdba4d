#include <rondo/kernels/core/counted.h>
#include <rondo/nn/strategies/stage_split.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace rondo::nn {

namespace {

double cost_of(const Graph& graph, const Graph::Node& node, int64_t batch) {
  double passes = 1, update = 0;
  if (!node.parameters.empty()) ++passes;
  if (std::any_of(node.inputs.begin(), node.inputs.end(),
                  [&](int value) { return graph.resolved(value) != 0; }))
    ++passes;
  for (int p : node.parameters)
    update += 2.0 * static_cast<double>(graph.parameters()[static_cast<size_t>(p)].size);
  return passes * node.op->flops() * static_cast<double>(batch) + update;
}

void merge(StagePart& to, const StagePart& from) {
  to.modules.insert(to.modules.end(), from.modules.begin(), from.modules.end());
  to.nodes += from.nodes;
  to.cost += from.cost;
}

}  // namespace

std::vector<StagePart> stage_parts(const AnyModule& network, Shape input, int64_t batch) {
  Graph graph(input);
  Value x = graph.input();
  std::vector<StagePart> parts;
  for (const AnyModule& module : chain_of(network)) {
    const auto first = static_cast<int>(graph.nodes().size());
    StagePart part{.modules = {module}, .input = x.shape, .first_node = first};
    x = module.build(graph, x);
    part.nodes = static_cast<int>(graph.nodes().size()) - first;
    for (int i = first; i < first + part.nodes; ++i)
      part.cost += cost_of(graph, graph.nodes()[static_cast<size_t>(i)], batch);
    // Modules before the first operation, and modules without an operation, join the neighbouring part.
    if (parts.empty() || (part.nodes > 0 && parts.back().nodes > 0))
      parts.push_back(std::move(part));
    else
      merge(parts.back(), part);
  }
  return parts;
}

namespace {

// Returns the least value of a split into `parts` parts, and where the parts begin. Dynamic programming:
// best[k][end] is the value of k parts that cover costs [0, end), computed from that of k - 1 parts and the
// cost of the last part.
template <class Join>
std::pair<double, std::vector<size_t>> best_parts(const std::vector<double>& costs, size_t parts, Join join) {
  const size_t size = costs.size();
  std::vector<double> before(size + 1, 0);
  for (size_t i = 0; i < size; ++i) before[i + 1] = before[i] + costs[i];
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(parts + 1, std::vector<double>(size + 1, kNever));
  std::vector<std::vector<size_t>> begin(parts + 1, std::vector<size_t>(size + 1, 0));
  best[0][0] = 0;
  for (size_t k = 1; k <= parts; ++k)
    for (size_t end = k; end <= size; ++end)
      for (size_t cut = k - 1; cut < end; ++cut) {
        const double value = join(best[k - 1][cut], before[end] - before[cut]);
        if (value < best[k][end]) best[k][end] = value, begin[k][end] = cut;
      }
  std::vector<size_t> begins(parts);
  for (size_t k = parts, end = size; k > 0; --k) end = begins[k - 1] = begin[k][end];
  return {best[parts][size], begins};
}

}  // namespace

std::vector<size_t> balanced_parts(const std::vector<double>& costs, size_t parts) {
  const double least =
      best_parts(costs, parts, [](double most, double part) { return std::max(most, part); }).first;
  return best_parts(costs, parts,
                    [&](double squares, double part) {
                      return part <= least ? squares + part * part : std::numeric_limits<double>::infinity();
                    })
      .second;
}

std::vector<StagePart> stages_of(const AnyModule& network, Shape input, int64_t batch, size_t stages) {
  const std::vector<StagePart> parts = stage_parts(network, input, batch);
  if (stages > parts.size())
    throw Error(bad_argument("pipeline parallel: ", counted(stages, "device"), ", must be at most ",
                             parts.size(), ", the parts that this network can be cut into"));
  std::vector<double> costs;
  for (const StagePart& part : parts) costs.push_back(part.cost);
  const std::vector<size_t> begins = balanced_parts(costs, stages);
  std::vector<StagePart> whole;
  for (size_t i = 0; i < parts.size(); ++i)
    if (whole.size() < stages && begins[whole.size()] == i)
      whole.push_back(parts[i]);
    else
      merge(whole.back(), parts[i]);
  return whole;
}

}  // namespace rondo::nn

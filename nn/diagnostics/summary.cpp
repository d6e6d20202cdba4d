#include <rondo/nn/diagnostics/summary.h>

#include <rondo/nn/graph/memory_plan.h>
#include <rondo/nn/train/data_parallel.h>

namespace rondo::nn {

Summary summarise(const Graph& graph, int64_t batch, int64_t checkpoint_layers) {
  if (batch < 1) throw Error(bad_argument("summary: the batch is ", batch, ", must be at least 1"));
  constexpr int64_t kFloat = sizeof(float);
  Summary summary;
  for (const Graph::Node& node : graph.nodes()) {
    SummaryRow row;
    row.name = node.name;
    row.layer = node.op->description();
    row.output = graph.value(node.output).shape;
    row.type = graph.value(node.output).type;
    for (int p : node.parameters) row.parameters += graph.parameters()[static_cast<size_t>(p)].size;
    row.flops = node.op->flops();
    summary.parameters += row.parameters;
    summary.flops += row.flops;
    summary.rows.push_back(std::move(row));
  }
  const MemoryPlan training = plan_training(graph, batch, {.checkpoint_layers = checkpoint_layers});
  summary.training =
      estimate_memory(graph, {.batch = batch, .checkpoint_layers = checkpoint_layers}, Adam::kSize);
  summary.batch = batch;
  summary.parameter_bytes = graph.parameter_arena_size() * kFloat;
  summary.training_bytes = training.size * kFloat;
  summary.training_bytes_without_reuse = training.tensors * kFloat;
  summary.evaluation_bytes = plan_inference(graph, batch).size * kFloat;
  return summary;
}

}  // namespace rondo::nn

#include <rondo/kernels/core/text.h>
#include <rondo/nn/models/models.h>
#include <rondo/tools/rondo/summary/network_svg.h>
#include <rondo/tools/rondo/summary/summary.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/support/text_table.h>

namespace rondo::program {

namespace {

// 461.2 M: floating-point operations use powers of 1000.
std::string operations(double flops) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  size_t unit = 0;
  while (flops >= 1000 && unit + 1 < std::size(kUnits)) flops /= 1000, ++unit;
  return fixed(flops, unit == 0 ? 0 : 1) + kUnits[unit];
}

std::string or_nothing(int64_t value) { return value == 0 ? "" : grouped(value); }

}  // namespace

std::string summary_text(const std::string& model, const nn::Graph& graph, int64_t batch,
                         int64_t checkpoint_layers) {
  const nn::Summary summary = nn::summarise(graph, batch, checkpoint_layers);
  const auto bytes_of = [&](const nn::Shape& shape, DType type) {
    return byte_size(shape.size() * batch * size_of(type));
  };
  std::vector<TextRow> table = {
      {"module", "layer", "output", "parameters", "FLOP", "output bytes"},
      {"", "input", text(graph.input().shape), "", "", bytes_of(graph.input().shape, graph.input().type)}};
  for (const nn::SummaryRow& row : summary.rows)
    table.push_back({row.name, row.layer, text(row.output), or_nothing(row.parameters),
                     row.flops > 0 ? operations(row.flops) : "", bytes_of(row.output, row.type)});
  TextStream out;
  show_table(table, out, 3);
  out << "\n"
      << model << ": " << grouped(summary.parameters) << " parameters (" << byte_size(summary.parameter_bytes)
      << ", as much for their gradients), " << operations(summary.flops) << "FLOP forward for a sample\n"
      << "activations for a batch of " << grouped(batch)
      << " on one device: " << byte_size(summary.training_bytes) << " in training with their gradients ("
      << byte_size(summary.training_bytes_without_reuse) << " without memory reuse), "
      << byte_size(summary.evaluation_bytes) << " in evaluation\n";
  if (checkpoint_layers > 0)
    out << "activations are kept every " << checkpoint_layers << " operations, the others are recomputed\n";
  out << "training with Adam takes " << byte_size(summary.training.total()) << ":";
  const char* between = " ";
  for (const nn::MemoryPart& part : summary.training.parts) {
    if (part.bytes == 0) continue;
    out << between << part.name << " " << byte_size(part.bytes);
    between = ", ";
  }
  out << "\n";
  return out.str();
}

void show_summary(const SummaryArguments& arguments, std::ostream& out) {
  const nn::NamedModel model = model_for(arguments.model, arguments.images);
  const OutputFile picture("--svg", arguments.svg);
  const nn::Graph graph = nn::make_graph(model.network, model.input, math_of(arguments.precision),
                                         element_type(arguments.precision));
  out << summary_text(arguments.model, graph, arguments.batch, arguments.checkpoint_layers);
  if (picture.wanted()) picture.write(network_svg(arguments.model, graph));
}

}  // namespace rondo::program

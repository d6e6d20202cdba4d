#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/scale/scale.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/output_file.h>

#include <algorithm>

namespace rondo::program {
namespace {

// The width of an algorithm's column.
size_t width_of(ScaleAlgorithm algorithm) {
  return std::max<size_t>(12, std::string(name_of(algorithm)).size());
}

std::string link_line(const char* where, const NamedLink& named, const ScaleLink& link, const char* what,
                      const std::string& note) {
  std::string source = named.source;
  if (link.alpha != named.link.alpha) source += "; time of a step as given";
  if (link.bandwidth != named.link.bandwidth) source += "; bandwidth as given";
  return concat(left(where, 15), left(named.name, 9), three_digits(link.alpha * 1e6), " us a step, ",
                three_digits(link.bandwidth / 1e9), " GB/s ", what, note, " (", source, ")\n");
}

std::string heading(const ScaleArguments& arguments, const Cluster& cluster) {
  const std::string adapters = concat(", ", cluster.adapters_per_node, " a node");
  return concat("All-reduce on nodes of ", cluster.devices_per_node,
                cluster.devices_per_node == 1 ? " device" : " devices",
                ", by the formulas of docs/ring.md. Predicted, not measured.\n") +
         link_line("inside a node", arguments.inside, cluster.inside, "a device", "") +
         link_line("between nodes", arguments.between, cluster.between, "an adapter", adapters);
}

std::string span_text(const Span& span, int64_t last) {
  if (span.last == last) return "from " + grouped(span.first) + " devices on";
  if (span.first == span.last) return "at " + grouped(span.first) + " devices";
  return "from " + grouped(span.first) + " to " + grouped(span.last) + " devices";
}

// "from 16 devices on the hierarchical ring beats the flat ring"
std::string challenge_text(ScaleAlgorithm algorithm, const std::vector<Span>& spans, int64_t last) {
  if (spans.empty())
    return concat("the ", name_of(algorithm), " never beats the flat ring up to ", grouped(last), " devices");
  std::string where;
  for (const Span& span : spans) where += (where.empty() ? "" : " and ") + span_text(span, last);
  return where + " the " + name_of(algorithm) + " beats the flat ring";
}

}  // namespace

bool applies(ScaleAlgorithm algorithm, int64_t devices, const Cluster& cluster) {
  const bool flat = algorithm == ScaleAlgorithm::flat_ring || algorithm == ScaleAlgorithm::tree;
  return flat || has_hierarchy(devices, cluster);
}

std::string three_digits(double value) { return general(value, 3); }

std::string time_text(double seconds) {
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6) + " us";
  if (seconds < 999.5e-3) return three_digits(seconds * 1e3) + " ms";
  if (seconds < 999.5) return three_digits(seconds) + " s";
  return grouped(static_cast<int64_t>(seconds)) + " s";
}

std::string scale_table(int64_t bytes, const Cluster& cluster, int64_t most) {
  std::string text = right("devices", 9);
  for (const ScaleAlgorithm algorithm : kScaleAlgorithms)
    text += "  " + right(name_of(algorithm), width_of(algorithm));
  text += "\n";
  for (const int64_t devices : table_counts(cluster, most)) {
    text += right(grouped(devices), 9);
    for (const ScaleAlgorithm algorithm : kScaleAlgorithms) {
      const bool best = algorithm == fastest(devices, bytes, cluster);
      const std::string time = time_text(predict(algorithm, devices, bytes, cluster)) + (best ? " *" : "  ");
      text += "  " + right(applies(algorithm, devices, cluster) ? time : "-  ", width_of(algorithm));
    }
    text += "\n";
  }
  return text;
}

std::string scale_words(int64_t bytes, const Cluster& cluster, int64_t most) {
  const std::vector<FastestSpan> spans = fastest_spans(bytes, cluster, most);
  const int64_t last = spans.back().span.last;
  std::string text;
  for (const FastestSpan& fastest_span : spans)
    text += concat(text.empty() ? "fastest: the " : ", the ", name_of(fastest_span.algorithm), " ",
                   spans.size() == 1 ? "at every number of devices" : span_text(fastest_span.span, last));
  text += "\n";
  for (const ScaleAlgorithm algorithm : kScaleAlgorithms) {
    if (algorithm == ScaleAlgorithm::flat_ring) continue;
    text += challenge_text(algorithm, beats_flat_ring(algorithm, bytes, cluster, most), last) + "\n";
  }
  return text;
}

void show_scale(const ScaleArguments& arguments, std::ostream& out) {
  const OutputFile plot("--plot", arguments.plot), json("--json", arguments.json);
  const Cluster cluster = cluster_of(arguments);
  out << heading(arguments, cluster);
  for (const int64_t bytes : arguments.bytes)
    out << "\n"
        << byte_count_text(bytes) << "  (*: the fastest)\n"
        << scale_table(bytes, cluster, arguments.devices) << scale_words(bytes, cluster, arguments.devices);
  if (plot.wanted()) plot.write(scale_svg(arguments));
  if (json.wanted()) json.write(scale_json(arguments));
}

}  // namespace rondo::program

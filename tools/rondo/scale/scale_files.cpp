#include <rondo/kernels/core/status.h>
#include <rondo/tools/rondo/pictures/loglog_svg.h>
#include <rondo/tools/rondo/scale/scale.h>
#include <rondo/tools/rondo/support/byte_count.h>
#include <rondo/tools/rondo/support/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kScaleColours[] = {"#2a6fdb", "#2f9e63", "#e4572e", "#8e4ec6"};  // by kScaleAlgorithms

Json link_json(const NamedLink& named, const ScaleLink& link) {
  return {{"name", named.name},
          {"alpha_seconds", link.alpha},
          {"bytes_per_second", link.bandwidth},
          {"source", named.source}};
}

Json size_json(int64_t bytes, const Cluster& cluster, int64_t most) {
  Json rows = Json::array(), challenges, spans = Json::array();
  for (const int64_t devices : table_counts(cluster, most)) {
    Json seconds;
    for (const ScaleAlgorithm algorithm : kScaleAlgorithms)
      seconds[name_of(algorithm)] = predict(algorithm, devices, bytes, cluster);
    rows.push_back(
        {{"devices", devices}, {"seconds", seconds}, {"fastest", name_of(fastest(devices, bytes, cluster))}});
  }
  for (const ScaleAlgorithm algorithm : kScaleAlgorithms) {
    if (algorithm == ScaleAlgorithm::flat_ring) continue;
    Json spans = Json::array();
    for (const Span& span : beats_flat_ring(algorithm, bytes, cluster, most))
      spans.push_back({span.first, span.last});
    challenges[name_of(algorithm)] = spans;
  }
  for (const FastestSpan& fastest_span : fastest_spans(bytes, cluster, most))
    spans.push_back({{"algorithm", name_of(fastest_span.algorithm)},
                     {"devices", {fastest_span.span.first, fastest_span.span.last}}});
  return {{"bytes", bytes}, {"rows", rows}, {"fastest", spans}, {"beats_flat_ring", challenges}};
}

// Enough counts for a smooth curve, and all marked counts.
std::vector<int64_t> curve_counts(const Cluster& cluster, int64_t most, const std::vector<LogMark>& marks) {
  constexpr double kDenser = 1.03;
  std::vector<int64_t> counts;
  for (int64_t devices = 2; devices <= most; devices = next_whole(devices, cluster)) {
    const bool marked = std::any_of(marks.begin(), marks.end(),
                                    [&](const LogMark& mark) { return std::llround(mark.x) == devices; });
    const bool last = next_whole(devices, cluster) > most;
    if (counts.empty() || marked || last ||
        static_cast<double>(devices) >= kDenser * static_cast<double>(counts.back()))
      counts.push_back(devices);
  }
  return counts;
}

// The counts at which the fastest algorithm changes, or an algorithm becomes faster than the flat ring.
std::vector<LogMark> marks_of(int64_t bytes, const Cluster& cluster, int64_t most) {
  std::vector<LogMark> marks;
  const auto mark = [&](ScaleAlgorithm algorithm, int64_t devices) {
    const LogMark added{static_cast<double>(devices), predict(algorithm, devices, bytes, cluster),
                        grouped(devices)};
    const bool there = std::any_of(marks.begin(), marks.end(), [&](const LogMark& other) {
      return other.x == added.x && std::abs(std::log(other.y / added.y)) < 0.2;
    });
    if (devices > 2 && !there) marks.push_back(added);
  };
  for (const FastestSpan& fastest_span : fastest_spans(bytes, cluster, most))
    mark(fastest_span.algorithm, fastest_span.span.first);
  for (const ScaleAlgorithm algorithm : kScaleAlgorithms)
    for (const Span& span : beats_flat_ring(algorithm, bytes, cluster, most)) mark(algorithm, span.first);
  return marks;
}

LogPanel scale_panel(int64_t bytes, const Cluster& cluster, int64_t most) {
  LogPanel panel{.title = byte_count_text(bytes), .curves = {}, .marks = marks_of(bytes, cluster, most)};
  const std::vector<int64_t> counts = curve_counts(cluster, most, panel.marks);
  for (size_t i = 0; i < std::size(kScaleAlgorithms); ++i) {
    LogCurve curve{.name = name_of(kScaleAlgorithms[i]), .colour = kScaleColours[i], .points = {}};
    for (const int64_t devices : counts)
      if (applies(kScaleAlgorithms[i], devices, cluster))
        curve.points.emplace_back(devices, predict(kScaleAlgorithms[i], devices, bytes, cluster));
    panel.curves.push_back(curve);
  }
  return panel;
}

std::string link_words(const ScaleLink& link) {
  return concat(time_text(link.alpha), " a step, ", three_digits(link.bandwidth / 1e9), " GB/s");
}

}  // namespace

std::string scale_json(const ScaleArguments& arguments) {
  const Cluster cluster = cluster_of(arguments);
  Json sizes = Json::array();
  for (const int64_t bytes : arguments.bytes) sizes.push_back(size_json(bytes, cluster, arguments.devices));
  const Json document = {{"devices_per_node", cluster.devices_per_node},
                         {"adapters_per_node", cluster.adapters_per_node},
                         {"inside", link_json(arguments.inside, cluster.inside)},
                         {"between", link_json(arguments.between, cluster.between)},
                         {"sizes", sizes}};
  return document.dump(1) + "\n";
}

std::string scale_svg(const ScaleArguments& arguments) {
  const Cluster cluster = cluster_of(arguments);
  LogPlot plot{
      .title = "Time of an all-reduce, by number of devices",
      .subtitle = concat("Nodes of ", cluster.devices_per_node, "; inside ", link_words(cluster.inside),
                         "; between ", link_words(cluster.between), " an adapter, ",
                         cluster.adapters_per_node, " a node. Formulas, not measurements."),
      .x_name = "devices",
      .mark_meaning = "overtakes from here on",
      .y_label = time_text,
      .panels = {}};
  for (const int64_t bytes : arguments.bytes)
    plot.panels.push_back(scale_panel(bytes, cluster, arguments.devices));
  return loglog_svg(plot);
}

}  // namespace rondo::program

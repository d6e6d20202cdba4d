// The picture of a sweep: the rates of the medians by size, a panel for each pass.
#include <rondo/tools/rondo/bench/bench.h>
#include <rondo/tools/rondo/pictures/loglog_svg.h>
#include <rondo/tools/rondo/support/format.h>

#include <algorithm>

namespace rondo::program {
namespace {

LogCurve& curve_of(LogPanel& panel, const std::string& name, const char* colour) {
  const auto found = std::ranges::find(panel.curves, name, &LogCurve::name);
  if (found != panel.curves.end()) return *found;
  return panel.curves.emplace_back(LogCurve{.name = name, .colour = colour, .points = {}});
}

// "512", "4K", "1M": powers of 1024, short enough for an axis.
std::string size_label(int64_t size) {
  constexpr int64_t kK = 1024;
  return size < 8 * kK         ? concat(size)
         : size < kK * kK      ? concat(size / kK, "K")
         : size < kK * kK * kK ? concat(size / kK / kK, "M")
                               : concat(size / kK / kK / kK, "G");
}

LogPanel panel_of(const BenchReport& report, const std::string& pass, const std::string& size) {
  LogPanel panel{.title = pass.empty() ? report.arguments.operation : pass, .curves = {}, .marks = {}};
  for (const BenchRow& row : report.rows) {
    if (row.pass != pass) continue;
    const auto x = static_cast<double>(row.shape[size]);
    const auto add = [&](const std::string& name, const char* colour, double seconds) {
      LogCurve& curve = curve_of(panel, name, colour);
      if (curve.points.empty() || curve.points.back().first < x)
        curve.points.emplace_back(x, row.rate(seconds));
    };
    add("bound", "#98a2ad", row.bound.seconds);
    add(row.is_cold ? "cold" : "hot", row.is_cold ? "#2a6fdb" : "#e4572e", row.times.seconds.median);
    if (!row.peer.samples.empty())
      add(row.is_cold ? "peer, cold" : "peer, hot", row.is_cold ? "#17a2b8" : "#d99a00",
          row.peer.seconds.median);
  }
  return panel;
}

}  // namespace

std::string bench_svg(const BenchReport& report) {
  const BenchArguments& a = report.arguments;
  const std::vector<std::string> names = read_sweep(kind_of(a), a.sweep).names;
  std::string x_name;
  for (const std::string& name : names) x_name += (x_name.empty() ? "" : " = ") + name;
  const bool flops = report.rows.front().counts_flops();
  LogPlot plot = {.title = concat(a.operation, a.kind.empty() ? "" : " ", a.kind, ", ", name_of(a.type),
                                  a.math == Math::fp32 ? "" : concat(" in ", name_of(a.math))),
                  .subtitle = concat(flops ? "GFLOP/s" : "GB/s", " of the median call, on ", report.machine,
                                     report.peer.empty() ? "" : concat("; peer: ", report.peer)),
                  .x_name = x_name,
                  .mark_meaning = "",
                  .y_label = [](double rate) { return general(rate * 1e-9, 4); },
                  .panels = {},
                  .x_label = size_label,
                  .shade_lowest = false};
  for (const std::string& pass : passes_of(a)) plot.panels.push_back(panel_of(report, pass, names.front()));
  return loglog_svg(plot);
}

}  // namespace rondo::program

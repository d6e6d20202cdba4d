#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/io/printable.h>
#include <rondo/tools/rondo/bench/bench.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <algorithm>
#include <limits>
#include <set>

namespace rondo::program {
namespace {

std::string figure(double value) { return general(value, 4); }
std::string peaks_text(const BenchReport& report) {
  std::string text = concat("peaks: copy ", figure(report.peaks.copy_bytes_per_second * 1e-9), " GB/s (",
                            report.peaks.copy_by, "), fp32 FMA ",
                            figure(report.peaks.fma_flops_per_second * 1e-9), " GFLOP/s");
  if (report.tensor_flops_per_second > 0)
    text += concat(", ", name_of(report.arithmetic), " by tensor cores ",
                   figure(report.tensor_flops_per_second * 1e-9), " GFLOP/s");
  else if (uses_tensor_cores(report.arithmetic))
    text += concat("\nthere are no tensor cores here: shares of ", name_of(report.arithmetic),
                   " are of the fp32 peak");
  return text;
}

// The sizes that the sweep changes, or all of a single shape.
std::string shape_text(const BenchReport& report, const bench::Shape& shape) {
  if (report.arguments.sweep.empty()) return shape.text();
  std::string text;
  for (const std::string& name : read_sweep(kind_of(report.arguments), report.arguments.sweep).names)
    text += concat(text.empty() ? "" : ",", name, "=", shape[name]);
  return text;
}

std::string name_of_row(const BenchReport& report, const BenchRow& row) {
  return concat(report.arguments.sweep.empty() ? "" : concat(shape_text(report, row.shape), " "),
                row.pass.empty() ? "" : concat(row.pass, " "), row.is_cold ? "cold" : "hot");
}

void show_plans(const BenchReport& report, std::ostream& out) {
  std::set<std::string> shown;
  for (const BenchRow& row : report.rows) {
    if (row.plan.empty()) continue;
    const std::string where =
        concat(report.arguments.sweep.empty() ? "" : concat(" of ", shape_text(report, row.shape)),
               row.pass.empty() ? "" : concat(", ", row.pass));
    const std::string line = concat("plan", where, ": ", row.plan, "\n");
    if (shown.insert(line).second) out << line;
  }
}

// "24.0 KiB", or with several rows "24.0 KiB to 1.2 MiB".
template <class Of, class Text>
std::string range_text(const BenchReport& report, const Of& of, const Text& text) {
  int64_t least = std::numeric_limits<int64_t>::max(), most = 0;
  for (const BenchRow& row : report.rows) {
    if (!row.is_cold) continue;
    least = std::min(least, of(row));
    most = std::max(most, of(row));
  }
  return least == most ? text(least) : concat(text(least), " to ", text(most));
}

void show_turns(const BenchReport& report, std::ostream& out) {
  out << "last-level cache: " << byte_size(report.cache.bytes) << " (" << report.cache.source << ")\n";
  if (report.arguments.cache == BenchCache::hot) return;
  const auto bytes = [](int64_t size) { return byte_size(size); };
  const auto count = [](int64_t sets) { return grouped(sets); };
  out << "cold: "
      << range_text(
             report, [](const BenchRow& row) { return row.sets; }, count)
      << " sets of operands take turns, of "
      << range_text(
             report, [](const BenchRow& row) { return row.set_bytes; }, bytes)
      << " each\n";
  for (const BenchRow& row : report.rows)
    if (row.is_cold && row.sets == kMostSets && row.sets * row.set_bytes < 2 * report.cache.bytes)
      out << name_of_row(report, row) << ": all sets have " << byte_size(row.sets * row.set_bytes)
          << ", which may stay in the cache\n";
}

void show_long_samples(const BenchReport& report, std::ostream& out) {
  for (const BenchRow& row : report.rows)
    if (row.times.calls_per_sample > 1)
      out << name_of_row(report, row) << ": a call is too short for the clock, so a sample is the mean of "
          << grouped(row.times.calls_per_sample) << " calls in one graph\n";
}

}  // namespace

std::string microseconds_text(double seconds) {
  const double value = seconds * 1e6;
  return fixed(value, value < 99.95 ? 2 : value < 999.5 ? 1 : 0);
}

void show_bench_machine(const BenchReport& report, std::ostream& out) {
  out << "machine: " << printable(report.machine) << "; " << printable(report.device) << "\n";
  out << peaks_text(report) << "\n";
  show_turns(report, out);
}

void show_bench_text(const BenchReport& report, std::ostream& out) {
  const BenchRow& first = report.rows.front();
  const bool swept = !report.arguments.sweep.empty(), has_peer = !report.peer.empty();
  out << (swept ? concat(report.arguments.operation, " ", report.arguments.kind,
                         report.arguments.kind.empty() ? "" : " ", "from ", first.name)
                : first.name)
      << "\n";
  show_bench_machine(report, out);
  show_plans(report, out);
  if (has_peer) out << "peer: " << printable(report.peer) << ", in turns\n";
  show_long_samples(report, out);
  out << "\n";
  TextRow head = {"calls", "bound by", "samples", "p5 us", "median", "p95", "p99"};
  const bool flops = first.counts_flops();
  if (flops) head.emplace_back("GFLOP/s");
  for (const char* const name : {"GB/s", "bound us", "share"}) head.emplace_back(name);
  if (has_peer)
    for (const char* const name : {"peer us", "vs peer"}) head.emplace_back(name);
  std::vector<TextRow> table = {head};
  for (const BenchRow& row : report.rows) {
    const bench::Percentiles& p = row.times.seconds;
    TextRow cells = {name_of_row(report, row), row.bound.name,
                     grouped(static_cast<int64_t>(row.times.samples.size()))};
    for (const double seconds : {p.p5, p.median, p.p95, p.p99}) cells.push_back(microseconds_text(seconds));
    if (flops) cells.push_back(figure(row.work.flops / p.median * 1e-9));
    cells.push_back(figure(row.work.bytes / p.median * 1e-9));
    cells.push_back(microseconds_text(row.bound.seconds));
    cells.push_back(concat(fixed(100 * row.share(), 1), " %"));
    if (has_peer) {
      cells.push_back(microseconds_text(row.peer.seconds.median));
      cells.push_back(concat(fixed(row.peer.seconds.median / p.median, 2), "x"));
    }
    table.push_back(cells);
  }
  show_table(table, out, 2);
}

}  // namespace rondo::program

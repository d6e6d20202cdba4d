#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/collective/report.h>
#include <rondo/tools/rondo/support/format.h>

#include <array>
#include <cmath>

namespace rondo::program {
namespace {

// At least three digits, for values from 0.87 us to 123456 us.
std::string figure(double value) { return fixed(value, value < 99.95 ? 2 : value < 999.5 ? 1 : 0); }
std::string microseconds(double seconds) { return figure(seconds * 1e6); }
std::string gigabytes(double rate) { return figure(rate * 1e-9); }

std::string reduction_name(const std::optional<Reduction>& reduction) {
  return reduction ? short_name_of(*reduction) : "none";
}
std::string root_name(const std::optional<int>& root) { return root ? exact_text(*root) : "-1"; }

std::string timing_text(const CollectiveReport& report, const CollectiveRow& row,
                        const std::optional<CollectiveTiming>& timing) {
  constexpr size_t kWidth = 9;
  std::array<std::string, 4> cells = {"-", "-", "-", "N/A"};
  if (timing) {
    cells = {microseconds(timing->seconds), gigabytes(algorithm_bandwidth(row, *timing)),
             gigabytes(bus_bandwidth(report.verb, report.ranks, row, *timing)),
             timing->wrong ? exact_text(*timing->wrong) : "N/A"};
  }
  std::string text;
  for (const std::string& cell : cells) text += right(cell, kWidth);
  return text;
}

std::string constants_text(const LinkConstants& c) {
  return concat("# measured now: a copy ", microseconds(c.copy_latency), " us + S / ",
                gigabytes(c.wire_bandwidth), " GB/s, a kernel ", microseconds(c.kernel_latency),
                " us, memory ", gigabytes(c.memory_bandwidth), " GB/s, the host ",
                microseconds(c.host_seconds_per_call), " us a call\n");
}

std::string bound_text(const CollectiveReport& report) {
  if (report.measured.ranks_share_one_memory || report.ranks == 1)
    return "# bound: the ranks share one memory, which reads every input once and writes every output once\n";
  if (!report.place.empty())
    return concat("# bound: ", figure(bus_factor(report.verb, report.devices.back() + 1)),
                  " S over messages, with which a process sends and receives ",
                  gigabytes(report.measured.wire_bandwidth), " GB/s, or its memory if that takes longer\n");
  return concat("# bound: ", figure(bus_factor(report.verb, report.ranks)),
                " S over the slowest link of the ring, or the memories if they take longer\n");
}

}  // namespace

std::string collective_header(const CollectiveReport& report) {
  std::string text =
      concat("# ", command_of(report.verb), " on ", report.ranks, report.ranks == 1 ? " rank: " : " ranks: ",
             report.place.empty() ? device_list(report.devices) : report.place, "\n");
  if (!report.links_note.empty()) text += "# links " + report.links_note + "\n";
  text += constants_text(report.measured) + bound_text(report);
  text +=
      "# reached: the bound as a percentage of the out-of-place time; mostly: the largest part of the "
      "predicted time\n#\n";
  text += "#" + right("", 46) + "            out-of-place" + right("", 12) + "              in-place\n";
  const std::string timing = "     time    algbw    busbw   #wrong",
                    units = "     (us)   (GB/s)   (GB/s)         ";
  text += "#       size         count      type   redop    root" + timing + timing +
          "  algorithm        bound  reached  mostly\n";
  text += "#        (B)    (elements)                          " + units + units +
          "                    (us)      (%)\n";
  return text;
}

std::string collective_line(const CollectiveReport& report, const CollectiveRow& row) {
  std::string line = right(exact_text(row.bytes), 12) + right(exact_text(row.count), 14) +
                     right(short_name_of(row.dtype), 10) + right(reduction_name(row.reduction), 8) +
                     right(root_name(row.root), 8) + timing_text(report, row, row.out_of_place) +
                     timing_text(report, row, row.in_place);
  const double reached = row.out_of_place.seconds > 0 ? row.bound_seconds / row.out_of_place.seconds : 0;
  line += "  " + left(name_of(row.algorithm), 12) + right(microseconds(row.bound_seconds), 10) +
          right(fixed(100 * reached, 1), 9) + "  " +
          (row.bytes > 0 ? name_of(row.predicted.dominating()) : "-");
  return line + "\n";
}

std::string collective_footer(const CollectiveReport& report) {
  std::string text;
  bool checked = false;
  for (const CollectiveRow& row : report.rows) checked = checked || row.out_of_place.wrong;
  if (checked)
    text += concat("# Out of bounds values : ", report.wrong(), report.wrong() == 0 ? " OK\n" : " FAILED\n");
  text += concat("# Avg bus bandwidth    : ", gigabytes(mean_bus_bandwidth(report)), "\n");
  for (const CollectiveFit& fit : report.fits) {
    text +=
        concat("# ", short_name_of(fit.dtype), fit.reduction ? " " : "",
               fit.reduction ? short_name_of(*fit.reduction) : "",
               fit.root ? concat(" root ", *fit.root) : "", ": t = ", microseconds(fit.line.alpha),
               " us + S / ", std::isfinite(fit.line.beta) ? gigabytes(fit.line.beta) + " GB/s" : "infinity",
               ", residual ", fixed(100 * fit.line.residual, 1), " %\n");
  }
  return text;
}

}  // namespace rondo::program

#include <rondo/kernels/core/status.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/train/trace_json.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

// "M" events set the names and the order of the groups (pid) and rows (tid).
Json metadata(const char* kind, int pid, int tid, Json args) {
  return {{"ph", "M"}, {"name", kind}, {"pid", pid}, {"tid", tid}, {"args", std::move(args)}};
}

// More digits than nanoseconds are noise, and a third of the file's size.
double to_nanosecond(double microseconds) { return std::round(microseconds * 1e3) / 1e3; }

// Indices of spans, in the order in which they were opened.
using Opened = std::vector<size_t>;

// Of the spans that were opened before span i, the one that ended last before it began.
std::optional<size_t> source_of(size_t i, std::span<const TraceSpan> spans, const Opened& others) {
  std::optional<size_t> opened, best;
  for (const size_t j : others) {
    if (j > i) break;
    opened = j;
    if (spans[j].end_us > spans[i].begin_us) continue;
    if (!best || spans[j].end_us >= spans[*best].end_us) best = j;
  }
  return best ? best : opened;
}

// Of the spans that were opened after span i, the one that began first after its end: of the all-reduce, or
// of any stream.
std::optional<size_t> target_of(size_t i, std::span<const TraceSpan> spans, const Opened& others) {
  std::optional<size_t> opened, best;
  const auto order = [&](size_t j) { return std::pair(spans[j].stream == "compute", spans[j].begin_us); };
  for (const size_t j : others) {
    if (j < i) continue;
    if (!opened) opened = j;
    if (spans[j].begin_us < spans[i].end_us) continue;
    if (!best || order(j) < order(*best)) best = j;
  }
  return best ? best : opened;
}

}  // namespace

std::vector<TraceArrow> trace_arrows(std::span<const TraceSpan> spans) {
  std::map<std::pair<int, int>, Opened> opened;  // of each rank and step
  for (size_t i = 0; i < spans.size(); ++i) opened[{spans[i].rank, spans[i].step}].push_back(i);
  std::vector<TraceArrow> arrows;
  for (size_t i = 0; i < spans.size(); ++i) {
    for (const TraceTransfer& transfer : spans[i].transfers) {
      const bool sends = transfer.from == spans[i].rank;
      const auto others = opened.find({sends ? transfer.to : transfer.from, spans[i].step});
      if (others == opened.end()) continue;
      const auto other = (sends ? target_of : source_of)(i, spans, others->second);
      if (other) arrows.push_back(sends ? TraceArrow{i, *other} : TraceArrow{*other, i});
    }
  }
  return arrows;
}

std::string trace_json(std::span<const TraceSpan> spans, const std::vector<int>& devices) {
  std::vector<Json> events;
  for (size_t i = 0; i < devices.size(); ++i) {
    const int rank = static_cast<int>(i);
    events.push_back(metadata("process_name", rank, 0,
                              {{"name", concat("rank ", rank, " on ", device_label(devices[i]))}}));
    events.push_back(metadata("process_sort_index", rank, 0, {{"sort_index", rank}}));
  }
  std::vector<int> row_of;                          // of each span
  std::map<std::pair<int, std::string>, int> rows;  // (rank, stream) -> tid, in the order of appearance
  for (const TraceSpan& span : spans) {
    const auto [row, is_new] = rows.try_emplace({span.rank, span.stream}, static_cast<int>(rows.size()) + 1);
    if (is_new) {
      events.push_back(metadata("thread_name", span.rank, row->second, {{"name", span.stream}}));
      events.push_back(metadata("thread_sort_index", span.rank, row->second, {{"sort_index", row->second}}));
    }
    row_of.push_back(row->second);
    events.push_back({{"ph", "X"},
                      {"name", span.name},
                      {"cat", span.category},
                      {"pid", span.rank},
                      {"tid", row->second},
                      {"ts", to_nanosecond(span.begin_us)},
                      {"dur", to_nanosecond(span.end_us - span.begin_us)}});
    if (!span.phase.empty()) events.back()["args"] = {{"step", span.step}, {"phase", span.phase}};
  }
  // Both ends of a flow are bound to the span that contains their time.
  int64_t flow = 0;
  for (const TraceArrow& arrow : trace_arrows(spans)) {
    const auto end = [&](const char* phase, size_t i) -> Json {
      return {{"ph", phase},
              {"name", "transfer"},
              {"cat", "transfer"},
              {"id", flow},
              {"pid", spans[i].rank},
              {"tid", row_of[i]},
              {"ts", to_nanosecond(spans[i].begin_us)}};
    };
    ++flow;
    events.push_back(end("s", arrow.from));
    events.push_back(end("f", arrow.to));
    events.back()["bp"] = "e";
  }

  // One event per line, so that a long timeline can be searched and compared as text.
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  const char* separator = "\n";
  for (const Json& event : events) {
    // Names that are not valid UTF-8 get replacement characters instead of an exception.
    text += separator + event.dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }
  return text + "\n]}\n";
}

}  // namespace rondo::program

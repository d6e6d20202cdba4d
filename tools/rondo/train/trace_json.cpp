#include <rondo/kernels/core/status.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/train/trace_json.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

// "M" events set the names and the order of the groups (pid) and rows (tid).
Json metadata(const char* kind, int pid, int tid, Json args) {
  return {{"ph", "M"}, {"name", kind}, {"pid", pid}, {"tid", tid}, {"args", std::move(args)}};
}

// More digits than nanoseconds are noise, and a third of the file's size.
double to_nanosecond(double microseconds) { return std::round(microseconds * 1e3) / 1e3; }

}  // namespace

std::string trace_json(std::span<const TraceSpan> spans, const std::vector<int>& devices) {
  std::vector<Json> events;
  for (size_t i = 0; i < devices.size(); ++i) {
    const int rank = static_cast<int>(i);
    events.push_back(metadata("process_name", rank, 0,
                              {{"name", concat("rank ", rank, " on ", device_label(devices[i]))}}));
    events.push_back(metadata("process_sort_index", rank, 0, {{"sort_index", rank}}));
  }
  std::map<std::pair<int, std::string>, int> rows;  // (rank, stream) -> tid, in the order of appearance
  for (const TraceSpan& span : spans) {
    const auto [row, is_new] = rows.try_emplace({span.rank, span.stream}, static_cast<int>(rows.size()) + 1);
    if (is_new) {
      events.push_back(metadata("thread_name", span.rank, row->second, {{"name", span.stream}}));
      events.push_back(metadata("thread_sort_index", span.rank, row->second, {{"sort_index", row->second}}));
    }
    events.push_back({{"ph", "X"},
                      {"name", span.name},
                      {"cat", span.category},
                      {"pid", span.rank},
                      {"tid", row->second},
                      {"ts", to_nanosecond(span.begin_us)},
                      {"dur", to_nanosecond(span.end_us - span.begin_us)}});
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

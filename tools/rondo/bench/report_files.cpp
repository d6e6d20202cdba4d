// The report of `rondo bench` as JSON and as CSV.
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/bench/bench.h>

#include <nlohmann/json.hpp>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

Json percentiles_json(const bench::Percentiles& p) {
  return {{"p5", p.p5}, {"median", p.median}, {"p95", p.p95}, {"p99", p.p99}};
}

Json times_json(const BenchTimes& times) {
  return {{"seconds", percentiles_json(times.seconds)},
          {"calls_per_sample", times.calls_per_sample},
          {"samples", times.samples}};
}

Json row_json(const BenchRow& row, const std::string& peer) {
  Json shape;
  for (const auto& [name, size] : row.shape.sizes()) shape[name] = size;
  Json json = {{"name", row.name},
               {"pass", row.pass},
               {"cache", row.is_cold ? "cold" : "hot"},
               {"shape", shape},
               {"sets_of_operands", row.sets},
               {"bytes_of_a_set", row.set_bytes},
               {"flops", row.work.flops},
               {"bytes", row.work.bytes},
               {"flops_per_second", row.work.flops / row.times.seconds.median},
               {"bytes_per_second", row.work.bytes / row.times.seconds.median},
               {"bound", {{"name", row.bound.name}, {"seconds", row.bound.seconds}}},
               {"share", row.share()},
               {"plan", row.plan}};
  json.update(times_json(row.times));
  if (!peer.empty()) json["peer"] = times_json(row.peer);
  return json;
}

}  // namespace

namespace {

Json report_json(const BenchReport& report) {
  const BenchArguments& a = report.arguments;
  Json json = {{"operator", a.operation},
               {"kind", a.kind},
               {"type", name_of(a.type)},
               {"math", name_of(a.math)},
               {"transpose_a", a.transpose_a},
               {"transpose_b", a.transpose_b},
               {"platform", platform()},
               {"machine", report.machine},
               {"device", report.device},
               {"last_level_cache", {{"bytes", report.cache.bytes}, {"source", report.cache.source}}},
               {"peaks",
                {{"copy_bytes_per_second", report.peaks.copy_bytes_per_second},
                 {"copy_by", report.peaks.copy_by},
                 {"fma_flops_per_second", report.peaks.fma_flops_per_second}}},
               {"rows", Json::array()}};
  // Absent where nothing was measured: in fp32, and where there are no tensor cores.
  if (report.tensor_flops_per_second > 0)
    json["peaks"]["tensor_flops_per_second"] = report.tensor_flops_per_second;
  if (!report.peer.empty()) json["peer"] = report.peer;
  if (!report.peer_refusal.empty()) json["peer_refusal"] = report.peer_refusal;
  for (const BenchRow& row : report.rows) json["rows"].push_back(row_json(row, report.peer));
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string bench_json(const BenchReport& report) { return text_of(report_json(report)); }

std::string bench_json(const std::vector<BenchReport>& reports) {
  Json json = Json::array();
  for (const BenchReport& report : reports) json.push_back(report_json(report));
  return text_of(json);
}

std::string bench_csv(const BenchReport& report) {
  const BenchArguments& a = report.arguments;
  const bool has_peer = !report.peer.empty();
  std::string text = "operator,kind,pass,type,math,transpose_a,transpose_b,cache";
  for (const auto& [name, size] : report.rows.front().shape.sizes()) text += "," + name;
  text += ",samples,calls_per_sample,p5_seconds,median_seconds,p95_seconds,p99_seconds,flops_per_second";
  text += ",bytes_per_second,bound,bound_seconds,share";
  text += has_peer ? ",peer_median_seconds\n" : "\n";
  for (const BenchRow& row : report.rows) {
    const bench::Percentiles& p = row.times.seconds;
    text += concat(a.operation, ",", a.kind, ",", row.pass, ",", name_of(a.type), ",", name_of(a.math), ",",
                   a.transpose_a, ",", a.transpose_b, ",", row.is_cold ? "cold" : "hot");
    for (const auto& [name, size] : row.shape.sizes()) text += "," + exact_text(size);
    text += concat(",", row.times.samples.size(), ",", row.times.calls_per_sample);
    for (const double value :
         {p.p5, p.median, p.p95, p.p99, row.work.flops / p.median, row.work.bytes / p.median})
      text += "," + exact_text(value);
    text += concat(",", row.bound.name, ",", exact_text(row.bound.seconds), ",", exact_text(row.share()));
    if (has_peer) text += "," + exact_text(row.peer.seconds.median);
    text += "\n";
  }
  return text;
}

}  // namespace rondo::program

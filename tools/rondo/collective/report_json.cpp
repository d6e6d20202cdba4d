#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/collective/report.h>

#include <nlohmann/json.hpp>

#include <cmath>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

Json name_or_null(const std::optional<Reduction>& reduction) {
  return reduction ? Json(short_name_of(*reduction)) : Json();
}
Json number_or_null(const auto& number) { return number ? Json(*number) : Json(); }

Json timing_json(const CollectiveReport& report, const CollectiveRow& row, const CollectiveTiming& timing) {
  return {{"seconds", timing.seconds},
          {"algbw", algorithm_bandwidth(row, timing)},
          {"busbw", bus_bandwidth(report.verb, report.ranks, row, timing)},
          {"wrong", number_or_null(timing.wrong)}};
}

Json row_json(const CollectiveReport& report, const CollectiveRow& row) {
  const Cost& cost = row.predicted;
  return {{"bytes", row.bytes},
          {"count", row.count},
          {"type", short_name_of(row.dtype)},
          {"redop", name_or_null(row.reduction)},
          {"root", number_or_null(row.root)},
          {"out_of_place", timing_json(report, row, row.out_of_place)},
          {"in_place", row.in_place ? timing_json(report, row, *row.in_place) : Json()},
          {"algorithm", name_of(row.algorithm)},
          {"bound_seconds", row.bound_seconds},
          {"reached", row.out_of_place.seconds > 0 ? row.bound_seconds / row.out_of_place.seconds : 0},
          {"predicted",
           {{"seconds", cost.seconds()},
            {"latency", cost.latency},
            {"wire", cost.wire},
            {"reduction", cost.reduction},
            {"host", cost.host},
            {"mostly", name_of(cost.dominating())}}}};
}

Json fit_json(const CollectiveFit& fit) {
  return {{"type", short_name_of(fit.dtype)},
          {"redop", name_or_null(fit.reduction)},
          {"root", number_or_null(fit.root)},
          {"alpha_seconds", fit.line.alpha},
          {"beta_bytes_per_second", std::isfinite(fit.line.beta) ? Json(fit.line.beta) : Json()},
          {"residual", fit.line.residual}};
}

}  // namespace

std::string collective_json(const CollectiveReport& report) {
  const LinkConstants& c = report.measured;
  Json document = {{"operation", command_of(report.verb)},
                   {"platform", platform()},
                   {"ranks", report.ranks},
                   {"devices", report.devices},
                   {"ring_order", report.ring_order},
                   {"graph", report.graph},
                   {"links", report.links_note},
                   {"measured",
                    {{"host_seconds_per_call", c.host_seconds_per_call},
                     {"copy_latency", c.copy_latency},
                     {"kernel_latency", c.kernel_latency},
                     {"wire_bandwidth", c.wire_bandwidth},
                     {"peer_bandwidth", c.peer_bandwidth},
                     {"memory_bandwidth", c.memory_bandwidth},
                     {"ranks_share_one_memory", c.ranks_share_one_memory}}},
                   {"wrong", report.wrong()},
                   {"mean_busbw", mean_bus_bandwidth(report)},
                   {"rows", Json::array()},
                   {"fits", Json::array()}};
  for (const CollectiveRow& row : report.rows) document["rows"].push_back(row_json(report, row));
  for (const CollectiveFit& fit : report.fits) document["fits"].push_back(fit_json(fit));
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rondo::program

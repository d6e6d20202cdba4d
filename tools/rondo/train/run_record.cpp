#include <rondo/tools/rondo/train/run_record.h>

#include <rondo/kernels/core/text.h>
#include <rondo/nn/io/parse.h>
#include <rondo/nn/io/printable.h>
#include <rondo/tools/rondo/pages/page.h>
#include <rondo_pages.h>

#include <nlohmann/json.hpp>

#include <cmath>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

Json phases_json(const PhaseSeconds& phases) {
  Json json = Json::object();
  for (size_t phase = 0; phase < phases.size(); ++phase) json[kPhaseNames[phase]] = phases[phase];
  return json;
}

// The float's own digits: 0.2, not 0.20000000298.
Json rate_json(float rate) {
  return std::isfinite(rate) ? Json(read_number<double>(exact_text(rate)).value()) : Json();
}

Json epoch_json(const EpochReport& epoch) {
  return {{"epoch", epoch.epoch},
          {"train_loss", epoch.train_loss},
          {"seconds", epoch.seconds},
          {"test_accuracy", epoch.test_accuracy},
          {"learning_rate", rate_json(epoch.learning_rate)},
          {"phases", phases_json(epoch.phases)}};
}

Json memory_json(const DeviceMemory& device) {
  Json parts = Json::array();
  for (const auto& [name, bytes] : device.parts) parts.push_back({{"name", name}, {"bytes", bytes}});
  return {{"device", device.device},
          {"replicas", device.replicas},
          {"capacity", device.capacity},
          {"parts", std::move(parts)}};
}

}  // namespace

std::string run_json(const RunRecord& record) {
  Json json = {{"title", record.title},
               {"facts", record.facts},
               {"state", record.state},
               {"reason", record.reason},
               {"epochs_planned", record.epochs_planned},
               {"steps_per_epoch", record.steps_per_epoch},
               {"epochs", Json::array()},
               {"parts_of_a_point", record.losses.parts()},
               {"losses", Json::array()},
               {"steps", Json::array()},
               {"memory", Json::array()}};
  for (const EpochReport& epoch : record.epochs) json["epochs"].push_back(epoch_json(epoch));
  for (const LossPoint& point : record.losses.points())
    json["losses"].push_back({{"step", point.step},
                              {"samples", point.samples},
                              {"loss", point.loss},
                              {"least", point.least},
                              {"most", point.most}});
  for (const StepReport& step : record.steps)
    json["steps"].push_back({{"loss", step.loss}, {"seconds", step.seconds ? Json(*step.seconds) : Json()}});
  for (const DeviceMemory& device : record.memory) json["memory"].push_back(memory_json(device));
  if (record.step_phases) json["step_phases"] = phases_json(*record.step_phases);
  if (record.peak_bytes) json["peak_bytes"] = *record.peak_bytes;
  json["no_phases"] = record.no_phases;
  json["no_memory"] = record.no_memory;
  json["no_trace"] = record.no_trace;
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();  // the closing brace: the timeline is a text already
  return text + ",\n\"trace\": " + (record.trace.empty() ? "null" : record.trace) + "}";
}

std::string run_page(const RunRecord& record) {
  return filled_page(kTrainPage, {{"style", kPageStyle},
                                  {"own-style", kTrainPageStyle},
                                  {"common-script", kPageScript},
                                  {"curve-script", kTrainCurveScript},
                                  {"timeline-script", kTrainTimelineScript},
                                  {"script", kTrainPageScript},
                                  {"title", text_in_page(printable(record.title))},
                                  {"data", json_in_page(run_json(record))}});
}

}  // namespace rondo::program

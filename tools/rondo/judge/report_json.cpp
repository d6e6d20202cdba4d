#include <rondo/nn/io/c_locale.h>
#include <rondo/tools/rondo/judge/verdict.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN and no infinity.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json sizes_json(const Sizes& sizes) {
  Json json = Json::object();
  for (const auto& [name, value] : sizes.all()) json[std::string(name)] = value;
  return json;
}

const char* end_text(TrialEnd end) {
  constexpr const char* kNames[] = {"right", "wrong", "changed input", "CUDA error", "crashed", "time limit"};
  return kNames[static_cast<size_t>(end)];
}

Json failure_json(const FailedTrial& failure) {
  const Trial& trial = failure.trial;
  Json json = {{"sizes", sizes_json(failure.sizes)}, {"seed", failure.seed}, {"end", end_text(trial.end)}};
  if (trial.wrong) {
    json["array"] = trial.wrong->array;
    if (trial.wrong->device >= 0) json["device"] = trial.wrong->device;
    json["index"] = trial.wrong->index;
    json["got"] = trial.wrong->written ? number(trial.wrong->got) : Json(nullptr);
    json["wanted"] = number(trial.wrong->wanted);
    json["wrong_elements"] = trial.wrong->wrong;
    json["elements"] = trial.wrong->count;
  }
  if (!trial.error.empty()) json["error"] = trial.error;
  if (!trial.output.empty()) json["output"] = trial.output;
  return json;
}

Json measure_json(const Measure& measure) {
  return {{"seconds", measure.seconds},       {"bound", measure.bound},
          {"launches", measure.launches},     {"memory_bytes", measure.bytes},
          {"l2_bytes", measure.block_bytes},  {"sectors", measure.sectors},
          {"wavefronts", measure.wavefronts}, {"barriers", measure.barriers},
          {"link_bytes", measure.link_bytes}};
}

}  // namespace

std::string verdict_json(const Verdict& verdict) {
  const CLocale of_the_writer;
  Json json = {{"problem", verdict.problem->name},
               {"file", verdict.file},
               {"verdict", name_of(verdict.judgement)},
               {"stars", verdict.comparison ? verdict.comparison->stars : 0},
               {"gpu", verdict.gpu->name},
               {"runs", verdict.trials}};
  if (verdict.failure) json["failure"] = failure_json(*verdict.failure);
  if (verdict.sizes_of_findings) {
    json["sizes_of_findings"] = sizes_json(*verdict.sizes_of_findings);
    for (const TrialFinding& finding : verdict.findings)
      json["findings"].push_back({{"kind", name_of(finding.kind)}, {"text", finding.text}});
  }
  if (verdict.comparison) {
    const Comparison& comparison = *verdict.comparison;
    json["counted"] = sizes_json(verdict.problem->counted);
    json["bound_seconds"] = comparison.bound_seconds;
    json["yours"] = measure_json(comparison.yours);
    json["slow"] = measure_json(comparison.slow);
    json["best"] = measure_json(comparison.best);
    if (!comparison.missing.empty()) json["missing"] = comparison.missing;
    json["profile"] = Json::parse(simt::json(summed(*verdict.profile)));
  }
  for (const Hint& hint : verdict.hints)
    json["hints"].push_back({{"text", hint.text}, {"section", hint.section}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rondo::program

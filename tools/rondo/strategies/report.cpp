#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tools/rondo/scale/scale.h>
#include <rondo/tools/rondo/strategies/strategies.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/text_table.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

using Json = nlohmann::ordered_json;

std::string difference_text(double value) { return value == 0 ? "none" : scientific(value, 1); }

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json run_json(const StrategyRun& run) {
  Json losses = Json::array(), ranks = Json::array();
  for (const double loss : run.losses) losses.push_back(finite(loss));
  for (const nn::RankMemory& rank : run.memory)
    ranks.push_back({{"device", device_label(rank.device)},
                     {"parameter_bytes", rank.parameters},
                     {"gradient_bytes", rank.gradients},
                     {"activation_bytes", rank.activations},
                     {"buffer_bytes", rank.buffers},
                     {"bytes", rank.total()}});
  return {{"strategy", name_of(run.kind)},        {"losses", losses},
          {"difference", finite(run.difference)}, {"ranks", ranks},
          {"sent_bytes", run.sent_bytes},         {"step_seconds", run.step_seconds}};
}

}  // namespace

// One row per rank; the strategy's own figures are in its first row.
std::string strategies_text(const StrategyReport& report) {
  std::vector<TextRow> table = {{"strategy", "device", "parameters", "gradients", "activations", "buffers",
                                 "memory", "sent a step", "loss", "difference", "time a step"}};
  for (const StrategyRun& run : report.runs)
    for (size_t r = 0; r < run.memory.size(); ++r) {
      const nn::RankMemory& rank = run.memory[r];
      TextRow row = {r == 0 ? name_of(run.kind) : "", device_label(rank.device)};
      for (const int64_t bytes :
           {rank.parameters, rank.gradients, rank.activations, rank.buffers, rank.total()})
        row.push_back(byte_size(bytes));
      if (r == 0)
        row.insert(row.end(), {byte_size(run.sent_bytes), loss_text(run.losses.back()),
                               difference_text(run.difference), time_text(run.step_seconds)});
      else
        row.insert(row.end(), 4, "");
      table.push_back(row);
    }
  const bool has_pipeline = std::any_of(report.runs.begin(), report.runs.end(), [](const StrategyRun& run) {
    return run.kind == nn::StrategyKind::pipeline;
  });
  const std::string micro_batches =
      has_pipeline
          ? concat(" (pipeline: ", counted(report.micro_batches, "micro-batch", "micro-batches"), ")")
          : "";
  TextStream out;
  out << report.model << ", " << grouped(report.parameters) << " parameters, batches of "
      << grouped(report.batch) << micro_batches << ", learning rate " << report.lr << ", "
      << grouped(report.steps, "step") << "\n\n";
  show_table(table, out, 2);
  out << "\nmemory: of each rank; sent: by all ranks together; loss: of the last step's batch;\n"
         "difference: the largest of a parameter from the single device's after the last step; time: the "
         "median\n";
  return out.str();
}

std::string strategies_json(const StrategyReport& report) {
  Json runs = Json::array(), devices = Json::array();
  for (const int device : report.devices) devices.push_back(device_label(device));
  for (const StrategyRun& run : report.runs) runs.push_back(run_json(run));
  const Json document = {
      {"platform", platform()},     {"model", report.model}, {"parameters", report.parameters},
      {"devices", devices},         {"batch", report.batch}, {"micro_batches", report.micro_batches},
      {"learning_rate", report.lr}, {"steps", report.steps}, {"strategies", runs}};
  return document.dump(1) + "\n";
}

}  // namespace rondo::program

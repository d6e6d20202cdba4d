// RunRecord: what the page of `rondo train --html` shows of a run.
#pragma once

#include <rondo/nn/train/training_report.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/train/loss_curve.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rondo::program {

// The memory of a device: each purpose over all replicas of the device.
struct DeviceMemory {
  std::string device;  // "cpu:0"
  int64_t replicas = 0;
  int64_t capacity = 0;                                // bytes of the device
  std::vector<std::pair<std::string, int64_t>> parts;  // bytes
};

// A step of a training without epochs.
struct StepReport {
  double loss = 0;
  std::optional<double> seconds;  // none: the step is not timed
};

struct RunRecord {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // label and text
  // "running" until the end, then "done", "stopped" or "failed" with the reason.
  std::string state = "running", reason = {};
  int64_t epochs_planned = 0, steps_per_epoch = 0;
  std::vector<EpochReport> epochs = {};
  LossCurve losses = LossCurve();
  std::vector<StepReport> steps = {};  // of a training without epochs
  std::optional<PhaseSeconds> step_phases = {};
  std::vector<DeviceMemory> memory = {};
  std::optional<int64_t> peak_bytes = {};  // measured, on the device with the most
  std::string trace = {};                  // trace_json(), or empty
  // Why a part of the page is empty.
  std::string no_phases = {}, no_memory = {}, no_trace = {};
};

// All of it as JSON. A number that is not finite is null.
std::string run_json(const RunRecord& record);

// The page: one file that needs no network. It is filled from page.html, page.css, page.js, curve.js and
// timeline.js of this folder.
std::string run_page(const RunRecord& record);

}  // namespace rondo::program

// `rondo plot`: draws the logs of several training runs in one picture.
#pragma once

#include <rondo/nn/train/training_report.h>
#include <rondo/tools/rondo/plot/arguments.h>

#include <ostream>
#include <string>
#include <vector>

namespace rondo::program {

struct TrainingRun {
  std::string name;
  std::vector<EpochReport> epochs;  // at least one
};

// Reads the log at `path`. Throws a bad_argument Error if it cannot be read, is not a log, or has no epoch.
TrainingRun read_run(const std::string& name, const std::string& path);

// "one device: 10 epochs, loss 0.4231, accuracy 84.20 %, 12 s an epoch": the last epoch's loss and accuracy,
// and the mean seconds.
std::string run_text(const TrainingRun& run);

// Three panels by epoch (training loss, test accuracy, seconds) and a legend of run_text().
std::string runs_svg(const std::vector<TrainingRun>& runs);

// Throws rondo::Error.
void show_plot(const PlotArguments& arguments, std::ostream& out);

}  // namespace rondo::program

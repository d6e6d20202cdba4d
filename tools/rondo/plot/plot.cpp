#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/printable.h>
#include <rondo/nn/io/regular_file.h>
#include <rondo/tools/rondo/pictures/plot_svg.h>
#include <rondo/tools/rondo/plot/plot.h>
#include <rondo/tools/rondo/support/format.h>
#include <rondo/tools/rondo/support/output_file.h>
#include <rondo/tools/rondo/train/csv_log.h>

#include <cmath>

namespace rondo::program {
namespace {

// Adjacent colours differ in hue and lightness.
constexpr const char* kColours[kMostRuns] = {"#2a6fdb", "#e4572e", "#2e9e5b", "#8e44ad",
                                             "#d99a00", "#17a2b8", "#c2185b", "#5b6670"};

Panel panel_of(const std::string& name, const std::vector<TrainingRun>& runs, double EpochReport::*figure) {
  Panel panel{.name = name, .curves = {}};
  for (size_t i = 0; i < runs.size(); ++i) {
    Curve& curve = panel.curves.emplace_back(Curve{.colour = kColours[i], .points = {}});
    for (const EpochReport& epoch : runs[i].epochs) curve.points.push_back({epoch.epoch, epoch.*figure});
  }
  return panel;
}

}  // namespace

TrainingRun read_run(const std::string& name, const std::string& path) {
  TrainingRun run = {name, parse_csv_log(path, RegularFile(path).contents<std::string>(kMostTextBytes))};
  if (run.epochs.empty())
    throw Error(bad_argument("the log '", path, "' has no epoch yet, must have at least one"));
  return run;
}

std::string run_text(const TrainingRun& run) {
  double seconds = 0;
  for (const EpochReport& epoch : run.epochs) seconds += epoch.seconds;
  const size_t count = run.epochs.size();
  const EpochReport& last = run.epochs.back();
  const std::string accuracy = std::isnan(last.test_accuracy)
                                   ? "no accuracy"
                                   : concat("accuracy ", fixed(last.test_accuracy * 100, 2), " %");
  return concat(run.name, ": ", count, count == 1 ? " epoch" : " epochs", ", loss ",
                loss_text(last.train_loss), ", ", accuracy, ", ",
                duration(seconds / static_cast<double>(count)), " an epoch");
}

std::string runs_svg(const std::vector<TrainingRun>& runs) {
  Panel accuracy = panel_of("test accuracy", runs, &EpochReport::test_accuracy);
  accuracy.top = 1;
  accuracy.as_percent = true;
  std::vector<LegendLine> legend;
  for (size_t i = 0; i < runs.size(); ++i) legend.push_back({kColours[i], run_text(runs[i])});
  return plot_svg(runs.size() == 1 ? "A training run" : concat(runs.size(), " training runs"),
                  "by epoch; the legend shows the last epoch's loss and accuracy, and the mean time",
                  {panel_of("training loss", runs, &EpochReport::train_loss), accuracy,
                   panel_of("seconds", runs, &EpochReport::seconds)},
                  legend);
}

void show_plot(const PlotArguments& arguments, std::ostream& out) {
  const OutputFile picture("--svg", arguments.svg);
  const std::vector<std::string> names = run_names(arguments);
  std::vector<TrainingRun> runs;
  for (size_t i = 0; i < names.size(); ++i) {
    picture.check_is_not("the log of a run", arguments.runs[i]);
    runs.push_back(read_run(names[i], arguments.runs[i]));
  }
  picture.write(runs_svg(runs));
  for (const TrainingRun& run : runs) out << printable(run_text(run)) << "\n";
}

}  // namespace rondo::program

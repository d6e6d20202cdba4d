#include <rondo/kernels/core/counted.h>
#include <rondo/tools/rondo/plot/plot.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <filesystem>
#include <set>

namespace rondo::program {
namespace {

std::string file_name(const std::string& path) {
  const std::filesystem::path name = std::filesystem::path(path).filename();
  return (name.extension() == ".csv" ? name.stem() : name).string();
}

}  // namespace

std::vector<std::string> run_names(const PlotArguments& arguments) {
  std::vector<std::string> names = arguments.names;
  if (names.empty())
    for (const std::string& path : arguments.runs) names.push_back(file_name(path));
  std::set<std::string> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second)
      throw Error(bad_argument("two runs are called '", name,
                               "', must have different names: --name NAME, once for each"));
  return names;
}

void check(const PlotArguments& arguments) {
  constexpr const char* kExample = ": rondo plot one.csv two.csv --svg runs.svg";
  if (arguments.runs.empty()) throw Error(bad_argument("no log of a training run was named", kExample));
  if (arguments.runs.size() > kMostRuns)
    throw Error(bad_argument(there_are(arguments.runs.size(), "run"), ", must be at most ", kMostRuns));
  if (arguments.svg.empty()) throw Error(bad_argument("--svg was not given", kExample));
  if (!arguments.names.empty() && arguments.names.size() != arguments.runs.size())
    throw Error(bad_argument(there_are(arguments.runs.size(), "run"), " and ",
                             counted(arguments.names.size(), "name"),
                             ", must be one --name for each run, or none"));
  run_names(arguments);
}

namespace {

void add_plot_options(const Command& plot, PlotArguments& to) {
  plot.add_list("runs", "RUN.csv", "Logs of training runs, at most 8; regular files, not pipes",
                [&](const std::string& run) { to.runs.push_back(read_path("RUN.csv", run)); });
  plot.add_list("--name", "NAME",
                "Name of a run in the legend, once per run in the same order [the file names]",
                [&](const std::string& name) {
                  if (name.empty()) throw Error(bad_argument("--name is empty, must be the name of a run"));
                  to.names.push_back(name);
                });
  add_path(plot, "--svg", "FILE.svg", "The picture", to.svg);
  plot.when_parsed([&to] { check(to); });
}

}  // namespace

void add_plot(Program& program) {
  program.add<PlotArguments>(
      "plot", "Draw the logs of training runs (rondo train --log) in one picture", add_plot_options,
      [](const PlotArguments& arguments, const RunContext& context) { show_plot(arguments, context.out); });
}

}  // namespace rondo::program

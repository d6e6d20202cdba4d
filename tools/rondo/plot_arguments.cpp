#include <rondo/tools/rondo/option_readers.h>
#include <rondo/tools/rondo/plot_arguments.h>

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
    throw Error(bad_argument("there are ", arguments.runs.size(), " runs, must be at most ", kMostRuns));
  if (arguments.svg.empty()) throw Error(bad_argument("--svg was not given", kExample));
  if (!arguments.names.empty() && arguments.names.size() != arguments.runs.size())
    throw Error(bad_argument("there are ", arguments.runs.size(), " runs and ", arguments.names.size(),
                             " names, must be one --name for each run, or none"));
  run_names(arguments);
}

CLI::App* add_plot(CLI::App& app, PlotArguments& to) {
  CLI::App* plot =
      app.add_subcommand("plot", "Draw what rondo train --log wrote, several runs in one picture");
  plot->add_option_function<std::vector<std::string>>(
          "runs",
          [&](const std::vector<std::string>& runs) {
            for (const std::string& run : runs) to.runs.push_back(read_path("RUN.csv", run));
          },
          "Logs of training runs, at most 8; regular files, not pipes")
      ->type_name("RUN.csv");
  plot->add_option_function<std::vector<std::string>>(
          "--name",
          [&](const std::vector<std::string>& names) {
            for (const std::string& name : names) {
              if (name.empty())
                throw Error(bad_argument("--name is empty, must be what the legend calls a run"));
              to.names.push_back(name);
            }
          },
          "What the legend calls a run, once for each in their order [the files' names]")
      ->type_name("NAME")
      ->allow_extra_args(false);
  add(*plot, "--svg", "FILE.svg", "The picture",
      [&](const std::string& s) { to.svg = read_path("--svg", s); });
  return plot;
}

}  // namespace rondo::program

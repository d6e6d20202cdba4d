#include <rondo/tools/rondo/bench/bench_all.h>
#include <rondo/tools/rondo/support/output_file.h>

namespace rondo::program {

void show_bench(const BenchArguments& arguments, std::ostream& out) {
  const auto file = [](const char* option, const std::string& path) {
    return path == "-" ? OutputFile() : OutputFile(option, path);
  };
  const OutputFile json = file("--json", arguments.json), csv = file("--csv", arguments.csv),
                   svg("--svg", arguments.svg);
  if (arguments.operation == "all") {
    const std::vector<BenchReport> reports = run_bench_all(arguments);
    if (arguments.json == "-")
      out << bench_json(reports);
    else
      show_bench_all_text(reports, out);
    if (json.wanted()) json.write(bench_json(reports));
    return;
  }
  const BenchReport report = run_bench(arguments);
  if (arguments.json == "-")
    out << bench_json(report);
  else if (arguments.csv == "-")
    out << bench_csv(report);
  else
    show_bench_text(report, out);
  if (json.wanted()) json.write(bench_json(report));
  if (csv.wanted()) csv.write(bench_csv(report));
  if (svg.wanted()) svg.write(bench_svg(report));
}

}  // namespace rondo::program

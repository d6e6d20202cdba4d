#include <rondo/tools/rondo/bench/bench.h>
#include <rondo/tools/rondo/support/option_readers.h>

#include <cmath>

namespace rondo::program {
namespace {

constexpr int64_t kMostSamples = 1'000'000;

// "m=1024,n=1024,k=1024,batch=1", or for each kind "batch: rows=..., ..."
std::string sizes_text(const bench::Operator& of) {
  std::string text;
  for (const bench::OperatorKind& kind : of.kinds)
    text += concat(text.empty() ? "" : "; ", of.kinds.size() == 1 ? "" : concat(kind.name, ": "),
                   bench::Shape(kind.dimensions).text());
  return text;
}

void add_kind_and_pass(const Command& command, const bench::Operator& of, BenchArguments& to) {
  std::vector<std::string> kinds, passes;
  for (const bench::OperatorKind& kind : of.kinds) {
    kinds.emplace_back(kind.name);
    for (const std::string& pass : kind.passes)
      if (std::ranges::find(passes, pass) == passes.end()) passes.push_back(pass);
  }
  if (kinds.size() > 1)
    add_word(command, "--kind", "NAME", concat(any_of(kinds), " [", kinds.front(), "]"), to.kind, kinds);
  if (passes.empty()) return;
  passes.emplace_back("all");
  add_word(command, "--pass", "NAME", concat(any_of(passes), " [all]"), to.pass, passes);
}

void add_type(const Command& command, BenchArguments& to) {
  static constexpr DType kTypes[] = {DType::float32, DType::bfloat16, DType::float16};
  add_name(command, "--type", "NAME", "Type of the elements: float32, bfloat16 or float16 [float32]", to.type,
           kTypes);
}

void add_arithmetic(const Command& command, const bench::Operator& of, BenchArguments& to) {
  static constexpr Math kMaths[] = {Math::fp32, Math::tf32, Math::tf32x3};
  add_type(command, to);
  if (of.has_math)
    add_name(command, "--math", "NAME", "Arithmetic of float32 products: fp32, tf32 or tf32x3 [fp32]",
             to.math, kMaths);
  if (to.operation != "gemm") return;
  command.add_flag("--transpose-a", to.transpose_a, "Read A transposed");
  command.add_flag("--transpose-b", to.transpose_b, "Read B transposed");
}

void add_output(const Command& command, BenchArguments& to) {
  add_path(command, "--json", "FILE.json",
           "Also write everything; -: to the standard output, without the table", to.json);
  add_path(command, "--csv", "FILE.csv", "Also write a line for each row; - as with --json", to.csv);
  add_path(command, "--svg", "FILE.svg", "Also draw the rates of the sweep", to.svg);
}

void add_measurement(const Command& command, BenchArguments& to) {
  add_name(command, "--cache", "NAME",
           concat("hot: the same operands in every call; cold: operands that are in no cache; both [",
                  name_of(to.cache), "]"),
           to.cache, kBenchCaches);
  const Option samples =
      add_integer(command, "--samples", "N", "Samples of each row [as many as --time allows]", to.samples, 1,
                  kMostSamples);
  command
      .add("--time", "SEC", concat("Seconds on the device, of each row [", to.seconds, "]"),
           [&](const std::string& s) { to.seconds = read_seconds("--time", s); })
      .excludes(samples);
  const std::vector<std::string> peers = peers_of(to.operation);
  add_word(command, "--peer", "NAME", concat("Also time a peer, in turns: ", any_of(peers)), to.peer, peers);
  add_path(command, "--python", "PROGRAM", "The Python of --peer torch [python3]", to.python);
}

// An empty text would be the same as none.
std::string read_sizes(const std::string& option, const std::string& text, const char* example) {
  if (text.empty()) throw Error(bad_argument(option, " is empty, must be such as ", example));
  return text;
}

void add_bench_options(const Command& command, const bench::Operator& of, BenchArguments& to) {
  to.operation = of.name;
  to.kind = of.kinds.front().name;
  add_kind_and_pass(command, of, to);
  command.add("--shape", "SIZES", concat("Sizes that differ from these [", sizes_text(of), "]"),
              [&](const std::string& s) { to.shape = read_sizes("--shape", s, kShapeExample); });
  command.add("--sweep", "RANGE",
              "A range of a size, or of several together: m=256:4096:x2, or m,n=1000:3000:+500",
              [&](const std::string& s) { to.sweep = read_sizes("--sweep", s, kSweepExample); });
  add_arithmetic(command, of, to);
  add_measurement(command, to);
  add_output(command, to);
  command.when_parsed([&to] { check(to); });
}

void add_all_options(const Command& command, BenchArguments& to) {
  to.operation = "all";
  to.cache = BenchCache::hot;
  to.seconds = 0.2;
  add_type(command, to);
  add_measurement(command, to);
  add_path(command, "--json", "FILE.json",
           "Also write everything; -: to the standard output, without the table", to.json);
}

}  // namespace

std::vector<std::string> peers_of(const std::string& operation) {
  std::vector<std::string> peers = {"torch"};
  if (operation == "gemm" || operation == "all") peers.emplace_back("cublas");
  for (const char* const has : {"conv", "pool", "norm", "softmax", "all"})
    if (operation == has) peers.emplace_back("cudnn");
  return peers;
}

void check(const BenchArguments& a) {
  if (a.type != DType::float32 && a.math != Math::fp32)
    throw Error(bad_argument("--math is '", name_of(a.math), "', which is for --type float32"));
  if (!a.svg.empty() && a.sweep.empty())
    throw Error(bad_argument("--svg draws a sweep, and --sweep was not given"));
  if (a.json == "-" && a.csv == "-")
    throw Error(bad_argument("--json and --csv are both -, only one can be written to the standard output"));
  if (std::vector<std::string> passes = kind_of(a).passes;
      a.pass != "all" && std::ranges::find(passes, a.pass) == passes.end()) {
    passes.emplace_back("all");
    throw Error(bad_argument("--pass is '", a.pass, "', which --kind ", a.kind, " has not, must be ",
                             any_of(passes)));
  }
  const std::vector<bench::Shape> shapes = shapes_of(a);
  if (a.svg.empty()) return;
  const std::string swept = read_sweep(kind_of(a), a.sweep).names.front();
  for (const bench::Shape& shape : shapes)
    if (shape[swept] < 1)
      throw Error(bad_argument("--sweep has ", swept, " = ", shape[swept],
                               ", must be at least 1 with --svg, whose axes are logarithmic"));
}

void add_bench(Program& program) {
  const Command bench = program.command().add_command(
      "bench", "Time one operator: percentiles of cold and hot calls, beside the bound of this machine");
  bench.require_command();
  std::vector<std::string> names;
  for (const bench::Operator& of : bench::operators()) names.emplace_back(of.name);
  bench.when_missing(concat("no operator was named, must be ", any_of(names), ", or all: rondo bench gemm"));
  for (const bench::Operator& of : bench::operators())
    program.add<BenchArguments>(
        bench, of.name, of.help,
        [&of](const Command& command, BenchArguments& to) { add_bench_options(command, of, to); },
        [](const BenchArguments& arguments, const RunContext& context) {
          show_bench(arguments, context.out);
        });
  program.add<BenchArguments>(
      bench, "all", "Every family of operators at two shapes or more: a table, with ratios beside a peer",
      add_all_options,
      [](const BenchArguments& arguments, const RunContext& context) { show_bench(arguments, context.out); });
}

}  // namespace rondo::program

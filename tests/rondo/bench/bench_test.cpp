// `rondo bench`: what it accepts, measures and writes.
#include <gtest/gtest.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/io/parse.h>
#include <rondo/tests/rondo/support/command_line.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/bench/bench_all.h>
#include <rondo/tools/rondo/bench/peer.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

namespace rondo::program {
namespace {

using Json = nlohmann::json;
using Strings = std::vector<std::string>;
using test::missing;
using test::read_text;

BenchArguments parsed(const std::string& line) { return parse_as<BenchArguments>("bench " + line); }

std::string output_of(const std::string& line) {
  std::ostringstream out;
  show_bench(parsed(line), out);
  return out.str();
}

Strings text_lines(const std::string& text) {
  Strings lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// ---- Shapes, sweeps and passes ----

TEST(Bench, AShapeReplacesStandardSizes) {
  EXPECT_EQ(shapes_of(parsed("gemm"))[0].text(), "m=1024,n=1024,k=1024,batch=1");
  EXPECT_EQ(shapes_of(parsed("gemm --shape k=5,m=7"))[0].text(), "m=7,n=1024,k=5,batch=1");
  EXPECT_EQ(shapes_of(parsed("norm --kind batch --shape channels=3"))[0]["channels"], 3);
  EXPECT_EQ(shapes_of(parsed("pool --shape pad=0"))[0]["pad"], 0);
}

TEST(Bench, ASweepIsARangeOfOneOrMoreSizes) {
  const auto sizes = [](const std::string& line, const std::string& name) {
    std::vector<int64_t> found;
    for (const bench::Shape& shape : shapes_of(parsed(line))) found.push_back(shape[name]);
    return found;
  };
  EXPECT_EQ(sizes("gemm --sweep m=256:4096:x2", "m"), (std::vector<int64_t>{256, 512, 1024, 2048, 4096}));
  EXPECT_EQ(sizes("gemm --sweep m=256:4096:x2", "k"), (std::vector<int64_t>(5, 1024)));
  EXPECT_EQ(sizes("gemm --sweep m,k=100:250:+50 --shape n=3", "k"),
            (std::vector<int64_t>{100, 150, 200, 250}));
  EXPECT_EQ(sizes("gemm --sweep m,k=100:260:+50 --shape n=3", "n"), (std::vector<int64_t>(4, 3)));
  EXPECT_EQ(sizes("pool --sweep pad=0:1:+1", "pad"), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(sizes("gemm --sweep m=7:7:x2", "m"), (std::vector<int64_t>{7}));
}

TEST(Bench, AllPassesAreTimedWithoutPass) {
  EXPECT_EQ(passes_of(parsed("conv")), (Strings{"forward", "data_gradient", "filter_gradient"}));
  EXPECT_EQ(passes_of(parsed("conv --pass data_gradient")), (Strings{"data_gradient"}));
  EXPECT_EQ(passes_of(parsed("gemm")), (Strings{""}));
}

TEST(Bench, InvalidCommandLinesAreRefused) {
  const std::vector<std::pair<std::string, Strings>> cases = {
      {"", {"no operator was named, must be gemm, conv, conv_transpose, pool, "}},
      {"gemm --shape q=3", {"--shape names the size 'q', must be m, n, k or batch"}},
      {"gemm --shape m", {"--shape is 'm', must be such as m=4096,n=1024"}},
      {"gemm --shape =3", {"--shape is '=3', must be such as"}},
      {"gemm --shape m=0", {"--shape, m is '0', must be a whole number from 1 to 2147483648"}},
      {"gemm --shape m=2147483649", {"--shape, m is '2147483649'"}},
      {"gemm --shape m=1,m=2", {"which names m twice"}},
      {"pool --shape pad=-1", {"--shape, pad is '-1', must be a whole number from 0"}},
      {"norm --shape cols=5", {"--shape names the size 'cols', must be rows or channels"}},
      {"gemm --sweep m=256:4096", {"--sweep is 'm=256:4096', must be such as m=256:4096:x2"}},
      {"gemm --sweep m=256:4096:2", {"must be such as"}},
      {"gemm --sweep m=256:4096:x1", {"--sweep, the step is '1', must be a whole number from 2"}},
      {"gemm --sweep m=256:4096:+0", {"--sweep, the step is '0', must be a whole number from 1"}},
      {"gemm --sweep m=256:255:+1", {"its last size must be at least its first"}},
      {"gemm --sweep m=1:65:+1", {"which has more than 64 sizes; use a larger step"}},
      {"gemm --sweep m,m=1:2:x2", {"which names m twice"}},
      {"gemm --sweep z=1:2:x2", {"--sweep names the size 'z'"}},
      {"pool --sweep pad=0:4:x2", {"must begin above 0 to be multiplied"}},
      {"gemm --type bfloat16 --math tf32", {"--math is 'tf32', which is for --type float32"}},
      {"norm --kind instance", {"--kind is 'instance', must be batch, layer, rms or group"}},
      {"softmax --pass up", {"--pass is 'up', must be forward, backward or all"}},
      {"softmax --math tf32", {"bench softmax has no option --math"}},
      {"gemm --cache warm", {"--cache is 'warm', must be both, hot or cold"}},
      {"gemm --time 0", {"--time is '0', must be a number of seconds above 0 and at most 3600"}},
      {"gemm --time nan", {"--time is 'nan'"}},
      {"gemm --svg a.svg", {"--svg draws a sweep, and --sweep was not given"}},
      {"gemm --json - --csv -", {"only one can be written to the standard output"}},
      {"gemm --peer mkl", {"--peer is 'mkl', must be torch or cublas"}},
      {"conv --peer cublas", {"--peer is 'cublas', must be torch or cudnn"}},
      {"reduce --peer cudnn", {"--peer is 'cudnn', must be torch"}},
      {"all --peer mkl", {"--peer is 'mkl', must be torch, cublas or cudnn"}},
      {"all --shape m=3", {"bench all has no option --shape"}},
      {"all --cache warm", {"--cache is 'warm', must be both, hot or cold"}}};
  for (const auto& [line, parts] : cases) expect_refused("bench " + line, parts);
}

TEST(Bench, ASweepFromZeroHasNoPicture) {
  EXPECT_EQ(missing(test::error_of([] { output_of("pool --sweep pad=0:1:+1 --svg x.svg"); }),
                    {"--sweep has pad = 0, must be at least 1 with --svg"}),
            "");
}

TEST(Bench, EveryKindHasItsPasses) {
  EXPECT_EQ(missing(output_of("pool --kind max_indices --pass unpool --shape n=1,h=8,w=8,c=4 --samples 2"),
                    {"unpool", "with indices"}),
            "");
  EXPECT_NE(test::error_of([] { output_of("pool --kind avg --pass unpool"); }), "");
}

// No host can have the labels of so many rows: the device's memory is asked for first.
TEST(Bench, ErrorsOfSizesNameTheOption) {
  try {
    output_of("loss --shape rows=2147483648,classes=2147483648");
    ADD_FAILURE() << "2^62 elements";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::out_of_resources);
    EXPECT_TRUE(error.status().message().starts_with("--shape: allocating ")) << error.status().message();
  }
  EXPECT_EQ(missing(test::error_of([] { output_of("pool --sweep window=29:30:+1"); }),
                    {"--sweep: windows of 29 do not fit"}),
            "");
  EXPECT_EQ(missing(test::error_of([] { output_of("conv --shape k=6 --sweep groups=5:6:+1"); }),
                    {"--shape and --sweep: groups is 5, must divide c"}),
            "");
}

TEST(Bench, SizesThatDoNotFitAreRefusedBeforeTheyAreTimed) {
  EXPECT_EQ(
      missing(test::error_of([] { output_of("conv --shape groups=5"); }), {"groups is 5, must divide c"}),
      "");
  EXPECT_EQ(
      missing(test::error_of([] { output_of("pool --shape window=29"); }), {"windows of 29 do not fit"}), "");
}

// ---- Cold calls ----

TEST(Bench, ColdSetsCoverTwiceTheCache) {
  EXPECT_EQ(cold_sets(100, 1000), 21);  // between two calls with a set, others of 2000 bytes
  EXPECT_EQ(cold_sets(300, 1000), 8);
  EXPECT_EQ(cold_sets(5000, 1000), 2);  // with one set, the end of it might still be cached
  EXPECT_EQ(cold_sets(2, int64_t{1} << 30), kMostSets);
}

TEST(Bench, ColdCallsTakeTurnsAndHotOnesDoNot) {
  const BenchReport report =
      run_bench(parsed("activation --kind relu --pass forward --shape size=1048576 --samples 3"));
  ASSERT_EQ(report.rows.size(), 2u);
  const BenchRow &cold = report.rows[0], &hot = report.rows[1];
  EXPECT_TRUE(cold.is_cold);
  EXPECT_FALSE(hot.is_cold);
  EXPECT_EQ(cold.set_bytes, 8 << 20);
  EXPECT_EQ(cold.sets, cold_sets(8 << 20, report.cache.bytes));
  EXPECT_GE((cold.sets - 1) * cold.set_bytes, 2 * report.cache.bytes);
  EXPECT_EQ(hot.sets, 1);
}

TEST(Bench, OnlyTheCacheThatIsAskedFor) {
  for (const char* const cache : {"hot", "cold"}) {
    const BenchReport report =
        run_bench(parsed(concat("layout --shape rows=8,cols=9 --samples 2 --cache ", cache)));
    ASSERT_EQ(report.rows.size(), 1u);
    EXPECT_EQ(report.rows[0].is_cold, std::string(cache) == "cold");
  }
}

// ---- Every operator, and the reports ----

TEST(Bench, EveryOperatorIsTimedInEveryKindAndPass) {
  for (const bench::Operator& of : bench::operators())
    for (const bench::OperatorKind& kind : of.kinds) {
      std::string shape;
      for (const bench::Dimension& dimension : kind.dimensions)
        if (dimension.standard > 64) shape += concat(shape.empty() ? "" : ",", dimension.name, "=12");
      BenchArguments arguments =
          parsed(concat(of.name, shape.empty() ? "" : " --shape ", shape, " --samples 3 --cache hot",
                        of.kinds.size() > 1 ? concat(" --kind ", kind.name) : ""));
      const BenchReport report = run_bench(arguments);
      ASSERT_EQ(report.rows.size(), std::max<size_t>(kind.passes.size(), 1)) << of.name;
      for (const BenchRow& row : report.rows) {
        SCOPED_TRACE(row.name + " " + row.pass);
        EXPECT_EQ(row.times.samples.size(), 3u);
        const bench::Percentiles& p = row.times.seconds;
        EXPECT_GT(p.p5, 0);
        EXPECT_LE(p.p5, p.median);
        EXPECT_LE(p.median, p.p95);
        EXPECT_LE(p.p95, p.p99);
        EXPECT_EQ(p.median, bench::percentiles_of(row.times.samples).median);
        EXPECT_GT(row.bound.seconds, 0);
        EXPECT_EQ(row.plan.empty(), !of.has_math);
      }
    }
}

TEST(Bench, TheBatchIsInThePlan) {
  const std::string text = output_of("gemm --shape m=16,n=16,k=16,batch=3 --samples 2 --cache hot");
  EXPECT_EQ(missing(text, {"3 gemms of 16 x 16 x 16", "plan: gemm_strided_batched(), "}), "");
  EXPECT_EQ(output_of("gemm --shape m=16,n=16,k=16 --samples 2 --cache hot").find("batched"),
            std::string::npos);
}

// ---- All operators in one table ----

TEST(BenchAll, HasEveryOperatorAtTwoShapesOrMore) {
  std::map<std::string, std::set<std::string>> shapes;
  for (const BenchCase& each : bench_cases()) {
    const bench::Operator* const of = bench::find_operator(each.operation);
    ASSERT_NE(of, nullptr) << each.operation;
    const bench::OperatorKind* const kind = bench::find_kind(*of, each.kind);
    ASSERT_NE(kind, nullptr) << each.operation << " " << each.kind;
    const bench::OperatorRequest request = {.shape = read_shape(*kind, each.shape), .kind = kind->name};
    EXPECT_NO_THROW(bench::make_call(of->name, request)) << each.shape;
    shapes[each.operation].insert(concat(each.kind, " ", each.shape));
  }
  for (const bench::Operator& of : bench::operators()) EXPECT_GE(shapes[of.name].size(), 2u) << of.name;
}

// Some reports as run_bench_all() makes them: with a peer, without one, and with one that refused.
TEST(BenchAll, TheTableHasRatiosAndTheirMeans) {
  const auto report = [](const std::string& line, double seconds, double peer_seconds) {
    BenchReport of = run_bench(parsed(line + " --samples 2 --cache hot --pass forward"));
    of.arguments.peer = "torch";
    of.rows[0].times.seconds.median = seconds;
    if (peer_seconds > 0) {
      of.peer = "PyTorch 1";
      of.rows[0].peer.samples = {peer_seconds};
      of.rows[0].peer.seconds.median = peer_seconds;
    } else {
      of.peer_refusal = "--peer torch: no";
    }
    return of;
  };
  std::ostringstream out;
  show_bench_all_text(
      {report("softmax --shape rows=8,cols=8", 1e-3, 4e-3),
       report("softmax --shape rows=9,cols=8", 2e-3, 2e-3), report("activation --shape size=5", 3e-3, 0),
       report("activation --shape size=7", 4e-3, 32e-3)},
      out);
  const std::string text = out.str();
  EXPECT_EQ(missing(text, {"every family of operators, float32, hot calls",
                           "machine: ", "peer: PyTorch 1, in turns", "softmax of 8 rows, 8 columns, forward",
                           "4.00x", "1.00x", "8.00x", "- relu of 5 elements, forward: --peer torch: no"}),
            "");
  for (const Strings& cells : {Strings{"softmax", "2", "2.00x"}, Strings{"activation", "1", "8.00x"},
                               Strings{"all", "3", "3.17x"}}) {
    const bool has = std::ranges::any_of(text_lines(text), [&](const std::string& line) {
      std::istringstream words(line);
      return Strings{std::istream_iterator<std::string>(words), {}} == cells;
    });
    EXPECT_TRUE(has) << cells[0] << "\n" << text;
  }
  const Json json = Json::parse(bench_json(std::vector{report("activation --shape size=5", 3e-3, 0)}));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["operator"], "activation");
  EXPECT_EQ(json[0]["peer_refusal"], "--peer torch: no");
}

TEST(Bench, JsonHasEverything) {
  const Json json =
      Json::parse(output_of("gemm --shape m=33,n=17,k=9 --type bfloat16 --transpose-b --samples 4 --json -"));
  EXPECT_EQ(json["operator"], "gemm");
  EXPECT_EQ(json["type"], "bfloat16");
  EXPECT_EQ(json["transpose_b"], true);
  EXPECT_EQ(json["transpose_a"], false);
  for (const char* const name : {"platform", "machine", "device"}) EXPECT_NE(json.at(name), "") << name;
  EXPECT_GT(json["last_level_cache"]["bytes"], 0);
  EXPECT_GT(json["peaks"]["copy_bytes_per_second"], 0);
  EXPECT_GT(json["peaks"]["fma_flops_per_second"], 0);
  EXPECT_EQ(json["peaks"].contains("tensor_flops_per_second"), json["platform"] == "cuda");
  EXPECT_FALSE(json.contains("peer"));
  ASSERT_EQ(json["rows"].size(), 2u);
  for (const Json& row : json["rows"]) {
    EXPECT_EQ(row["shape"], (Json{{"m", 33}, {"n", 17}, {"k", 9}, {"batch", 1}}));
    EXPECT_EQ(row["flops"], 2 * 33 * 17 * 9);
    EXPECT_EQ(row["bytes"], 2 * (33 * 9 + 17 * 9 + 33 * 17));
    ASSERT_EQ(row["samples"].size(), 4u);
    std::vector<double> samples = row["samples"];
    const bench::Percentiles p = bench::percentiles_of(samples);
    EXPECT_EQ(row["seconds"], (Json{{"p5", p.p5}, {"median", p.median}, {"p95", p.p95}, {"p99", p.p99}}));
    EXPECT_DOUBLE_EQ(row["flops_per_second"], 2 * 33 * 17 * 9 / p.median);
    EXPECT_DOUBLE_EQ(row["share"], row["bound"]["seconds"].get<double>() / p.median);
    EXPECT_NE(row["plan"], "");
    EXPECT_GE(row["calls_per_sample"], 1);
  }
  EXPECT_EQ(json["rows"][0]["cache"], "cold");
  EXPECT_EQ(json["rows"][1]["cache"], "hot");
}

TEST(Bench, CsvHasALineForEachRow) {
  const Strings lines = text_lines(
      output_of("softmax --sweep rows,cols=8:32:x2 --samples 2 --cache hot --pass forward --csv -"));
  ASSERT_EQ(lines.size(), 4u);
  const auto cells = [&](size_t line) { return split(lines[line], ','); };
  const Strings head = cells(0);
  const auto value = [&](size_t line, const std::string& name) {
    const auto at = std::ranges::find(head, name);
    return at == head.end() ? "no " + name : cells(line)[static_cast<size_t>(at - head.begin())];
  };
  for (size_t line = 1; line < 4; ++line) {
    ASSERT_EQ(cells(line).size(), head.size());
    EXPECT_EQ(value(line, "operator"), "softmax");
    EXPECT_EQ(value(line, "cache"), "hot");
    EXPECT_EQ(value(line, "pass"), "forward");
    EXPECT_EQ(value(line, "rows"), concat(4 << line));
    EXPECT_EQ(value(line, "cols"), concat(4 << line));
    EXPECT_EQ(value(line, "samples"), "2");
    EXPECT_EQ(value(line, "bound"), "copy bandwidth");
    EXPECT_GT(std::stod(value(line, "p99_seconds")), 0);
  }
}

// Each figure is another number.
TEST(Bench, CsvHasTheFiguresOfItsColumns) {
  BenchReport report;
  report.peer = "a peer";
  BenchRow& row = report.rows.emplace_back();
  row.times.samples = {1, 2, 3};
  row.times.calls_per_sample = 5;
  row.times.seconds = {.p5 = 1, .median = 2, .p95 = 3, .p99 = 4};
  row.peer.seconds = {.p5 = 6, .median = 7, .p95 = 8, .p99 = 9};
  row.work.flops = 20, row.work.bytes = 24;
  row.bound.name = "copy bandwidth", row.bound.seconds = 1.5;
  const Strings lines = text_lines(bench_csv(report));
  ASSERT_EQ(lines.size(), 2u);
  const Strings head = split(lines[0], ','), cells = split(lines[1], ',');
  ASSERT_EQ(cells.size(), head.size());
  std::map<std::string, std::string> values;
  for (size_t i = 0; i < head.size(); ++i) values[head[i]] = cells[i];
  const std::map<std::string, double> want = {
      {"samples", 3},         {"calls_per_sample", 5}, {"p5_seconds", 1},         {"median_seconds", 2},
      {"p95_seconds", 3},     {"p99_seconds", 4},      {"flops_per_second", 10},  {"bytes_per_second", 12},
      {"bound_seconds", 1.5}, {"share", 0.75},         {"peer_median_seconds", 7}};
  for (const auto& [name, value] : want) {
    ASSERT_TRUE(values.contains(name)) << name;
    EXPECT_EQ(std::stod(values[name]), value) << name;
  }
}

TEST(Bench, TheTableHasARowForEachSizeAndNamesTheMachine) {
  const std::string text = output_of("gemm --sweep m=16:64:x2 --shape n=8,k=8 --samples 2 --math tf32");
  const Strings lines = text_lines(text);
  for (const char* const size : {"m=16", "m=32", "m=64"})
    for (const char* const cache : {" cold ", " hot "})
      EXPECT_EQ(std::ranges::count_if(
                    lines, [&](const std::string& line) { return line.starts_with(concat(size, cache)); }),
                1)
          << size << cache << "\n"
          << text;
  EXPECT_EQ(missing(text, {"machine: ", "peaks: copy ", "fp32 FMA ", "last-level cache: ", "plan of m=32: ",
                           "sets of operands take turns", "share", "p95", "GFLOP/s", "GB/s"}),
            "");
  EXPECT_EQ(missing(text, {std::string(platform()) == "cpu" ? "there are no tensor cores here"
                                                            : "by tensor cores"}),
            "");
}

TEST(Bench, APictureHasTheCurvesOfTheSweep) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "sweep.svg";
  output_of("activation --kind gelu --sweep size=1024:4096:x2 --samples 2 --svg " + path);
  const std::string svg = read_text(path);
  EXPECT_EQ(test::XmlCheck::fault(svg), "") << svg;
  EXPECT_EQ(missing(svg, {">bound<", ">cold<", ">hot<", ">forward<", ">backward<", ">size<", ">2048<",
                          "activation gelu, float32", "GB/s of the median call"}),
            "");
  EXPECT_EQ(svg.find("the fastest"), std::string::npos);
}

TEST(Bench, FilesAreWrittenBesideTheTable) {
  const test::TemporaryDirectory directory;
  const std::string json = directory / "a.json", csv = directory / "a.csv";
  const std::string text =
      output_of("reduce --shape rows=8,cols=8 --samples 2 --json " + json + " --csv " + csv);
  EXPECT_EQ(missing(text, {"bias gradient of 8 rows, 8 columns", "share"}), "");
  EXPECT_EQ(Json::parse(read_text(json))["rows"].size(), 2u);
  EXPECT_EQ(text_lines(read_text(csv)).size(), 3u);
}

// The last round of up to 16 samples begins before the time has passed, and ends after it.
TEST(Bench, TimeLimitsTheSamples) {
  constexpr double kSeconds = 0.05;
  const auto times = [](const std::string& limit) {
    return run_bench(parsed("activation --kind relu --pass forward --shape size=65536 --cache hot " + limit))
        .rows[0]
        .times;
  };
  EXPECT_EQ(times("--samples 37").samples.size(), 37u);
  const BenchTimes timed = times("--time 0.05");
  const auto seconds = [&](size_t count) {
    const auto begin = timed.samples.begin();
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), 0.0) *
           static_cast<double>(timed.calls_per_sample);
  };
  const size_t all = timed.samples.size();
  ASSERT_GE(all, 10u);
  EXPECT_GE(seconds(all), kSeconds);
  EXPECT_LT(seconds(all - std::min<size_t>(all, 16)), kSeconds);
}

// ---- The peer torch, with a stand-in for PyTorch ----

class BenchPeerTorch : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(platform()) != "cpu") GTEST_SKIP() << "the stand-in has no CUDA";
    if (std::system("python3 -c '' > /dev/null 2>&1") != 0) GTEST_SKIP() << "needs python3";
    setenv("PYTHONPATH", FAKE_TORCH, 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("FAKE_TORCH_LOG", (directory_ / "log").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("PYTHONPATH");
    unsetenv("FAKE_TORCH_LOG");
  }
  test::TemporaryDirectory directory_;
};

TEST_F(BenchPeerTorch, IsTimedAsOftenWithTheSameShape) {
  const Json json = Json::parse(output_of(
      "gemm --shape m=20,n=30,k=40,batch=2 --transpose-b --math tf32 --samples 20 --peer torch --json -"));
  EXPECT_EQ(json["peer"], "PyTorch 0.0.fake, eager");
  std::set<std::string> operands;
  size_t calls = 0;
  for (const Json& row : json["rows"]) {
    EXPECT_EQ(row["peer"]["samples"].size(), 20u);
    EXPECT_GE(row["peer"]["seconds"]["p5"], 1e-3);
    EXPECT_LT(row["seconds"]["p5"], row["peer"]["seconds"]["p5"]);
  }
  for (const std::string& line : text_lines(read_text(directory_ / "log"))) {
    EXPECT_TRUE(line.starts_with("(2, 20, 40) (2, 40, 30) float32 high ")) << line;
    operands.insert(line);
    ++calls;
  }
  EXPECT_GE(calls, 40u);
  EXPECT_GT(operands.size(), 20u);  // cold calls take turns, too
}

TEST_F(BenchPeerTorch, IsInTheTable) {
  const std::string text = output_of("gemm --shape m=8,n=8,k=8 --samples 40 --cache hot --peer torch");
  EXPECT_EQ(missing(text, {"peer: PyTorch 0.0.fake, eager, in turns", "vs peer", "peer us"}), "");
}

// The stand-in has gemm only.
TEST_F(BenchPeerTorch, RefusalsArePeerRefusals) {
  const BenchArguments arguments = parsed("optimizer --type float16 --shape size=8 --samples 2 --peer torch");
  EXPECT_THROW(run_bench(arguments), PeerRefusal);
}

TEST_F(BenchPeerTorch, RefusesWhatItDoesNotHave) {
  // The stand-in has no convolution.
  EXPECT_NE(
      test::error_of([] {
        output_of("optimizer --type float16 --shape size=8 --samples 2 --peer torch");
      }).find("--peer torch: PyTorch has no optimizer with float32 parameters and gradients of 16 bits"),
      std::string::npos);
}

TEST_F(BenchPeerTorch, ThatCannotBeImportedIsNamed) {
  std::filesystem::create_directory(directory_.path() / "torch");
  test::write_file(directory_ / "torch/__init__.py", test::bytes_of("raise ImportError('no library')\n"));
  setenv("PYTHONPATH", directory_.path().c_str(), 1);
  EXPECT_EQ(missing(test::error_of([] { output_of("gemm --shape m=8,n=8,k=8 --samples 2 --peer torch"); }),
                    {"--peer torch: PyTorch cannot be imported by ", "no library", "--python PROGRAM"}),
            "");
}

TEST_F(BenchPeerTorch, ProgramsThatAreNoPythonAreRefused) {
  EXPECT_EQ(missing(test::error_of([] { make_torch_peer("/no/such/python"); }),
                    {"--python is '/no/such/python', which cannot be started"}),
            "");
  try {
    make_torch_peer("true");
    FAIL() << "no answer";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().message(), "the program true ended before it answered");
  }
}

}  // namespace
}  // namespace rondo::program

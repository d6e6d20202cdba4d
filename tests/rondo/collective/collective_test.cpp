// The internals of `rondo allreduce` and the other collective commands: measurements, error counts, output.
#include <gtest/gtest.h>

#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/skip_without_devices.h>
#include <rondo/tools/rondo/collective/collective.h>
#include <rondo/tools/rondo/support/device_list.h>

#include <nlohmann/json.hpp>

#include <map>
#include <numeric>
#include <sstream>

#ifdef __SIMT__
#include <simt/faults.h>
#endif

namespace rondo::program {
namespace {

using test::missing;
using Words = std::vector<std::string>;

CollectiveArguments small(Verb verb, int64_t bytes) {
  CollectiveArguments arguments;
  arguments.verb = verb;
  arguments.least_bytes = bytes;
  arguments.most_bytes = bytes;
  arguments.iterations = 2;
  arguments.ranks = 3;
  return arguments;
}

CollectiveReport report_for(const CollectiveArguments& arguments, const Engine& engine) {
  CollectiveReport report{.verb = arguments.verb, .ranks = engine.ranks(), .devices = engine.devices()};
  report.measured.ranks_share_one_memory = true;
  return report;
}

std::vector<Words> table_rows(const std::string& text) {
  std::vector<Words> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(word);
  }
  return rows;
}

// After every operation, corrupts the first `elements` bytes of rank `rank`'s output.
class FaultyEngine final : public Engine {
 public:
  FaultyEngine(std::vector<int> devices, int rank, int64_t bytes)
      : engine_(std::move(devices), {.bucket_bytes = 0}), rank_(static_cast<size_t>(rank)), bytes_(bytes) {}
  int ranks() const override { return engine_.ranks(); }
  int first_rank() const override { return 0; }
  const std::vector<int>& devices() const override { return engine_.devices(); }
  Status enqueue(const CollectiveCall& call, RankOutputs outputs, RankInputs inputs,
                 RankStreams streams) override {
    RONDO_RETURN_IF_ERROR(engine_.enqueue(call, outputs, inputs, streams));
    const DeviceScope scope(devices()[rank_]);
    RONDO_CUDA(cudaMemsetAsync(outputs[rank_].data, 0xFF, static_cast<size_t>(bytes_), streams[rank_]));
    return {};
  }
  Algorithm algorithm_of(const CollectiveCall& call, int64_t bytes) const override {
    return engine_.algorithm_of(call, bytes);
  }
  bool peers_reachable() const override { return engine_.peers_reachable(); }
  void set_trace(Trace* trace) override { engine_.set_trace(trace); }

 private:
  LocalEngine engine_;
  size_t rank_;
  int64_t bytes_;
};

class Collective : public ::testing::Test {
 protected:
  Collective() { setenv("XDG_CACHE_HOME", files_.path().c_str(), 1); }
  ~Collective() override { unsetenv("XDG_CACHE_HOME"); }

  test::TemporaryDirectory files_;
};

TEST_F(Collective, EveryVerbAlgorithmTypeAndReductionIsCorrect) {
  for (const Verb verb : kVerbs) {
    for (const Algorithm algorithm :
         {Algorithm::automatic, Algorithm::ring, Algorithm::direct, Algorithm::root}) {
      if (algorithm == Algorithm::root && verb != Verb::all_reduce) continue;
      if (algorithm == Algorithm::ring && verb == Verb::all_to_all) continue;
      CollectiveArguments arguments = small(verb, 1000);
      arguments.most_bytes = 5003;
      arguments.step_bytes = 4003;
      arguments.algorithm = algorithm;
      arguments.misalign = 1;
      arguments.checks = 2;
      arguments.dtypes.assign(std::begin(kDTypes), std::end(kDTypes));
      if (reduces(verb)) arguments.reductions.assign(std::begin(kReductions), std::end(kReductions));
      if (has_root(verb)) arguments.root = std::nullopt;
      LocalEngine engine(devices_for(3), {.bucket_bytes = 0});
      CollectiveReport report = report_for(arguments, engine);
      std::ostringstream out;
      measure_collective(arguments, engine, report, out);
      EXPECT_EQ(report.wrong(), 0) << command_of(verb) << " by " << name_of(algorithm) << "\n" << out.str();
      EXPECT_NO_THROW(throw_if_wrong(report));
      EXPECT_EQ(report.rows.size(), 2 * 7 * arguments.reductions.size() * (has_root(verb) ? 3 : 1));
      EXPECT_EQ(report.fits.size(), report.rows.size() / 2);
      for (const CollectiveRow& row : report.rows) {
        EXPECT_TRUE(row.out_of_place.wrong);
        EXPECT_GT(row.out_of_place.seconds, 0);
        EXPECT_EQ(row.in_place.has_value(), verb != Verb::all_to_all);
        if (algorithm == Algorithm::automatic || verb == Verb::all_to_all) continue;
        EXPECT_EQ(row.algorithm, algorithm);
      }
    }
  }
}

TEST_F(Collective, GraphsAreCorrect) {
  for (const Verb verb : kVerbs) {
    CollectiveArguments arguments = small(verb, 3000);
    arguments.graph_launches = 2;
    LocalEngine engine(devices_for(3), {.bucket_bytes = 0});
    CollectiveReport report = report_for(arguments, engine);
    std::ostringstream out;
    measure_collective(arguments, engine, report, out);
    EXPECT_EQ(report.wrong(), 0);
    EXPECT_GT(report.rows[0].out_of_place.seconds, 0);
  }
}

TEST_F(Collective, WrongElementsAreCountedOverAllChecks) {
  CollectiveArguments arguments = small(Verb::all_reduce, 4000);
  arguments.checks = 2;
  FaultyEngine engine(devices_for(3), 1, 5 * sizeof(float));
  CollectiveReport report = report_for(arguments, engine);
  std::ostringstream out;
  measure_collective(arguments, engine, report, out);
  EXPECT_EQ(report.rows[0].out_of_place.wrong, 10);
  EXPECT_EQ(report.rows[0].in_place->wrong, 10);
  EXPECT_EQ(missing(out.str(), {"# Out of bounds values : 20 FAILED"}), "");
  EXPECT_EQ(table_rows(out.str()).at(0).at(8), "10");
  try {
    throw_if_wrong(report);
    ADD_FAILURE() << "wrong results are no failure";
  } catch (const WrongResults& error) {
    EXPECT_STREQ(error.what(), "20 elements are wrong, must be none");
  }
  EXPECT_EQ(nlohmann::json::parse(collective_json(report)).at("wrong"), 20);
}

TEST_F(Collective, OnlyTheRootIsCheckedIfOnlyTheRootReceives) {
  CollectiveArguments arguments = small(Verb::reduce, 4000);
  for (const int root : {0, 1}) {
    arguments.root = root;
    FaultyEngine engine(devices_for(3), 1, 3 * sizeof(float));
    CollectiveReport report = report_for(arguments, engine);
    std::ostringstream out;
    measure_collective(arguments, engine, report, out);
    EXPECT_EQ(report.rows[0].out_of_place.wrong, root == 1 ? 3 : 0);
  }
}

TEST_F(Collective, UncheckedResultsAreNotReportedAsCorrect) {
  CollectiveArguments arguments = small(Verb::all_reduce, 4000);
  arguments.checks = 0;
  LocalEngine engine(devices_for(2), {.bucket_bytes = 0});
  CollectiveReport report = report_for(arguments, engine);
  std::ostringstream out;
  measure_collective(arguments, engine, report, out);
  EXPECT_FALSE(report.rows[0].out_of_place.wrong);
  EXPECT_EQ(out.str().find("Out of bounds"), std::string::npos);
  EXPECT_EQ(table_rows(out.str()).at(0).at(8), "N/A");
}

#ifdef __SIMT__
// A link that breaks after it was probed. The data that rank 0's kernel reads from rank 1 or writes to it is
// lost, so shard 0 is wrong on both ranks.
TEST_F(Collective, ALinkThatLosesStoresIsDetected) {
  SKIP_WITHOUT_DEVICES(2);
  CollectiveArguments arguments = small(Verb::all_reduce, 4096);
  arguments.algorithm = Algorithm::direct;
  LocalEngine engine({0, 1}, {.bucket_bytes = 0});
  ASSERT_EQ(simt::set_peer_access(0, 1, simt::PeerAccess::broken), cudaSuccess);
  CollectiveReport report = report_for(arguments, engine);
  std::ostringstream out;
  measure_collective(arguments, engine, report, out);
  ASSERT_EQ(simt::set_peer_access(0, 1, simt::PeerAccess::works), cudaSuccess);
  EXPECT_EQ(report.rows[0].out_of_place.wrong, 1024) << "512 elements on each of two ranks";
}
#endif

TEST_F(Collective, Columns) {
  CollectiveReport report{.verb = Verb::all_reduce, .ranks = 4, .devices = {0, 1, 2, 3}};
  report.measured.wire_bandwidth = 100e9;
  CollectiveRow row{.bytes = 4'000'000, .count = 1'000'000, .reduction = Reduction::sum};
  row.out_of_place = {100e-6, 0};
  row.in_place = CollectiveTiming{80e-6, 7};
  row.algorithm = Algorithm::direct;
  row.bound_seconds = 55e-6;
  row.predicted.reduction = 1;
  report.rows = {row};
  EXPECT_EQ(table_rows(collective_line(report, row)).at(0),
            (Words{"4000000", "1000000", "float", "sum", "-1", "100.0", "40.00", "60.00", "0", "80.00",
                   "50.00", "75.00", "7", "direct", "55.00", "55.0", "reduction"}));
  const std::string header = collective_header(report);
  EXPECT_EQ(missing(header, {"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong",
                             "out-of-place", "in-place", "algorithm", "bound", "reached", "mostly", "(us)",
                             "(GB/s)"}),
            "");
  // Every heading ends in the column in which its numbers end.
  std::istringstream lines(header);
  std::string names;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("algbw") != std::string::npos) names = line;
  }
  const std::string figures = collective_line(report, row);
  for (const auto& [name, figure] : {std::pair{"size", "4000000"},
                                     {"count", " 1000000"},
                                     {"redop", "sum"},
                                     {"algbw", "40.00"},
                                     {"#wrong", " 0 "},
                                     {"bound", "55.00"},
                                     {"reached", "55.0  r"}}) {
    const size_t at = figures.find(figure);
    ASSERT_NE(at, std::string::npos) << figure;
    const std::string trimmed = std::string(figure).substr(0, std::string(figure).find_last_not_of(" r") + 1);
    EXPECT_EQ(names.find(name) + std::string(name).size(), at + trimmed.size()) << name << "\n"
                                                                                << names << "\n"
                                                                                << figures;
  }
  EXPECT_EQ(missing(collective_footer(report),
                    {"# Out of bounds values : 7 FAILED", "# Avg bus bandwidth    : 67.50"}),
            "");
}

TEST_F(Collective, MovedDataHasNoReduction) {
  CollectiveReport report{.verb = Verb::broadcast, .ranks = 2, .devices = {0, 0}};
  CollectiveRow row{.bytes = 10, .count = 10, .dtype = DType::uint8, .root = 1};
  row.out_of_place.seconds = 1e-6;
  const Words words = table_rows(collective_line(report, row)).at(0);
  EXPECT_EQ(words[2], "uint8");
  EXPECT_EQ(words[3], "none");
  EXPECT_EQ(words[4], "1");
  EXPECT_EQ(words[9], "-");
  EXPECT_EQ(words[12], "N/A");
}

// All values differ, so that none can stand at the place of another.
TEST_F(Collective, TheJsonHasEveryValue) {
  CollectiveReport report{.verb = Verb::all_reduce,
                          .ranks = 4,
                          .devices = {3, 5, 7, 9},
                          .place = "",
                          .ring_order = {0, 2, 1, 3},
                          .links_note = "a note",
                          .graph = true};
  report.measured = {.host_seconds_per_call = 1,
                     .copy_latency = 2,
                     .kernel_latency = 3,
                     .wire_bandwidth = 4,
                     .peer_bandwidth = 5,
                     .memory_bandwidth = 6,
                     .ranks_share_one_memory = true};
  CollectiveRow row{.bytes = 4000, .count = 1000, .reduction = Reduction::product};
  row.out_of_place = {16, 0};
  row.in_place = CollectiveTiming{32, 7};
  row.algorithm = Algorithm::direct;
  row.bound_seconds = 8;
  row.predicted = {.latency = 10, .wire = 11, .reduction = 12, .host = 9};
  CollectiveRow moved{.bytes = 24, .count = 6, .dtype = DType::int32, .root = 2};
  moved.out_of_place = {4, {}};
  moved.algorithm = Algorithm::root;
  report.rows = {row, moved};
  report.fits = {{DType::float32, Reduction::max, {}, {.alpha = 13, .beta = 14, .residual = 15}},
                 {DType::int32, {}, 1, {.alpha = 16, .beta = INFINITY, .residual = 17}}};
  nlohmann::json document = nlohmann::json::parse(collective_json(report));
  EXPECT_EQ(document.at("platform"), platform());
  document.erase("platform");
  // The bus carries 3/2 of the bytes of an all-reduce of 4 ranks.
  EXPECT_EQ(document, nlohmann::json::parse(R"({
    "operation": "allreduce", "ranks": 4, "devices": [3, 5, 7, 9], "ring_order": [0, 2, 1, 3], "graph": true,
    "links": "a note",
    "measured": {"host_seconds_per_call": 1.0, "copy_latency": 2.0, "kernel_latency": 3.0,
                 "wire_bandwidth": 4.0, "peer_bandwidth": 5.0, "memory_bandwidth": 6.0,
                 "ranks_share_one_memory": true},
    "wrong": 7, "mean_busbw": 190.5,
    "rows": [
      {"bytes": 4000, "count": 1000, "type": "float", "redop": "prod", "root": null,
       "out_of_place": {"seconds": 16.0, "algbw": 250.0, "busbw": 375.0, "wrong": 0},
       "in_place": {"seconds": 32.0, "algbw": 125.0, "busbw": 187.5, "wrong": 7},
       "algorithm": "direct", "bound_seconds": 8.0, "reached": 0.5,
       "predicted": {"seconds": 33.0, "latency": 10.0, "wire": 11.0, "reduction": 12.0, "host": 9.0,
                     "mostly": "reduction"}},
      {"bytes": 24, "count": 6, "type": "int32", "redop": null, "root": 2,
       "out_of_place": {"seconds": 4.0, "algbw": 6.0, "busbw": 9.0, "wrong": null}, "in_place": null,
       "algorithm": "root", "bound_seconds": 0.0, "reached": 0.0,
       "predicted": {"seconds": 0.0, "latency": 0.0, "wire": 0.0, "reduction": 0.0, "host": 0.0,
                     "mostly": "wire"}}],
    "fits": [
      {"type": "float", "redop": "max", "root": null, "alpha_seconds": 13.0, "beta_bytes_per_second": 14.0,
       "residual": 15.0},
      {"type": "int32", "redop": null, "root": 1, "alpha_seconds": 16.0, "beta_bytes_per_second": null,
       "residual": 17.0}]})"));
}

TEST_F(Collective, RunsAndWritesAllOutputs) {
  CollectiveArguments arguments = small(Verb::all_reduce, 1 << 10);
  arguments.most_bytes = 1 << 14;
  arguments.factor = 4;
  arguments.algorithm = Algorithm::ring;
  arguments.json = files_ / "out.json";
  arguments.trace = files_ / "trace.json";
  std::ostringstream out;
  run_collective(arguments, out);
  EXPECT_EQ(table_rows(out.str()).size(), 3u);
  EXPECT_EQ(missing(out.str(),
                    {"# allreduce on 3 ranks: [", "# measured now:", "# bound:", "0 OK",
                     "# float sum: t = ", "residual", "wrote " + arguments.json, "wrote " + arguments.trace}),
            "");
  const nlohmann::json document = nlohmann::json::parse(test::read_text(arguments.json));
  EXPECT_EQ(document.at("operation"), "allreduce");
  EXPECT_EQ(document.at("platform"), platform());
  EXPECT_EQ(document.at("ranks"), 3);
  EXPECT_EQ(document.at("wrong"), 0);
  ASSERT_EQ(document.at("rows").size(), 3u);
  ASSERT_EQ(document.at("fits").size(), 1u);
  const nlohmann::json& row = document.at("rows")[2];
  EXPECT_EQ(row.at("bytes"), 1 << 14);
  EXPECT_EQ(row.at("algorithm"), "ring");
  EXPECT_GT(row.at("bound_seconds").get<double>(), 0);
  const double seconds = row.at("out_of_place").at("seconds");
  EXPECT_NEAR(row.at("reached").get<double>(), row.at("bound_seconds").get<double>() / seconds, 1e-9);
  EXPECT_NEAR(row.at("out_of_place").at("busbw").get<double>(), 4.0 / 3 * (1 << 14) / seconds, 1);

  const nlohmann::json trace = nlohmann::json::parse(test::read_text(arguments.trace));
  std::map<std::string, int> spans;
  for (const nlohmann::json& event : trace.at("traceEvents"))
    if (event.at("ph") == "X") ++spans[event.at("cat")];
  EXPECT_EQ(spans["copy"], 3 * 4) << "every rank sends a chunk at each of 2 (3 - 1) steps";
  EXPECT_EQ(spans["sum"], 3 * 2);
}

TEST_F(Collective, BadValuesThatNeedTheRanks) {
  std::ostringstream out;
  CollectiveArguments arguments = small(Verb::broadcast, 8);
  arguments.root = 3;
  EXPECT_EQ(missing(test::error_of([&] { run_collective(arguments, out); }), {"-r is 3", "below 3"}), "");
  arguments = small(Verb::all_reduce, 8);
  arguments.json = arguments.trace = files_ / "same";
  EXPECT_EQ(
      missing(test::error_of([&] { run_collective(arguments, out); }), {"--trace", "--json", "same file"}),
      "");
  EXPECT_EQ(out.str(), "");
}

TEST_F(Collective, StoredLinksAreUsedAndReported) {
  std::filesystem::create_directories(files_.path() / "rondo");
  test::write_file(files_ / "rondo/links.json", test::bytes_of("{"));
  std::ostringstream out;
  run_collective(small(Verb::all_reduce, 64), out);
  EXPECT_EQ(missing(out.str(), {"# links are not used:", "damaged"}), "");
}

}  // namespace
}  // namespace rondo::program

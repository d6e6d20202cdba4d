// A benchmark program as a user starts it: its exit code and what it prints.
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/built_program.h>

#include <nlohmann/json.hpp>

namespace rondo::test {
namespace {

using BenchProgram = BuiltProgram;

TEST_F(BenchProgram, AFilterThatMatchesNothingIsABadArgument) {
  for (const std::string filter : {"no_such_benchmark", "("}) {
    const Outcome outcome = run({"--benchmark_filter=" + filter});
    EXPECT_EQ(outcome.code, 2) << filter << ": " << outcome.text();
    EXPECT_NE(outcome.text(), "") << filter;
  }
  EXPECT_EQ(run({"--no_such_option"}).code, 2);
  const Outcome list = run({"--benchmark_filter=launch_eager", "--benchmark_list_tests"});
  EXPECT_EQ(list.code, 0);
  EXPECT_EQ(list.out, "launch_eager/manual_time\n");
}

TEST_F(BenchProgram, AFormatThatDoesNotExistIsABadArgument) {
  for (const std::string flag :
       {"--benchmark_format=xml", "--benchmark_out_format=xml", "--benchmark_time_unit=h"}) {
    const Outcome outcome = run({flag});
    EXPECT_EQ(outcome.code, 2) << flag << ": " << outcome.text();
    EXPECT_EQ(missing(outcome.err, {flag.substr(0, flag.find('='))}), "") << flag;
  }
  EXPECT_EQ(run({"--help"}).code, 0);
}

// The time of the iterations, and no warning about the build of Google Benchmark.
TEST_F(BenchProgram, PrintsTimesWithUnits) {
  const std::vector<std::string> words = {"--benchmark_filter=launch_eager", "--benchmark_min_time=0.001"};
  const Outcome table = run(words);
  EXPECT_EQ(table.code, 0) << table.text();
  EXPECT_EQ(missing(table.out, {"launch_eager/manual_time", " us ", "host_seconds="}), "");
  EXPECT_EQ(table.out.find("median"), std::string::npos) << table.out;
  EXPECT_EQ(missing(table.err, {"commit: ", "copy_bandwidth_bytes_per_second: "}), "");
  EXPECT_EQ(table.err.find("WARNING"), std::string::npos) << table.err;

  std::vector<std::string> as_json = words;
  as_json.push_back("--benchmark_format=json");
  const nlohmann::json report = nlohmann::json::parse(run(as_json).out);
  ASSERT_EQ(report.at("benchmarks").size(), 1u);
  EXPECT_EQ(report.at("benchmarks")[0].at("time_unit"), "us");
  EXPECT_GT(report.at("benchmarks")[0].at("real_time").get<double>(), 0);
}

}  // namespace
}  // namespace rondo::test

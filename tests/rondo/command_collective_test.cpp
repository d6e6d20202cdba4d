// The built program: exit codes and messages of the commands that measure and choose collectives.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/rondo/support/built_program.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace rondo::test {
namespace {

class CommandCollective : public BuiltProgram {
 protected:
  CommandCollective() {
    write_data_set(data_.path(), 40, 20);
    setenv("XDG_CACHE_HOME", results_.path().c_str(), 1);
  }

  std::string training() {
    return "train lenet --epochs 1 --batch 16 --verify --data " + data_.path().string() + " ";
  }
};

TEST_F(CommandCollective, BadValuesAreOneLine) {
  for (const char* command : {"allreduce", "reducescatter", "allgather", "broadcast", "reduce", "alltoall"})
    expect_refused(concat(command, " -g 0"), {"-g", "'0'", "1 to 64"});
  expect_refused("allreduce -d float8", {"-d", "'float8'", "bfloat16"});
  expect_refused("allreduce --json " + (results_ / "absent/f"), {"--json", "absent"});
  expect_refused("broadcast -g 2 -r 2", {"-r is 2", "below 2"});
  expect_refused("links --store " + (results_ / "absent/f"), {"--store", "absent"});
  expect_refused("train lenet --algorithm tree", {"--algorithm", "'tree'"});
  expect_refused(training() + "--algorithm ring --device-count-invariant",
                 {"--algorithm", "'ring'", "--device-count-invariant"});
  expect_refused("train lenet --batch 7 --device-count-invariant --data " + data_.path().string(),
                 {"the batch has 7 samples", "at least 8, one for each sample block"});
}

// The error comes before anything is measured or printed.
TEST_F(CommandCollective, SizesThatDoNotFitAreRefusedImmediately) {
  for (const char* size : {"256T", "256TiB"}) {
    const Outcome outcome = run_line(concat("allreduce -g 2 -b ", size));
    EXPECT_EQ(outcome.code, 1) << outcome.text();
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.text();
    EXPECT_EQ(missing(outcome.text(),
                      {"rondo: ", "the largest size is 256 TiB", "on device", "-e sets a smaller one"}),
              "");
  }
}

TEST_F(CommandCollective, EveryCommandRuns) {
  for (const char* command : {"allreduce", "reducescatter", "allgather", "broadcast", "reduce", "alltoall"}) {
    const Outcome outcome = run_line(concat(command, " -b 4K -e 16K -f 4 -g 2 -n 2"));
    EXPECT_EQ(outcome.code, 0) << outcome.text();
    EXPECT_EQ(
        missing(outcome.text(), {concat("# ", command, " on 2 ranks"), "     4096 ", "    16384 ", "0 OK"}),
        "");
  }
}

TEST_F(CommandCollective, LinksAreStoredAndUsed) {
  const Outcome links = run_line("links --devices 1");
  EXPECT_EQ(links.code, 0) << links.text();
  const std::string file = results_ / "rondo/links.json";
  EXPECT_EQ(missing(links.text(), {"copy bandwidth", "ring order", "wrote " + file}), "");
  EXPECT_EQ(nlohmann::json::parse(read_text(file)).at("platform"), platform());
  const std::vector<std::string> used = {"links", "in " + file, "measured", "are used"};
  EXPECT_EQ(missing(run_line("allreduce -b 4K -e 4K --devices 0,0").text(), used), "");
  EXPECT_EQ(missing(run_line(training() + "--devices 0,0").text(), used), "");
  write_file(file, bytes_of("no JSON"));
  for (const std::string& command : {std::string("allreduce -b 4K -e 4K"), training()}) {
    const Outcome outcome = run_line(command);
    EXPECT_EQ(outcome.code, 0) << outcome.text();
    EXPECT_EQ(missing(outcome.text(), {"links", "are not used", file, "damaged"}), "");
  }
}

TEST_F(CommandCollective, TrainsByEveryAlgorithm) {
  for (const std::string algorithm : {"automatic", "ring", "direct", "root"}) {
    const Outcome outcome = run_line(training() + "--devices 0,0,0 --algorithm " + algorithm);
    EXPECT_EQ(outcome.code, 0) << outcome.text();
    EXPECT_EQ(missing(outcome.text(), {algorithm + " all-reduce", "bitwise equal after each of 3 steps"}),
              "");
  }
}

}  // namespace
}  // namespace rondo::test

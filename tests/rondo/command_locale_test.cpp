// The built program after something has set a locale that groups digits and has another decimal point: it
// prints, writes and reads the same text. set_marked_locale.cpp sets it before main().
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/built_program.h>
#include <rondo/tests/rondo/support/devices.h>
#include <rondo/tests/support/marked_locale.h>
#include <rondo/tools/rondo/train/csv_log.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace rondo::test {
namespace {

// Empty for equal texts, else where they begin to differ.
std::string difference(const std::string& got, const std::string& want) {
  if (got == want) return "";
  const auto from = std::ranges::mismatch(got, want).in1 - got.begin();
  const size_t begin = static_cast<size_t>(std::max<std::ptrdiff_t>(from - 40, 0));
  return "'" + got.substr(begin, 80) + "' instead of '" + want.substr(begin, 80) + "'";
}

class CommandLocale : public BuiltProgram {
 protected:
  CommandLocale() { write_data_set(data_.path(), 40, 20); }

  Outcome run_marked(std::vector<std::string> words) {
    program_ = RONDO_WITH_MARKED_LOCALE;
    const Outcome outcome = run(std::move(words));
    program_ = RONDO_PROGRAM;
    return outcome;
  }
  // Succeeds, and no number that it prints or writes has a mark.
  Outcome expect_no_marks(const std::string& line) {
    const Outcome outcome = run_marked(words_of(line));
    EXPECT_EQ(outcome.code, 0) << line << "\n" << outcome.text();
    EXPECT_EQ(marked_number(outcome.text()), "") << line;
    for (const auto& [name, text] : written()) EXPECT_EQ(marked_number(text), "") << line << ": " << name;
    return outcome;
  }
  // Everything about it is the same without the locale: for results that do not depend on time.
  void expect_same(const std::vector<std::string>& words) {
    remove_written();
    const Outcome want = run(words);
    const auto files = written();
    remove_written();
    const Outcome got = run_marked(words);
    const std::string line = testing::PrintToString(words);
    EXPECT_EQ(got.code, want.code) << line;
    EXPECT_EQ(difference(got.out, want.out), "") << line;
    EXPECT_EQ(difference(got.err, want.err), "") << line;
    for (const auto& [name, text] : files)
      EXPECT_EQ(difference(read_text(results_ / name), text), "") << line << ": " << name;
    EXPECT_EQ(written().size(), files.size()) << line;
  }

  void remove_written() const {
    for (const auto& [name, text] : written()) std::filesystem::remove(results_ / name);
  }
  std::map<std::string, std::string> written() const {
    std::map<std::string, std::string> texts;
    for (const auto& file : std::filesystem::directory_iterator(results_.path()))
      texts[file.path().filename()] = read_text(file.path());
    return texts;
  }
  std::string lenet(const std::string& options) {
    return "train lenet --data " + data_.path().string() + " --batch 16 --devices " + devices(2) + " " +
           options;
  }
};

// The test itself: the locale is set, in C++ and in C.
TEST_F(CommandLocale, TheMarksAreSeen) {
  const MarkedLocale locale;
  std::ostringstream text;
  text << 123 << " " << 0.5;
  EXPECT_EQ(text.str(), "1~2~3 0^5");
  EXPECT_NE(marked_number("of 1~2~3"), "");
  EXPECT_NE(marked_number(std::string("0") + kCPoint + "5"), "");
  EXPECT_EQ(marked_number("12 ~ 3, 1^, 4.5"), "");
#ifdef __GLIBC__
  ASSERT_TRUE(locale.in_c());
  std::array<char, 16> printed;
  std::snprintf(printed.data(), printed.size(), "%.1f", 0.5);
  EXPECT_EQ(printed.data(), std::string("0") + kCPoint + "5");
#endif
}

TEST_F(CommandLocale, PicturesTablesAndJsonAreTheSame) {
  const std::string svg = results_ / "a.svg", json = results_ / "a.json";
  for (const std::string& line : std::vector<std::string>{
           "schedule --ranks 12 --bytes 123456", "schedule --ranks 12 --svg " + svg,
           "schedule --ranks 6 --bytes 1234567 --html " + svg + " --json " + json,
           "scale --bytes 25MB,1500 --devices 1024 --plot " + svg + " --json " + json,
           "scale --alpha 1.25,12.5 --bandwidth 100.5,25", "summary lenet --batch 1000 --svg " + svg,
           "summary resnet18 --checkpoint-layers 12", "shard --array batch --devices 3 --svg " + svg,
           "profile gemm --plan --gpu all --m 5120 --type float16", "numerics --size 8 --k 1,64",
           "--version"})
    expect_same(words_of(line));
  for (const char* command : {"banks", "sectors"})
    expect_same({command, "thread * 33 + 1000", "--svg", svg, "--json", json});
  for (const char* command : {"train lenet", "train mlp"})
    expect_same(words_of(command + std::string(" --help")));
  std::istringstream help(run({"--help"}).out);
  std::string line;
  while (std::getline(help, line) && line != "Subcommands:") continue;
  int commands = 0;
  for (std::string name; std::getline(help, line) && std::istringstream(line) >> name; ++commands)
    expect_same({name, "--help"});
  EXPECT_GT(commands, 20);
}

TEST_F(CommandLocale, InvalidValuesHaveTheSameMessages) {
  for (const std::string line :
       {"train lenet --epochs 12345678901", "train lenet --lr 1234,5", "train lenet --lr 1234.5",
        "train lenet --batch 1.5", "train mlp --width 99999999", "allreduce -b 1,5K", "allreduce -b 16X",
        "allreduce -b 1T -e 1000", "bench gemm --shape m=1,5", "bench gemm --time 1234,5",
        "schedule --ranks 12345", "scale --bytes 1.5GB", "banks thread*1.5", "banks thread*\xe4",
        "train lenet --schedule step:1000:1,5", "train lenet --momentum 0,5", "train"})
    expect_same(words_of(line));
  expect_same(words_of("train lenet --data " + (results_ / "absent")));
}

TEST_F(CommandLocale, ALogIsDrawnTheSame) {
  std::vector<EpochReport> epochs(12);
  for (size_t i = 0; i < epochs.size(); ++i)
    epochs[i] = {.epoch = static_cast<int64_t>(i + 1),
                 .train_loss = 2.5 / static_cast<double>(i + 1),
                 .test_accuracy = 0.0625 * static_cast<double>(i),
                 .seconds = 1234.5,
                 .phases = {}};
  const std::string log = data_ / "log.csv";
  write_file(log, bytes_of(program::csv_log(epochs)));
  expect_same(words_of("plot " + log + " --svg " + (results_ / "a.svg")));
  write_file(log, bytes_of("epoch,1234\n"));
  expect_same(words_of("plot " + log + " --svg " + (results_ / "a.svg")));
}

TEST_F(CommandLocale, ATrainingIsSavedResumedLoggedAndTraced) {
  const std::string straight = data_ / "straight", log = data_ / "log.csv", part = data_ / "part";
  ASSERT_EQ(run_line(lenet("--epochs 12 --save " + straight + " --log " + log)).code, 0);
  expect_no_marks(lenet("--epochs 11 --save " + part));
  expect_no_marks(lenet("--epochs 12 --verify --resume " + part + " --save " + part + " --log " +
                        (results_ / "log.csv") + " --plot " + (results_ / "plot.svg") + " --trace " +
                        (results_ / "trace.json") + " --html " + (results_ / "run.html")));
  EXPECT_EQ(read_text(part), read_text(straight));
  EXPECT_TRUE(nlohmann::json::accept(read_text(results_ / "trace.json")));
  const auto want = program::parse_csv_log(log, read_text(log));
  const auto got = program::parse_csv_log("got", read_text(results_ / "log.csv"));
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].epoch, 12);
  EXPECT_EQ(got[0].train_loss, want[11].train_loss);
  expect_same({"convert", "lenet", straight, results_ / "torch"});
  expect_same({"evaluate", "lenet", straight, "--data", data_.path().string()});
  expect_no_marks(lenet("--epochs 1 --from-scratch --html " + (results_ / "lesson.html")));
  expect_no_marks("train mlp --layers 2 --width 16 --batch 128 --steps 12 --devices " + devices(2) +
                  " --json " + (results_ / "mlp.json") + " --html " + (results_ / "mlp.html"));
  EXPECT_EQ(nlohmann::json::parse(read_text(results_ / "mlp.json"))["batch"], 128);
}

TEST_F(CommandLocale, MeasurementsAreWrittenAndRead) {
  expect_no_marks("links --devices 1");
  const std::string links = read_text(streams_ / "rondo/links.json");
  EXPECT_EQ(marked_number(links), "");
  EXPECT_TRUE(nlohmann::json::accept(links));
  const Outcome outcome = expect_no_marks("allreduce --devices 0,0 -b 1K -e 64K -f 4 -n 3 --json " +
                                          (results_ / "a.json") + " --trace " + (results_ / "trace.json"));
  EXPECT_EQ(missing(outcome.text(), {"links.json, measured ", "are used"}), "");
  EXPECT_EQ(nlohmann::json::parse(read_text(results_ / "a.json"))["rows"][3]["bytes"], 65536);
  expect_no_marks("strategies mlp --steps 2 --layers 2 --width 16 --batch 128 --json " +
                  (results_ / "s.json"));
  EXPECT_EQ(nlohmann::json::parse(read_text(results_ / "s.json"))["batch"], 128);
  expect_no_marks("devices");
  expect_no_marks("bench gemm --sweep m=8:4096:x8 --shape n=4,k=4 --samples 12 --json " +
                  (results_ / "b.json") + " --csv " + (results_ / "b.csv") + " --svg " +
                  (results_ / "b.svg"));
  EXPECT_EQ(nlohmann::json::parse(read_text(results_ / "b.json"))["rows"][7]["shape"]["m"], 4096);
}

}  // namespace
}  // namespace rondo::test

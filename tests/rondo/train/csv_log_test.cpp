#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tools/rondo/train/csv_log.h>

#include <cmath>
#include <limits>

namespace rondo::program {
namespace {

TEST(CsvLog, HeaderAndOneLinePerEpoch) {
  const std::vector<EpochReport> epochs = {
      {.epoch = 1,
       .train_loss = 2.25,
       .test_accuracy = 0.1,
       .seconds = 14.5,
       .phases = {0.5, 4, 8, 1, 1},
       .learning_rate = 0.2f},
      {.epoch = 2, .train_loss = std::nan(""), .test_accuracy = 1.0 / 3, .seconds = 1e-5, .phases = {}}};
  EXPECT_EQ(
      csv_log(epochs),
      "epoch,train_loss,test_accuracy,seconds,load_seconds,forward_seconds,backward_seconds,reduce_seconds,"
      "update_seconds,learning_rate\n"
      "1,2.25,0.1,14.5,0.5,4,8,1,1,0.2\n"
      "2,nan,0.3333333333333333,1e-05,0,0,0,0,0,0\n");
}

TEST(CsvLog, NoEpochs) {
  EXPECT_EQ(csv_log({}).find('\n'), csv_log({}).size() - 1);
  EXPECT_TRUE(parse_csv_log("run.csv", csv_log({})).empty());
}

// Every double is read back with the same bits, and a NaN as a NaN.
TEST(CsvLog, ReadsBackItsOutput) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<EpochReport> written = {
      {.epoch = 1,
       .train_loss = 1.0 / 3,
       .test_accuracy = 0.1,
       .seconds = 5e-324,
       .phases = {1, 2e-9, 3, 4, 0.7},
       .learning_rate = 0.1f},
      {.epoch = 2, .train_loss = infinity, .test_accuracy = std::nan(""), .seconds = 1e300, .phases = {}},
      {.epoch = 7, .train_loss = -0.0, .test_accuracy = 1, .seconds = 0.1 + 0.2, .phases = {5, 4, 3, 2, 1}}};
  const std::vector<EpochReport> read = parse_csv_log("run.csv", csv_log(written));
  ASSERT_EQ(read.size(), written.size());
  const auto bits = [](const EpochReport& epoch) {
    std::vector<double> figures = {epoch.train_loss, epoch.test_accuracy, epoch.seconds};
    figures.insert(figures.end(), epoch.phases.begin(), epoch.phases.end());
    figures.push_back(epoch.learning_rate);
    return figures;
  };
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].epoch, written[i].epoch);
    EXPECT_TRUE(test::all_equal_bits(bits(read[i]), bits(written[i]))) << "epoch " << written[i].epoch;
  }
}

TEST(CsvLog, AFileThatIsNoLogIsNamed) {
  const std::string head = csv_log({}), good = "1,2,0.5,3,0,0,0,0,0,0.1\n";
  const auto refusal = [](const std::string& text) {
    return test::error_of([&] { parse_csv_log("run.csv", text); });
  };
  for (const std::string& text :
       {std::string(), std::string("epoch,train_loss\n"), good, "\n" + head, head.substr(1)})
    EXPECT_EQ(test::missing(refusal(text), {"'run.csv'", "line 1", "'epoch,train_loss,"}), "") << text;
  for (const char* line : {"2,2,0.5,3,0,0,0,0,0", "2,2,0.5,3,0,0,0,0,0,0,0", "2,x,0.5,3,0,0,0,0,0,0",
                           "2,,0.5,3,0,0,0,0,0,0", "2,1 ,0.5,3,0,0,0,0,0,0", "1,2,0.5,3,0,0,0,0,0,0",
                           "2.5,2,0.5,3,0,0,0,0,0,0", "nan,2,0.5,3,0,0,0,0,0,0", "1e300,2,0.5,3,0,0,0,0,0,0",
                           "", "2,2,0.5,3,0,0,0,0,0,0,", "2,2,1.5,3,0,0,0,0,0,0", "2,2,-0.1,3,0,0,0,0,0,0",
                           "2,2,inf,3,0,0,0,0,0,0", "2,2,0.5,-3,0,0,0,0,0,0", "2,-2,0.5,3,0,0,0,0,0,0"})
    EXPECT_EQ(test::missing(refusal(head + good + line + "\n" + "3,2,0.5,3,0,0,0,0,0,0\n"),
                            {"'run.csv'", "line 3", concat("'", line, "'")}),
              "")
        << line;
  const std::pair<const char*, const char*> invalid[] = {
      {"2,2,0.5,inf,0,0,0,0,0,0", "seconds that are finite and not negative, not inf"},
      {"2,2,0.5,3,-1,0,0,0,0,0", "load_seconds that are finite and not negative, not -1"},
      {"2,2,0.5,3,0,0,0,0,-1e-9,0", "update_seconds that are finite and not negative, not -1e-09"},
      {"2,2,0.5,3,0,0,inf,0,0,0", "backward_seconds that are finite and not negative, not inf"},
      {"2,2,0.5,3,0,0,0,0,0,-5", "a learning rate from 0 to 1000, not -5"},
      {"2,2,0.5,3,0,0,0,0,0,1e300", "a learning rate from 0 to 1000, not 1e+300"},
      {"2,2,0.5,3,0,0,0,0,0,inf", "a learning rate from 0 to 1000, not inf"}};
  for (const auto& [line, why] : invalid)
    EXPECT_EQ(test::missing(refusal(head + good + line + "\n"),
                            {"'run.csv'", "line 3", concat("'", line, "'"), why}),
              "");
  EXPECT_EQ(test::missing(refusal("\x7F"
                                  "ELF\x02\x1B[31m\r" +
                                  std::string(5000, 'x') + "\n"),
                          {"line 1 is '\\x7fELF\\x02\\x1b[31m\\rxxx", "xxx...'"}),
            "");
  EXPECT_LT(refusal(std::string(5000, 'x')).size(), 400u);
  for (const char* first : {"0", "-1", "0.5", "1e18", "nan"})
    EXPECT_EQ(test::missing(refusal(head + first + ",2,0.5,3,0,0,0,0,0,0\n"),
                            {"line 2", "must begin with an epoch, a whole number from 1 to 1000000000"}),
              "")
        << first;
}

// Logs of versions before the column learning_rate.
TEST(CsvLog, ReadsOlderLogs) {
  std::string head = csv_log({});
  const std::string column = ",learning_rate";
  ASSERT_NE(head.find(column), std::string::npos);
  head.erase(head.find(column), column.size());
  const std::vector<EpochReport> read = parse_csv_log("run.csv", head + "1,2,0.5,3,0.1,0.2,0.3,0.4,0.5\n");
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].test_accuracy, 0.5);
  EXPECT_EQ(read[0].phases.back(), 0.5);
  EXPECT_TRUE(std::isnan(read[0].learning_rate)) << read[0].learning_rate;
  EXPECT_NE(csv_log(read).find("0.5,nan\n"), std::string::npos) << csv_log(read);
}

// An editor or a version control system may have converted the line ends.
TEST(CsvLog, ReadsOtherLineEnds) {
  std::string text = csv_log(std::vector<EpochReport>{{.epoch = 1, .train_loss = 2, .phases = {}},
                                                      {.epoch = 2, .train_loss = 1, .phases = {}}});
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  const std::vector<EpochReport> read = parse_csv_log("run.csv", text);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].train_loss, 1);
}

}  // namespace
}  // namespace rondo::program

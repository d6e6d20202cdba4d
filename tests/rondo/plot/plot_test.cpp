// `rondo plot`: draws logs of training runs in one picture, and refuses files that it cannot draw.
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/command_line.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/plot/plot.h>
#include <rondo/tools/rondo/train/csv_log.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

namespace rondo::program {
namespace {

using test::bytes_of;
using test::error_of;
using test::missing;
using test::read_text;
using test::XmlCheck;
using Strings = std::vector<std::string>;

EpochReport epoch(int64_t number, double loss, double accuracy, double seconds) {
  return {.epoch = number, .train_loss = loss, .test_accuracy = accuracy, .seconds = seconds, .phases = {}};
}

// The paths of all curves, panel by panel.
Strings curve_paths(const std::string& svg) {
  Strings found;
  const std::regex path("<path d=\"([^\"]*)\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), path), end; at != end; ++at) found.push_back((*at)[1]);
  return found;
}

size_t corner_count(const std::string& path) {
  return static_cast<size_t>(std::count(path.begin(), path.end(), 'M') +
                             std::count(path.begin(), path.end(), 'L'));
}

// The y coordinates of a path, measured from the top of the page.
std::vector<double> heights(const std::string& path) {
  std::vector<double> found;
  std::istringstream words(path);
  char pen;
  for (double x, y; words >> pen >> x >> y;) found.push_back(y);
  return found;
}

class Plot : public testing::Test {
 protected:
  std::string log(const std::string& name, const std::vector<EpochReport>& epochs) {
    test::write_file(directory_ / name, bytes_of(csv_log(epochs)));
    return directory_ / name;
  }
  // Returns the printed text.
  std::string plot(const Strings& runs, const Strings& names = {}) {
    std::ostringstream out;
    show_plot({.runs = runs, .names = names, .svg = svg_}, out);
    return out.str();
  }

  test::TemporaryDirectory directory_;
  const std::string svg_ = directory_ / "runs.svg";
  const std::vector<EpochReport> short_ = {epoch(1, 2, 0.25, 10), epoch(2, 1, 0.5, 20)};
  const std::vector<EpochReport> long_ = {epoch(1, 2, 0.5, 5), epoch(2, 1, 0.5, 5), epoch(3, 0.5, 0.75, 8),
                                          epoch(4, std::nan(""), 0.875, 6)};
};

TEST_F(Plot, ARunWithoutAnAccuracySaysSo) {
  const std::string nan = std::to_string(std::nan("")),
                    log_file = log("a.csv", {epoch(1, 2, std::nan(""), 10)});
  EXPECT_EQ(plot({log_file}), "a: 1 epoch, loss 2.0000, no accuracy, 10.0 s an epoch\n");
  EXPECT_EQ(read_text(svg_).find(nan), std::string::npos);
}

TEST_F(Plot, EachRunHasACurveInEachPanel) {
  EXPECT_EQ(plot({log("one.csv", short_), log("two.log", long_)}),
            "one: 2 epochs, loss 1.0000, accuracy 50.00 %, 15.0 s an epoch\n"
            "two.log: 4 epochs, loss nan, accuracy 87.50 %, 6.0 s an epoch\n");
  const std::string svg = read_text(svg_);
  EXPECT_EQ(XmlCheck::fault(svg), "");
  EXPECT_EQ(missing(svg, {">training loss<", ">test accuracy<", ">seconds<", ">2 training runs<",
                          ">one: 2 epochs, loss 1.0000, accuracy 50.00 %, 15.0 s an epoch<"}),
            "");
  const Strings curves = curve_paths(svg);
  ASSERT_EQ(curves.size(), 6u);
  Strings counts;
  for (const std::string& curve : curves) counts.push_back(std::to_string(corner_count(curve)));
  EXPECT_EQ(counts, (Strings{"2", "3", "2", "4", "2", "4"})) << "the loss of epoch 4 is not a number";
  EXPECT_EQ(curves[1].rfind(curves[0], 0), 0u) << "the same losses in the first two epochs";
  EXPECT_NE(curves[3].rfind(curves[2], 0), 0u);
  EXPECT_NE(curves[3].find(curves[2].substr(curves[2].find('L'))), std::string::npos)
      << "the same accuracy in epoch 2";
  // The seconds: 10 and 20 in one run, 5 and 5 in the other.
  const std::vector<double> one = heights(curves[4]), two = heights(curves[5]);
  EXPECT_NEAR(two[0] - one[0], (one[0] - one[1]) / 2, 0.02);
  EXPECT_EQ(two[0], two[1]);
}

// The largest numbers take no more room than others, neither on an axis nor in the legend.
TEST_F(Plot, HugeNumbersAreShort) {
  for (const double huge : {1e308, 1e10}) {
    const std::string text = plot({log("one.csv", {epoch(1, huge, 0.5, 1e308), epoch(2, huge, 0.5, 1e308)})});
    EXPECT_LT(text.size(), 70u) << text;
    const std::string svg = read_text(svg_);
    EXPECT_EQ(XmlCheck::fault(svg), "");
    const std::regex digits("[0-9]{12}");
    EXPECT_FALSE(std::regex_search(svg, digits)) << svg;
  }
}

TEST_F(Plot, NamesAreAsGivenAndEscaped) {
  const std::string one = log("one.csv", short_), two = log("two.csv", long_);
  EXPECT_EQ(plot({one, two}, {"<1 & \"only\">", "zwei Geräte"}).substr(0, 15), "<1 & \"only\">: 2");
  const std::string svg = read_text(svg_);
  EXPECT_EQ(XmlCheck::fault(svg), "");
  EXPECT_EQ(missing(svg, {"&lt;1 &amp; &quot;only&quot;&gt;: 2 epochs", "zwei Geräte: 4 epochs"}), "");
}

TEST_F(Plot, OneRunAndTheMaximum) {
  plot({log("one.csv", {short_[0]})});
  EXPECT_EQ(XmlCheck::fault(read_text(svg_)), "");
  Strings runs;
  for (size_t i = 0; i < kMostRuns; ++i) runs.push_back(log("run" + std::to_string(i) + ".csv", long_));
  plot(runs);
  const std::string svg = read_text(svg_);
  EXPECT_EQ(XmlCheck::fault(svg), "");
  EXPECT_EQ(curve_paths(svg).size(), 3 * kMostRuns);
  std::set<std::string> colours;
  const std::regex stroke("<path [^>]*stroke=\"(#[0-9a-f]{6})\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), stroke), end; at != end; ++at)
    colours.insert((*at)[1]);
  EXPECT_EQ(colours.size(), kMostRuns);
}

TEST_F(Plot, RefusesWhatItCannotDraw) {
  const std::string good = log("good.csv", short_), empty = log("empty.csv", {});
  test::write_file(directory_ / "other.csv", bytes_of("a,b\n1,2\n"));
  const auto refusal = [&](const std::string& run) { return error_of([&] { plot({good, run}); }); };
  EXPECT_EQ(missing(refusal(directory_ / "absent.csv"), {"absent.csv", "No such file"}), "");
  EXPECT_EQ(missing(refusal(directory_.path().string()), {"is a folder"}), "");
  EXPECT_EQ(missing(refusal(directory_ / "other.csv"), {"other.csv'", "line 1"}), "");
  EXPECT_EQ(missing(refusal(empty), {"empty.csv'", "no epoch"}), "");
  EXPECT_FALSE(std::filesystem::exists(svg_)) << "nothing may be left";
}

// A typing error must not overwrite a log.
TEST_F(Plot, NeverWritesOverALog) {
  const std::string one = log("one.csv", short_), before = read_text(one);
  std::filesystem::create_symlink(one, directory_ / "link.csv");
  for (const std::string& svg : {one, directory_ / "link.csv"}) {
    std::ostringstream out;
    const auto overwrite = [&] {
      show_plot({.runs = {log("two.csv", long_), one}, .names = {}, .svg = svg}, out);
    };
    EXPECT_EQ(missing(error_of(overwrite), {svg, "the log of a run"}), "");
    EXPECT_EQ(read_text(one), before);
  }
}

TEST(PlotArguments, AreRead) {
  const auto plot = parse_as<PlotArguments>("plot a/one.csv --name x two.csv --svg runs.svg --name y");
  EXPECT_EQ(plot.runs, (Strings{"a/one.csv", "two.csv"}));
  EXPECT_EQ(plot.names, (Strings{"x", "y"}));
  EXPECT_EQ(plot.svg, "runs.svg");
  EXPECT_EQ(run_names(plot), plot.names);
  EXPECT_EQ(run_names(parse_as<PlotArguments>("plot --svg s a/one.csv b/two.1.csv three")),
            (Strings{"one", "two.1", "three"}));
}

TEST(PlotArguments, ErrorsNameTheArgument) {
  expect_refused("plot --svg runs.svg", {"no log"});
  expect_refused("plot one.csv", {"--svg was not given"});
  expect_refused("plot one.csv --svg", {"--svg"});
  expect_refused("plot a/run.csv b/run.csv --svg s", {"'run'", "--name"});
  expect_refused("plot a.csv b.csv --name x --name x --svg s", {"two runs are called 'x'"});
  expect_refused("plot a.csv b.csv --name x --svg s", {"there are 2 runs and 1 name,"});
  expect_refused("plot a.csv --name x --name y --svg s", {"there is 1 run and 2 names"});
  expect_refused("plot 1 2 3 4 5 6 7 8 9 --svg s", {"9 runs", "at most 8"});
  EXPECT_EQ(parse_as<PlotArguments>("plot 1 2 3 4 5 6 7 8 --svg s").runs.size(), kMostRuns);
}

}  // namespace
}  // namespace rondo::program

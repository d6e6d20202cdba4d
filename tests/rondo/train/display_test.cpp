#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tools/rondo/train/display.h>
#include <rondo/tools/rondo/train/training_run.h>

#include <algorithm>
#include <sstream>

namespace rondo::program {
namespace {

using test::count;

constexpr Terminal kPlain{};
constexpr Terminal kColourful{.interactive = true, .colour = true, .unicode = true, .width = 100};
constexpr Terminal kAscii{.interactive = true, .colour = false, .unicode = false, .width = 100};

const TrainingProgress kHalf = {
    .epoch = 2, .samples_done = 30'000, .samples = 60'000, .loss = 1.25, .seconds = 10};
const EpochReport kReport = {
    .epoch = 2, .train_loss = 1.5, .test_accuracy = 0.6172, .seconds = 14.2, .phases = {1, 4, 4, 1, 0}};

TEST(Field, ControlCharactersAreEscaped) {
  std::ostringstream out;
  show_field(out, kPlain, "resumed", "c\x1b[31m\n.safetensors");
  EXPECT_NE(out.str().find("c\\x1b[31m\\n.safetensors\n"), std::string::npos) << out.str();
}

// Each replica needs the memory, also those of one device, which share its images.
TEST(Memory, ReplicasOfADeviceShareItsMemory) {
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  const nn::MemoryEstimate estimate = {{{"parameters", static_cast<int64_t>(free / 3 * 2)}}};
  std::ostringstream out;
  EXPECT_NO_THROW(show_memory(estimate, {0}, {}, out, kPlain));
  EXPECT_THROW(show_memory(estimate, {0, 0}, {}, out, kPlain), Error);
  EXPECT_NO_THROW(show_memory({}, {0, 0, 0}, estimate.parts, out, kPlain));
  EXPECT_THROW(show_memory(estimate, {0}, estimate.parts, out, kPlain), Error);
  std::ostringstream both;
  show_memory({{{"parameters", 3 << 20}}}, {0, 0}, {{"images", 2 << 20}}, both, kPlain);
  EXPECT_EQ(both.str(), "memory    5.0 MiB a replica\n");
}

// The number of columns of `text`: an escape sequence has none, a UTF-8 character one.
size_t columns(const std::string& text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = text.find('m', i);
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++width;
    }
  }
  return width;
}

TEST(ProgressLine, ShowsProgressLossAndTime) {
  EXPECT_EQ(progress_line(kHalf, 10, kAscii),
            "epoch  2/10 ################................  50 %  loss 1.2500  3,000 images/s  2:50 left");
}

TEST(ProgressLine, BeforeTheFirstSample) {
  const std::string line = progress_line({.epoch = 1, .samples = 60'000}, 10, kAscii);
  EXPECT_NE(line.find("0 %"), std::string::npos);
  EXPECT_EQ(line.find("loss"), std::string::npos);
}

TEST(ProgressLine, FitsEveryTerminal) {
  for (Terminal terminal : {kColourful, kAscii}) {
    for (terminal.width = 1; terminal.width < 130; ++terminal.width) {
      for (int64_t done : {0, 1, 59'999, 60'000, 70'000}) {
        TrainingProgress progress = kHalf;
        progress.samples_done = done;
        EXPECT_LT(columns(progress_line(progress, 10, terminal)), static_cast<size_t>(terminal.width));
      }
    }
  }
}

TEST(ProgressLine, ColourOnlyOnRequest) {
  EXPECT_NE(progress_line(kHalf, 10, kColourful).find("\x1b["), std::string::npos);
  EXPECT_EQ(progress_line(kHalf, 10, kAscii).find('\x1b'), std::string::npos);
}

TEST(EpochRow, AlignsWithItsHeader) {
  const std::string header = epoch_header(), row = epoch_row(kReport, 10);
  EXPECT_EQ(header.size(), row.size());
  for (const char* name : {"epoch", "loss", "test acc", "load", "forward", "backward", "reduce", "update"}) {
    EXPECT_EQ(count(header, name), 1u) << name;
  }
  for (const char* figure : {"2/10", "1.5000", "0.6172", "14.2 s", " 10 %", " 40 %", " 0 %"}) {
    EXPECT_NE(row.find(figure), std::string::npos) << figure << " is not in " << row;
  }
}

TEST(LastLine, MatchesTheTextbook) {
  std::vector<EpochReport> epochs = {kReport, kReport};
  epochs[0].seconds = 14.6;
  epochs[1].seconds = 13.8;
  epochs[0].test_accuracy = 0.1;
  epochs[1].test_accuracy = 0.8312;
  const std::string line = last_line(epochs, {0, 1, 0});
  EXPECT_EQ(line.rfind("test acc: 0.83, 14.2 sec/epoch on [", 0), 0u) << line;
  EXPECT_EQ(count(line, ":0"), 2u) << line;
  EXPECT_EQ(count(line, ":1"), 1u) << line;
  EXPECT_EQ(line.back(), ']');
}

TEST(Display, RedrawsInPlaceOnATerminal) {
  std::ostringstream out;
  {
    Display display(out, kAscii, 10);
    display.show(kHalf);
    display.show(kHalf);
    EXPECT_EQ(count(out.str(), "\n"), 0u);
    EXPECT_EQ(count(out.str(), "\r\x1b[K"), 2u);
    display.show(kReport);
    EXPECT_EQ(count(out.str(), "\n"), 2u);  // header and row
    display.show(kReport);
    EXPECT_EQ(count(out.str(), "\n"), 3u);
    display.show(kHalf);
  }
  EXPECT_EQ(out.str().substr(out.str().size() - 4), "\r\x1b[K") << "a bar is left behind";
}

TEST(Display, PlainLinesAreFewAndWithoutControlCharacters) {
  std::ostringstream out;
  Display display(out, kPlain, 2);
  for (int epoch : {1, 2}) {
    for (int second = 0; second <= 30; ++second) {
      display.show(TrainingProgress{.epoch = epoch,
                                    .samples_done = second * 2000,
                                    .samples = 60'000,
                                    .loss = 1,
                                    .seconds = 1.0 * second});
    }
    EpochReport report = kReport;
    report.epoch = epoch;
    display.show(report);
  }
  const std::string text = out.str();
  EXPECT_EQ(count(text, "images/s"), 4u) << text;  // after 10 and 20 s of each epoch; the row shows its end
  EXPECT_EQ(count(text, "\n"), 4u + 3u);
  EXPECT_TRUE(std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\x1b'; }));
}

}  // namespace
}  // namespace rondo::program

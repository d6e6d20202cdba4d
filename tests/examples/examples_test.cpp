// The programs of docs/examples print the documented output, and the README quotes them verbatim.
#include <gtest/gtest.h>
#include <rondo/tests/rondo/support/files.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

namespace rondo::test {
namespace {

// The standard output of a command, which must succeed.
std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 256> part;
  while (pipe && fgets(part.data(), part.size(), pipe)) text += part.data();
  EXPECT_EQ(pipe ? pclose(pipe) : -1, 0) << command;
  return text;
}

TEST(Examples, Gemm) { EXPECT_EQ(output_of(GEMM), "11 22 0 13 24 0 \n"); }

TEST(Examples, AllReduce) { EXPECT_EQ(output_of(ALL_REDUCE), "10 100\n10 100\n10 100\n10 100\n"); }

// Images of two classes that are easy to tell apart: either the upper or the lower half is bright.
void write_halves(const TemporaryDirectory& data, const std::string& name, uint32_t count) {
  Bytes images, labels;
  for (uint32_t i = 0; i < count; ++i) {
    labels.push_back(static_cast<uint8_t>(i % 2));
    for (uint32_t pixel = 0; pixel < 784; ++pixel) images.push_back(pixel / 392 == i % 2 ? 255 : 0);
  }
  write_file(data / (name + "-images-idx3-ubyte"), idx({count, 28, 28}, images));
  write_file(data / (name + "-labels-idx1-ubyte"), idx({count}, labels));
}

TEST(Examples, TrainLenet) {
  const TemporaryDirectory data;
  write_halves(data, "train", 260);
  write_halves(data, "t10k", 20);
  std::istringstream lines(output_of(TRAIN_LENET " " + data.path().string()));
  std::vector<double> losses;
  int epoch = 0;
  double loss = 0, accuracy = -1;
  for (std::string line; std::getline(lines, line);) {
    ASSERT_EQ(std::sscanf(line.c_str(), "epoch %d: loss %lf, test accuracy %lf", &epoch, &loss, &accuracy), 3)
        << line;
    losses.push_back(loss);
    EXPECT_EQ(epoch, static_cast<int>(losses.size()));
    EXPECT_TRUE(accuracy >= 0 && accuracy <= 1) << line;
  }
  ASSERT_EQ(losses.size(), 10u);
  EXPECT_LT(losses.back(), 0.7 * losses.front());
}

TEST(Examples, Depthwise) {
  const TemporaryDirectory folder;
  const std::string output = output_of(DEPTHWISE " " + (folder / "stripes.safetensors"));
  const size_t trained = output.find("\naccuracy "), loaded = output.find("\nloaded: accuracy ");
  ASSERT_TRUE(trained != std::string::npos && loaded != std::string::npos) << output;
  const std::string accuracy = output.substr(trained + 10, 6);
  EXPECT_EQ(output.substr(loaded + 18, 6), accuracy) << output;
  EXPECT_GT(std::strtod(accuracy.c_str(), nullptr), 0.9) << output;
}

TEST(Examples, Table) {
  const std::string output = output_of(TABLE);
  const size_t last = output.find("epoch 8: loss ");
  ASSERT_NE(last, std::string::npos) << output;
  const size_t accuracy = output.find("accuracy ", last) + 9;
  EXPECT_GT(std::strtod(output.c_str() + accuracy, nullptr), 0.9) << output;
}

// The lines of a text without leading and trailing blanks. Empty lines are omitted.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    lines.push_back(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
  }
  return lines;
}

const char* const kExamples[] = {"gemm", "all_reduce", "train_lenet"};

std::string source_of(const std::string& name) {
  return read_text(std::string(SOURCE_DIR) + "/docs/examples/" + name + ".cpp");
}

TEST(Examples, AreShort) {
  for (const char* name : kExamples) {
    const std::vector<std::string> lines = lines_of(source_of(name));
    EXPECT_GT(lines.size(), 10u) << name;
    EXPECT_LE(lines.size(), 30u) << name;
  }
  // The number of statements in the main() of LeNet's program.
  const std::string lenet = source_of("train_lenet");
  const size_t body = lenet.find("int main");
  ASSERT_NE(body, std::string::npos);
  EXPECT_LE(std::count(lenet.begin() + static_cast<std::ptrdiff_t>(body), lenet.end(), ';'), 15);
}

// Each C++ block of the README must occur as consecutive lines in one of the programs.
TEST(Examples, AreQuotedByTheReadme) {
  const std::string readme = read_text(std::string(SOURCE_DIR) + "/README.md");
  const std::string open = "```cpp\n", close = "```";
  int quotes = 0;
  for (size_t at = 0; (at = readme.find(open, at)) != std::string::npos;) {
    at += open.size();
    const size_t end = readme.find(close, at);
    ASSERT_NE(end, std::string::npos);
    const std::vector<std::string> quoted = lines_of(readme.substr(at, end - at));
    const bool found = std::ranges::any_of(kExamples, [&](const char* name) {
      const std::vector<std::string> lines = lines_of(source_of(name));
      return !std::ranges::search(lines, quoted).empty();
    });
    EXPECT_TRUE(found && !quoted.empty()) << "in no program of docs/examples:\n"
                                          << readme.substr(at, end - at);
    ++quotes;
    at = end + close.size();
  }
  EXPECT_GE(quotes, 2);
}

}  // namespace
}  // namespace rondo::test

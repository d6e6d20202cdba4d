// `rondo shard`: the pictures, and that they match the sharding of a model.
#include <gtest/gtest.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/train/data_parallel.h>
#include <rondo/tests/rondo/support/command_line.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/shard/shard.h>

#include <algorithm>
#include <regex>
#include <sstream>

namespace rondo::program {
namespace {

using test::error_of;
using test::missing;
using test::XmlCheck;

ShardArguments shard_arguments(const std::string& words) {
  return parse_as<ShardArguments>("shard " + words);
}

Sharding sharding(const std::string& words) { return sharding_of(shard_arguments(words)); }

// Without the platform's name, so that the width is the same on the CPU and on GPUs ("cuda:0" is wider).
std::string plain(const std::string& words, int width = 40) {
  return shard_text(sharding(words), {.width = width});
}

std::string shard_refusal(const std::string& words) {
  return error_of([&] { sharding(words); });
}

// The part of each device, as text.
std::vector<std::string> parts_of(const Sharding& sharding) {
  std::vector<std::string> parts(static_cast<size_t>(sharding.devices), "nothing");
  for (const ArrayPart& part : sharding.parts)
    for (const int device : part.devices)
      parts[static_cast<size_t>(device)] =
          concat(part.rows.first, "+", part.rows.size, ",", part.columns.first, "+", part.columns.size);
  return parts;
}

TEST(Shard, ABatchIsSplitByItsSamples) {
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "the labels are those of the CPU executor";
  EXPECT_EQ(plain("--array batch --devices 2 --batch 5"),
            "A batch of lenet, mode sharded, on 2 devices:\n"
            "5 samples x 784 values, 15.3 KiB\n\n"
            "                    784\n"
            "   +-----------------------------------+\n"
            "   |                                   |\n"
            " 2 |               cpu:0               |\n"
            "   |                                   |\n"
            "   +-----------------------------------+\n"
            "   |                                   |\n"
            "   |                                   |\n"
            " 3 |               cpu:1               |\n"
            "   |                                   |\n"
            "   |                                   |\n"
            "   +-----------------------------------+\n\n"
            "device  samples  values      bytes\n"
            "cpu:0   0 to 1   0 to 783  6.1 KiB\n"
            "cpu:1   2 to 4   0 to 783  9.2 KiB\n");
}

TEST(Shard, OneEntryIsInTheSingular) {
  EXPECT_EQ(
      missing(plain("--array batch --devices 1 --batch 1"), {"\n1 sample x 784 values, ", "device  sample "}),
      "");
  EXPECT_EQ(missing(plain("--array optimizer --optimizer sgd"), {"\n1 arena of states x "}), "");
  EXPECT_EQ(missing(plain("--shape 1x1 --mesh 1 --spec -,-"), {"\n1 row x 1 column, 4 bytes"}), "");
}

TEST(Shard, AMeshSplitsBothAxes) {
  if (std::string(platform()) != "cpu") GTEST_SKIP() << "the labels are those of the CPU executor";
  EXPECT_EQ(plain("--shape 6x40 --mesh 2x2x2 --spec y,x"),
            "An array split y,x over the mesh 2 x 2 x 2, on 8 devices:\n"
            "6 rows x 40 columns, 960 bytes\n\n"
            "           20                20\n"
            "   +-----------------+-----------------+\n"
            "   |                 |                 |\n"
            " 3 |     cpu:0,1     |     cpu:4,5     |\n"
            "   |                 |                 |\n"
            "   |                 |                 |\n"
            "   +-----------------+-----------------+\n"
            "   |                 |                 |\n"
            " 3 |     cpu:2,3     |     cpu:6,7     |\n"
            "   |                 |                 |\n"
            "   |                 |                 |\n"
            "   +-----------------+-----------------+\n\n"
            "device  rows    columns       bytes\n"
            "cpu:0   0 to 2  0 to 19   240 bytes\n"
            "cpu:1   0 to 2  0 to 19   240 bytes\n"
            "cpu:2   3 to 5  0 to 19   240 bytes\n"
            "cpu:3   3 to 5  0 to 19   240 bytes\n"
            "cpu:4   0 to 2  20 to 39  240 bytes\n"
            "cpu:5   0 to 2  20 to 39  240 bytes\n"
            "cpu:6   3 to 5  20 to 39  240 bytes\n"
            "cpu:7   3 to 5  20 to 39  240 bytes\n");
}

// Device 4 i + j of a mesh of 2 x 4 has position i on x and j on y.
TEST(Shard, EveryDeviceHasItsPart) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(parts_of(sharding("--shape 8x8 --mesh 2x4 --spec x,y")),
            (Parts{"0+4,0+2", "0+4,2+2", "0+4,4+2", "0+4,6+2", "4+4,0+2", "4+4,2+2", "4+4,4+2", "4+4,6+2"}));
  EXPECT_EQ(parts_of(sharding("--shape 8x8 --mesh 2x2 --spec -,y")),
            (Parts{"0+8,0+4", "0+8,4+4", "0+8,0+4", "0+8,4+4"}));
  EXPECT_EQ(parts_of(sharding("--shape 8x8 --mesh 2x2 --spec xy,-")),
            (Parts{"0+2,0+8", "2+2,0+8", "4+2,0+8", "6+2,0+8"}));
  EXPECT_EQ(parts_of(sharding("--shape 8x8 --mesh 2x2 --spec yx,-")),
            (Parts{"0+2,0+8", "4+2,0+8", "2+2,0+8", "6+2,0+8"}));
  EXPECT_EQ(parts_of(sharding("--shape 8x8 --mesh 2 --spec -,-")), (Parts{"0+8,0+8", "0+8,0+8"}));
  EXPECT_EQ(parts_of(sharding("--array batch --batch 3 --devices 2 --mode single")),
            (Parts{"0+3,0+784", "nothing"}));
  EXPECT_EQ(parts_of(sharding("--array batch --batch 3 --devices 2 --mode replicated")),
            (Parts{"0+3,0+784", "0+3,0+784"}));
}

TEST(Shard, MoreDevicesThanSamples) {
  const Sharding split = sharding("--array batch --devices 5 --batch 2");
  const std::string text = shard_text(split, {});
  const std::string cell = device_label(0) + std::string(8 - device_label(0).size(), ' ');
  EXPECT_EQ(missing(text, {device_label(0) + " (nothing)", device_label(3) + " (nothing)", cell + "none"}),
            "");
  EXPECT_EQ(parts_of(split),
            (std::vector<std::string>{"0+0,0+784", "0+0,0+784", "0+1,0+784", "1+0,0+784", "1+1,0+784"}));
}

// An Adam whose state sizes the test can read.
class OpenAdam : public nn::Adam {
 public:
  using Adam::Adam;
  int64_t floats(size_t rank) {
    int64_t sum = 0;
    for (const Buffer<float>& arena : state(rank).arenas) sum += arena.size();
    return sum;
  }
};

TEST(Shard, MatchesAModel) {
  const nn::NamedModel lenet = nn::model("lenet");
  nn::DataParallel model(lenet.network, lenet.input, {.devices = {0, 0, 0}, .batch = 10});
  OpenAdam adam(model);
  for (const int batch : {10, 8, 2}) {
    model.predict(std::vector<float>(static_cast<size_t>(batch) * 784));
    const Sharding split = sharding("--array batch --devices 3 --batch " + std::to_string(batch));
    for (size_t rank = 0; rank < 3; ++rank)
      EXPECT_EQ(split.parts[rank].rows.size, model.replicas()[rank].batch()) << batch;
  }
  const auto floats = [](const std::string& words) { return bytes_of(sharding(words).parts.at(0)) / 4; };
  EXPECT_EQ(floats("--array parameters"), model.replicas()[0].parameters().size);
  EXPECT_EQ(floats("--array optimizer"), adam.floats(0));
  EXPECT_EQ(floats("--array optimizer --optimizer sgd"), model.replicas()[0].parameters().size);
  // In the mode `replicated`, every device has the whole batch.
  nn::DataParallel whole(lenet.network, lenet.input,
                         {.devices = {0, 0}, .batch = 4, .placement = nn::BatchPlacement::replicated});
  nn::Sgd sgd(whole);
  whole.train_step(std::vector<float>(4 * 784), std::vector<int32_t>(4), sgd);
  const Sharding everywhere = sharding("--array batch --devices 2 --batch 4 --mode replicated");
  for (const int rank : {0, 1}) {
    EXPECT_EQ(everywhere.parts.at(0).devices.at(static_cast<size_t>(rank)), rank);
    EXPECT_EQ(everywhere.parts[0].rows.size, whole.replicas()[static_cast<size_t>(rank)].batch());
  }
  EXPECT_EQ(sharding("--array parameters --devices 3").parts.at(0).devices, (std::vector<int>{0, 1, 2}));
}

TEST(Shard, ColoursAndLinesOnlyIfSupported) {
  const Sharding two = sharding("--array batch --batch 4");
  const std::string bare = shard_text(two, {}), coloured = shard_text(two, {.colour = true, .unicode = true});
  EXPECT_EQ(bare.find('\x1b'), std::string::npos);
  EXPECT_TRUE(std::ranges::all_of(bare, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_EQ(missing(coloured, {"┌", "├", "│", "┘", "\x1b[30;48;5;117m", "\x1b[30;48;5;222m"}), "");
  // Without colours, and with the other line characters, the picture is the same.
  std::string same = std::regex_replace(coloured, std::regex("\x1b\\[[0-9;]*m"), "");
  for (const char* corner : {"┌", "┐", "├", "┤", "└", "┘"})
    same = std::regex_replace(same, std::regex(corner), "+");
  same = std::regex_replace(std::regex_replace(same, std::regex("─"), "-"), std::regex("│"), "|");
  EXPECT_EQ(same, bare);
  const Sharding empty = sharding("--array batch --batch 1");
  EXPECT_EQ(missing(shard_text(empty, {.colour = true}), {"\x1b[30;48;5;222m"}), "");
  EXPECT_EQ(shard_text(empty, {.colour = true}).find("\x1b[30;48;5;117m"), std::string::npos);
}

TEST(Shard, NamesOfHolders) {
  const auto text = [](std::vector<int> devices) {
    return holders_text({{0, 1}, {0, 1}, std::move(devices)}).substr(std::string(platform()).size());
  };
  EXPECT_EQ(text({0}), ":0");
  EXPECT_EQ(text({0, 1}), ":0,1");
  EXPECT_EQ(text({0, 1, 2}), ":0-2");
  EXPECT_EQ(text({0, 2, 3, 4, 7, 8}), ":0,2-4,7,8");
}

TEST(Shard, NarrowTerminalsGetWholeLabels) {
  const std::string text = plain("--shape 4x64 --mesh 2x8 --spec x,y", 20);
  for (int device = 0; device < 16; ++device)
    EXPECT_NE(text.find(" " + device_label(device) + " "), std::string::npos) << device;
}

TEST(ShardSvg, IsWellFormedAndHasEveryPart) {
  for (const char* words :
       {"--array batch --devices 5 --batch 3", "--array parameters --devices 4 --model resnet18",
        "--array optimizer --mode single --devices 3", "--shape 100x7 --mesh 4x16 --spec x,y",
        "--shape 1000000000x1 --mesh 64 --spec -,x", "--shape 9x9 --mesh 64 --spec x,-"}) {
    const Sharding split = sharding(words);
    const std::string svg = shard_svg(split);
    EXPECT_EQ(XmlCheck::fault(svg), "") << words;
    for (const ArrayPart& part : split.parts)
      EXPECT_EQ(missing(svg, {"<g><title>" + holders_text(part) + ": "}), "") << words;
    const auto dashed = static_cast<int64_t>(std::ranges::count_if(split.parts, &ArrayPart::empty));
    int64_t found = 0;
    for (size_t at = 0; (at = svg.find("stroke-dasharray", at)) != std::string::npos; ++at) ++found;
    EXPECT_EQ(found, dashed) << words;
  }
  EXPECT_EQ(missing(shard_svg(sharding("--array batch --mode single --devices 4")),
                    {device_label(1) + "-3 holds nothing"}),
            "");
}

// The area of each box is proportional to its part, and the boxes fill the picture.
TEST(ShardSvg, IsProportional) {
  const std::string svg = shard_svg(sharding("--shape 30x40 --mesh 3x4 --spec x,y"));
  const std::regex box(
      "<g><title>[^<]*</title>\\n<rect x=\"([0-9.]+)\" y=\"([0-9.]+)\" "
      "width=\"([0-9.]+)\" height=\"([0-9.]+)\"");
  std::vector<double> widths, heights;
  for (std::sregex_iterator it(svg.begin(), svg.end(), box), end; it != end; ++it) {
    widths.push_back(std::stod((*it)[3]));
    heights.push_back(std::stod((*it)[4]));
  }
  ASSERT_EQ(widths.size(), 12u);
  for (const double width : widths) EXPECT_NEAR(width, 684.0 / 4 - 3, 0.02);
  for (const double height : heights) EXPECT_NEAR(height, 400.0 / 3 - 3, 0.02);
}

// Every device that holds a copy has its own box.
TEST(ShardSvg, CopiesAreBoxes) {
  const auto boxes = [](const std::string& svg) {
    int found = 0;
    for (size_t at = 0; (at = svg.find("rx=\"4\"", at)) != std::string::npos; ++at) ++found;
    return found;
  };
  const std::string copies = shard_svg(sharding("--array parameters --devices 4"));
  EXPECT_EQ(boxes(copies), 4);
  EXPECT_EQ(
      missing(copies, {">" + device_label(0) + "<", ">" + device_label(3) + "<", "copies of the same part"}),
      "");
  const std::string batch = shard_svg(sharding("--array batch --devices 4"));
  EXPECT_EQ(boxes(batch), 4);
  EXPECT_EQ(batch.find("copies"), std::string::npos);
  EXPECT_EQ(boxes(shard_svg(sharding("--shape 8x8 --mesh 2x3 --spec x,-"))), 6);
}

// The sizes of the parts: those of the rows beside them, those of the columns above.
TEST(ShardSvg, HasTheSizesOfRowsAndColumns) {
  const std::string svg = shard_svg(sharding("--shape 40x93 --mesh 3x4 --spec x,y"));
  const auto sizes = [&](const std::string& anchor) {
    const std::regex label("text-anchor=\"" + anchor + "\"[^>]*>([0-9]+)</text>");
    std::vector<std::string> found;
    for (std::sregex_iterator it(svg.begin(), svg.end(), label), end; it != end; ++it)
      found.push_back((*it)[1]);
    return found;
  };
  using Sizes = std::vector<std::string>;
  EXPECT_EQ(sizes("end"), (Sizes{"13", "13", "14"}));
  EXPECT_EQ(sizes("middle"), (Sizes{"23", "23", "23", "24"}));
}

TEST(Shard, RefusesBadArguments) {
  EXPECT_EQ(missing(shard_refusal(""), {"no array was named", "--array batch", "--shape"}), "");
  EXPECT_EQ(shard_refusal("--array weights"), "--array is 'weights', must be batch, parameters or optimizer");
  EXPECT_EQ(shard_refusal("--array batch --mode split"),
            "--mode is 'split', must be single, sharded or replicated");
  EXPECT_EQ(missing(shard_refusal("--array batch --model alexnet"),
                    {"--model is 'alexnet'", "lenet, resnet18, mobilenet, vit or mlp"}),
            "");
  EXPECT_EQ(missing(shard_refusal("--array optimizer --optimizer lamb"), {"'lamb'", "sgd or adam"}), "");
  for (const char* bad : {"0", "65", "two"})
    EXPECT_EQ(
        missing(shard_refusal(concat("--array batch --devices ", bad)), {concat("'", bad, "'"), "1 to 64"}),
        "");
  EXPECT_EQ(missing(shard_refusal("--array batch --batch 0"), {"--batch", "'0'"}), "");
  for (const char* bad : {"8", "8x", "0x4", "8x8x8", "4x1000000001", "axb"})
    EXPECT_EQ(missing(shard_refusal(concat("--shape ", bad, " --mesh 2 --spec x,-")),
                      {concat("--shape is '", bad, "'"), "such as 8192x1024"}),
              "");
  for (const char* bad :
       {"0", "2x", "8x9", "2x2x2x2", "65", "1000000000000x2", "64x64x64x64x64x64x64x64x64x64x64"})
    EXPECT_EQ(missing(shard_refusal(concat("--shape 8x8 --mesh ", bad, " --spec x,-")),
                      {concat("--mesh is '", bad, "'"), "at most 64"}),
              "");
  for (const char* bad : {"x", "x,", "x,y,z", "w,-", "x--"})
    EXPECT_EQ(missing(shard_refusal(concat("--shape 8x8 --mesh 2x2x2 --spec ", bad)),
                      {concat("--spec is '", bad, "'"), "such as x,- or x,y"}),
              "");
  EXPECT_EQ(missing(shard_refusal("--shape 8x8 --mesh 2x2 --spec x,x"), {"axis x twice"}), "");
  EXPECT_EQ(missing(shard_refusal("--shape 8x8 --mesh 2x2 --spec xy,z"), {"axis z", "--mesh: xy"}), "");
  EXPECT_NE(shard_refusal("--shape 8x8 --mesh 2x2"), "");
  EXPECT_NE(shard_refusal("--mesh 2x2 --spec x,-"), "");
  EXPECT_NE(shard_refusal("--array batch --shape 8x8 --mesh 2 --spec x,-"), "");
  EXPECT_NE(shard_refusal("--shape 8x8 --mesh 2 --spec x,- --devices 4"), "");
}

}  // namespace
}  // namespace rondo::program

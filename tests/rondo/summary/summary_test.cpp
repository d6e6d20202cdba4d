#include <gtest/gtest.h>

#include <rondo/nn/models/models.h>
#include <rondo/tests/rondo/support/command_line.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/summary/summary.h>

#include <sstream>

namespace rondo::program {
namespace {

SummaryArguments summary_arguments(const std::string& words) {
  return parse_as<SummaryArguments>("summary " + words);
}

std::string summary_refusal(const std::string& words) {
  std::ostringstream out;
  return test::error_of([&] { show_summary(summary_arguments(words), out); });
}

TEST(SummaryCommand, TakesAModelAndABatch) {
  EXPECT_EQ(summary_arguments("resnet18").model, "resnet18");
  EXPECT_EQ(summary_arguments("resnet18").batch, 256);
  EXPECT_EQ(summary_arguments("mlp --batch 6912").batch, 6912);
  EXPECT_EQ(summary_arguments("mlp").precision, Precision::fp32);
  EXPECT_EQ(summary_arguments("mlp --precision bf16").precision, Precision::bf16);
}

TEST(SummaryCommand, ShowsTheMemoryOfBfloat16) {
  const auto shown = [](const std::string& words) {
    std::ostringstream out;
    show_summary(summary_arguments(words), out);
    return out.str();
  };
  const std::string fp32 = shown("mlp --batch 6912"), bf16 = shown("mlp --batch 6912 --precision bf16");
  EXPECT_EQ(test::missing(fp32, {"4.9 GiB in training", "takes 10.5 GiB"}), "");
  EXPECT_EQ(test::missing(bf16, {"cast to bfloat16", "cast to float32", "2.4 GiB in training",
                                 "takes 8.8 GiB", "parameters in bfloat16 722.0 MiB"}),
            "");
}

TEST(SummaryCommand, DrawsThePictureOnRequest) {
  const test::TemporaryDirectory folder;
  std::ostringstream with, without;
  show_summary(summary_arguments("lenet --svg " + (folder / "lenet.svg")), with);
  show_summary(summary_arguments("lenet"), without);
  EXPECT_EQ(with.str(), without.str());
  EXPECT_EQ(test::XmlCheck::fault(test::read_text(folder / "lenet.svg")), "");
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_NE(summary_refusal("lenet --svg " + (folder / "absent/lenet.svg")).find("absent"),
            std::string::npos);
}

TEST(SummaryCommand, RefusesBadArguments) {
  EXPECT_EQ(summary_refusal("alexnet"),
            "the model is 'alexnet', must be one of: lenet, resnet18, mobilenet, vit, mlp");
  EXPECT_EQ(summary_refusal("lenet --batch 0"), "--batch is '0', must be a whole number from 1 to 1000000");
  EXPECT_EQ(summary_refusal(""),
            "no model was named, must be lenet, resnet18, mobilenet, vit or mlp: rondo summary resnet18");
}

TEST(SummaryCommand, ShowsEveryLayerAndTheSums) {
  const nn::NamedModel model = nn::model("lenet");
  const std::string text = summary_text("lenet", nn::make_graph(model.network, model.input), 1);
  for (const char* part : {"28 x 28 x 1", "conv 20 @ 3x3, ReLU  26 x 26 x 20         200  243.4 k",
                           "conv 50 @ 5x5, ReLU  9 x 9 x 50        25,050", "average of 2x2       4 x 4 x 50",
                           "linear 128, ReLU     128              102,528",
                           "lenet: 129,068 parameters (504.2 KiB", "4.5 MFLOP forward for a sample"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
}

// The estimate for the deep MLP at the size of its lesson: less than the lesson's own program, which took
// 8.78 GiB.
TEST(Summary, EstimatesTheSavingsOfCheckpointing) {
  const nn::NamedModel model = nn::model("mlp");
  const nn::Graph graph = nn::make_graph(model.network, model.input);
  const auto gibibytes = [&](int64_t checkpoint_layers) {
    const std::string text = summary_text("mlp", graph, 256 * 27, checkpoint_layers);
    const std::string before = "training with Adam takes ";
    return std::stod(text.substr(text.find(before) + before.size())) *
           (text.find(" GiB: parameters") != std::string::npos ? 1.0 : 1.0 / 1024);
  };
  EXPECT_GT(gibibytes(0), 8.78);
  EXPECT_LT(gibibytes(10), 0.7 * gibibytes(0));
  EXPECT_LT(gibibytes(10), 8.78);
}

}  // namespace
}  // namespace rondo::program

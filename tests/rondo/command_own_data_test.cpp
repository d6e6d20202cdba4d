// The built program on images of other sides, channels and numbers of classes, with augmentation and
// normalisation.
#include <gtest/gtest.h>
#include <rondo/kernels/core/text.h>
#include <rondo/nn/io/safetensors.h>
#include <rondo/tests/rondo/support/built_program.h>
#include <rondo/tests/rondo/support/devices.h>

namespace rondo::test {
namespace {

// Images of `classes` classes: the label is the brightness.
void write_brightnesses(const std::filesystem::path& folder, uint32_t classes, uint32_t height,
                        uint32_t width, uint32_t channels) {
  const uint32_t images = std::max(classes, 12u);
  for (const std::string stem : {"train", "t10k"}) {
    Bytes pixels, labels;
    for (uint32_t i = 0; i < images; ++i) {
      labels.push_back(static_cast<uint8_t>(i % classes));
      for (uint32_t value = 0; value < height * width * channels; ++value)
        pixels.push_back(static_cast<uint8_t>(i % classes * 200 / classes + (value * 7 + i) % 50));
    }
    write_file(folder / (stem + "-images-idx4-ubyte"), idx({images, height, width, channels}, pixels));
    write_file(folder / (stem + "-labels-idx1-ubyte"), idx({images}, labels));
  }
}

const std::string kChanges = "--crop 3 --flip --erase 0.5 --normalize ";

class CommandOwnData : public BuiltProgram {
 protected:
  CommandOwnData() { write_brightnesses(colours_.path(), 3, 20, 16, 3); }

  std::string train(const std::string& options) const {
    return "train lenet --batch 6 --devices " + devices(1) + " --data " + colours_.path().string() + " " +
           options;
  }
  std::string evaluate(const std::string& file, const std::string& options = "") const {
    return "evaluate lenet " + file + " --data " + colours_.path().string() + " " + options;
  }
  static std::string last_line(const std::string& text) {
    const size_t end = text.find_last_not_of('\n'), begin = text.find_last_of('\n', end);
    return text.substr(begin + 1, end - begin);
  }

  TemporaryDirectory colours_, files_;
};

TEST_F(CommandOwnData, AugmentedTrainingHasTheSameBitsOnAnyNumberOfDevices) {
  const std::string file = files_ / "file";
  std::set<std::string> seen;
  for (const int ranks : {1, 2, 3}) {
    const Outcome outcome = run_line(
        "train lenet --batch 9 --epochs 2 --device-count-invariant --verify --data " +
        colours_.path().string() + " " + kChanges + "--save " + file + " --devices " + devices(ranks));
    ASSERT_EQ(outcome.code, 0) << outcome.text();
    EXPECT_EQ(missing(outcome.out, {"12 training and 12 test images of 20 x 16 x 3, 3 classes",
                                    "(rondo summary lenet --image 20x16x3 --classes 3 shows them)",
                                    "crop 3, flip, erase 0.5, normalised"}),
              "");
    seen.insert(read_text(file));
  }
  EXPECT_EQ(seen.size(), 1u);
}

TEST_F(CommandOwnData, AugmentedTrainingResumesBitForBit) {
  const std::string whole = files_ / "whole", part = files_ / "part";
  ASSERT_EQ(run_line(train(kChanges + "--epochs 3 --save " + whole)).code, 0);
  ASSERT_EQ(run_line(train(kChanges + "--epochs 1 --save " + part)).code, 0);
  const Outcome outcome = run_line(train(kChanges + "--epochs 3 --resume " + part + " --save " + part));
  ASSERT_EQ(outcome.code, 0) << outcome.text();
  EXPECT_TRUE(read_text(part) == read_text(whole));

  ASSERT_EQ(run_line(train(kChanges + "--epochs 1 --save " + part)).code, 0);
  expect_refused(
      train("--crop 2 --erase 0.25 --classes 4 --mean 0.5 --std 0.5 --epochs 3 --resume " + part),
      {part + ": the options differ from those of its training: --classes is 4, must be 3; --crop is "
              "2, must be 3; --erase is 0.25, must be 0.5; --flip is off, must be on; --mean is 0.5, "
              "must be "});
}

// What was normalised in training is normalised in the same way again.
TEST_F(CommandOwnData, EvaluateTakesClassesAndNormalisationFromTheCheckpoint) {
  const std::string file = files_ / "file", log = files_ / "log.csv";
  const Outcome trained =
      run_line(train("--epochs 2 --normalize --weights kaiming --lr 0.01 --classes 5 --save " + file));
  ASSERT_EQ(trained.code, 0) << trained.text();
  const auto metadata = read_safetensors(file).metadata;
  EXPECT_EQ(metadata.at("recipe.classes"), "5");
  const Outcome evaluated = run_line(evaluate(file)), named = run_line(evaluate(file, "--classes 5")),
                given = run_line(evaluate(
                    file, "--mean " + metadata.at("recipe.mean") + " --std " + metadata.at("recipe.std"))),
                other = run_line(evaluate(file, "--mean 0 --std 1"));
  ASSERT_EQ(evaluated.code, 0) << evaluated.text();
  EXPECT_EQ(missing(evaluated.out, {"5 classes", "test loss: "}), "");
  EXPECT_EQ(last_line(named.out), last_line(evaluated.out)) << named.text();
  EXPECT_EQ(last_line(given.out), last_line(evaluated.out)) << given.text();
  EXPECT_NE(last_line(other.out), last_line(evaluated.out)) << other.text();
  expect_refused(evaluate(file, "--classes 4"),
                 {"--classes is 4, must be 5, that of the training of '" + file + "'"});
  expect_refused(
      evaluate(file, "--mean 0.5,0.5 --std 1,1"),
      {"--mean and --std: there are 2 means and 2 standard deviations, must be one of each, or 3"});
  write_brightnesses(colours_.path(), 7, 20, 16, 3);
  expect_refused(evaluate(file), {"the number of classes of the data is 7, must be at most 5, that of the "
                                  "training of '" +
                                  file + "'"});
  write_brightnesses(colours_.path(), 3, 20, 16, 1);
  expect_refused(evaluate(file),
                 {"t10k-images-idx4-ubyte: its images are 20 x 16 x 1, must have 3 channels as "
                  "in the training of '" +
                  file + "'"});
}

// A checkpoint, as a state dict of PyTorch, and back.
TEST_F(CommandOwnData, ConvertTakesImageAndClassesFromTheCheckpoint) {
  const std::string file = files_ / "file", torch = files_ / "torch", back = files_ / "back";
  ASSERT_EQ(run_line(train("--epochs 1 --save " + file)).code, 0);
  const Outcome there = run_line("convert lenet " + file + " " + torch);
  EXPECT_EQ(there.code, 0) << there.text();
  expect_refused("convert lenet " + torch + " " + back, {torch + ": ", "0.weight"});
  const Outcome again = run_line("convert lenet " + torch + " " + back + " --image 20x16x3 --classes 3");
  EXPECT_EQ(again.code, 0) << again.text();
  EXPECT_EQ(last_line(run_line(evaluate(back)).out), last_line(run_line(evaluate(file)).out));
  expect_refused("convert lenet " + file + " " + back + " --classes 4", {file + ": tensor '9.", "[128, 3]"});
}

TEST_F(CommandOwnData, AnyNumberOfClasses) {
  const std::string file = files_ / "file";
  for (const uint32_t classes : {2u, 3u, 100u}) {
    write_brightnesses(colours_.path(), classes, 20, 16, 3);
    const Outcome outcome = run_line(train("--epochs 1 --save " + file));
    ASSERT_EQ(outcome.code, 0) << outcome.text();
    EXPECT_EQ(missing(outcome.out, {concat(classes, " classes")}), "");
    EXPECT_EQ(read_safetensors(file).metadata.at("recipe.classes"), concat(classes));
    const Outcome evaluated = run_line(evaluate(file));
    EXPECT_EQ(missing(evaluated.out, {concat(classes, " classes"), "test loss: "}), "") << evaluated.text();
  }
}

TEST_F(CommandOwnData, EveryModelTakesOtherImages) {
  write_brightnesses(colours_.path(), 3, 32, 32, 3);
  for (const std::string model : {"lenet", "resnet18", "mobilenet", "vit"}) {
    const Outcome outcome =
        run_line("train " + model + " --epochs 1 --limit 2 --batch 2 --crop 4 --devices " + devices(1) +
                 " --data " + colours_.path().string());
    EXPECT_EQ(outcome.code, 0) << outcome.text();
    EXPECT_EQ(missing(outcome.out, {"2 training and 2 test images of 32 x 32 x 3, 3 classes", "test acc"}),
              "");
  }
}

TEST_F(CommandOwnData, RefusesWhatDoesNotFit) {
  expect_refused(train("--crop 16"),
                 {"--crop: the crop's padding is 16, must be at least 0 and below the image's "
                  "sides, 20 x 16"});
  expect_refused(train("--classes 2"),
                 {"--classes is 2, must be at least 3: the largest label in ", " is 2"});
  expect_refused(
      train("--mean 0.5,0.4 --std 1,1"),
      {"--mean and --std: there are 2 means and 2 standard deviations, must be one of each, or 3"});
  expect_refused(train("--mean 0.5 --std 0"),
                 {"--mean and --std: mean 0.5 and standard deviation 0, must be"});
  expect_refused(train("--from-scratch"), {"its images are 20 x 16 x 3, must be 28 x 28 x 1"});
  write_brightnesses(colours_.path(), 3, 8, 8, 1);
  expect_refused(train(""), {"lenet cannot take images of 8 x 8 x 1: "});
  write_brightnesses(colours_.path(), 3, 1, 1, 3);
  for (const std::string options : {"--flip", "--erase 0.5", "--flip --erase 0.5"}) {
    const std::string named =
        options == "--flip --erase 0.5" ? "--flip and --erase" : options.substr(0, options.find(' '));
    expect_refused("train resnet18 --limit 2 " + options + " --data " + colours_.path().string(),
                   {named + ": augmentation changes images, the network's input is a vector of 3"});
  }
  write_brightnesses(colours_.path(), 1, 20, 16, 3);
  expect_refused(train(""), {"all labels are 0, must be of at least two classes, or --classes be given"});
  EXPECT_EQ(run_line(train("--classes 2 --epochs 1")).code, 0);
  write_file(colours_ / "train-images-idx4-ubyte", idx({12, 20, 16, 3}, Bytes(12 * 960, 7)));
  expect_refused(train("--classes 2 --normalize"), {"--normalize: ", "all values of channel 0 are equal"});
}

}  // namespace
}  // namespace rondo::test

#include <gtest/gtest.h>

#include <rondo/tools/rondo/support/suggestion.h>

namespace rondo::program {
namespace {

const std::vector<std::string> kOptions = {"--batch",    "--batches", "--lr",           "--learner",
                                           "--epochs",   "-n",        "--warmup-steps", "--seed",
                                           "--schedule", "--devices", "--no-sync-bn"};

TEST(Suggestion, TheMostSimilarWord) {
  const std::pair<const char*, const char*> cases[] = {{"--learning-rate", "--lr"},
                                                       {"--learning_rate", "--lr"},
                                                       {"-lr", "--lr"},
                                                       {"--LR", "--lr"},
                                                       {"--batch-size", "--batch"},
                                                       {"--bacth", "--batch"},
                                                       {"--batche", "--batch"},
                                                       {"--epoch", "--epochs"},
                                                       {"--eopchs", "--epochs"},
                                                       {"--warmup", "--warmup-steps"},
                                                       {"--warmup_step", "--warmup-steps"},
                                                       {"--sed", "--seed"},
                                                       {"--bat", "--batch"},
                                                       {"--war", "--warmup-steps"},
                                                       {"--shcedule", "--schedule"},
                                                       {"--device", "--devices"},
                                                       {"--nosyncbn", "--no-sync-bn"}};
  for (const auto& [word, meant] : cases) EXPECT_EQ(suggestion(word, kOptions), meant) << word;
}

TEST(Suggestion, NoneForAWordThatIsNotSimilar) {
  for (const char* word :
       {"--gpu", "--x", "-x", "--", "", "--frobnicate", "--rate", "--no", "--ba", "--wa", "--exxxhs"})
    EXPECT_EQ(suggestion(word, kOptions), "") << word;
  EXPECT_EQ(suggestion("--lr", {}), "");
}

}  // namespace
}  // namespace rondo::program

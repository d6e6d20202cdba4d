#include <gtest/gtest.h>
#include <rondo/tools/rondo/csv_log.h>

#include <cmath>

namespace rondo::program {
namespace {

TEST(CsvLog, HeaderAndOneLineAnEpoch) {
  const std::vector<EpochReport> epochs = {
      {.epoch = 1, .train_loss = 2.25, .test_accuracy = 0.1, .seconds = 14.5, .phases = {0.5, 4, 8, 1, 1}},
      {.epoch = 2, .train_loss = std::nan(""), .test_accuracy = 1.0 / 3, .seconds = 1e-5, .phases = {}}};
  EXPECT_EQ(
      csv_log(epochs),
      "epoch,train_loss,test_accuracy,seconds,load_seconds,forward_seconds,backward_seconds,reduce_seconds,"
      "update_seconds\n"
      "1,2.25,0.1,14.5,0.5,4,8,1,1\n"
      "2,nan,0.3333333333333333,1e-05,0,0,0,0,0\n");
}

TEST(CsvLog, NoEpochs) { EXPECT_EQ(csv_log({}).find('\n'), csv_log({}).size() - 1); }

}  // namespace
}  // namespace rondo::program

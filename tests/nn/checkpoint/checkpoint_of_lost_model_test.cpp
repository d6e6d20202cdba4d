// A model after a failed or non-finite step is not saved, and the file stays unchanged.
#include <gtest/gtest.h>

#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/failed_device.h>
#include <simt/faults.h>

#include <functional>
#include <limits>
#include <optional>

namespace rondo::nn {
namespace {

using test::kSmallInput;
using test::read_text;

class LostModel : public testing::Test {
 protected:
  LostModel() {
    DataParallelOptions options;
    options.devices = devices_;
    options.batch = 12;
    options.keep_finite = true;
    model_.emplace(test::small_network(), kSmallInput, options);
    sgd_.emplace(*model_);
    step();
    save_checkpoint(training_, *model_, *sgd_, {});
    save_parameters(parameters_, *model_);
    before_ = {read_text(training_), read_text(parameters_)};
  }
  void step(float scale = 1) {
    std::vector<float> x = test::normal_values(12 * kSmallInput.size(), 1);
    for (float& value : x) value *= scale;
    model_->train_step(x, test::some_labels(12, 4), *sgd_);
  }
  void expect_not_saved(StatusCode code, const std::string& why) {
    const std::function<void()> saves[] = {[&] { save_checkpoint(training_, *model_, *sgd_, {}); },
                                           [&] { save_parameters(parameters_, *model_); }};
    for (const auto& save : saves) try {
        save();
        ADD_FAILURE() << "was saved";
      } catch (const Error& error) {
        EXPECT_EQ(error.status().code(), code);
        EXPECT_EQ(test::missing(error.what(), {why}), "");
      }
    EXPECT_EQ(read_text(training_), before_.first);
    EXPECT_EQ(read_text(parameters_), before_.second);
    EXPECT_EQ(directory_.files(), 2u);
  }

  const std::vector<int> devices_ = test::spread(2);  // which cannot be counted after a failure
  test::TemporaryDirectory directory_;
  const std::string training_ = directory_ / "training", parameters_ = directory_ / "parameters";
  std::optional<DataParallel> model_;
  std::optional<Sgd> sgd_;
  std::pair<std::string, std::string> before_;
};

TEST_F(LostModel, ALossThatIsNotFinite) {
  step(std::numeric_limits<float>::infinity());
  expect_not_saved(StatusCode::bad_argument, "the loss was not finite");
  clear_nonfinite_value(*model_);
  save_parameters(parameters_, *model_);
}

TEST_F(LostModel, IsFoundAgainByItsCheckpoint) {
  step(std::numeric_limits<float>::infinity());
  load_checkpoint(training_, *model_, *sgd_);
  step();
  save_checkpoint(training_, *model_, *sgd_, {});
  EXPECT_NE(read_text(training_), before_.first) << "the step after it has not trained";
}

// The step is enqueued on the first rank but not on the second.
TEST_F(LostModel, AStepThatFailsHalfWay) {
  class Half : public BatchIterator {
   public:
    int64_t next_batch() const override { return 12; }
    Loss loss() const override { return Loss::cross_entropy; }
    void load(Replica&, size_t rank, Shard, const LossTarget&) override {
      if (rank == 1) throw Error(Status(StatusCode::out_of_resources, "the samples are gone"));
    }
    void advance(Replica&, size_t) override {}
    void step_taken() override {}
  } source;
  EXPECT_THROW(model_->train_step(source, *sgd_), Error);
  expect_not_saved(StatusCode::out_of_resources, "a step failed: the samples are gone");
}

TEST_F(LostModel, ADeviceThatFails) {
  testing::internal::CaptureStderr();  // the executor reports errors there
  simt::fail_copy(1);
  try {
    step();
  } catch (const Error&) {  // thrown here or later, at a wait
  }
  expect_not_saved(StatusCode::device_failed, "");
  simt::fail_copy(0);
  sgd_.reset();
  model_.reset();
  for (const int device : devices_) ASSERT_EQ(test::reset_device(device), cudaSuccess);
  EXPECT_EQ(test::missing(testing::internal::GetCapturedStderr(), {"link"}), "");
}

}  // namespace
}  // namespace rondo::nn

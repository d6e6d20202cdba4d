// fit(): a resumed training equals an uninterrupted one; a diverged training reports the first bad tensor.
// Above 400 lines because all tests watch the same short trainings.
#include <gtest/gtest.h>

#include <rondo/kernels/core/text.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/fit/fit.h>
#include <rondo/nn/io/safetensors.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <regex>
#include <set>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::parameters_of;
using test::spread;

AnyModule network() {
  return Sequential{
      Conv2d(4, 3, {.stride = 2}), BatchNorm2d(), ReLU(), MaxPool2d(2), Dropout(0.2f), Linear(10)};
}
constexpr Shape kInput = {28, 28, 1};

DataParallelOptions options_for(int ranks) {
  DataParallelOptions options;
  options.devices = spread(ranks);
  options.batch = 16;
  options.seed = 3;
  return options;
}

// A model with its optimizer, as a new process would create them.
struct Trained {
  explicit Trained(const DataParallelOptions& options, bool adam = false)
      : model(network(), kInput, options), optimizer(test::make_optimizer(model, adam, 0.1f)) {}
  DataParallel model;
  std::unique_ptr<Optimizer> optimizer;
};

// Stops after `steps` steps; -1: never.
class StopAfter : public FitObserver {
 public:
  explicit StopAfter(int64_t steps) : left_(steps) {}
  bool stop() override { return left_ > 0 && --left_ == 0; }

 private:
  int64_t left_;
};

FitOptions three_epochs() {
  FitOptions options;
  options.epochs = 3;
  options.seed = 8;
  options.learning_rate = LearningRate::cosine(0.05).with_warmup(3);
  return options;
}

TEST(Fit, GoesOnBitForBitWhereverItStopped) {
  const FashionMnist data = test::small_data(70, 20);  // 4 batches of 16, one of 6
  for (int ranks : {1, 3})
    for (const bool adam : {false, true}) {
      Trained straight(options_for(ranks), adam);
      const FitResult whole = fit(straight.model, *straight.optimizer, data, three_epochs());
      ASSERT_EQ(whole.end, FitResult::End::done);
      ASSERT_EQ(whole.epochs.size(), 3u);
      for (int64_t stop_after : {1, 4, 5, 9, 10, 14}) {
        SCOPED_TRACE(concat(ranks, " ranks, stopped after step ", stop_after));
        const test::TemporaryDirectory directory;
        FitOptions options = three_epochs();
        options.checkpoint = directory / "checkpoint";
        {
          Trained first(options_for(ranks), adam);
          StopAfter stop(stop_after);
          const FitResult stopped = fit(first.model, *first.optimizer, data, options, stop);
          ASSERT_EQ(stopped.end, FitResult::End::stopped);
          EXPECT_EQ((stopped.state.epoch - 1) * 5 + stopped.state.step, stop_after);
          EXPECT_EQ(stopped.epochs.size(), static_cast<size_t>(stop_after / 5));
        }
        Trained second(options_for(ranks), adam);
        options.from = load_checkpoint(directory / "checkpoint", second.model, *second.optimizer);
        const FitResult rest = fit(second.model, *second.optimizer, data, options);
        EXPECT_EQ(rest.end, FitResult::End::done);
        EXPECT_TRUE(all_equal_bits(parameters_of(second.model), parameters_of(straight.model)));
        EXPECT_EQ(rest.epochs.back().test_accuracy, whole.epochs.back().test_accuracy);
        if (stop_after <= 10) {
          EXPECT_EQ(rest.epochs.back().train_loss, whole.epochs.back().train_loss);
        }
        EXPECT_EQ(rest.state, (TrainingState{4, 0, 8, 16}));
      }
    }
}

// Two epochs, resumed from the epoch's checkpoint for one more, equal three epochs.
TEST(Fit, TwoEpochsAndOneAreThree) {
  const FashionMnist data = test::small_data(70, 20);
  const test::TemporaryDirectory directory;
  FitOptions options = three_epochs();
  options.learning_rate = LearningRate::constant(0.05);
  Trained straight(options_for(2));
  fit(straight.model, *straight.optimizer, data, options);
  options.checkpoint = directory / "checkpoint";
  options.epochs = 2;
  {
    Trained first(options_for(2));
    fit(first.model, *first.optimizer, data, options);
  }
  Trained second(options_for(2));
  options.from = load_checkpoint(directory / "checkpoint", second.model, *second.optimizer);
  EXPECT_EQ(options.from, (TrainingState{3, 0, 8, 16}));
  options.epochs = 3;
  EXPECT_EQ(fit(second.model, *second.optimizer, data, options).epochs.size(), 1u);
  EXPECT_TRUE(all_equal_bits(parameters_of(second.model), parameters_of(straight.model)));
  options.from = load_checkpoint(directory / "checkpoint", second.model, *second.optimizer);
  EXPECT_EQ(options.from, (TrainingState{4, 0, 8, 16}));
  EXPECT_EQ(fit(second.model, *second.optimizer, data, options).epochs.size(), 0u) << "all are complete";
  EXPECT_TRUE(all_equal_bits(parameters_of(second.model), parameters_of(straight.model)));
}

TEST(Fit, AnObserverCanKeepTheCheckpointThatIsThere) {
  struct Refuses : FitObserver {
    void before_save(const EpochReport& e) override {
      if (e.epoch == 2) throw Error(bad_argument("not this one"));
    }
  } observer;
  const test::TemporaryDirectory directory;
  const FashionMnist data = test::small_data(64, 10);
  FitOptions options{.epochs = 2};
  options.checkpoint = directory / "checkpoint";
  Trained trained(options_for(2));
  EXPECT_THROW(fit(trained.model, *trained.optimizer, data, options, observer), Error);
  Trained second(options_for(2));
  EXPECT_EQ(load_checkpoint(directory / "checkpoint", second.model, *second.optimizer).epoch, 2) << "goes on";
}

// An observer may rely on the checkpoint of an epoch that it is told of.
TEST(Fit, AnEpochIsSavedBeforeItIsReported) {
  struct Reads : FitObserver {
    explicit Reads(std::string file) : path(std::move(file)) {}
    void on_epoch(const EpochReport& e) override {
      reported.push_back(exact_text(e.epoch + 1));
      saved.push_back(read_safetensors(path).metadata.at("epoch"));
    }
    std::string path;
    std::vector<std::string> reported, saved;
  };
  const test::TemporaryDirectory directory;
  const FashionMnist data = test::small_data(64, 10);
  FitOptions options{.epochs = 2};
  options.checkpoint = directory / "checkpoint";
  Trained first(options_for(1));
  fit(first.model, *first.optimizer, data, options);  // so that there is a file to read, if too old a one
  Reads observer(options.checkpoint);
  Trained second(options_for(1));
  fit(second.model, *second.optimizer, data, options, observer);
  EXPECT_EQ(observer.reported, (std::vector<std::string>{"2", "3"}));
  EXPECT_EQ(observer.saved, observer.reported);
}

TEST(Fit, LearnsAndReports) {
  struct Recorder : FitObserver {
    void on_progress(const TrainingProgress& p) override { progress.push_back(p); }
    void on_epoch(const EpochReport& e) override { epochs.push_back(e); }
    std::vector<TrainingProgress> progress;
    std::vector<EpochReport> epochs;
  } recorder;
  const FashionMnist data = test::small_data(400, 200);
  DataParallelOptions options;
  options.devices = spread(2);
  options.batch = 50;
  DataParallel model(lenet(), kInput, options);
  Adam adam(model);
  FitOptions fit_options;
  fit_options.epochs = 8;
  fit_options.learning_rate = LearningRate::constant(2e-3);
  fit_options.verify = true;
  const FitResult result = fit(model, adam, data, fit_options, recorder);
  EXPECT_EQ(result.verified_steps, 64);
  EXPECT_EQ(result.differing_values, 0);
  ASSERT_EQ(recorder.epochs.size(), 8u);
  EXPECT_LT(recorder.epochs.back().train_loss, 0.5 * recorder.epochs.front().train_loss);
  EXPECT_GT(recorder.epochs.back().test_accuracy, 0.8);
  ASSERT_EQ(recorder.progress.size(), 64u) << "one a step";
  double losses = 0;  // of an epoch
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(recorder.progress[i].step, static_cast<int64_t>(i % 8 + 1));
    losses = recorder.progress[i].recent_loss + (i % 8 == 0 ? 0 : losses);
    const double mean = losses / static_cast<double>(i % 8 + 1);
    EXPECT_NEAR(recorder.progress[i].loss, mean, 1e-9 * mean) << i;
  }
  EXPECT_EQ(recorder.progress[0].samples_done, 50);
  EXPECT_EQ(recorder.progress[7].samples_done, 400);
  EXPECT_EQ(recorder.progress[8].epoch, 2);
  double seconds = 0;
  for (double phase : recorder.epochs[0].phases) seconds += phase;
  EXPECT_NEAR(seconds, recorder.epochs[0].seconds, 1e-6 * seconds);
}

TEST(Fit, TheRateFollowsItsSchedule) {
  const FashionMnist data = test::small_data(64, 10);
  Trained trained(options_for(1));
  FitOptions options = three_epochs();
  options.learning_rate = LearningRate::step_decay(0.1, 1, 0.5);
  const FitResult result = fit(trained.model, *trained.optimizer, data, options);
  EXPECT_FLOAT_EQ(trained.optimizer->learning_rate(), 0.025f);
  ASSERT_EQ(result.epochs.size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_FLOAT_EQ(result.epochs[i].learning_rate, std::ldexp(0.1f, -static_cast<int>(i))) << i;
}

// With a huge learning rate the loss diverges. The result names the tensor, and the parameters are those
// before the bad step.
TEST(Fit, NamesTheFirstTensorThatIsNotFinite) {
  for (const bool adam : {false, true}) {
    // Ten steps per epoch, of which some are enqueued before the loss is seen; or two, so that none is left.
    const FashionMnist data = test::small_data(adam ? 32 : 160, 20);
    DataParallelOptions model_options = options_for(2);
    model_options.keep_finite = true;
    Trained trained(model_options, adam);
    FitOptions options = three_epochs();
    options.learning_rate = LearningRate::constant(adam ? 1e19 : 3e18);
    const FitResult result = fit(trained.model, *trained.optimizer, data, options);
    ASSERT_EQ(result.end, FitResult::End::diverged);
    // Names an operation of the next forward pass.
    EXPECT_TRUE(std::regex_search(result.nonfinite_tensor, std::regex(": output .* is -?(nan|inf)")))
        << result.nonfinite_tensor;
    for (float value : parameters_of(trained.model)) ASSERT_TRUE(std::isfinite(value));
    EXPECT_EQ(differing_values(trained.model), 0);
  }
}

// Sets each value of a parameter on all replicas.
void set_parameter(DataParallel& model, size_t parameter, std::span<const float> values) {
  model.streams().synchronize();
  for (Replica& replica : model.replicas()) {
    const DeviceScope scope(replica.device());
    RONDO_CUDA_THROW(cudaMemcpy(replica.parameter(replica.graph().parameters()[parameter]), values.data(),
                                values.size_bytes(), cudaMemcpyHostToDevice));
    RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));
  }
}

// Logits so far apart that the loss of label 9 is infinite. The softmax is 1 and 0, so all gradients are
// finite. The step with the only sample of this label changes nothing on any replica, nor does a later one.
TEST(Fit, KeepsTheParametersWhereOnlyALossIsInfinite) {
  struct Case {
    int ranks;
    int64_t micro_batches;
    DType reduce;
    bool overflow;  // in the forward pass: then the first tensor is the output, not the loss
  };
  FashionMnist data = test::small_data(160, 10);
  for (uint8_t& label : data.train_labels) label = static_cast<uint8_t>(1 + label % 8);
  data.train_labels[33] = 9;
  for (const Case& c : {Case{1, 1, DType::float32, false}, Case{3, 1, DType::float32, false},
                        Case{3, 2, DType::bfloat16, false}, Case{3, 1, DType::float32, true}}) {
    SCOPED_TRACE(
        concat(c.ranks, " ranks, ", c.micro_batches, " micro-batches", c.overflow ? ", overflow" : ""));
    DataParallelOptions model_options = options_for(c.ranks);
    model_options.micro_batches = c.micro_batches;
    model_options.reduce_dtype = c.reduce;
    model_options.keep_finite = true;
    const auto start = [&](DataParallel& model) {
      std::vector<float> bias(10), weights(10 * 784);
      bias[0] = 3e38f;
      bias[9] = -3e38f;
      for (size_t i = 0; c.overflow && i < weights.size(); i += 10) weights[i + 9] = -3e38f;
      set_parameter(model, 0, weights);
      set_parameter(model, 1, bias);
    };
    DataParallel model(Linear(10), kInput, model_options), straight(Linear(10), kInput, model_options);
    Sgd sgd(model), straight_sgd(straight);
    start(model);
    start(straight);
    FitOptions options = three_epochs();
    const FitResult result = fit(model, sgd, data, options);
    ASSERT_EQ(result.end, FitResult::End::diverged);
    ASSERT_EQ(result.state.epoch, 1);
    ASSERT_GT(result.state.step, 0) << "a seed with which it is the first step shows nothing";
    EXPECT_EQ(result.reason, concat("the loss of epoch 1, step ", result.state.step + 1,
                                    " is not finite: ", result.nonfinite_tensor));
    EXPECT_TRUE(std::regex_match(result.nonfinite_tensor,
                                 std::regex(c.overflow ? "linear 10: output .sample 0, element 9. is -inf"
                                                       : "(replica [12]: )?the loss .sample [0-9]+. is inf")))
        << result.nonfinite_tensor;
    EXPECT_EQ(nonfinite_value(model), "the loss");
    EXPECT_EQ(test::error_of([&] { fit(model, sgd, data, options); }),
              "DataParallel: the loss was not finite in a step; the parameters have not changed since");

    StopAfter stop(result.state.step);
    ASSERT_EQ(fit(straight, straight_sgd, data, options, stop).end, FitResult::End::stopped);
    EXPECT_TRUE(all_equal_bits(parameters_of(model), parameters_of(straight)));
    EXPECT_EQ(differing_values(model), 0);

    // The same from a stop in the middle of the epoch: the step is counted from the beginning of the epoch.
    DataParallel resumed(Linear(10), kInput, model_options);
    Sgd resumed_sgd(resumed);
    start(resumed);
    StopAfter first(1);
    FitOptions rest = options;
    rest.from = fit(resumed, resumed_sgd, data, options, first).state;
    ASSERT_EQ(rest.from.step, 1);
    const FitResult again = fit(resumed, resumed_sgd, data, rest);
    EXPECT_EQ(again.reason, result.reason);
    EXPECT_EQ(again.state, result.state);
    EXPECT_TRUE(all_equal_bits(parameters_of(resumed), parameters_of(straight)));

    clear_nonfinite_value(model);
    data.train_labels[33] = 8;
    EXPECT_EQ(fit(model, sgd, data, options).end, FitResult::End::done);
    data.train_labels[33] = 9;
  }
}

// Weights that overflow in backward but not in forward: the loss stays finite, and no update is made.
TEST(Fit, AGradientThatIsLostIsSeenWhereTheLossIsNot) {
  const FashionMnist data = test::small_data(64, 10);
  DataParallelOptions model_options = options_for(2);
  model_options.keep_finite = true;
  DataParallel model(Sequential{Linear(8), Linear(8), Linear(10)}, kInput, model_options);
  Sgd sgd(model);
  const float scales[] = {1e-35f, 0, 1e22f, 0, 1e22f, 0};
  for (size_t p = 0; p < std::size(scales); ++p)
    set_parameter(model, p,
                  std::vector<float>(static_cast<size_t>(model.graph().parameters()[p].size), scales[p]));
  const std::vector<float> before = parameters_of(model);
  FitOptions options = three_epochs();
  const FitResult result = fit(model, sgd, data, options);
  EXPECT_EQ(result.end, FitResult::End::diverged);
  EXPECT_EQ(result.state, (TrainingState{1, 0, 8, 16})) << "not only at the end of the epoch";
  EXPECT_TRUE(result.reason.starts_with("a gradient of epoch 1, step 1 is not finite: ")) << result.reason;
  EXPECT_NE(result.nonfinite_tensor.find("gradient"), std::string::npos) << result.nonfinite_tensor;
  EXPECT_TRUE(all_equal_bits(parameters_of(model), before));
  // After loading a checkpoint the model trains again.
  EXPECT_TRUE(nonfinite_value(model).starts_with("the gradient of '")) << nonfinite_value(model);
  clear_nonfinite_value(model);
  EXPECT_EQ(nonfinite_value(model), "");
}

TEST(Fit, ALoadedModelTrainsAgain) {
  const FashionMnist data = test::small_data(160, 20);
  const test::TemporaryDirectory directory;
  DataParallelOptions model_options = options_for(2);
  model_options.keep_finite = true;
  Trained trained(model_options);
  save_checkpoint(directory / "checkpoint", trained.model, *trained.optimizer, {.epoch = 1});
  FitOptions options = three_epochs();
  options.learning_rate = LearningRate::constant(3e18);
  ASSERT_EQ(fit(trained.model, *trained.optimizer, data, options).end, FitResult::End::diverged);
  load_checkpoint(directory / "checkpoint", trained.model, *trained.optimizer);
  const std::vector<float> before = parameters_of(trained.model);
  options.learning_rate = LearningRate::constant(0.05);
  ASSERT_EQ(fit(trained.model, *trained.optimizer, data, options).end, FitResult::End::done);
  EXPECT_FALSE(all_equal_bits(parameters_of(trained.model), before));
}

// A stop request after the last step has no effect: the result is `done`.
TEST(Fit, AStopAfterTheLastStepIsTheEnd) {
  const FashionMnist data = test::small_data(70, 20);
  Trained trained(options_for(1));
  StopAfter stop(15);
  const FitResult result = fit(trained.model, *trained.optimizer, data, three_epochs(), stop);
  EXPECT_EQ(result.end, FitResult::End::done);
  EXPECT_EQ(result.epochs.size(), 3u);
}

// Images of 12 x 9 pixels in three colours, of five classes: a class is a bright colour channel in the upper
// or the lower half.
struct ColourImages {
  static constexpr Shape kImage = {12, 9, 3};
  static constexpr int64_t kClasses = 5;

  explicit ColourImages(int64_t count) {
    test::Random random(static_cast<uint64_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t label = random.below(kClasses);
      labels.push_back(static_cast<uint8_t>(label));
      for (int64_t value = 0; value < kImage.size(); ++value) {
        const int64_t row = value / (kImage.width * kImage.channels), channel = value % kImage.channels;
        const bool bright = channel == label % 3 && row / 6 == label / 3;
        pixels.push_back(static_cast<uint8_t>(random.below(150) + (bright ? 100 : 0)));
      }
    }
  }
  operator ImageSet() const { return {kImage, pixels, labels}; }

  std::vector<uint8_t> pixels, labels;
};

TEST(Fit, TrainsOnImagesOfAnyShapeAndNumberOfClasses) {
  const ColourImages train(240), unseen(100);
  const auto network = [] {
    return Sequential{Conv2d(8, 3), BatchNorm2d(), ReLU(),
                      MaxPool2d(2), Flatten(),     Linear(ColourImages::kClasses)};
  };
  DataParallel model(network(), ColourImages::kImage, options_for(3));
  Adam adam(model);
  FitOptions options{.epochs = 4, .learning_rate = LearningRate::constant(3e-3)};
  const FitResult result = fit(model, adam, {train, unseen}, options);
  ASSERT_EQ(result.epochs.size(), 4u);
  EXPECT_LT(result.epochs.back().train_loss, 0.5 * result.epochs.front().train_loss);
  EXPECT_GT(result.epochs.back().test_accuracy, 0.9);
  std::vector<float> values;
  for (const uint8_t byte : unseen.pixels) values.push_back(static_cast<float>(byte) * (1.0f / 255.0f));
  const LossStats from_host =
      model.evaluate(values, std::vector<int32_t>(unseen.labels.begin(), unseen.labels.end()));
  EXPECT_EQ(result.epochs.back().test_accuracy, static_cast<double>(from_host.correct) / 100)
      << "the same images from the host, as values in NHWC order";

  // Images given as vectors are the same bytes.
  DataParallel other(network(), ColourImages::kImage, options_for(3));
  Adam other_adam(other);
  ImageSet flat = train;
  flat.image = {1, 1, ColourImages::kImage.size()};
  fit(other, other_adam, {flat, unseen}, options);
  EXPECT_TRUE(all_equal_bits(parameters_of(other), parameters_of(model)));
}

TEST(Fit, RefusesImagesThatDoNotFitTheNetwork) {
  FashionMnist data = test::small_data(64, 10);
  DataParallel colours(Sequential{Flatten(), Linear(10)}, {32, 32, 3}), four(Linear(4), kInput),
      long_rows(Linear(10), {14, 56, 1});
  Sgd colours_sgd(colours), four_sgd(four), long_sgd(long_rows);
  EXPECT_EQ(test::error_of([&] { fit(colours, colours_sgd, data, {}); }),
            "fit: the training images: an image is 28 x 28 x 1, must be 32 x 32 x 3, the network's input");
  EXPECT_EQ(test::error_of([&] { fit(long_rows, long_sgd, data, {}); }),
            "fit: the training images: an image is 28 x 28 x 1, must be 14 x 56 x 1, the network's input");
  const DataSet views = data;
  const std::span<const uint8_t> one = std::span(data.test_images).first(784);
  for (const std::span<const uint8_t> images : {std::span<const uint8_t>(), one})
    EXPECT_EQ(test::error_of([&] {
                fit(four, four_sgd, {{kInput, images, {}}, views.test}, {});
              }),
              concat("fit: the training images: there are ", images.size(),
                     " bytes and 0 labels, must be 784 bytes for each of at least one label"));
  data.train_labels.assign(64, 3);
  data.test_labels.assign(10, 3);
  data.test_labels[5] = 4;
  EXPECT_EQ(test::error_of([&] { fit(four, four_sgd, data, {}); }),
            "fit: the test images: the label of sample 5 is 4, must be 0 to 3, for the network's 4 outputs");
  data.train_labels[0] = 255;
  EXPECT_EQ(
      test::error_of([&] { fit(four, four_sgd, data, {}); }),
      "fit: the training images: the label of sample 0 is 255, must be 0 to 3, for the network's 4 outputs");
}

TEST(Fit, RefusesWhatDoesNotFit) {
  const FashionMnist data = test::small_data(64, 10);  // 4 steps of 16
  Trained trained(options_for(1));
  const auto refusal = [&](auto change) {
    FitOptions options = three_epochs();
    change(options);
    return test::error_of([&] { fit(trained.model, *trained.optimizer, data, options); });
  };
  EXPECT_EQ(refusal([](FitOptions& o) { o.epochs = 0; }), "fit: there are 0 epochs, must be 1 to 2147483648");
  EXPECT_EQ(refusal([](FitOptions& o) { o.epochs = std::numeric_limits<int64_t>::max(); }),
            "fit: there are 9223372036854775807 epochs, must be 1 to 2147483648");
  for (const int64_t epoch : {0, 5})
    EXPECT_EQ(
        refusal([&](FitOptions& o) { o.from.epoch = epoch; }),
        concat("fit: the training continues in epoch ", epoch, ", must be 1 to 3, or 4 if it is complete"));
  for (const int64_t step : {-1, 4})
    EXPECT_EQ(refusal([&](FitOptions& o) {
                o.from = {1, step, 8, 16};
              }),
              concat("fit: the training continues after ", step, " steps of its epoch, must be 0 to 3"));
  for (const TrainingState& place : {TrainingState{1, 1, 9, 16}, TrainingState{1, 1, 8, 8}})
    EXPECT_EQ(refusal([&](FitOptions& o) { o.from = place; }),
              concat("fit: the training continues in the middle of an epoch with seed ", place.seed,
                     " and batch ", place.batch, ", must be seed 8 and batch 16"));
  const std::string warmup =
      refusal([](FitOptions& o) { o.learning_rate = LearningRate::constant(0.1).with_warmup(100); });
  EXPECT_EQ(test::missing(warmup, {"warm-up", "100", "12"}), "");
}

// Fraction of the training time that the phases assign to the update, whose work does not depend on the batch
// size. Median of many epochs, because each is measured on a single step.
double update_share(int64_t train_images, int64_t batch) {
  DataParallel model(lenet(), kInput, {.batch = batch});
  Sgd sgd(model);
  const FitResult result = fit(model, sgd, test::small_data(train_images, 1), {.epochs = 15});
  std::vector<double> shares;
  for (const EpochReport& epoch : result.epochs)
    shares.push_back(epoch.phases[static_cast<size_t>(Phase::update)] / epoch.seconds);
  std::nth_element(shares.begin(), shares.begin() + 7, shares.end());
  return shares[7];
}

// If an epoch ends with a batch of one image, the phases still have the proportions of a full batch.
TEST(Fit, PhasesAreThoseOfAWholeBatch) {
  if (std::string(platform()) != "cpu")
    GTEST_SKIP() << "a GPU may be as quick with a batch as with one image";
  // Other work of the machine may spoil a measurement.
  double whole = 0, single = 0, mixed = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    whole = update_share(64, 64), single = update_share(1, 1), mixed = update_share(64 + 1, 64);
    if (3 * whole < single && mixed < std::sqrt(whole * single)) return;
  }
  FAIL() << "the update takes " << whole << " of an epoch of 64 images, " << single << " of one of 1, and "
         << mixed << " of one of 64 and 1";
}

TEST(Fit, ATimelineShowsKernelsAndRingSteps) {
  DataParallel model(
      lenet(), kInput,
      {.devices = spread(2), .batch = 32, .algorithm = Algorithm::ring, .bucket_bytes = 1 << 30});
  Sgd sgd(model);
  Trace trace(model.options().devices);
  FitObserver no_observer;
  fit(model, sgd, test::small_data(75, 20), {.epochs = 2}, no_observer, &trace);
  int kernels = 0, copies = 0;
  for (const TraceSpan& span : trace.collect()) {
    EXPECT_GE(span.end_us, span.begin_us) << span.name;
    if (span.category == "kernel") ++kernels;
    if (span.category == "copy") ++copies;
  }
  EXPECT_GE(kernels, 3 * 2 * 20);  // 3 steps, 2 ranks, at least 20 kernels each
  EXPECT_EQ(copies, 3 * 2 * 2);    // 3 steps, 2 ranks, 2 (n - 1) copies each
}

TEST(Fit, ALossThatRoundingHidesIsNotShown) {
  const auto since = [](double before, int64_t rows, double now, int64_t rows_now) {
    return mean_loss_since({.loss = before, .rows = rows}, {.loss = now, .rows = rows_now});
  };
  EXPECT_EQ(since(10, 5, 16, 8), 2);
  EXPECT_EQ(since(10, 5, 10, 8), 0) << "a loss of 0 is no rounding";
  EXPECT_DOUBLE_EQ(since(1e30, 5, 4e30, 8), 1e30);
  EXPECT_TRUE(std::isnan(since(1e30, 5, 1e30, 8)));
  EXPECT_TRUE(std::isnan(since(10, 5, 10, 5))) << "no sample";
}

// Each step of a timeline has all phases, and the all-reduce belongs to `reduce`. A training that is resumed
// later records its own first steps.
TEST(Fit, ATimelineShowsStepsAndPhases) {
  DataParallel model(lenet(), kInput, {.devices = spread(2), .batch = 32, .algorithm = Algorithm::ring});
  Sgd sgd(model);
  Trace trace(model.options().devices);
  FitObserver no_observer;
  FitOptions options = {.epochs = 3};
  options.from.epoch = 3;
  fit(model, sgd, test::small_data(75, 20), options, no_observer, &trace);
  std::map<int, std::set<std::string>> phases;
  for (const TraceSpan& span : trace.collect()) {
    phases[span.step].insert(span.phase);
    EXPECT_EQ(span.category != "kernel", span.phase == "reduce") << span.name;
    EXPECT_EQ(span.stream != "compute", span.phase == "reduce") << span.name;
  }
  const std::set<std::string> all(kPhaseNames.begin(), kPhaseNames.end());
  EXPECT_EQ(phases, (std::map<int, std::set<std::string>>{{1, all}, {2, all}, {3, all}}));
}

}  // namespace
}  // namespace rondo::nn

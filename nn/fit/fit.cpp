#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/fit/fit.h>

#include <rondo/nn/data/device_images.h>
#include <rondo/nn/diagnostics/loss_probe.h>
#include <rondo/nn/diagnostics/replica_check.h>
#include <rondo/nn/io/parse.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

namespace rondo::nn {

namespace {

constexpr int64_t kTracedSteps = 3;  // steps in a timeline
// The number of steps that the host runs ahead of the devices: enough that the devices never wait for the
// host, and few enough that it soon detects a non-finite loss and reacts to a stop request.
constexpr int kStepsAhead = 3;

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(bad_argument("fit: ", parts...));
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// One run of fit(): the loop and its state.
class Run {
 public:
  Run(DataParallel& model, Optimizer& optimizer, const DataSet& data, const FitOptions& options,
      FitObserver& observer, Trace* trace)
      : model_(model),
        world_(model.world()),
        optimizer_(optimizer),
        options_(options),
        observer_(observer),
        trace_(trace),
        train_(model, data.train.images, data.train.labels, options.normalize),
        test_(model, data.test.images, data.test.labels, options.normalize),
        batches_(model, train_, model.options().batch, options.seed, options.augmentation),
        run_{batches_.steps(), batches_.steps() * options.epochs},
        probe_(model.streams().device(0), model.streams().stream(0), model.group().loss_stats(),
               model.replicas()[0].first_nonfinite(), kStepsAhead) {
    options.learning_rate.check(run_);
    check_from();
    check_same();
    if (options.verify) {  // makes a communicator, so the processes must agree
      std::vector<VectorView<const float>> parameters;
      for (Replica& replica : model.replicas()) parameters.push_back(replica.parameters());
      check_.emplace(model.streams(), parameters, world_.processes());
    }
    result_.state = {options.from.epoch, options.from.step, options.seed, model.options().batch,
                     options.from.recipe};
  }

  FitResult operator()() {
    for (epoch_ = options_.from.epoch; epoch_ <= options_.epochs && result_.end == FitResult::End::done;
         ++epoch_) {
      begin_ = std::chrono::steady_clock::now();
      first_step_ = seen_ = epoch_ == options_.from.epoch ? options_.from.step : 0;
      before_ = {};
      batches_.begin_epoch(epoch_, first_step_);
      while (!batches_.done() && result_.end == FitResult::End::done) step();
      while (probe_.in_flight()) follow();
      agree_on_end();
      if (result_.end == FitResult::End::diverged) {
        repeat_bad_step();
      } else if (result_.end == FitResult::End::done || batches_.done()) {
        finish_epoch();
        if (epoch_ == options_.epochs) result_.end = FitResult::End::done;  // despite a late stop request
      } else {
        move_to(epoch_, batches_.step());
        save();
      }
    }
    if (check_) result_.differing_values = world_.sum(check_->differences(), "adding up differences");
    return std::move(result_);
  }

 private:
  // In the middle of an epoch, another sample order would use some samples twice and others never.
  void check_from() const {
    const TrainingState& from = options_.from;
    if (from.epoch < 1 || from.epoch > options_.epochs + 1)
      refuse("the training continues in epoch ", from.epoch, ", must be 1 to ", options_.epochs, ", or ",
             options_.epochs + 1, " if it is complete");
    if (from.step < 0 || from.step >= run_.steps_per_epoch)
      refuse("the training continues after ", counted(from.step, "step"), " of its epoch, must be 0 to ",
             run_.steps_per_epoch - 1);
    if (from.step > 0 && (from.seed != options_.seed || from.batch != model_.options().batch))
      refuse("the training continues in the middle of an epoch with seed ", from.seed, " and batch ",
             from.batch, ", must be seed ", options_.seed, " and batch ", model_.options().batch);
  }

  // Checks that the processes agree on everything that would otherwise make their trainings differ or hang.
  void check_same() const {
    const auto same = [&](const char* what, const auto& value) { world_.check_same(what, concat(value)); };
    same("the number of epochs", options_.epochs);
    same("the seed of the samples' order", options_.seed);
    same("the number of training images", train_.size());
    same("the number of test images", test_.size());
    for (const int64_t step : {int64_t{0}, run_.steps / 2, run_.steps - 1})
      world_.check_same("the learning rate", exact_text(options_.learning_rate.at(step, run_)));
    world_.check_same("the optimizer", optimizer_.kind());
    for (const OptimizerSetting& setting : optimizer_.settings())
      world_.check_same(setting.name, exact_text(setting.value));
    const Augmentation& a = options_.augmentation;
    same("the crop's padding", a.padding);
    for (const auto& [what, value] : {std::pair("the probability of a flip", a.flip),
                                      {"the probability of erasing", a.erase},
                                      {"the least erased area", a.min_area},
                                      {"the largest erased area", a.max_area},
                                      {"the least ratio of erased sides", a.min_ratio},
                                      {"the largest ratio of erased sides", a.max_ratio}})
      world_.check_same(what, exact_text(value));
    same("the number of means", options_.normalize.mean.size());
    for (size_t i = 0; i < options_.normalize.mean.size(); ++i) {
      world_.check_same("the mean", exact_text(options_.normalize.mean[i]));
      world_.check_same("the standard deviation", exact_text(options_.normalize.stddev[i]));
    }
    same("verify", options_.verify);
    same("the first epoch", options_.from.epoch);
    same("the first step", options_.from.step);
    same("the use of a trace", trace_ != nullptr);
  }

  void step() {
    const int64_t step = (epoch_ - 1) * run_.steps_per_epoch + batches_.step();
    const float rate = options_.learning_rate.at(step, run_);
    if (rate != optimizer_.learning_rate()) optimizer_.set_learning_rate(rate);
    model_.set_trace(taken_++ < kTracedSteps ? trace_ : nullptr);
    model_.train_step(batches_, optimizer_);
    if (check_) {
      check_->enqueue();
      ++result_.verified_steps;
    }
    while (!probe_.enqueue_copy()) follow();
    if (result_.end == FitResult::End::done && observer_.stop()) result_.end = FitResult::End::stopped;
    agree_on_end();
  }

  // Makes all processes end after the same step if any of them has a reason to end.
  void agree_on_end() {
    if (!world_.processes()) return;
    struct Seen {
      FitResult::End end;
      int64_t bad_step;
    };
    for (const Seen& seen : world_.gather(Seen{result_.end, bad_step_}, "agreeing on the end")) {
      if (seen.end == FitResult::End::diverged && (result_.end != seen.end || seen.bad_step < bad_step_))
        bad_step_ = seen.bad_step;
      result_.end = std::max(result_.end, seen.end);
    }
  }

  // Waits for the oldest step whose progress has not been read, and reads it.
  void follow() {
    const auto [seen, first_nonfinite] = probe_.wait_for_oldest();
    ++seen_;
    const double loss = seen.loss / static_cast<double>(seen.rows);
    const int64_t rows = std::min(seen.rows * world_.process_count(), train_.size());
    observer_.on_progress(
        {epoch_, rows, train_.size(), loss, seconds_since(begin_), seen_, mean_loss_since(before_, seen)});
    before_ = seen;
    // With keep_finite the check of the gradients covers the loss, too (mark_nonfinite_losses()).
    const bool finite = model_.options().keep_finite ? first_nonfinite == kAllFinite : std::isfinite(loss);
    // Another process may have reported an earlier bad step.
    if (finite || (result_.end == FitResult::End::diverged && bad_step_ < seen_)) return;
    result_.end = FitResult::End::diverged;
    bad_step_ = seen_ - 1;
    bad_loss_ = !std::isfinite(loss);
  }

  void finish_epoch() {
    EpochReport report;
    report.epoch = epoch_;
    const LossStats loss_stats = model_.take_loss_stats();
    report.train_loss = loss_stats.loss / static_cast<double>(loss_stats.rows);
    report.seconds = seconds_since(begin_);
    report.phases = share_out(report.seconds, model_.phases());
    report.test_accuracy =
        static_cast<double>(model_.evaluate(test_).correct) / static_cast<double>(test_.size());
    report.learning_rate = optimizer_.learning_rate();
    result_.epochs.push_back(report);
    move_to(epoch_ + 1, 0);
    if (!options_.checkpoint.empty()) observer_.before_save(report);
    save();  // before the observer learns that the epoch is complete
    observer_.on_epoch(report);
  }

  void move_to(int64_t epoch, int64_t step) {
    result_.state.epoch = epoch;
    result_.state.step = step;
  }

  void save() {
    if (!options_.checkpoint.empty() && world_.first() == 0)
      save_checkpoint(options_.checkpoint, model_, optimizer_, result_.state);
  }

  // Repeats the first step with a non-finite loss or gradient.
  void repeat_bad_step() {
    const int64_t steps_ago = batches_.step() - bad_step_;
    batches_.begin_epoch(epoch_, bad_step_);
    move_to(epoch_, bad_step_);
    if (const std::optional<NonfiniteTensor> bad = nn::find_nonfinite_tensor(model_, batches_, steps_ago))
      result_.nonfinite_tensor = bad->text();
    result_.reason =
        concat(bad_loss_            ? "the loss"
               : world_.processes() ? "a loss or a gradient"
                                    : "a gradient",
               " of epoch ", epoch_, ", step ", bad_step_ + 1, " is not finite: ",
               result_.nonfinite_tensor.empty() ? "no tensor with a value that is not finite was found"
                                                : result_.nonfinite_tensor);
  }

  DataParallel& model_;
  const World& world_;
  Optimizer& optimizer_;
  const FitOptions& options_;
  FitObserver& observer_;
  Trace* trace_;
  DeviceImages train_, test_;
  ShuffledBatches batches_;
  TrainingRun run_;
  LossProbe probe_;
  std::optional<ReplicaCheck> check_;
  int64_t epoch_ = 0, first_step_ = 0;
  int64_t taken_ = 0;                // steps of this run
  LossStats before_;                 // of the previous step of the epoch
  int64_t seen_ = 0, bad_step_ = 0;  // steps whose end is known; the first that is not finite
  bool bad_loss_ = false;            // its loss is not finite in this process
  std::chrono::steady_clock::time_point begin_;
  FitResult result_;
};

}  // namespace

FitResult fit(DataParallel& model, Optimizer& optimizer, const DataSet& data, const FitOptions& options,
              FitObserver& observer, Trace* trace) {
  constexpr int64_t kMostEpochs = int64_t{1} << 31;  // the total number of steps fits in 63 bits
  if (options.epochs < 1 || options.epochs > kMostEpochs)
    refuse(there_are(options.epochs, "epoch"), ", must be 1 to ", kMostEpochs);
  const Shape input = model.graph().input().shape;
  const int64_t outputs = model.graph().output().shape.size();
  check_images("fit: the training images", data.train, input, outputs);
  check_images("fit: the test images", data.test, input, outputs);
  check_augments("fit", options.augmentation, input);
  check_normalize("fit", options.normalize, input.channels);
  model.throw_if_failed();
  model.take_loss_stats();  // resets the statistics
  return Run(model, optimizer, data, options, observer, trace)();
}

FitResult fit(DataParallel& model, Optimizer& optimizer, const DataSet& data, const FitOptions& options) {
  FitObserver no_observer;
  return fit(model, optimizer, data, options, no_observer);
}

}  // namespace rondo::nn

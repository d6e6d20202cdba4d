#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/parse.h>
#include <rondo/nn/optim/learning_rate.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

namespace rondo::nn {

namespace {

// The kernels take the rate as a float.
bool is_positive_float(double value) {
  return value <= std::numeric_limits<float>::max() && static_cast<float>(value) > 0;  // NaN fails
}

}  // namespace

LearningRate::LearningRate(Kind kind, double rate) : kind_(kind), rate_(rate) {
  if (!is_positive_float(rate))
    throw Error(bad_argument("the learning rate is ", rate, ", must be above 0 and finite as a float"));
}

LearningRate LearningRate::constant(double rate) { return {Kind::constant, rate}; }

LearningRate LearningRate::step_decay(double rate, int64_t epochs, double gamma) {
  LearningRate result(Kind::step_decay, rate);
  if (epochs < 1)
    throw Error(
        bad_argument("the learning rate falls every ", counted(epochs, "epoch"), ", must be at least 1"));
  if (!(is_positive_float(gamma) && gamma <= 1))
    throw Error(bad_argument("the learning rate falls by a factor of ", gamma,
                             ", must be above 0 as a float, and at most 1"));
  result.epochs_ = epochs;
  result.gamma_ = gamma;
  return result;
}

LearningRate LearningRate::cosine(double rate, double minimum) {
  LearningRate result(Kind::cosine, rate);
  if (!(minimum >= 0 && minimum <= rate))
    throw Error(bad_argument("the learning rate falls to ", minimum, ", must be from 0 to ", rate,
                             ", where it begins"));
  result.minimum_ = minimum;
  return result;
}

LearningRate LearningRate::with_warmup(int64_t steps) const {
  if (steps < 0)
    throw Error(bad_argument("the warm-up has ", counted(steps, "step"), ", must have at least 0"));
  LearningRate result = *this;
  result.warmup_ = steps;
  return result;
}

void LearningRate::check(TrainingRun run) const {
  if (run.steps < 1 || run.steps_per_epoch < 1)
    throw Error(bad_argument("the run has ", counted(run.steps, "step"), ", ", run.steps_per_epoch,
                             " an epoch, both must be at least 1"));
  if (warmup_ > run.steps)
    throw Error(bad_argument("the warm-up has ", counted(warmup_, "step"), ", must have at most ", run.steps,
                             ", those of the whole run"));
}

float LearningRate::at(int64_t step, TrainingRun run) const {
  check(run);
  if (step < 0 || step >= run.steps)
    throw Error(bad_argument("the learning rate of step ", step, " was asked for, must be from 0 to ",
                             run.steps - 1));
  double rate = rate_;
  if (kind_ == Kind::step_decay)
    rate *= std::pow(gamma_, static_cast<double>(step / run.steps_per_epoch / epochs_));
  if (kind_ == Kind::cosine && step >= warmup_) {
    const double done = static_cast<double>(step - warmup_) / static_cast<double>(run.steps - warmup_);
    rate = minimum_ + (rate_ - minimum_) * (1 + std::cos(std::numbers::pi * done)) / 2;
  }
  if (step < warmup_) rate *= static_cast<double>(step + 1) / static_cast<double>(warmup_);
  return static_cast<float>(rate);
}

double scaled_to_batch(double rate, int64_t batch, int64_t chosen_for) {
  if (batch < 1 || chosen_for < 1)
    throw Error(bad_argument("a learning rate for batches of ", chosen_for, " is scaled to ", batch,
                             ", both must be at least 1"));
  return rate * static_cast<double>(batch) / static_cast<double>(chosen_for);
}

namespace {

// Without a rate the largest one is assumed.
LearningRate parse(const std::string& schedule, std::optional<double> given) {
  const double rate = given.value_or(std::numeric_limits<float>::max());
  const auto fail = [&](const auto&... why) {
    throw Error(bad_argument("the learning rate's schedule is '", schedule, "', ", why...));
  };
  const std::vector<std::string> parts = split(schedule, ':');
  LearningRate result = LearningRate::constant(rate);
  if (parts[0] == "step" && parts.size() == 3) {
    const std::optional<int64_t> epochs = read_number<int64_t>(parts[1]);
    const std::optional<double> gamma = read_number<double>(parts[2]);
    if (!epochs || *epochs < 1) fail("whose epochs '", parts[1], "' must be a whole number of at least 1");
    if (!gamma || !(is_positive_float(*gamma) && *gamma <= 1))
      fail("whose factor '", parts[2], "' must be a number above 0, as a float, and at most 1");
    result = LearningRate::step_decay(rate, *epochs, *gamma);
  } else if (parts[0] == "cosine" && parts.size() <= 2) {
    const std::optional<double> minimum = parts.size() == 1 ? 0.0 : read_number<double>(parts[1]);
    if (!minimum || !(*minimum >= 0 && *minimum <= rate))
      fail("whose minimum '", parts[1], "' must be a number from 0 to ",
           given ? concat(*given, ", the learning rate") : "the learning rate");
    result = LearningRate::cosine(rate, *minimum);
  } else if (schedule != "constant") {
    fail("must be constant, step:EPOCHS:GAMMA, cosine or cosine:MIN, such as step:30:0.1");
  }
  return result;
}

}  // namespace

void check_schedule(const std::string& schedule) { static_cast<void>(parse(schedule, std::nullopt)); }

LearningRate parse_learning_rate(const std::string& schedule, double rate, int64_t warmup) {
  return parse(schedule, rate).with_warmup(warmup);
}

}  // namespace rondo::nn

// LearningRate: a schedule that gives the learning rate of each step.
//
//   const auto schedule = nn::LearningRate::cosine(0.4).with_warmup(500);
//   for (int64_t step = 0; step < run.steps; ++step) {
//     sgd.set_learning_rate(schedule.at(step, run));
//     ...
#pragma once

#include <cstdint>
#include <string>

namespace rondo::nn {

// Length of a training run. `steps_per_epoch` includes a last, shorter batch.
struct TrainingRun {
  int64_t steps_per_epoch, steps;
};

// The rate of step s = 0, 1, ... depends only on s and the run. It is computed in double and rounded once.
class LearningRate {
 public:
  // All throw a bad_argument Error unless 0 < rate < inf, epochs >= 1, 0 < gamma <= 1, 0 <= minimum <= rate.

  // rate(s) = rate
  static LearningRate constant(double rate);
  // rate(s) = rate * gamma^k, with k = floor(floor(s / steps_per_epoch) / epochs): multiplied by gamma every
  // `epochs` epochs, as in He et al., "Deep residual learning for image recognition", 2015.
  static LearningRate step_decay(double rate, int64_t epochs, double gamma);
  // rate(s) = minimum + (rate - minimum) * (1 + cos(pi * t / T)) / 2, where t = 0 ... T - 1 counts the T
  // steps after the warm-up. From Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm
  // restarts", 2017, with one period for the whole run. The rate would reach `minimum` one step after the
  // last, so no step has a rate of 0.
  static LearningRate cosine(double rate, double minimum = 0);

  // The same schedule with the first `steps` steps multiplied by (s + 1) / steps: Goyal et al., "Accurate,
  // large minibatch SGD", 2017. The last warm-up step has the full rate. step_decay() still counts epochs
  // from the beginning of the run. Throws a bad_argument Error for negative `steps`.
  LearningRate with_warmup(int64_t steps) const;

  // Throws a bad_argument Error if the run has no steps or is shorter than the warm-up.
  void check(TrainingRun run) const;
  // The rate of a step. Throws as check() does, and if step is not in [0, run.steps).
  float at(int64_t step, TrainingRun run) const;

 private:
  enum class Kind { constant, step_decay, cosine };
  LearningRate(Kind kind, double rate);

  Kind kind_;
  double rate_, gamma_ = 1, minimum_ = 0;
  int64_t epochs_ = 1, warmup_ = 0;
};

// Scales a rate that was chosen for batches of `chosen_for` samples: rate * batch / chosen_for. After Goyal
// et al., 2017: one step with a k times larger batch makes about the progress of k steps. They add a warm-up,
// because early in training the weights change too fast for this. Throws a bad_argument Error unless both
// sizes are at least 1.
double scaled_to_batch(double rate, int64_t batch, int64_t chosen_for);

// Throws a bad_argument Error, as parse_learning_rate() does, for a schedule that is invalid with every rate.
void check_schedule(const std::string& schedule);

// Parses "constant", "step:EPOCHS:GAMMA", "cosine" or "cosine:MIN". Throws a bad_argument Error that names
// the invalid part.
LearningRate parse_learning_rate(const std::string& schedule, double rate, int64_t warmup = 0);

}  // namespace rondo::nn

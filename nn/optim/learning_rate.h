// LearningRate: the learning rate of every step of a training run.
//
//   const auto schedule = nn::LearningRate::cosine(0.4).with_warmup(500);
//   for (int64_t step = 0; step < run.steps; ++step) {
//     sgd.set_learning_rate(schedule.at(step, run));
//     ...
#pragma once

#include <cstdint>
#include <string>

namespace rondo::nn {

// How long a training is; `steps_per_epoch` counts a last, shorter batch too.
struct TrainingRun {
  int64_t steps_per_epoch, steps;
};

// A value; rate(s) of step s = 0, 1, ... is a pure function of s and of the run. All is computed in double and rounded once.
class LearningRate {
 public:
  // Each throws a bad_argument Error unless 0 < rate < infinity, 1 <= epochs, 0 < gamma <= 1, 0 <= minimum <= rate.

  // rate(s) = rate
  static LearningRate constant(double rate);
  // rate(s) = rate * gamma^k, k = floor(floor(s / steps_per_epoch) / epochs): a step down every `epochs` epochs. He et al.,
  // "Deep residual learning for image recognition", 2015, train so.
  static LearningRate step_decay(double rate, int64_t epochs, double gamma);
  // rate(s) = minimum + (rate - minimum) * (1 + cos(pi * t / T)) / 2, with t of the T steps after the warm-up: Loshchilov and
  // Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017, with one period, the whole run. `minimum` is what
  // comes after the last step, so that a minimum of 0 wastes none.
  static LearningRate cosine(double rate, double minimum = 0);

  // The same, times (s + 1) / steps in the first `steps` steps: Goyal et al., "Accurate, large minibatch SGD", 2017. The last of
  // them has the whole rate. Epochs of step_decay() count from the run's beginning. Throws a bad_argument Error below 0.
  LearningRate with_warmup(int64_t steps) const;

  // Throws a bad_argument Error for a run that is shorter than the warm-up, or has no steps at all.
  void check(TrainingRun run) const;
  // Also for a step that is not in [0, run.steps).
  float at(int64_t step, TrainingRun run) const;

 private:
  enum class Kind { constant, step_decay, cosine };
  LearningRate(Kind kind, double rate);

  Kind kind_;
  double rate_, gamma_ = 1, minimum_ = 0;
  int64_t epochs_ = 1, warmup_ = 0;
};

// The rate for a batch of another size than the one that `rate` was chosen for: rate * batch / chosen_for. Goyal et al., 2017:
// one step of a k times larger batch then goes about as far as k steps; they add a warm-up, because at the beginning
// the weights change too much for that. Throws a bad_argument Error unless both sizes are at least 1.
double scaled_to_batch(double rate, int64_t batch, int64_t chosen_for);

// From a command line: "constant", "step:EPOCHS:GAMMA", "cosine" or "cosine:MIN". Throws a bad_argument Error that names the part
// that is wrong.
LearningRate parse_learning_rate(const std::string& schedule, double rate, int64_t warmup = 0);

}  // namespace rondo::nn

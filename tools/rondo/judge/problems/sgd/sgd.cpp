#include "rondo_judge_problems.h"

namespace rondo::program {
namespace {

void fill_sgd(const Sizes& sizes, CaseRandom& random, Case& to) {
  const int n = sizes["n"];
  constexpr float kRate = 0.1f, kMomentum = 0.9f, kDecay = 0.25f;
  const std::vector<float> weights = random.floats(n), velocity = random.floats(n),
                           gradient = random.floats(n);
  // Products and sums of values below 2.2, each rounded by at most 2^-23.
  Expected stepped{.values = {}, .absolute = 1e-6}, moved{.values = {}, .absolute = 1e-6};
  KnownMistake old_velocity{
      {}, "", "the weights have moved by the velocity before the step, not by the new one"};
  KnownMistake no_decay{{}, "", "the gradient is without decay * weights"};
  KnownMistake nesterov{
      {}, "", "this is the momentum of Nesterov: the weights must move by the velocity alone"};
  for (size_t i = 0; i < weights.size(); ++i) {
    const double w = weights[i], v = velocity[i], g = gradient[i];
    const double decayed = g + static_cast<double>(kDecay) * w;
    const double next = static_cast<double>(kMomentum) * v + decayed;
    const auto step = [&](double by) { return w - static_cast<double>(kRate) * by; };
    moved.values.push_back(next);
    stepped.values.push_back(step(next));
    old_velocity.values.push_back(step(v));
    no_decay.values.push_back(step(static_cast<double>(kMomentum) * v + g));
    nesterov.values.push_back(step(decayed + static_cast<double>(kMomentum) * next));
  }
  to.in_out("weights", weights, stepped).mistakes = {old_velocity, no_decay, nesterov};
  to.in_out("velocity", velocity, moved);
  to.input("gradient", gradient);
  to.scalar("n", n);
  to.scalar("rate", kRate);
  to.scalar("momentum", kMomentum);
  to.scalar("decay", kDecay);
}

}  // namespace

Problem sgd_problem() {
  return {.name = "sgd",
          .title = "SGD with momentum",
          .idea = "one fused kernel in place of three: memory is what counts",
          .declaration =
              "void sgd(float* weights, float* velocity, const float* gradient, int n, float rate, "
              "float momentum, float decay)",
          .sizes = {{{"n", 1}}, {{"n", 3}}, {{"n", 32}}, {{"n", 1000}}, {{"n", 65537}}},
          .counted = {{"n", 1 << 20}},
          .fill = fill_sgd};
}

}  // namespace rondo::program

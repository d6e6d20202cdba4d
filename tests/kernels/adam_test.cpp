// Adam against its definition in double precision.
#include <gtest/gtest.h>

#include <rondo/kernels/optimizer/adam.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/status_checks.h>

#include <cmath>
#include <tuple>

namespace rondo::test {
namespace {

// torch.optim.Adam and AdamW in double precision, for one parameter.
struct AdamReference {
  double parameter, first = 0, second = 0;
  void step(double gradient, double rate, int t, const AdamOptions& o) {
    double g = o.scale * gradient;
    if (o.decoupled)
      parameter *= 1 - rate * o.weight_decay;
    else
      g += o.weight_decay * parameter;
    first = o.beta1 * first + (1 - double{o.beta1}) * g;
    second = o.beta2 * second + (1 - double{o.beta2}) * g * g;
    parameter -= rate * (first / (1 - std::pow(double{o.beta1}, t))) /
                 (std::sqrt(second / (1 - std::pow(double{o.beta2}, t))) + o.eps);
  }
};

TEST(Adam, MatchesItsDefinitionOverSteps) {
  const Stream stream;
  const AdamOptions defaults = {.scale = 0.5f}, others = {.beta1 = 0.75f, .beta2 = 0.5f, .eps = 0.125f};
  for (const bool decoupled : {false, true})
    for (const float decay : {0.0f, 0.05f})
      for (const auto& [size, offset, of] :
           {std::tuple<int64_t, int64_t, const AdamOptions*>{0, 0, &defaults},
            {1, 2, &defaults},
            {1001, 0, &defaults},
            {4099, 1, &defaults},
            {501, 0, &others}}) {
        AdamOptions options = *of;
        options.weight_decay = decay;
        options.decoupled = decoupled;
        const std::vector<float> p = normal_values(size, 1), zeros(p.size(), 0);
        GuardedBuffer<float> parameters(p, offset), first(zeros, offset), second(zeros, offset),
            rate(std::vector<float>{0.01f});
        GuardedBuffer<AdamState> state(std::vector<AdamState>(1));
        std::vector<AdamReference> want;
        for (const float value : p) want.push_back({value});
        for (int t = 1; t <= 6; ++t) {
          const std::vector<float> g = normal_values(size, static_cast<uint64_t>(20 + t));
          const GuardedBuffer<float> gradient(g, offset);
          ASSERT_TRUE(ok(adam_begin_step(state.data(), rate.data(), options, stream)));
          ASSERT_TRUE(ok(adam_update(parameters.view(), first.view(), second.view(), {gradient.data(), size},
                                     state.data(), options, stream)));
          for (size_t i = 0; i < g.size(); ++i) want[i].step(g[i], 0.01f, t, options);
          stream.synchronize();
        }
        EXPECT_EQ(state.download()[0].steps, 6);
        std::vector<double> values;
        for (const AdamReference& one : want) values.push_back(one.parameter);
        EXPECT_TRUE(all_near(parameters.download(), values, 3e-6))
            << size << (decoupled ? ", decoupled" : "");
      }
}

// Because of the bias correction, the first step has the size of the learning rate for any size of the
// gradient.
TEST(Adam, FirstStepHasTheSizeOfTheLearningRate) {
  const Stream stream;
  GuardedBuffer<float> parameters({0, 0, 0}), first({0, 0, 0}), second({0, 0, 0}),
      rate(std::vector<float>{0.125f});
  const GuardedBuffer<float> gradient({1000, -0.001f, 0});
  GuardedBuffer<AdamState> state(std::vector<AdamState>(1));
  ASSERT_TRUE(ok(adam_begin_step(state.data(), rate.data(), {}, stream)));
  ASSERT_TRUE(ok(adam_update(parameters.view(), first.view(), second.view(), {gradient.data(), 3},
                             state.data(), {}, stream)));
  EXPECT_TRUE(all_near(parameters.download(), {-0.125, 0.125, 0}, 1e-5));
}

// beta2^t is nearly 1 in the first steps and nearly 0 after many: the correction must be accurate at both
// ends.
TEST(Adam, StateHasTheBiasCorrectionsAtAnyStep) {
  const Stream stream;
  const GuardedBuffer<float> rate(std::vector<float>{1});
  for (const AdamOptions& options : {AdamOptions{}, AdamOptions{.beta1 = 0.5f, .beta2 = 0.99f}})
    for (const int64_t before : {0, 1, 9, 999, 99'999}) {
      GuardedBuffer<AdamState> state(std::vector<AdamState>(1, AdamState{before}));
      ASSERT_TRUE(ok(adam_begin_step(state.data(), rate.data(), options, stream)));
      const AdamState got = state.download()[0];
      const auto t = static_cast<double>(before + 1);
      const double want1 = 1 - std::pow(double{options.beta1}, t),
                   want2 = 1 - std::pow(double{options.beta2}, t);
      EXPECT_EQ(got.steps, before + 1);
      EXPECT_NEAR(got.correction1, want1, 1e-7 * want1);
      EXPECT_NEAR(got.correction2, want2, 1e-7 * want2);
    }
}

// If first_nonfinite holds an element's index, the whole step is skipped: neither the state nor the arrays
// change. With kAllFinite the step is the one without first_nonfinite.
TEST(Adam, FoundInfSkipsTheStepAndItsCount) {
  const Stream stream;
  const std::vector<float> p = normal_values(1001, 1), m = normal_values(1001, 2), g = normal_values(1001, 4);
  std::vector<float> v = normal_values(1001, 3);
  for (float& value : v) value *= value;
  const AdamState before = {7, 0.5f, 0.25f, 0.125f};
  const GuardedBuffer<float> gradient(g), rate(std::vector<float>{0.01f});
  GuardedBuffer<unsigned long long> first_nonfinite(1);
  struct Result {
    AdamState state;
    std::vector<float> parameters, first, second;
  };
  const auto step = [&](const unsigned long long* options_guard) {
    GuardedBuffer<float> parameters(p), first(m), second(v);
    GuardedBuffer<AdamState> state(std::vector<AdamState>{before});
    AdamOptions options;
    options.first_nonfinite = options_guard;
    EXPECT_TRUE(ok(adam_begin_step(state.data(), rate.data(), options, stream)));
    EXPECT_TRUE(ok(adam_update(parameters.view(), first.view(), second.view(), {gradient.data(), 1001},
                               state.data(), options, stream)));
    return Result{state.download()[0], parameters.download(), first.download(), second.download()};
  };
  for (const unsigned long long bad : {0ull, 3ull, 1000ull, kAllFinite - 1}) {
    first_nonfinite.upload({bad});
    const Result got = step(first_nonfinite.data());
    EXPECT_EQ(got.state.steps, before.steps) << bad;
    EXPECT_EQ(got.state.correction1, before.correction1) << bad;
    EXPECT_EQ(got.state.correction2, before.correction2) << bad;
    EXPECT_EQ(got.state.rate, before.rate) << bad;
    EXPECT_TRUE(all_equal_bits(got.parameters, p)) << bad;
    EXPECT_TRUE(all_equal_bits(got.first, m)) << bad;
    EXPECT_TRUE(all_equal_bits(got.second, v)) << bad;
  }
  first_nonfinite.upload({kAllFinite});
  const Result got = step(first_nonfinite.data()), want = step(nullptr);
  EXPECT_EQ(got.state.steps, before.steps + 1);
  EXPECT_EQ(got.state.rate, 0.01f);
  EXPECT_EQ(got.state.correction1, want.state.correction1);
  EXPECT_EQ(got.state.correction2, want.state.correction2);
  EXPECT_NE(got.parameters, p);
  EXPECT_TRUE(all_equal_bits(got.parameters, want.parameters));
  EXPECT_TRUE(all_equal_bits(got.first, want.first));
  EXPECT_TRUE(all_equal_bits(got.second, want.second));
}

TEST(Adam, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(4), b(4), c(4), d(4), rate(std::vector<float>{1});
  GuardedBuffer<AdamState> state(std::vector<AdamState>(1));
  const auto update = [&](VectorView<float> m, VectorView<float> v, VectorView<const float> g,
                          const AdamState* at,
                          const AdamOptions& o) { return adam_update(a.view(), m, v, g, at, o, stream); };
  EXPECT_TRUE(refused(update({b.data(), 3}, c.view(), d.view(), state.data(), {}), "first.size is 3"));
  EXPECT_TRUE(refused(update(b.view(), {c.data(), 5}, d.view(), state.data(), {}), "second.size is 5"));
  EXPECT_TRUE(refused(update(b.view(), c.view(), {nullptr, 4}, state.data(), {}), "gradient is null"));
  EXPECT_TRUE(refused(update(b.view(), c.view(), d.view(), nullptr, {}), "state is null"));
  EXPECT_TRUE(refused(adam_begin_step(nullptr, rate.data(), {}, stream), "state is null"));
  EXPECT_TRUE(refused(adam_begin_step(state.data(), nullptr, {}, stream), "learning_rate is null"));
  AdamOptions options;
  options.beta1 = 1;
  EXPECT_TRUE(refused(adam_begin_step(state.data(), rate.data(), options, stream), "beta1 is 1"));
  options = {};
  options.beta2 = -0.1f;
  EXPECT_TRUE(refused(update(b.view(), c.view(), d.view(), state.data(), options), "beta2 is -0.1"));
  options = {};
  options.eps = NAN;
  EXPECT_TRUE(refused(update(b.view(), c.view(), d.view(), state.data(), options), "eps is nan"));
  options = {};
  options.weight_decay = -1;
  EXPECT_TRUE(refused(update(b.view(), c.view(), d.view(), state.data(), options), "weight_decay is -1"));
  options = {};
  options.scale = INFINITY;
  EXPECT_TRUE(refused(update(b.view(), c.view(), d.view(), state.data(), options), "scale is inf"));
}

}  // namespace
}  // namespace rondo::test

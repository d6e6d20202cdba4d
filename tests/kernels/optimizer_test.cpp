// SGD against its definition in double precision, and SGD and Adam with gradients of 16 bits.
#include <gtest/gtest.h>

#include <rondo/kernels/optimizer/adam.h>
#include <rondo/kernels/optimizer/sgd.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/guarded_buffer.h>
#include <rondo/tests/support/inputs.h>
#include <rondo/tests/support/narrow.h>
#include <rondo/tests/support/status_checks.h>

#include <cmath>
#include <tuple>

namespace rondo::test {
namespace {

// One product and one fused multiply-add per element, exact to the last bit: this keeps replicas identical.
TEST(Sgd, IsOneFusedMultiplyAdd) {
  const Stream stream;
  const GuardedBuffer<float> rate(std::vector<float>{0.9f});
  for (const int64_t size : {0, 1, 6, 129'068}) {
    const std::vector<float> p = normal_values(size, 1), g = normal_values(size, 2);
    GuardedBuffer<float> parameters(p, 1);
    const GuardedBuffer<float> gradient(g, 1);
    ASSERT_TRUE(ok(sgd_update(parameters.view(), {}, {gradient.data(), size}, rate.data(),
                              {.scale = 1.0f / 96}, stream)));
    std::vector<float> want;
    for (size_t i = 0; i < p.size(); ++i) want.push_back(std::fma(-0.9f, (1.0f / 96) * g[i], p[i]));
    EXPECT_TRUE(all_equal_bits(parameters.download(), want));
  }
}

// The state of an optimizer in double precision, for one parameter.
struct MomentumReference {
  double parameter, velocity = 0;
  void step(double gradient, double rate, const SgdOptions& o) {
    const double g = o.scale * gradient + o.weight_decay * parameter;
    velocity = o.momentum * velocity + g;
    parameter -= rate * (o.nesterov ? g + o.momentum * velocity : velocity);
  }
};

TEST(Sgd, WithMomentumMatchesItsDefinitionOverSteps) {
  const Stream stream;
  for (const bool nesterov : {false, true})
    for (const float decay : {0.0f, 0.01f, 0.25f})
      for (const auto& [size, offset, momentum] : {std::tuple<int64_t, int64_t, float>{0, 0, 0.9f},
                                                   {1, 1, 0.9f},
                                                   {1001, 0, 0.5f},
                                                   {4099, 3, 0.9f}}) {
        const SgdOptions options = {0.25f, momentum, decay, nesterov};
        const std::vector<float> p = normal_values(size, 1);
        GuardedBuffer<float> parameters(p, offset), velocity(std::vector<float>(p.size(), 0), offset),
            rate(1);
        std::vector<MomentumReference> want;
        for (const float value : p) want.push_back({value});
        for (uint64_t step = 0; step < 5; ++step) {
          const std::vector<float> g = normal_values(size, 10 + step);
          const GuardedBuffer<float> gradient(g, offset);
          rate.upload({0.1f / static_cast<float>(step + 1)});  // a schedule
          ASSERT_TRUE(ok(sgd_update(parameters.view(), velocity.view(), {gradient.data(), size}, rate.data(),
                                    options, stream)));
          for (size_t i = 0; i < g.size(); ++i)
            want[i].step(g[i], 0.1f / static_cast<float>(step + 1), options);
          stream.synchronize();
        }
        std::vector<double> values, velocities;
        for (const MomentumReference& one : want)
          values.push_back(one.parameter), velocities.push_back(one.velocity);
        EXPECT_TRUE(all_near(parameters.download(), values, 2e-6)) << size << (nesterov ? ", nesterov" : "");
        EXPECT_TRUE(all_near(velocity.download(), velocities, 2e-6));
      }
}

TEST(Sgd, MovesAgainstTheGradient) {
  const Stream stream;
  GuardedBuffer<float> parameters({1, 1, 1}), rate(std::vector<float>{0.5f});
  const GuardedBuffer<float> gradient({2, -4, 0});
  ASSERT_TRUE(
      ok(sgd_update(parameters.view(), {}, {gradient.data(), 3}, rate.data(), {.scale = 0.25f}, stream)));
  EXPECT_TRUE(all_equal_bits(parameters.download(), {0.75f, 1.5f, 1}));
}

TEST(Sgd, VelocityIsOptionalWithoutMomentum) {
  const Stream stream;
  for (const float decay : {0.0f, 0.01f}) {
    const std::vector<float> p = normal_values(1001, 1), g = normal_values(1001, 2);
    GuardedBuffer<float> with(p, 1), without(p, 1), velocity(std::vector<float>(p.size(), 0), 1),
        rate(std::vector<float>{0.1f});
    const GuardedBuffer<float> gradient(g, 1);
    const SgdOptions options = {0.3f, 0, decay, false};
    for (int step = 0; step < 2; ++step) {
      ASSERT_TRUE(ok(
          sgd_update(with.view(), velocity.view(), {gradient.data(), 1001}, rate.data(), options, stream)));
      ASSERT_TRUE(ok(sgd_update(without.view(), {}, {gradient.data(), 1001}, rate.data(), options, stream)));
    }
    const std::vector<float> got = without.download();
    EXPECT_TRUE(all_equal_bits(got, with.download()));
    EXPECT_NE(got, p);
  }
}

// If first_nonfinite holds an element's index, the step is skipped. With kAllFinite the step is the one
// without first_nonfinite.
TEST(Sgd, FoundInfSkipsTheStep) {
  const Stream stream;
  const std::vector<float> p = normal_values(1001, 1), v = normal_values(1001, 2), g = normal_values(1001, 3);
  const GuardedBuffer<float> gradient(g), rate(std::vector<float>{0.1f});
  GuardedBuffer<unsigned long long> first_nonfinite(1);
  for (const bool with_velocity : {false, true}) {
    const auto step = [&](const unsigned long long* options_guard) {
      GuardedBuffer<float> parameters(p), velocity(v);
      const SgdOptions options = {0.5f, with_velocity ? 0.9f : 0, 0.01f, false, options_guard};
      EXPECT_TRUE(ok(sgd_update(parameters.view(), with_velocity ? velocity.view() : VectorView<float>{},
                                {gradient.data(), 1001}, rate.data(), options, stream)));
      return std::pair(parameters.download(), velocity.download());
    };
    for (const unsigned long long bad : {0ull, 3ull, 1000ull, kAllFinite - 1}) {
      first_nonfinite.upload({bad});
      const auto [parameters, velocity] = step(first_nonfinite.data());
      EXPECT_TRUE(all_equal_bits(parameters, p)) << bad;
      EXPECT_TRUE(all_equal_bits(velocity, v)) << bad;
    }
    first_nonfinite.upload({kAllFinite});
    const auto got = step(first_nonfinite.data()), want = step(nullptr);
    EXPECT_NE(got.first, p);
    EXPECT_TRUE(all_equal_bits(got.first, want.first));
    EXPECT_TRUE(all_equal_bits(got.second, want.second));
  }
}

TEST(Sgd, BadArguments) {
  const Stream stream;
  GuardedBuffer<float> a(4), b(4), c(4), rate(std::vector<float>{1});
  const auto update = [&](VectorView<float> v, VectorView<const float> g, const float* lr,
                          const SgdOptions& o) { return sgd_update(a.view(), v, g, lr, o, stream); };
  EXPECT_TRUE(refused(update({b.data(), 3}, c.view(), rate.data(), {}),
                      "velocity.size is 3, must be parameters.size = 4"));
  EXPECT_TRUE(refused(update({}, c.view(), rate.data(), {1, 0.9f}), "velocity.size is 0, must be"));
  EXPECT_TRUE(refused(update({}, {c.data(), 5}, rate.data(), {1, 0}), "gradient.size is 5"));
  EXPECT_TRUE(refused(update(b.view(), {c.data(), 5}, rate.data(), {}), "gradient.size is 5"));
  EXPECT_TRUE(refused(update({nullptr, 4}, c.view(), rate.data(), {}), "velocity is null"));
  EXPECT_TRUE(refused(update(b.view(), c.view(), nullptr, {}), "learning_rate is null"));
  EXPECT_TRUE(refused(update(b.view(), c.view(), rate.data(), {1, 1.0f}), "momentum is 1, must be"));
  EXPECT_TRUE(refused(update(b.view(), c.view(), rate.data(), {1, NAN}), "momentum is nan"));
  EXPECT_TRUE(refused(update(b.view(), c.view(), rate.data(), {1, 0.9f, -1}), "weight_decay is -1"));
  EXPECT_TRUE(refused(update(b.view(), c.view(), rate.data(), {1, 0.9f, INFINITY}), "weight_decay is inf"));
  EXPECT_TRUE(refused(update(b.view(), c.view(), rate.data(), {1, 0.9f, NAN}), "weight_decay is nan"));
  EXPECT_TRUE(refused(update(b.view(), c.view(), rate.data(), {INFINITY}), "scale is inf"));
}

// With a gradient of T, and with a copy of the parameters in T: the bits of the float32 update with the same
// gradient, and the parameters rounded. The operands of T may begin elsewhere than the floats.
template <class T>
class NarrowOptimizer : public testing::Test {
 protected:
  struct Optimizer {
    GuardedBuffer<float> parameters, first, second;
    GuardedBuffer<T> copy;

    Optimizer(const std::vector<float>& values, int64_t offset, int64_t narrow_offset)
        : parameters(values, offset),
          first(std::vector<float>(values.size(), 0), offset),
          second(std::vector<float>(values.size(), 0), offset),
          copy(rounded<T>(std::vector<float>(values.size(), 7)), narrow_offset) {}
    std::vector<std::vector<float>> state() const {
      return {parameters.download(), first.download(), second.download()};
    }
  };

  // plain(optimizer, gradient) and mixed(optimizer, copy, gradient) make a step.
  template <class Plain, class Mixed>
  void check(const Plain& plain, const Mixed& mixed) {
    for (const auto& [size, offset, narrow_offset] : {std::tuple<int64_t, int64_t, int64_t>{0, 0, 0},
                                                      {1, 1, 3},
                                                      {1001, 0, 0},
                                                      {4099, 3, 7},
                                                      {3000, 1, 2}}) {
      SCOPED_TRACE(concat(size, ", offsets ", offset, " and ", narrow_offset));
      const std::vector<float> p = normal_values(size, 1), g = representable<T>(size, 2);
      const GuardedBuffer<float> wide(g, offset);
      const GuardedBuffer<T> narrow(rounded<T>(g), narrow_offset);
      Optimizer expected(p, offset, narrow_offset), with_copy(p, offset, narrow_offset),
          without(p, offset, narrow_offset), wide_gradient(p, offset, narrow_offset);
      const VectorView<const float> from_wide = {wide.data(), size};
      const VectorView<const T> from_narrow = {narrow.data(), size};
      for (int step = 0; step < 2; ++step) {
        ASSERT_TRUE(ok(plain(expected, from_wide)));
        ASSERT_TRUE(ok(mixed(with_copy, with_copy.copy.view(), from_narrow)));
        ASSERT_TRUE(ok(mixed(without, VectorView<T>{}, from_narrow)));
        ASSERT_TRUE(ok(mixed(wide_gradient, wide_gradient.copy.view(), from_wide)));
      }
      const std::vector<std::vector<float>> want = expected.state();
      for (Optimizer* optimizer : {&with_copy, &without, &wide_gradient})
        for (size_t i = 0; i < want.size(); ++i)
          EXPECT_TRUE(all_equal_bits(optimizer->state()[i], want[i])) << "array " << i;
      EXPECT_TRUE(all_equal_bits(with_copy.copy.download(), rounded<T>(want[0])));
      EXPECT_TRUE(all_equal_bits(wide_gradient.copy.download(), rounded<T>(want[0])));
      EXPECT_TRUE(all_equal_bits(without.copy.download(), rounded<T>(std::vector<float>(p.size(), 7))));
    }
  }

  const Stream stream_;
  GuardedBuffer<float> rate_ = GuardedBuffer<float>(std::vector<float>{0.1f});
};
using NarrowTypes = testing::Types<__nv_bfloat16, __half>;
TYPED_TEST_SUITE(NarrowOptimizer, NarrowTypes);

TYPED_TEST(NarrowOptimizer, Sgd) {
  for (const float momentum : {0.0f, 0.9f}) {
    SCOPED_TRACE(momentum);
    const SgdOptions options = {0.5f, momentum, 0.01f, true};
    const auto velocity = [&](auto& o) { return momentum > 0 ? o.first.view() : VectorView<float>{}; };
    this->check(
        [&](auto& o, auto gradient) {
          return sgd_update(o.parameters.view(), velocity(o), gradient, this->rate_.data(), options,
                            this->stream_);
        },
        [&](auto& o, auto copy, auto gradient) {
          return sgd_update(o.parameters.view(), copy, velocity(o), gradient, this->rate_.data(), options,
                            this->stream_);
        });
  }
}

TYPED_TEST(NarrowOptimizer, Adam) {
  GuardedBuffer<AdamState> state(std::vector<AdamState>(1));
  const AdamOptions options = {.weight_decay = 0.01f, .decoupled = true};
  ASSERT_TRUE(ok(adam_begin_step(state.data(), this->rate_.data(), options, this->stream_)));
  this->check(
      [&](auto& o, auto gradient) {
        return adam_update(o.parameters.view(), o.first.view(), o.second.view(), gradient, state.data(),
                           options, this->stream_);
      },
      [&](auto& o, auto copy, auto gradient) {
        return adam_update(o.parameters.view(), copy, o.first.view(), o.second.view(), gradient, state.data(),
                           options, this->stream_);
      });
}

// A step that first_nonfinite skips leaves the copy as it is.
TYPED_TEST(NarrowOptimizer, FoundInfLeavesTheCopy) {
  using T = TypeParam;
  const std::vector<float> p = normal_values(100, 1), g = representable<T>(100, 2);
  const GuardedBuffer<T> gradient(rounded<T>(g));
  const GuardedBuffer<unsigned long long> first_nonfinite(std::vector<unsigned long long>{3});
  GuardedBuffer<float> parameters(p);
  GuardedBuffer<T> copy(rounded<T>(g));
  ASSERT_TRUE(ok(sgd_update(parameters.view(), copy.view(), {}, VectorView<const T>{gradient.data(), 100},
                            this->rate_.data(), {.first_nonfinite = first_nonfinite.data()}, this->stream_)));
  EXPECT_TRUE(all_equal_bits(parameters.download(), p));
  EXPECT_TRUE(all_equal_bits(copy.download(), rounded<T>(g)));
}

}  // namespace
}  // namespace rondo::test

// Files and messages under a locale that groups digits and has another decimal point: the bytes are the same,
// and files are read whatever the locale was when they were written.
#include <gtest/gtest.h>
#include <rondo/kernels/conv/conv_plan.h>
#include <rondo/kernels/gemm/gemm_plan.h>
#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/diagnostics/memory_estimate.h>
#include <rondo/nn/io/safetensors_header.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/marked_locale.h>

#include <functional>
#include <sstream>

namespace rondo::nn {
namespace {

using test::error_of;
using test::kSmallInput;
using test::MarkedLocale;
using test::read_text;

constexpr int64_t kBatch = 12;

struct SmallTraining {
  void step() {
    model.train_step(test::normal_values(kBatch * kSmallInput.size(), 3), test::some_labels(kBatch, 4),
                     optimizer);
  }
  DataParallel model{test::small_network(), kSmallInput, test::small_options(2)};
  Adam optimizer{model};
};

TEST(LocaleOfFiles, CheckpointsAndParametersHaveTheSameBytesAndAreRead) {
  const test::TemporaryDirectory folder;
  const std::string plain = folder / "plain", marked = folder / "marked";
  const TrainingState state = {1234, 5678, 1234567890123456789, kBatch, {{"--lr", "0.1"}}};
  SmallTraining training;
  for (int i = 0; i < 12; ++i) training.step();
  save_checkpoint(plain, training.model, training.optimizer, state);
  {
    const MarkedLocale locale;
    save_checkpoint(marked, training.model, training.optimizer, state);
  }
  EXPECT_TRUE(read_text(marked) == read_text(plain)) << read_text(marked).substr(0, 400);
  training.step();
  {
    const MarkedLocale locale;
    SmallTraining resumed;
    EXPECT_EQ(load_checkpoint(plain, resumed.model, resumed.optimizer).step, state.step);
    resumed.step();
    EXPECT_EQ(test::parameters_of(resumed.model), test::parameters_of(training.model));
    save_parameters(marked, training.model);
  }
  save_parameters(plain, training.model);
  EXPECT_TRUE(read_text(marked) == read_text(plain)) << read_text(marked).substr(0, 400);
  SmallTraining loaded;
  const MarkedLocale locale;
  load_parameters(marked, loaded.model);
  EXPECT_EQ(test::parameters_of(loaded.model), test::parameters_of(training.model));
}

TEST(LocaleOfFiles, MessagesAreTheSame) {
  const std::vector<std::function<std::string()>> messages = {
      [] { return error_of([] { parse_safetensors_header(R"({"a":{"shape":[1.5]}})", 0); }); },
      [] { return error_of([] { parse_safetensors_header(R"({"a":{"shape":[-1234567]}})", 0); }); },
      [] { return error_of([] { parse_safetensors_header(R"({"a":{"shape":[12e400]}})", 0); }); },
      [] {
        return text_of(StoredType::f32, {1234, 5678});
      },
      [] {
        const Status status = check_fits({{{"parameters", int64_t{1} << 50}}}, 0);
        return status.message().substr(0, status.message().find(", and "));  // not the free memory
      },
      [] {
        return text(Shape{28, 28, 1024}) + text(Shape{1, 1, 1024});
      },
      [] {
        std::ostringstream stream;  // has the locale
        GemmPlan product;
        product.parts.splits = 1234;
        ConvPlan convolution;
        convolution.splits = 1234;
        stream << product << ", " << convolution;
        return stream.str();
      },
  };
  for (const auto& message : messages) {
    const std::string before = message();
    EXPECT_FALSE(before.empty());
    const MarkedLocale locale;
    EXPECT_EQ(message(), before);
  }
}

}  // namespace
}  // namespace rondo::nn

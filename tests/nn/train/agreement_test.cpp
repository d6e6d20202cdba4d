// Processes that train together refuse to train differently: each value that must be the same is compared.
#include <gtest/gtest.h>

#include <rondo/nn/fit/fit.h>
#include <rondo/nn/layers/batch_norm.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/process_pair.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rondo::nn {
namespace {

using test::error_of;
using test::ProcessPair;

AnyModule network(int64_t width = 3) { return Sequential{Linear(width), BatchNorm2d(), ReLU(), Linear(10)}; }
constexpr Shape kInput = {28, 28, 1};

// Expects that both processes throw this text, if the second does run(processes, true).
void expect_refused(const std::string& text, const std::function<void(ProcessGroup&, bool)>& run) {
  std::array<std::string, 2> errors;
  ProcessPair::run([&](ProcessGroup& processes, int index) {
    errors[static_cast<size_t>(index)] = error_of([&] { run(processes, index == 1); });
  });
  EXPECT_EQ(errors[0], text);
  EXPECT_EQ(errors[1], text);
}

std::string difference(const char* of, const std::string& what, const std::string& in_second,
                       const std::string& in_first) {
  return concat(of, ": ", what, " is ", in_second, " in process 1 and ", in_first,
                " in process 0, must be the same in all processes");
}

TEST(Agreement, OfModels) {
  struct Case {
    std::string what, changed, usual;
    std::function<void(DataParallelOptions&)> change;
  };
  const Case cases[] = {
      {"the batch", "9", "8", [](auto& o) { o.batch = 9; }},
      {"the seed", "4", "3", [](auto& o) { o.seed = 4; }},
      {"bucket_bytes", "512", "1048576", [](auto& o) { o.bucket_bytes = 512; }},
      {"micro_batches", "2", "1", [](auto& o) { o.micro_batches = 2; }},
      {"the placement", "1", "0", [](auto& o) { o.placement = BatchPlacement::replicated; }},
      {"sync_batch_norm", "0", "1", [](auto& o) { o.sync_batch_norm = false; }},
      {"keep_finite", "1", "0", [](auto& o) { o.keep_finite = true; }},
      {"math", "1", "0", [](auto& o) { o.math = Math::tf32; }},
      {"activations", concat(static_cast<int>(DType::bfloat16)), concat(static_cast<int>(DType::float32)),
       [](auto& o) { o.activations = DType::bfloat16; }},
      {"reduce_dtype", "bfloat16", "float32", [](auto& o) { o.reduce_dtype = DType::bfloat16; }},
  };
  for (const Case& c : cases)
    expect_refused(difference("DataParallel", c.what, c.changed, c.usual),
                   [&](ProcessGroup& processes, bool second) {
                     DataParallelOptions options = {.batch = 8, .seed = 3, .processes = &processes};
                     if (second) c.change(options);
                     const DataParallel model(network(), kInput, options);
                   });
  expect_refused(
      "DataParallel: there are 2 devices in process 1 and 1 in process 0, must be as many in all "
      "processes",
      [&](ProcessGroup& processes, bool second) {
        const std::vector<int> devices(second ? 2 : 1, 0);
        const DataParallel model(network(), kInput, {.devices = devices, .processes = &processes});
      });
}

TEST(Agreement, OfNetworks) {
  const auto parameters = [](int64_t width) {
    return concat(make_graph(network(width), kInput).parameter_count());
  };
  expect_refused(
      difference("DataParallel", "the network's number of parameters", parameters(4), parameters(3)),
      [&](ProcessGroup& processes, bool second) {
        const DataParallel model(network(second ? 4 : 3), kInput, {.processes = &processes});
      });
  expect_refused(difference("DataParallel", "the network's number of operations", "2", "1"),
                 [&](ProcessGroup& processes, bool second) {
                   const AnyModule one = Sequential{Linear(10)}, two = Sequential{Linear(10), MaxPool2d(1)};
                   const DataParallel model(second ? two : one, kInput, {.processes = &processes});
                 });
}

// Texts of any length are compared, and shown, as a whole.
TEST(Agreement, OfLongTexts) {
  for (const size_t size : {0, 1, 63, 64, 65, 95, 96, 97, 128, 1000}) {
    const std::string same(size, 'a'), first = same + "b", second = same + "c";
    for (const auto& [other, usual] : {std::pair(second, first), {first, same}, {same, first}})
      expect_refused(difference("test", "the name", other, usual),
                     [&](ProcessGroup& processes, bool changed) {
                       const World world("test", 1, &processes);
                       world.check_same("the name", same);
                       world.check_same("the name", changed ? other : usual);
                     });
  }
}

// What a process passes to fit().
struct Fitted {
  FitOptions options = {.epochs = 4, .seed = 5, .learning_rate = LearningRate::constant(0.5)};
  int64_t train_images = 24, test_images = 7;
  Sgd::Options sgd = {.momentum = 0.5f};
  std::optional<Adam::Options> adam;  // instead of sgd
  bool traced = false;
};

TEST(Agreement, OfFit) {
  struct Case {
    std::string what, changed, usual;
    std::function<void(Fitted&)> change;
  };
  const Case cases[] = {
      {"the number of epochs", "3", "4", [](auto& f) { f.options.epochs = 3; }},
      {"the seed of the samples' order", "6", "5", [](auto& f) { f.options.seed = 6; }},
      {"the number of training images", "23", "24", [](auto& f) { f.train_images = 23; }},
      {"the number of test images", "8", "7", [](auto& f) { f.test_images = 8; }},
      {"the learning rate", "0.25", "0.5",
       [](auto& f) { f.options.learning_rate = LearningRate::constant(0.25); }},
      // Equal at first, in the middle of the training, and at its end only.
      {"the learning rate", "0.25", "0.5",
       [](auto& f) { f.options.learning_rate = LearningRate::step_decay(0.5, 2, 0.5); }},
      {"the learning rate", "0.25", "0.5",
       [](auto& f) { f.options.learning_rate = LearningRate::step_decay(0.5, 3, 0.5); }},
      {"the optimizer", "adam", "sgd", [](auto& f) { f.adam.emplace(); }},
      {"momentum", "0.25", "0.5", [](auto& f) { f.sgd.momentum = 0.25f; }},
      {"weight_decay", "0.25", "0", [](auto& f) { f.sgd.weight_decay = 0.25f; }},
      {"nesterov", "1", "0", [](auto& f) { f.sgd.nesterov = true; }},
      {"verify", "1", "0", [](auto& f) { f.options.verify = true; }},
      {"the first epoch", "2", "1", [](auto& f) { f.options.from.epoch = 2; }},
      {"the first step", "1", "0",
       [](auto& f) { f.options.from = {.epoch = 1, .step = 1, .seed = 5, .batch = 8}; }},
      {"the use of a trace", "1", "0", [](auto& f) { f.traced = true; }},
  };
  for (const Case& c : cases)
    expect_refused(difference("DataParallel", c.what, c.changed, c.usual),
                   [&](ProcessGroup& processes, bool second) {
                     Fitted fitted;
                     if (second) c.change(fitted);
                     DataParallel model(network(), kInput, {.batch = 8, .processes = &processes});
                     const std::unique_ptr<Optimizer> optimizer =
                         fitted.adam ? std::unique_ptr<Optimizer>(new Adam(model, *fitted.adam))
                                     : std::unique_ptr<Optimizer>(new Sgd(model, fitted.sgd));
                     FitObserver observer;
                     Trace trace({0});
                     fit(model, *optimizer, test::small_data(fitted.train_images, fitted.test_images),
                         fitted.options, observer, fitted.traced ? &trace : nullptr);
                   });
}

}  // namespace
}  // namespace rondo::nn

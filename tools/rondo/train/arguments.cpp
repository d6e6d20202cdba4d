#include <rondo/nn/layers/init.h>
#include <rondo/nn/models/models.h>
#include <rondo/nn/optim/learning_rate.h>
#include <rondo/tools/rondo/support/device_list.h>
#include <rondo/tools/rondo/support/image_model.h>
#include <rondo/tools/rondo/support/option_readers.h>
#include <rondo/tools/rondo/train/train_from_scratch.h>
#include <rondo/tools/rondo/train/train_mlp.h>
#include <rondo/tools/rondo/train/train_network.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>

namespace rondo::program {

namespace {

// Limits far above any sensible value: a mistyped number fails at once instead of running for an hour.
constexpr int64_t kMaxSamples = 1'000'000'000;
constexpr int64_t kMaxMlpBatch = 10'000'000;  // sizes in bytes stay within 64 bits
constexpr int kMaxEpochs = 100'000;
constexpr int kMaxSteps = 1'000'000;
constexpr int64_t kMaxLayers = 10'000;
constexpr int64_t kMaxWidth = 1'000'000;
constexpr int64_t kMaxCrop = 10'000;

constexpr const char* kFlags[] = {"--verify", "--nesterov",  "--no-sync-bn",   "--device-count-invariant",
                                  "--flip",   "--normalize", "--from-scratch", "--help",
                                  "-h"};

// Reads a number in [0, end).
float read_share(const std::string& option, const std::string& text, float end) {
  const std::optional<float> value = read_number<float>(text);
  if (value && *value >= 0 && *value < end) return *value;
  throw Error(bad_argument(option, " is '", text, "', must be a number from 0 to below ", end,
                           " that a float can hold"));
}

float read_probability(const std::string& option, const std::string& text) {
  const std::optional<float> value = read_number<float>(text);
  if (value && *value >= 0 && *value <= 1) return *value;
  throw Error(bad_argument(option, " is '", text, "', must be a number from 0 to 1"));
}

void add_seed(const Command& app, uint64_t& to, const std::string& help) {
  add_integer(app, "--seed", "N", help, to, 0, std::numeric_limits<uint64_t>::max());
}

void add_trace_and_html(const Command& app, std::string& trace, std::string& html) {
  add_path(app, "--trace", "FILE.json",
           "Write a timeline of the first steps for Perfetto or chrome://tracing", trace);
  add_path(app, "--html", "FILE.html",
           "Write a page with curves, phases, memory and the timeline of the first steps", html);
}

void add_ranks(const Command& app, RanksArguments& to, const std::string& default_devices,
               const std::string& default_batch, int64_t most = kMaxSamples) {
  app.add(
      "--devices", "N|LIST",
      "A count, or a list such as 0,1,0 with one replica per entry [" + default_devices + "; with mpirun 1]",
      [&](const std::string& s) { to.devices = parse_devices(s); });
  add_integer(app, "--batch", "N", "Samples per step over all devices [" + default_batch + "]", to.batch, 1,
              most);
  app.add("--algorithm", "NAME", "All-reduce algorithm: automatic, ring, direct or root [automatic]",
          [&](const std::string& s) { to.algorithm = read_algorithm(s); });
  app.add_flag("--device-count-invariant", to.device_count_invariant,
               "Sum gradients over 8 blocks of each batch: same bits on 1 to 8 devices");
  add_integer(app, "--group", "N",
              "Reduce hierarchically in groups of N replicas, like processes of N replicas each", to.group, 1,
              kMostGroup);
  add_integer(app, "--timeout", "SECONDS", "How long processes (mpirun) wait for each other [60]", to.timeout,
              1, kMostTimeout);
  add_name(app, "--precision", "NAME", kPrecisionHelp, to.precision, kPrecisions);
  add_name(app, "--reduce-dtype", "NAME",
           "Type of the gradients' all-reduce: fp32, or bf16 with half the bytes [fp32]", to.reduce_dtype,
           {Precision::fp32, Precision::bf16});
  app.add_flag("--verify", to.verify, "After every step, check that all replicas are bitwise equal");
}

void add_image_training(const Command& app, ImageTraining& to) {
  add_integer(app, "--epochs", "N", "Passes over the training data [10]", to.epochs, 1, kMaxEpochs);
  add_seed(app, to.seed, "Seed of the weights and of the order of samples [0]");
  add_integer(app, "--limit", "SAMPLES", "Use only the first SAMPLES training and test images", to.limit, 1,
              kMaxSamples);
  add_path(app, "--data", "DIR", kDataHelp, to.data);
  add_integer(app, "--classes", "N", "Number of classes [the largest label + 1]", to.classes, 2,
              kMostClasses);
  add_path(app, "--log", "FILE.csv", "Write each epoch's figures as CSV", to.log);
  add_path(app, "--plot", "FILE.svg", "Draw loss and test accuracy by epoch", to.plot);
  add_trace_and_html(app, to.trace, to.html);
}

void add_optimizer(const Command& app, OptimizerArguments& to) {
  add_name(app, "--optimizer", "NAME", concat("sgd, adam or adamw [", name_of(to.kind), "]"), to.kind,
           {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw});
  app.add("--momentum", "SHARE", "Momentum of sgd [0]",
          [&](const std::string& s) { to.momentum = read_share("--momentum", s, 1); });
  app.add_flag("--nesterov", to.nesterov, "Nesterov's momentum, with --momentum above 0");
  app.add("--weight-decay", "RATE", "Weight decay [0]",
          [&](const std::string& s) { to.weight_decay = read_share("--weight-decay", s, 1); });
}

void add_memory(const Command& app, int64_t& micro_batches, int64_t& checkpoint_layers) {
  add_integer(app, "--micro-batches", "N",
              "Split each shard into N micro-batches and accumulate their gradients [1]", micro_batches, 1,
              kMaxSamples);
  add_integer(app, "--checkpoint-layers", "N",
              "Keep activations only every N operations and recompute the others; 0: keep all [0]",
              checkpoint_layers, 0, kMaxSteps);
}

Option add_weights(const Command& app, std::string& to, const std::string& help) {
  return app.add("--weights", "NAME", concat(help, " [", to, "]"), [&](const std::string& s) {
    naming("--weights", [&] { static_cast<void>(nn::weight_init(s)); });
    to = s;
  });
}

// Options of the other programs. A program refuses them with the reason.
struct RefusedOption {
  const char *name, *reason;
};
constexpr const char *kFromScratch = "--from-scratch", *kLessonIsLeNet = "the lesson trains lenet";
constexpr RefusedOption kRefusedByImages[] = {
    {"--steps", "the training ends after --epochs"},
    {"--json", "--log writes the figures of each epoch"},
    {"--mode", "the batch is always split, as with --mode sharded of mlp"},
    {"--layers", "its layers are fixed"},
    {"--width", "its layers are fixed"},
    {"--inputs", "its inputs are the images of --data"},
    {"--outputs", "its outputs are the classes of the images; --classes is their number"},
};
constexpr RefusedOption kRefusedByMlp[] = {
    {"--epochs", "its data are one random batch; --steps is the number of timed steps"},
    {"--limit", "its data are one random batch; --batch is its size"},
    {"--data", "its data are one random batch"},
    {"--classes", "its data are one random batch; --outputs is the number of outputs"},
    {"--crop", "its data are random vectors, not images"},
    {"--flip", "its data are random vectors, not images"},
    {"--erase", "its data are random vectors, not images"},
    {"--normalize", "its data are random vectors, not images"},
    {"--mean", "its data are random vectors, not images"},
    {"--std", "its data are random vectors, not images"},
    {"--log", "it has no epochs; --json writes the figures of each step"},
    {"--plot", "it has no epochs; --json writes the figures of each step"},
    {"--schedule", "only a few steps are timed, with one learning rate"},
    {"--warmup-steps", "only a few steps are timed, with one learning rate"},
    {"--save", "its data are random, so its parameters are of no further use"},
    {"--resume", "its data are random, so its parameters are of no further use"},
    {"--from", "its data are random, so its parameters do not matter"},
    {"--names", "its data are random, so its parameters do not matter"},
    {"--no-sync-bn", "it has no batch normalisation"},
    {kFromScratch, kLessonIsLeNet},
};

void add_augmentation(const Command& app, NetworkArguments& to) {
  add_integer(app, "--crop", "PIXELS",
              "Train on random crops of images with PIXELS of zeros added on each side [0]", to.crop, 0,
              kMaxCrop);
  app.add_flag("--flip", to.flip, "Flip training images horizontally with probability 0.5");
  app.add("--erase", "PROBABILITY",
          "Set a random rectangle of a training image to 0 with this probability [0]",
          [&](const std::string& s) { to.erase = read_probability("--erase", s); });
  const Option normalize = app.add_flag(
      "--normalize", to.normalize,
      "Subtract each channel's mean over the training images and divide by its standard deviation");
  const Option mean =
      add_means(app, "Means of the channels for the normalisation, of values from 0 to 1", to.mean);
  const Option deviation =
      add_numbers(app, "--std", "Standard deviations of the channels, with --mean", to.stddev);
  mean.needs(deviation).excludes(normalize);
  deviation.needs(mean).excludes(normalize);
}

void add_network(const Command& app, NetworkArguments& to, const std::string& default_devices,
                 const std::string& default_batch, const std::string& default_rate) {
  add_ranks(app, to, default_devices, default_batch);
  app.add("--lr", "RATE", "Learning rate [" + default_rate + "]",
          [&](const std::string& s) { to.lr = read_learning_rate<double>(s); });
  app.add("--schedule", "NAME",
          "Learning rate schedule: constant, step:EPOCHS:GAMMA, cosine or cosine:MIN [constant]",
          [&](const std::string& s) { to.schedule = s; });
  add_integer(app, "--warmup-steps", "STEPS",
              "Warm-up steps, in which the learning rate rises to its value [0]", to.warmup, 0, kMaxSamples);
  add_optimizer(app, to.optimizer);
  const Option weights = add_weights(
      app, to.weights, "Initial weights: normal (standard deviation 0.01), default, xavier or kaiming");
  if (to.model == "lenet")
    app.refuse("--no-sync-bn", "LeNet has no batch normalisation");
  else
    app.add_flag("--no-sync-bn", to.no_sync_bn,
                 "Batch normalisation over each device's shard instead of the whole batch");
  add_memory(app, to.micro_batches, to.checkpoint_layers);
  add_image_training(app, to);
  add_augmentation(app, to);
  add_path(app, "--save", "FILE",
           "Write a checkpoint after each epoch, and when Ctrl-C, SIGTERM or SIGHUP ends the training",
           to.save);
  const Option resume =
      add_path(app, "--resume", "FILE", "Resume from a checkpoint, as if the training had not been stopped",
               to.resume);
  const Option from = add_path(
      app, "--from", "FILE",
      "Begin with the parameters of a file of Rondo, or of a PyTorch state dict in safetensors", to.from);
  from.excludes(resume).excludes(weights);
  add_path(app, "--names", "FILE.json",
           "For --from: PyTorch's paths of modules, {\"path in rondo summary\": \"path in PyTorch\"}",
           to.names)
      .needs(from);
  for (const RefusedOption& option : kRefusedByImages) app.refuse(option.name, option.reason);
}

void add_lenet_options(const Command& lenet, NetworkArguments& to) {
  to.model = "lenet";
  to.recipe = kLeNetRecipe;
  add_network(lenet, to, "2", "256", "0.2");
  lenet.add_flag(kFromScratch, to.from_scratch,
                 "Train with the lesson nn/lenet_from_scratch.cpp, which has fewer options");
  lenet.when_parsed([&to] { check(to); });
}

// ResNet-18 and MobileNet.
void add_deep_options(const Command& command, NetworkArguments& to, const char* model) {
  to.model = model;
  if (to.model == "vit") {  // SGD with normal weights learns slowly
    to.recipe = kVitRecipe;
    to.optimizer.kind = OptimizerKind::adam;
    to.weights = "xavier";
  }
  add_network(command, to, "1", "256 for each device",
              concat(to.recipe.rate, " for every 256 samples of the batch"));
  command.refuse(kFromScratch, kLessonIsLeNet);
  command.when_parsed([&to] { check(to); });
}

void add_mlp_options(const Command& mlp, MlpArguments& to) {
  const auto size = [&](const char* option, int64_t& value, int64_t most, const char* help) {
    add_integer(mlp, option, "N", concat(help, " [", value, "]"), value, 1, most);
  };
  add_name(mlp, "--mode", "NAME",
           "single: one device; sharded: split batch; replicated: whole batch on every device [sharded]",
           to.mode, {MlpMode::single, MlpMode::sharded, MlpMode::replicated});
  add_ranks(mlp, to, "1 in the mode single, else 2", "6912 for each device", kMaxMlpBatch);
  size("--layers", to.layers, kMaxLayers, "Hidden layers");
  size("--width", to.width, kMaxWidth, "Width of the hidden layers");
  size("--inputs", to.inputs, kMaxWidth, "Inputs of the first layer");
  size("--outputs", to.outputs, kMaxWidth, "Outputs of the last layer");
  mlp.add("--lr", "RATE", "Learning rate [0.0001]",
          [&](const std::string& s) { to.lr = read_learning_rate<double>(s); });
  add_optimizer(mlp, to.optimizer);
  add_integer(mlp, "--steps", "N", "Timed steps, after two untimed ones [7]", to.steps, 1, kMaxSteps);
  add_seed(mlp, to.seed, "Seed of the weights and of the data [0]");
  add_weights(mlp, to.weights,
              "Initial weights: default (uniform in +-1 / sqrt(inputs)), normal (standard deviation 0.01), "
              "xavier or kaiming");
  add_memory(mlp, to.micro_batches, to.checkpoint_layers);
  add_path(mlp, "--json", "FILE.json", "Write all figures as JSON", to.json);
  add_trace_and_html(mlp, to.trace, to.html);
  for (const RefusedOption& option : kRefusedByMlp) mlp.refuse(option.name, option.reason);
  mlp.when_parsed([&to] { check(to); });
}

// Moves the model to the front of the words after "train".
void model_first(std::vector<std::string>& words) {
  if (words.empty()) return;
  const std::vector<std::string> models = nn::model_names();
  const auto is_model = [&](const std::string& word) {
    return std::ranges::find(models, word) != models.end();
  };
  if (!words[0].starts_with('-') && !is_model(words[0]))
    throw Error(bad_argument("the model is '", words[0], "', must be ", any_of(models)));
  // Finds the first word that is neither an option nor an option's value.
  auto model = words.begin();
  while (model != words.end() && model->starts_with('-')) {
    const bool has_value = model->find('=') == std::string::npos &&
                           std::find(std::begin(kFlags), std::end(kFlags), *model) == std::end(kFlags);
    model += has_value && model + 1 != words.end() ? 2 : 1;
  }
  if (model != words.end() && is_model(*model)) std::rotate(words.begin(), model, model + 1);
}

}  // namespace

const char* name_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd:
      return "sgd";
    case OptimizerKind::adam:
      return "adam";
    case OptimizerKind::adamw:
      return "adamw";
  }
  return "?";
}

const char* name_of(MlpMode mode) {
  switch (mode) {
    case MlpMode::single:
      return "single";
    case MlpMode::sharded:
      return "sharded";
    case MlpMode::replicated:
      return "replicated";
  }
  return "?";
}

std::optional<double> known_rate(const NetworkArguments& arguments) {
  const Recipe& recipe = arguments.recipe;
  if (arguments.lr || !recipe.for_each_replica) return arguments.lr.value_or(recipe.rate);
  if (arguments.batch) return nn::scaled_to_batch(recipe.rate, *arguments.batch, recipe.batch);
  return std::nullopt;
}

namespace {

void check(const OptimizerArguments& arguments) {
  if (arguments.kind == OptimizerKind::sgd) {
    if (arguments.nesterov && arguments.momentum == 0)
      throw Error(bad_argument("--nesterov requires a --momentum above 0"));
    return;
  }
  if (arguments.momentum != 0 || arguments.nesterov)
    throw Error(bad_argument(arguments.nesterov ? "--nesterov" : "--momentum", " is not possible with ",
                             name_of(arguments.kind), ", must be with sgd"));
}

}  // namespace

void check(const NetworkArguments& arguments) {
  if (!arguments.from_scratch) check(arguments.optimizer);  // the lesson refuses all these options
  const std::optional<double> rate = known_rate(arguments);
  naming("--schedule", [&] {
    if (rate)
      static_cast<void>(nn::parse_learning_rate(arguments.schedule, *rate));
    else
      nn::check_schedule(arguments.schedule);
  });
}

void check(const MlpArguments& arguments) { check(arguments.optimizer); }

void add_train(Program& program) {
  const Command train =
      program.command().add_command("train", "Train a model data-parallel over several devices");
  train.require_command();
  train.rewrite(model_first);
  train.when_missing(
      concat("no model was named, must be ", any_of(nn::model_names()), ": rondo train lenet"));
  const auto run = [](const NetworkArguments& arguments, const RunContext& context) {
    if (!arguments.from_scratch)
      return train_network(arguments, context.out, context.terminal, context.processes);
    train_from_scratch(arguments, context.out, context.terminal, context.processes);
    return 0;
  };
  program.add<NetworkArguments>(train, "lenet", "LeNet on Fashion-MNIST", add_lenet_options, run);
  for (const auto& [model, help] :
       {std::pair("resnet18", "ResNet-18 on Fashion-MNIST"),
        std::pair("mobilenet", "MobileNet, with depthwise convolutions, on Fashion-MNIST"),
        std::pair("vit", "A small vision transformer on Fashion-MNIST")})
    program.add<NetworkArguments>(
        train, model, help,
        [model = model](const Command& command, NetworkArguments& to) {
          add_deep_options(command, to, model);
        },
        run);
  program.add<MlpArguments>(train, "mlp", "A deep MLP on random data: time and memory of a step",
                            add_mlp_options, [](const MlpArguments& arguments, const RunContext& context) {
                              train_mlp(arguments, context.out, context.terminal, context.processes);
                            });
}

}  // namespace rondo::program

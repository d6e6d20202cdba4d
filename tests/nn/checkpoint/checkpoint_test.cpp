// Checkpoints: a resumed training equals an uninterrupted one, and an invalid file changes nothing. The file
// exceeds 400 lines because all error tests damage the same saved training; the tests of resuming share it.
#include <gtest/gtest.h>

#include <rondo/kernels/core/math_mode.h>
#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/data/device_images.h>
#include <rondo/nn/diagnostics/model_checks.h>
#include <rondo/nn/io/safetensors.h>
#include <rondo/nn/models/models.h>
#include <rondo/tests/nn/models/small_data.h>
#include <rondo/tests/nn/models/small_models.h>
#include <rondo/tests/rondo/support/files.h>
#include <rondo/tests/support/compare.h>
#include <rondo/tests/support/status_checks.h>
#include <signal.h>
#include <sys/resource.h>

#include <cstring>
#include <functional>
#include <limits>

namespace rondo::nn {
namespace {

using test::all_equal_bits;
using test::error_of;
using test::kSmallInput;
using test::normal_values;
using test::parameters_of;
using test::read_text;
using test::small_network;
using test::some_labels;
using test::spread;

DataParallelOptions options_for(int ranks, bool sync_batch_norm = true, DType activations = DType::float32) {
  DataParallelOptions options = test::small_options(ranks);
  options.activations = activations;
  options.sync_batch_norm = sync_batch_norm;
  return options;
}

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(DataParallel&)>;

std::unique_ptr<Optimizer> make_sgd(DataParallel& model) {
  return std::make_unique<Sgd>(
      model, Sgd::Options{.learning_rate = 0.05f, .momentum = 0.9f, .weight_decay = 1e-3f, .nesterov = true});
}
std::unique_ptr<Optimizer> make_adam(DataParallel& model) { return std::make_unique<Adam>(model); }

struct Training {
  explicit Training(int ranks, const MakeOptimizer& make = make_sgd, bool sync_batch_norm = true,
                    DType activations = DType::float32, const BatchNorm2d::Options& norm = {})
      : model(small_network(norm), kSmallInput, options_for(ranks, sync_batch_norm, activations)),
        optimizer(make(model)) {}

  // Takes the steps [first, last), each with its own batch; the learning rate falls on the way.
  void train(int first, int last) {
    for (int step = first; step < last; ++step) {
      if (step == 3) optimizer->set_learning_rate(0.01f);
      const int64_t batch = step % 2 == 0 ? 12 : 7;
      model.train_step(normal_values(batch * kSmallInput.size(), static_cast<uint64_t>(step) + 1),
                       some_labels(batch, 4), *optimizer);
    }
  }
  std::vector<float> predictions() { return model.predict(normal_values(9 * kSmallInput.size(), 99)); }

  DataParallel model;
  std::unique_ptr<Optimizer> optimizer;
};

// Compares two files as bytes, for a readable message.
testing::AssertionResult same_bytes(const std::string& a, const std::string& b) {
  return all_equal_bits(std::vector<uint8_t>(a.begin(), a.end()), std::vector<uint8_t>(b.begin(), b.end()));
}

const TrainingState kState = {
    7, 4, std::numeric_limits<uint64_t>::max(), 12, {{"learning_rate", "0.1"}, {"", "empty"}, {"=\n", ""}}};

class CheckpointFile : public testing::Test {
 protected:
  // The complete state of a training, as bytes.
  std::string all_of(Training& training) {
    save_checkpoint(directory_ / "all", training.model, *training.optimizer, kState);
    return read_text(directory_ / "all");
  }
  // Returns the error message of a refused load, without the path. The training must not change.
  template <class Load>
  std::string refusal(Training& training, Load load) {
    const std::string before = all_of(training);
    const std::string message = error_of(load);
    EXPECT_TRUE(message.starts_with(path_ + ": ")) << message;
    EXPECT_TRUE(same_bytes(all_of(training), before)) << "something has changed";
    return message.substr(std::min(message.size(), path_.size() + 2));
  }
  std::string refused_load(Training& training) {
    return refusal(training, [&] { load_checkpoint(path_, training.model, *training.optimizer); });
  }
  std::string refused_parameters(Training& training) {
    return refusal(training, [&] { load_parameters(path_, training.model); });
  }
  // Writes the file as it would be after `change`.
  void edit(const std::function<void(Safetensors&)>& change) {
    Safetensors file = read_safetensors(path_);
    file.metadata.erase("crc32");
    change(file);
    file.metadata["crc32"] = std::to_string(checksum(file.tensors, file.metadata));
    write_safetensors(path_, file.tensors, file.metadata);
  }

  test::TemporaryDirectory directory_;
  const std::string path_ = directory_ / "a.safetensors";
};

TEST_F(CheckpointFile, TrainingGoesOnBitForBit) {
  for (const MakeOptimizer& make : {MakeOptimizer(make_sgd), MakeOptimizer(make_adam)})
    for (const int ranks : {1, 3})
      for (const bool sync_batch_norm : {true, false}) {
        Training straight(ranks, make, sync_batch_norm), first(ranks, make, sync_batch_norm);
        SCOPED_TRACE(concat(ranks, " devices, ", straight.optimizer->kind(), ", shared ", sync_batch_norm));
        straight.train(0, 6);
        first.train(0, 4);
        save_checkpoint(path_, first.model, *first.optimizer, kState);
        Training second(ranks, make, sync_batch_norm);
        second.train(0, 1);  // earlier state must not matter
        EXPECT_EQ(load_checkpoint(path_, second.model, *second.optimizer), kState);
        EXPECT_EQ(second.optimizer->learning_rate(), 0.01f);
        EXPECT_TRUE(same_bytes(all_of(second), all_of(first))) << "saved again, it is another file";
        second.train(4, 6);
        EXPECT_TRUE(all_equal_bits(parameters_of(second.model), parameters_of(straight.model)));
        EXPECT_TRUE(all_equal_bits(second.predictions(), straight.predictions()));
        EXPECT_TRUE(same_bytes(all_of(second), all_of(straight)));
        EXPECT_EQ(differing_values(second.model), 0);
        // Saving does not disturb the training.
        first.train(4, 6);
        EXPECT_TRUE(same_bytes(all_of(first), all_of(straight)));
      }
}

// The parameters of a file are float32, so a training of either type loads the same ones.
TEST_F(CheckpointFile, TrainingInBfloat16GoesOnBitForBit) {
  SKIP_IF_REFUSED(check_factor_type("bf16", DType::bfloat16));
  const auto training = [] { return Training(2, make_adam, true, DType::bfloat16); };
  Training straight = training(), first = training(), second = training(), in_float(2, make_adam);
  straight.train(0, 6);
  first.train(0, 4);
  save_checkpoint(path_, first.model, *first.optimizer, kState);
  second.train(0, 1);  // earlier state must not matter
  EXPECT_EQ(load_checkpoint(path_, second.model, *second.optimizer), kState);
  EXPECT_TRUE(same_bytes(all_of(second), all_of(first)));
  second.train(4, 6);
  EXPECT_TRUE(same_bytes(all_of(second), all_of(straight)));
  EXPECT_TRUE(all_equal_bits(second.predictions(), straight.predictions()));
  EXPECT_EQ(differing_values(second.model), 0);
  load_parameters(path_, in_float.model);
  save_parameters(path_, in_float.model);
  Training third = training();
  load_parameters(path_, third.model);
  EXPECT_TRUE(all_equal_bits(third.predictions(), first.predictions()));
}

// In the middle of an epoch, with batches drawn on the devices.
TEST_F(CheckpointFile, TheOrderOfTheSamplesGoesOn) {
  const FashionMnist data = test::small_data(90, 1);
  struct Run {
    explicit Run(const FashionMnist& data)
        : model(lenet(), {28, 28, 1}, {.devices = spread(2), .batch = 20}),
          images(model, data.train_images, data.train_labels),
          batches(model, images, 20, 3),
          sgd(model) {}
    void steps(int count) {
      for (int i = 0; i < count; ++i) model.train_step(batches, sgd);
    }
    DataParallel model;
    DeviceImages images;
    ShuffledBatches batches;
    Sgd sgd;
  };
  Run straight(data), second(data);
  straight.batches.begin_epoch(1);
  straight.steps(2);
  save_checkpoint(path_, straight.model, straight.sgd, {1, straight.batches.step(), 3, 20});
  straight.steps(3);
  const TrainingState state = load_checkpoint(path_, second.model, second.sgd);
  EXPECT_EQ(state, (TrainingState{1, 2, 3, 20}));
  second.batches.begin_epoch(state.epoch, state.step);
  second.steps(3);
  EXPECT_TRUE(second.batches.done());
  EXPECT_TRUE(all_equal_bits(parameters_of(second.model), parameters_of(straight.model)));
}

TEST_F(CheckpointFile, LoadsOntoAnyNumberOfDevices) {
  Training two(2);
  two.train(0, 4);
  save_checkpoint(path_, two.model, *two.optimizer, kState);
  for (const int ranks : {1, 4}) {
    SCOPED_TRACE(concat(ranks, " devices"));
    Training other(ranks);
    load_checkpoint(path_, other.model, *other.optimizer);
    EXPECT_TRUE(all_equal_bits(parameters_of(other.model), parameters_of(two.model)));
    EXPECT_EQ(differing_values(other.model), 0);
    other.train(4, 6);
    EXPECT_EQ(differing_values(other.model), 0);
    Training straight(2);
    straight.train(0, 6);
    EXPECT_LE(test::distance(parameters_of(other.model), parameters_of(straight.model)), 2e-5);
  }
}

// The number of batches in the running statistics is in the file.
TEST_F(CheckpointFile, PlainAveragesOfTheStatisticsGoOnBitForBit) {
  for (const int ranks : {1, 3})
    for (const bool sync_batch_norm : {true, false}) {
      SCOPED_TRACE(concat(ranks, " devices, shared ", sync_batch_norm));
      const auto training = [&] {
        return Training(ranks, make_sgd, sync_batch_norm, DType::float32, {.momentum = std::nullopt});
      };
      Training straight = training(), first = training(), second = training();
      straight.train(0, 6);
      first.train(0, 4);
      save_checkpoint(path_, first.model, *first.optimizer, kState);
      second.train(0, 1);  // earlier state must not matter
      load_checkpoint(path_, second.model, *second.optimizer);
      second.train(4, 6);
      EXPECT_TRUE(same_bytes(all_of(second), all_of(straight)));
      const bool own = ranks > 1 && !sync_batch_norm;
      const std::string name = std::string(own ? "replica.2." : "") + "1.num_batches_tracked";
      const Safetensors file = read_safetensors(directory_ / "all");
      ASSERT_TRUE(file.find(name));
      EXPECT_EQ(text_of(file.find(name)->type, file.find(name)->shape), "I64 []");
      int64_t count = 0;
      std::memcpy(&count, file.find(name)->bytes.data(), sizeof(count));
      EXPECT_EQ(count, 6);
      if (own) continue;
      Training refuses = training();
      const int64_t negative = -1;
      edit([&](Safetensors& edited) {
        for (StoredTensor& tensor : edited.tensors)
          if (tensor.name == name) tensor.bytes = std::as_bytes(std::span(&negative, 1));
      });
      const std::string why = "its tensor '1.num_batches_tracked' is -1, must be 0 to ";
      EXPECT_TRUE(refused_load(refuses).starts_with(why));
      EXPECT_TRUE(refused_parameters(refuses).starts_with(why));
      Training without(ranks);
      EXPECT_EQ(refused_load(without),
                "there is a tensor '1.num_batches_tracked', I64 [], which the model "
                "does not have");
    }
}

TEST_F(CheckpointFile, HoldsWhatTheDocumentationSays) {
  Training training(1, make_adam);
  training.train(0, 4);
  save_checkpoint(path_, training.model, *training.optimizer, kState);
  const Safetensors file = read_safetensors(path_);
  const auto shape = [&](const std::string& name) {
    const StoredTensor* tensor = file.find(name);
    return tensor ? text_of(tensor->type, tensor->shape) : "none";
  };
  EXPECT_EQ(shape("0.weight"), "F32 [6, 3, 3, 1]");
  EXPECT_EQ(shape("3.body.1.running_mean"), "F32 [6]");
  EXPECT_EQ(shape("3.body.1.batch_mean"), "none") << "of one batch only";
  EXPECT_EQ(shape("optimizer.first_moment.9.weight"), "F32 [16, 4]");
  EXPECT_EQ(shape("optimizer.second_moment.9.bias"), "F32 [4]");
  for (const char* counter : {"optimizer.steps", "training.steps"}) {
    EXPECT_EQ(shape(counter), "I64 []");
    int64_t steps = 0;
    std::memcpy(&steps, file.find(counter)->bytes.data(), sizeof(steps));
    EXPECT_EQ(steps, 4) << counter;
  }
  const std::map<std::string, std::string> want = {{"format", "rondo checkpoint"},
                                                   {"format_version", "2"},
                                                   {"optimizer", "adam"},
                                                   {"optimizer.beta2", "0.999"},
                                                   {"learning_rate", "0.01"},
                                                   {"seed", "5"},
                                                   {"replicas", "1"},
                                                   {"epoch", "7"},
                                                   {"epoch_steps", "4"},
                                                   {"data_seed", "18446744073709551615"},
                                                   {"recipe.learning_rate", "0.1"},
                                                   {"recipe.", "empty"},
                                                   {"recipe.=\n", ""},
                                                   {"batch", "12"}};
  for (const auto& [key, value] : want) EXPECT_EQ(file.metadata.at(key), value) << key;
}

TEST_F(CheckpointFile, ParametersAloneAreEnoughToPredict) {
  Training trained(2);
  trained.train(0, 4);
  const std::vector<float> want = trained.predictions();
  save_parameters(path_, trained.model);
  EXPECT_FALSE(read_safetensors(path_).find("training.steps"));
  const std::string checkpoint = directory_ / "checkpoint";
  save_checkpoint(checkpoint, trained.model, *trained.optimizer, kState);
  for (const std::string& path : {path_, checkpoint}) {
    DataParallelOptions options = options_for(2);
    options.seed = 6;
    DataParallel model(small_network(), kSmallInput, options);
    load_parameters(path, model);
    EXPECT_TRUE(all_equal_bits(model.predict(normal_values(9 * kSmallInput.size(), 99)), want));
  }
}

// Loading waits for enqueued steps, so that they do not overwrite the loaded state.
TEST_F(CheckpointFile, WaitsForTheStepsBefore) {
  Training training(3);
  training.train(0, 2);
  save_checkpoint(path_, training.model, *training.optimizer, kState);
  const std::string before = all_of(training);
  for (int round = 0; round < 5; ++round) {
    training.train(2, 6);
    load_checkpoint(path_, training.model, *training.optimizer);
    EXPECT_TRUE(same_bytes(all_of(training), before));
  }
}

TEST_F(CheckpointFile, NansComeBack) {
  Training training(1);
  const std::vector<float> nans(12 * 64, std::numeric_limits<float>::quiet_NaN());
  training.model.train_step(nans, some_labels(12, 4), *training.optimizer);
  save_checkpoint(path_, training.model, *training.optimizer, kState);
  Training other(1);
  load_checkpoint(path_, other.model, *other.optimizer);
  EXPECT_TRUE(same_bytes(all_of(other), all_of(training)));
  EXPECT_TRUE(std::isnan(parameters_of(other.model)[0]));
}

TEST_F(CheckpointFile, RefusesAnotherNetwork) {
  Training training(2);
  const auto saved_by = [&](const AnyModule& network, Shape input) {
    DataParallel model(network, input, options_for(1));
    save_checkpoint(path_, model, *make_sgd(model), kState);
  };
  saved_by(Sequential{Flatten(), Linear(4)}, kSmallInput);
  EXPECT_EQ(refused_load(training),
            "there is no tensor '0.weight', must be F32 [6, 3, 3, 1] as in the model");
  saved_by(Sequential{Conv2d(6, 5, {.padding = 2})}, kSmallInput);
  EXPECT_EQ(refused_load(training),
            "tensor '0.weight' is F32 [6, 5, 5, 1], must be F32 [6, 3, 3, 1] as in the model");
  EXPECT_EQ(refused_parameters(training),
            "tensor '0.weight' is F32 [6, 5, 5, 1], must be F32 [6, 3, 3, 1] as in the model");

  // The same tensors for another image size: parameters can be loaded, a training cannot.
  DataParallel small(Sequential{Conv2d(2, 3)}, {8, 8, 1}, options_for(1));
  saved_by(Sequential{Conv2d(2, 3)}, {9, 9, 1});
  Sgd sgd(small);
  EXPECT_EQ(error_of([&] { load_checkpoint(path_, small, sgd); }),
            path_ + ": its optimizer.momentum is '0.9', the optimizer's is '0'");
  const auto optimizer = make_sgd(small);
  EXPECT_NE(error_of([&] {
              load_checkpoint(path_, small, *optimizer);
            }).find("the hash of this model's tensors, input and output"),
            std::string::npos);
  load_parameters(path_, small);
}

TEST_F(CheckpointFile, RefusesAnotherTraining) {
  Training training(2);
  const auto saved_by = [&](Training& other) {
    save_checkpoint(path_, other.model, *other.optimizer, kState);
  };
  Training adam(2, make_adam);
  saved_by(adam);
  EXPECT_EQ(refused_load(training), "its optimizer is 'adam', that of this training is 'sgd'");
  Training faster(2, [](DataParallel& model) {
    return std::make_unique<Sgd>(model,
                                 Sgd::Options{.momentum = 0.5f, .weight_decay = 1e-3f, .nesterov = true});
  });
  saved_by(faster);
  EXPECT_EQ(refused_load(training), "its optimizer.momentum is '0.5', the optimizer's is '0.9'");
  saved_by(training);
  edit([](Safetensors& file) { file.metadata["seed"] = "6"; });
  EXPECT_EQ(refused_load(training), "its seed is '6', the model's is '5'");
  save_parameters(path_, training.model);
  EXPECT_EQ(refused_load(training),
            "its format is 'rondo parameters', that of a checkpoint is 'rondo checkpoint'");
  const std::string message = error_of([&] { load_checkpoint(path_, training.model, *adam.optimizer); });
  EXPECT_EQ(message, path_ + ": the optimizer was made for another model, must be for this one");
  EXPECT_EQ(error_of([&] { save_checkpoint(path_, training.model, *adam.optimizer, kState); }), message);
}

// `accept` is called before any other comparison and before any change.
TEST_F(CheckpointFile, TheCallerCanRefuseThePlace) {
  Training training(2), adam(2, make_adam);
  save_checkpoint(path_, adam.model, *adam.optimizer, kState);
  const auto refuse = [](const TrainingState& state) {
    EXPECT_EQ(state, kState);
    throw Error(bad_argument("not with ", state.recipe.at("learning_rate")));
  };
  for (Training* one : {&training, &adam}) {
    one->train(0, 1);
    EXPECT_EQ(refusal(*one, [&] { load_checkpoint(path_, one->model, *one->optimizer, refuse); }),
              "not with 0.1");
  }
}

TEST_F(CheckpointFile, RefusesTensorsTooManyOrTooFew) {
  Training training(2, make_adam);
  const auto saved_without = [&](const std::string& name) {
    save_checkpoint(path_, training.model, *training.optimizer, kState);
    edit([&](Safetensors& file) {
      EXPECT_EQ(std::erase_if(file.tensors, [&](const StoredTensor& t) { return t.name == name; }), 1u);
    });
  };
  const char* missing[] = {"9.bias", "1.running_var", "optimizer.first_moment.9.weight"};
  for (const char* name : missing) {
    saved_without(name);
    EXPECT_TRUE(refused_load(training).starts_with(concat("there is no tensor '", name, "', must be F32")));
  }
  for (const char* name : {"training.steps", "optimizer.steps"}) {
    saved_without(name);
    EXPECT_EQ(refused_load(training),
              concat("there is no tensor '", name, "', must be I64 [] as in the model"));
  }
  save_checkpoint(path_, training.model, *training.optimizer, kState);
  edit([&](Safetensors& file) { file.tensors.push_back({"more", StoredType::u8, {0}, {}}); });
  EXPECT_EQ(refused_load(training), "there is a tensor 'more', U8 [0], which the model does not have");
  EXPECT_EQ(refused_parameters(training), "there is a tensor 'more', U8 [0], which the model does not have");
  save_parameters(path_, training.model);
  edit([&](Safetensors& file) { file.tensors.push_back({"optimizer.more", StoredType::u8, {0}, {}}); });
  EXPECT_EQ(refused_parameters(training),
            "there is a tensor 'optimizer.more', U8 [0], which the model does not have");
  save_parameters(path_, training.model);
  edit([&](Safetensors& file) {
    for (StoredTensor& tensor : file.tensors)
      if (tensor.name == "9.bias") tensor.type = StoredType::i32;
  });
  EXPECT_EQ(refused_parameters(training), "tensor '9.bias' is I32 [4], must be F32 [4] as in the model");
}

TEST_F(CheckpointFile, RefusesMetadataThatDoesNotFit) {
  Training training(1);
  const auto refused_with = [&](const std::string& key, const std::string& value) {
    save_checkpoint(path_, training.model, *training.optimizer, kState);
    edit([&](Safetensors& file) {
      file.metadata[key] = value;
      if (value.empty()) file.metadata.erase(key);
    });
    return refused_load(training);
  };
  EXPECT_EQ(refused_with("format_version", ""),
            "it was not written by Rondo: its metadata has no 'format_version'");
  EXPECT_EQ(refused_with("format_version", "3"), "its format_version is '3', the supported one is '2'");
  EXPECT_EQ(
      refused_with("format_version", "1"),
      "its format_version is '1', which has no checksum of the metadata, must be '2': docs/checkpoints.md "
      "describes how to load its parameters");
  EXPECT_EQ(refused_with("layouts", "activations NCHW").substr(0, 35), "its layouts is 'activations NCHW', ");
  for (const char* key : {"epoch", "epoch_steps", "data_seed", "batch", "learning_rate"}) {
    EXPECT_EQ(refused_with(key, ""), concat("its metadata has no '", key, "'"));
    for (const char* value : {"-1", "1x", "x", " 1", "nan", "99999999999999999999999999999999999999999"})
      EXPECT_EQ(refused_with(key, value),
                concat("its metadata has ", key, " '", value, "', must be a number that is not negative"));
  }
  EXPECT_EQ(refused_with("learning_rate", "inf"), "its learning rate is inf, must be finite");
  for (const char* key : {"seed", "optimizer", "optimizer.momentum", "model", "layouts", "format"})
    EXPECT_EQ(refused_with(key, ""), concat("its metadata has no '", key, "'"));
  EXPECT_EQ(error_of([&] {
              save_checkpoint(path_, training.model, *training.optimizer, {0, -1, 0, 1});
            }),
            path_ + ": its epoch_steps is -1, must be 0 to 4611686018427387904");
  for (const char* key : {"epoch", "epoch_steps", "batch"})
    EXPECT_EQ(refused_with(key, "9223372036854775807"),
              concat("its ", key, " is 9223372036854775807, must be 0 to 4611686018427387904"));
}

// Adam divides by a value computed from its counter.
TEST_F(CheckpointFile, RefusesCountersThatCountNothing) {
  Training training(2, make_adam);
  for (const std::string name : {"training.steps", "optimizer.steps"})
    for (const int64_t value :
         {int64_t{-1}, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
      save_checkpoint(path_, training.model, *training.optimizer, kState);
      edit([&](Safetensors& file) {
        for (StoredTensor& tensor : file.tensors)
          if (tensor.name == name) tensor.bytes = std::as_bytes(std::span(&value, 1));
      });
      EXPECT_EQ(refused_load(training),
                concat("its tensor '", name, "' is ", value, ", must be 0 to 4611686018427387904"));
    }
}

// Every byte of the length and the header, and some of the data: with a flipped bit, another case, other
// white space that JSON accepts, or a neighbouring value.
TEST_F(CheckpointFile, RefusesEveryChangedByte) {
  Training training(1, make_adam);
  const auto damage = [&](const auto& load) {
    const std::string whole = read_text(path_);
    training.train(0, 1);  // so that a load that is not refused changes the training
    const std::string before = all_of(training);
    test::Random random(3);
    uint64_t header = 0;
    std::memcpy(&header, whole.data(), 8);
    const auto data = static_cast<size_t>(8 + header);
    std::vector<size_t> places;
    for (size_t at = 0; at < data; ++at) places.push_back(at);
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    const auto put = [&](size_t at, char value) {
      file.seekp(static_cast<std::streamoff>(at)).put(value).flush();
      ASSERT_TRUE(file);
    };
    for (int i = 0; i < 200; ++i)
      places.push_back(data + static_cast<size_t>(random.below(static_cast<int64_t>(whole.size() - data))));
    for (const size_t at : places)
      for (const int change :
           {whole[at] ^ 1 << random.below(8), whole[at] ^ ' ', int{'\t'}, int{' '},
            int{whole[(at + 1) % whole.size()]}, int{"0123456789\",:"[random.below(13)]}}) {
        if (static_cast<char>(change) == whole[at]) continue;
        put(at, static_cast<char>(change));
        const std::string message = error_of(load);
        put(at, whole[at]);
        ASSERT_TRUE(message.starts_with(path_ + ": "))
            << "byte " << at << " as " << change << ": " << message;
      }
    EXPECT_TRUE(same_bytes(all_of(training), before)) << "something has changed";
    load();
    EXPECT_FALSE(same_bytes(all_of(training), before)) << "nothing could have changed";
  };
  save_checkpoint(path_, training.model, *training.optimizer, kState);
  damage([&] { load_checkpoint(path_, training.model, *training.optimizer); });
  save_parameters(path_, training.model);
  damage([&] { load_parameters(path_, training.model); });
}

// Edits that leave the contents valid are detected by the checksum.
TEST_F(CheckpointFile, RefusesContentsThatWereEdited) {
  Training training(2);
  save_checkpoint(path_, training.model, *training.optimizer, kState);
  const std::string whole = read_text(path_);
  const auto refused_after = [&](const std::function<void(Safetensors&)>& change) {
    test::write_file(path_, test::bytes_of(whole));
    Safetensors file = read_safetensors(path_);
    change(file);
    write_safetensors(path_, file.tensors, file.metadata);
    return refused_load(training);
  };
  const std::string changed = "it is damaged: the crc32 in its metadata is ";
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"epoch", "8"}, {"epoch_steps", "5"}, {"learning_rate", "0.5"}, {"more", "1"}, {"crc32", "1"}})
    EXPECT_TRUE(refused_after([&](Safetensors& file) { file.metadata[key] = value; }).starts_with(changed))
        << key;
  for (const char* key : {"replicas", "format"})
    EXPECT_TRUE(refused_after([&](Safetensors& file) { file.metadata.erase(key); }).starts_with(changed))
        << key;
  // Two tensors of the same shape exchanged.
  EXPECT_TRUE(refused_after([](Safetensors& file) {
                const auto find = [&](const char* name) {
                  return std::ranges::find(file.tensors, name, &StoredTensor::name);
                };
                std::swap(find("1.running_mean")->name, find("1.running_var")->name);
              }).starts_with(changed));
  EXPECT_EQ(refused_after([](Safetensors& file) { file.metadata.erase("crc32"); }),
            "its metadata has no 'crc32'");
  // Another order of the tensors is equivalent.
  test::write_file(path_, test::bytes_of(whole));
  Safetensors file = read_safetensors(path_);
  std::reverse(file.tensors.begin(), file.tensors.end());
  write_safetensors(path_, file.tensors, file.metadata);
  EXPECT_NE(read_text(path_), whole);
  load_checkpoint(path_, training.model, *training.optimizer);
}

TEST_F(CheckpointFile, ParametersOfAnotherProgramNeedNoChecksum) {
  Training trained(1), other(1);
  trained.train(0, 2);
  save_parameters(path_, trained.model);
  Safetensors file = read_safetensors(path_);
  const std::map<std::string, std::string> metadata = {{"format", "parameters"},
                                                       {"format_version", file.metadata["format_version"]},
                                                       {"layouts", file.metadata["layouts"]}};
  write_safetensors(path_, file.tensors, metadata);
  load_parameters(path_, other.model);
  EXPECT_TRUE(all_equal_bits(parameters_of(other.model), parameters_of(trained.model)));
  EXPECT_EQ(refused_load(other), "its format is 'parameters', that of a checkpoint is 'rondo checkpoint'");
  write_safetensors(path_, file.tensors,
                    {{"format", "rondo parameters"},
                     {"format_version", file.metadata["format_version"]},
                     {"layouts", file.metadata["layouts"]}});
  EXPECT_EQ(refused_parameters(other), "its metadata has no 'crc32'");
  write_safetensors(path_, file.tensors,
                    {{"format", "weights"},
                     {"format_version", file.metadata["format_version"]},
                     {"layouts", file.metadata["layouts"]}});
  EXPECT_EQ(refused_parameters(other),
            "its format is 'weights', must be 'rondo checkpoint', 'rondo parameters' or 'parameters'");
}

TEST_F(CheckpointFile, StatisticsOfEachReplicaNeedAsManyReplicas) {
  Training three(3, make_sgd, false), two(2, make_sgd, false), shared(3);
  three.train(0, 2);
  save_checkpoint(path_, three.model, *three.optimizer, kState);
  EXPECT_TRUE(read_safetensors(path_).find("replica.2.1.running_mean"));
  const std::string advice =
      "; only its training can continue with it (--resume, with as many replicas), anything else needs a "
      "training without --no-sync-bn";
  EXPECT_EQ(refused_load(two),
            "it has separate running statistics for 3 replicas, the model has 2 replicas with separate "
            "statistics" +
                advice);
  EXPECT_EQ(refused_parameters(shared),
            "it has separate running statistics for 3 replicas, the model has 3 replicas with shared "
            "statistics" +
                advice);
  Training again(3, make_sgd, false);
  load_parameters(path_, again.model);
  EXPECT_TRUE(all_equal_bits(again.predictions(), three.predictions()));
  // Shared statistics fit any number of devices.
  save_checkpoint(path_, shared.model, *shared.optimizer, kState);
  load_checkpoint(path_, two.model, *two.optimizer);
}

TEST_F(CheckpointFile, ReplicasThatDifferAreNotSaved) {
  Training training(3);
  save_checkpoint(path_, training.model, *training.optimizer, kState);
  const std::string before = read_text(path_);
  Replica& last = training.model.replicas()[2];
  const Parameter& bias = training.model.graph().parameters()[1];
  const float other = 3;
  const DeviceScope scope(last.device());
  RONDO_CUDA_THROW(cudaMemcpy(last.parameter(bias), &other, sizeof(other), cudaMemcpyHostToDevice));
  EXPECT_EQ(error_of([&] { save_checkpoint(path_, training.model, *training.optimizer, kState); }),
            path_ + ": the replicas differ: '" + bias.name + "' of replica 2 is not that of replica 0");
  EXPECT_EQ(read_text(path_), before);
}

TEST_F(CheckpointFile, ADiskThatIsFullLeavesTheOldOne) {
  Training training(2);
  save_checkpoint(path_, training.model, *training.optimizer, kState);
  const std::string before = read_text(path_);
  training.train(0, 1);
  training.model.streams().synchronize();
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small = {before.size() / 2, limit.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  StatusCode code = StatusCode::ok;
  try {
    save_checkpoint(path_, training.model, *training.optimizer, kState);
  } catch (const Error& error) {
    code = error.status().code();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(code, StatusCode::out_of_resources);
  EXPECT_EQ(read_text(path_), before);
  EXPECT_EQ(directory_.files(), 1u) << "a temporary is left";
}

TEST_F(CheckpointFile, RefusesPathsThatAreNoFile) {
  Training training(1);
  const auto save = [&](const std::string& path) {
    return error_of([&] { save_checkpoint(path, training.model, *training.optimizer, kState); });
  };
  const std::string folder = directory_.path(), nowhere = directory_ / "none/a";
  EXPECT_EQ(save(folder), "'" + folder + "' is a folder, must be a file");
  EXPECT_EQ(save(nowhere),
            "'" + nowhere + "' is in the folder '" + (directory_ / "none") + "', which does not exist");
  EXPECT_EQ(error_of([&] { load_checkpoint(folder, training.model, *training.optimizer); }),
            "'" + folder + "' is a folder, must be a regular file");
  EXPECT_EQ(error_of([&] { load_checkpoint(nowhere, training.model, *training.optimizer); }),
            "'" + nowhere + "' can't be opened (No such file or directory)");
}

}  // namespace
}  // namespace rondo::nn

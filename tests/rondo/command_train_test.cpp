// The built program: training of networks of modules, with what it prints, and how it stops, resumes and
// refuses. Above 400 lines because stopping and resuming are tested for every kind of training.
#include <gtest/gtest.h>
#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/core/text.h>
#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/io/safetensors.h>
#include <rondo/tests/rondo/support/built_program.h>
#include <rondo/tests/rondo/support/devices.h>
#include <rondo/tests/rondo/support/xml.h>
#include <rondo/tools/rondo/train/csv_log.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <thread>
#include <tuple>

namespace rondo::test {
namespace {

class CommandTrain : public BuiltProgram {
 protected:
  CommandTrain() { write_data_set(data_.path(), 12, 6); }

  std::string resnet(const std::string& options) {
    return "train resnet18 --data " + data_.path().string() + " " + options;
  }
  // Trained as ResNet-18 is, and a hundred times as fast: for tests that are not about the network.
  std::string lenet(const std::string& options) {
    return "train lenet --data " + data_.path().string() + " " + options;
  }
  static bool comes_true(const std::function<bool()>& condition) {
    const auto begin = std::chrono::steady_clock::now();
    while (!condition()) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::minutes(5)) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  static bool comes(const std::string& path) {
    return comes_true([&] { return std::filesystem::exists(path); });
  }
};

std::vector<EpochReport> log_in(const std::string& path) {
  return program::parse_csv_log(path, read_text(path));
}

// Sets RONDO_DATA, and restores it at the end of the scope.
class DataVariable {
 public:
  DataVariable() {
    if (const char* value = std::getenv(kName)) before_ = value;
  }
  ~DataVariable() { before_ ? setenv(kName, before_->c_str(), 1) : unsetenv(kName); }
  void set(const std::string& value) { setenv(kName, value.c_str(), 1); }

 private:
  static constexpr const char* kName = "RONDO_DATA";
  std::optional<std::string> before_;
};

TEST_F(CommandTrain, TheVariableNamesTheDataSetWithoutAnOption) {
  DataVariable variable;
  variable.set(data_.path());
  const Outcome outcome = run_line("train lenet --batch 4 --epochs 1 --devices 1");
  EXPECT_EQ(outcome.code, 0) << outcome.text();
  EXPECT_EQ(missing(outcome.text(), {"not the original", "12 training and 6 test images"}), "");

  variable.set(data_ / "absent");
  expect_refused("train lenet", {"absent does not exist", "--data DIR", "RONDO_DATA=DIR"});
  EXPECT_EQ(run_line(lenet("--batch 4 --epochs 1")).code, 0);
}

// Options that exclude each other are refused before the data are read.
TEST_F(CommandTrain, OptionsAreCheckedBeforeTheData) {
  const std::string absent = " --data " + (data_ / "absent");
  expect_refused("train lenet" + absent, {"absent"});
  for (const std::string model : {"train lenet", "train resnet18"}) {
    const std::string command = model + absent;
    expect_refused(command + " --devices 2 --group 3",
                   {"--group is 3, must divide 2, the number of replicas"});
    expect_refused(command + " --group 2 --algorithm ring", {"--algorithm is 'ring'", "with --group"});
    expect_refused(command + " --device-count-invariant --group 2", {"--device-count-invariant", "--group"});
    expect_refused(command + " --device-count-invariant --algorithm ring", {"--algorithm is 'ring'"});
    expect_refused(command + " --devices 4 --batch 3", {"--batch is 3", "at least 4"});
    expect_refused(command + " --batch 8 --micro-batches 9", {"--micro-batches is 9", "at most 8"});
    expect_refused(command + " --nesterov", {"--nesterov requires"});
    expect_refused(command + " --lr 0.1 --schedule cosine:0.2", {"--schedule: ", "from 0 to 0.1"});
  }
  expect_refused("train lenet --from-scratch --devices 4 --batch 3" + absent, {"--batch is 3", "at least 4"});
}

// Epoch, loss, accuracy and learning rate.
std::vector<std::tuple<int64_t, double, double, float>> figures_in(const std::string& path) {
  std::vector<std::tuple<int64_t, double, double, float>> figures;
  for (const EpochReport& epoch : log_in(path))
    figures.emplace_back(epoch.epoch, epoch.train_loss, epoch.test_accuracy, epoch.learning_rate);
  return figures;
}

TEST_F(CommandTrain, TheLessonGivesTheNumbersOfTheTrainer) {
  const std::string command = lenet("--epochs 2 --batch 5 --devices " + devices(2) + " --log ");
  const std::string trainer = results_ / "trainer.csv", lesson = results_ / "lesson.csv";
  ASSERT_EQ(run_line(command + trainer).code, 0);
  const Outcome outcome = run_line(command + lesson + " --from-scratch --plot " + (results_ / "plot.svg"));
  ASSERT_EQ(outcome.code, 0) << outcome.text();
  EXPECT_EQ(missing(outcome.out,
                    {"129,068 parameters", "2 epochs of 3 steps", "from scratch", "wrote ", "test acc: "}),
            "");
  EXPECT_EQ(figures_in(lesson), figures_in(trainer));
  ASSERT_EQ(figures_in(lesson).size(), 2u);
  EXPECT_EQ(std::get<3>(figures_in(lesson)[1]), 0.2f);
}

TEST_F(CommandTrain, TheLessonRefusesUnsupportedOptions) {
  const std::string command = lenet("--from-scratch ");
  std::set<std::string> tried = {"--devices",   "--batch",  "--lr",    "--seed",
                                 "--algorithm", "--epochs", "--limit", "--data",
                                 "--log",       "--plot",   "--html",  "--from-scratch",  // it has them
                                 "--names",                                               // requires --from
                                 "--mean",      "--std"};  // require each other: below
  for (const std::string option : {"--checkpoint-layers 2",
                                   "--device-count-invariant",
                                   "--group 1",
                                   "--micro-batches 2",
                                   "--momentum 0.5",
                                   "--optimizer adam",
                                   "--save file",
                                   "--schedule cosine",
                                   "--trace file",
                                   "--verify",
                                   "--warmup-steps 3",
                                   "--weight-decay 0.1",
                                   "--weights kaiming",
                                   "--nesterov",
                                   "--resume file",
                                   "--precision tf32",
                                   "--reduce-dtype bf16",
                                   "--timeout 5",
                                   "--from file",
                                   "--classes 10",
                                   "--crop 2",
                                   "--flip",
                                   "--erase 0.5",
                                   "--normalize"}) {
    const std::string name = option.substr(0, option.find(' '));
    expect_refused(command + option, {name + " is not possible with --from-scratch"});
    tried.insert(name);
  }
  const std::string help = run_line("train lenet --help").out;
  const std::regex name("\n +(--[a-z-]+)");
  for (auto it = std::sregex_iterator(help.begin(), help.end(), name); it != std::sregex_iterator(); ++it)
    EXPECT_TRUE(tried.contains((*it)[1])) << (*it)[1];
  expect_refused(command + "--mean 0.5 --std 0.5", {"--mean is not possible with --from-scratch"});
  EXPECT_EQ(results_.files(), 0u);
}

TEST_F(CommandTrain, LeNetIsSavedAndResumed) {
  const std::string command = lenet("--batch 5 --optimizer adam --lr 0.001 ");
  const std::string whole = results_ / "whole", part = results_ / "part";
  ASSERT_EQ(run_line(command + "--epochs 3 --save " + whole).code, 0);
  ASSERT_EQ(run_line(command + "--epochs 1 --save " + part).code, 0);
  const Outcome outcome = run_line(command + "--epochs 3 --save " + part + " --resume " + part);
  ASSERT_EQ(outcome.code, 0) << outcome.text();
  EXPECT_EQ(read_text(part), read_text(whole));
}

TEST_F(CommandTrain, EveryTrainingCanBeDeviceCountInvariant) {
  for (const std::string& command :
       {lenet("--batch 9 --epochs 2"),
        std::string("train mlp --layers 2 --width 8 --inputs 4 --batch 9 --steps 2")}) {
    std::set<std::string> seen;
    for (const int ranks : {1, 2, 3}) {
      const Outcome outcome = run_line(
          command + " --device-count-invariant --verify --devices " + devices(ranks) +
          (command.find("mlp") == std::string::npos ? " --save " + (results_ / "fixed")
                                                    : std::string(" --json ") + (results_ / "fixed")));
      ASSERT_EQ(outcome.code, 0) << outcome.text();
      const std::string text = read_text(results_ / "fixed");
      seen.insert(command.find("mlp") == std::string::npos ? text
                                                           : nlohmann::json::parse(text).at("losses").dump());
    }
    EXPECT_EQ(seen.size(), 1u) << command;
  }
}

// The bytes of the tensors of a checkpoint.
std::string tensors_in(const std::string& path) {
  std::string bytes;
  for (const StoredTensor& tensor : read_safetensors(path).tensors)
    bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

// A checkpoint in the form of older versions: settings have the names of options, --no-sync-bn is the reverse
// of sync_batch_norm, and the first ones had neither --precision and --reduce-dtype nor settings of the
// images.
void rewrite_in_old_form(const std::string& path) {
  const Safetensors file = read_safetensors(path);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : file.metadata) {
    std::string name = key;
    const std::set<std::string> later = {"precision", "reduce_dtype", "classes", "crop",
                                         "erase",     "flip",         "mean",    "std"};
    if (name == "crc32" || (name.starts_with("recipe.") && later.contains(name.substr(7)))) continue;
    if (name == "recipe.sync_batch_norm") {
      metadata["recipe.--no-sync-bn"] = value == "on" ? "off" : "on";
      continue;
    }
    if (name.starts_with("recipe.")) {
      std::replace(name.begin(), name.end(), '_', '-');
      name = name == "recipe.learning-rate" ? "recipe.--lr" : "recipe.--" + name.substr(7);
    }
    metadata[name] = value;
  }
  metadata["crc32"] = exact_text(checksum(file.tensors, metadata));
  write_safetensors(path, file.tensors, metadata);
}

TEST_F(CommandTrain, ACheckpointHasSettingsByTheirNamesAndTheOldFormIsRead) {
  const std::string command = resnet("--limit 2 --batch 2 --devices " + devices(2) + " "),
                    decay = command + "--no-sync-bn --weight-decay 0.01 ";
  const std::string whole = results_ / "whole", part = results_ / "part";
  ASSERT_EQ(run_line(decay + "--epochs 1 --save " + part).code, 0);
  const auto metadata = read_safetensors(part).metadata;
  for (const auto& [key, value] : metadata) EXPECT_EQ(key.find("--"), std::string::npos) << key;
  EXPECT_EQ(metadata.at("recipe.weight_decay"), "0.01");
  EXPECT_EQ(metadata.at("recipe.sync_batch_norm"), "off");

  rewrite_in_old_form(part);
  ASSERT_TRUE(read_safetensors(part).metadata.contains("recipe.--lr"));
  const Outcome refused = run_line(command + "--weight-decay 0.02 --epochs 2 --resume " + part);
  EXPECT_EQ(refused.err, "rondo: " + part +
                             ": the options differ from those of its training: --no-sync-bn is off, must be "
                             "on; --weight-decay is 0.02, must be 0.01\n");
  const Outcome resumed = run_line(decay + "--epochs 2 --save " + part + " --resume " + part);
  ASSERT_EQ(resumed.code, 0) << resumed.text();
  EXPECT_EQ(missing(resumed.out, {"resumed   " + part + ": epoch 2, 0 of its steps are done"}), "")
      << resumed.out;
  ASSERT_EQ(run_line(decay + "--epochs 2 --save " + whole).code, 0);
  EXPECT_TRUE(read_text(part) == read_text(whole)) << "the new form again";
}

// With tensor cores a run resumes bit for bit, and only with the same precision.
TEST_F(CommandTrain, EveryPrecisionIsTrainedSavedAndResumed) {
  const std::string command = lenet("--batch 6 --devices " + devices(2) + " --optimizer adam --lr 0.001 "),
                    path = results_ / "part";
  const auto save = [&](const std::string& options) {
    const Outcome outcome = run_line(command + options + " --save " + path);
    EXPECT_EQ(outcome.code, 0) << outcome.text();
    return read_text(path);
  };
  const std::string names[] = {"fp32", "tf32", "tf32x3", "bf16"};
  if (!check_math("tf32", Math::tf32).ok()) {
    for (const std::string name : {"tf32", "tf32x3", "bf16"})
      EXPECT_NE(run_line(command + "--precision " + name).code, 0);
    return;
  }
  std::set<std::string> trained;
  for (const std::string& name : names) {
    const std::string option = "--precision " + name + " ", whole = save(option + "--epochs 2 --verify");
    const std::string one_epoch = save(option + "--epochs 1");
    for (const std::string& other : names) {
      if (other == name) continue;
      const Outcome refused = run_line(command + "--precision " + other + " --epochs 2 --resume " + path);
      EXPECT_EQ(refused.code, 2);
      EXPECT_EQ(refused.err, "rondo: " + path +
                                 ": the options differ from those of its training: --precision is " + other +
                                 ", must be " + name + "\n");
    }
    EXPECT_TRUE(read_text(path) == one_epoch);
    EXPECT_TRUE(save(option + "--epochs 2 --resume " + path) == whole) << name;
    EXPECT_TRUE(trained.insert(tensors_in(path)).second) << name << " has the bits of another precision";
  }
}

TEST_F(CommandTrain, ResNetTrainsWithTensorCores) {
  if (!check_math("tf32", Math::tf32).ok()) GTEST_SKIP() << "the device has no such tensor cores";
  for (const std::string name : {"tf32", "bf16"}) {
    const Outcome outcome = run_line(
        resnet("--limit 2 --batch 2 --epochs 1 --verify --devices " + devices(2) + " --precision " + name));
    ASSERT_EQ(outcome.code, 0) << outcome.text();
    EXPECT_EQ(missing(outcome.out, {", " + name + "\n", "all replicas bitwise equal after each of 1 step"}),
              "")
        << outcome.out;
  }
}

TEST_F(CommandTrain, ResNetWithTensorCoresResumesBitForBit) {
  if (!check_factor_type("bf16", DType::bfloat16).ok()) GTEST_SKIP() << "the device has no such tensor cores";
  const std::string whole = results_ / "whole", part = results_ / "part";
  const std::string training = resnet("--limit 1 --batch 1 --precision bf16 --devices " + devices(1));
  ASSERT_EQ(run_line(training + " --epochs 2 --save " + whole).code, 0);
  ASSERT_EQ(run_line(training + " --epochs 1 --save " + part).code, 0);
  EXPECT_FALSE(tensors_in(part) == tensors_in(whole));
  ASSERT_EQ(run_line(training + " --epochs 2 --resume " + part + " --save " + part).code, 0);
  EXPECT_TRUE(read_text(part) == read_text(whole));
}

// Every training reduces gradients in bfloat16, and is resumed with them.
TEST_F(CommandTrain, GradientsAreReducedInBfloat16) {
  const std::string training = lenet("--batch 6 "), two = "--devices " + devices(2) + " --algorithm direct ",
                    bf16 = "--reduce-dtype bf16 --verify " + two;
  const std::string whole = results_ / "whole", part = results_ / "part", trace = results_ / "trace.json";
  const Outcome both = run_line(training + bf16 + "--epochs 2 --save " + whole);
  ASSERT_EQ(both.code, 0) << both.text();
  EXPECT_EQ(missing(both.out, {"seed 0, direct all-reduce in bf16\n",
                               "verified: all replicas bitwise equal after each of 4 steps"}),
            "")
      << both.out;
  EXPECT_EQ(both.out.find("no effect"), std::string::npos) << both.out;
  ASSERT_EQ(run_line(training + bf16 + "--epochs 1 --trace " + trace + " --save " + part).code, 0);
  EXPECT_EQ(missing(read_text(trace), {"round to bfloat16", "widen to float32"}), "");
  const std::string one_epoch = read_text(part);
  const Outcome other = run_line(training + two + "--epochs 2 --resume " + part);
  EXPECT_EQ(other.code, 2);
  EXPECT_EQ(other.err, "rondo: " + part +
                           ": the options differ from those of its training: --reduce-dtype is fp32, must be "
                           "bf16\n");
  ASSERT_EQ(run_line(training + bf16 + "--epochs 2 --resume " + part + " --save " + part).code, 0);
  EXPECT_TRUE(read_text(part) == read_text(whole));
  ASSERT_EQ(run_line(training + two + "--verify --epochs 1 --save " + whole).code, 0);
  EXPECT_FALSE(read_text(whole) == one_epoch) << "nothing was rounded";

  for (const std::string& command :
       {resnet("--limit 4 --batch 4 --epochs 1 --micro-batches 2 --group 1 --devices " + devices(2)),
        "train mlp --layers 2 --width 8 --inputs 4 --batch 9 --steps 2 --group 2 --devices " + devices(4) +
            (check_factor_type("bf16", DType::bfloat16).ok() ? " --precision bf16" : "")}) {
    const Outcome outcome = run_line(command + " --reduce-dtype bf16 --verify");
    ASSERT_EQ(outcome.code, 0) << outcome.text();
    EXPECT_EQ(
        missing(outcome.out, {"hierarchical all-reduce in bf16", "verified: all replicas bitwise equal"}), "")
        << outcome.out;
  }
}

TEST_F(CommandTrain, ASingleReplicaReducesNothingInBfloat16) {
  const std::string note = "--reduce-dtype has no effect: a single replica reduces nothing\n";
  for (const std::string& command :
       {lenet("--batch 6 --epochs 1"),
        std::string("train mlp --layers 2 --width 8 --inputs 4 --batch 9 --steps 2")}) {
    EXPECT_EQ(missing(run_line(command + " --devices 1 --reduce-dtype bf16").out, {note}), "");
    EXPECT_EQ(run_line(command + " --devices 1").out.find(note), std::string::npos);
  }
  for (const std::string mode : {"single", "replicated"})
    expect_refused("train mlp --layers 2 --width 8 --inputs 4 --batch 9 --reduce-dtype bf16 --mode " + mode,
                   {"--reduce-dtype is not possible with --mode " + mode + ": nothing is reduced\n"});
  expect_refused("train lenet --reduce-dtype tf32", {"--reduce-dtype is 'tf32', must be fp32 or bf16\n"});
}

TEST_F(CommandTrain, NoSyncBnNeedsBatchNorm) {
  expect_refused(lenet("--no-sync-bn"),
                 {"--no-sync-bn is not possible with lenet: LeNet has no batch normalisation"});
}

TEST_F(CommandTrain, ResNetOnTwoDevices) {
  const Outcome outcome =
      run_line(resnet("--batch 6 --epochs 2 --devices " + devices(2) +
                      " --verify --momentum 0.9 --nesterov --weight-decay 1e-4 --warmup-steps 1 "
                      "--schedule cosine --micro-batches 2 --checkpoint-layers 4 --log " +
                      (results_ / "log.csv") + " --plot " + (results_ / "plot.svg") + " --trace " +
                      (results_ / "trace.json")));
  ASSERT_EQ(outcome.code, 0) << outcome.text();
  EXPECT_EQ(
      missing(outcome.text(),
              {"resnet18, 11,175,818 parameters", "2 epochs of 2 steps", "Nesterov's momentum 0.9",
               "weight decay 0.0001", "warm-up of 1 step,", "2 micro-batches", "kept every 4 operations",
               "verified: all replicas bitwise equal after each of 4 steps", "test acc: ", "sec/epoch on ["}),
      "")
      << outcome.text();
  EXPECT_EQ(log_in(results_ / "log.csv").size(), 2u);
  EXPECT_EQ(XmlCheck::fault(read_text(results_ / "plot.svg")), "");
  EXPECT_FALSE(nlohmann::json::parse(read_text(results_ / "trace.json"))["traceEvents"].empty());
}

TEST_F(CommandTrain, TheSeedIsThatOfTheSampleOrderToo) {
  const std::string path = results_ / "seeded";
  ASSERT_EQ(run_line(lenet("--epochs 1 --seed 3 --save " + path)).code, 0);
  const std::optional<nn::TrainingState> state = nn::read_training_state(path);
  ASSERT_TRUE(state);
  EXPECT_EQ(state->seed, 3u);
}

// The options of the table in docs/training.md that change the numbers of a training, for the programs other
// than resnet18.
TEST_F(CommandTrain, OptionsOfTheOptimizerChangeTheTraining) {
  const std::string log = results_ / "log.csv", json = results_ / "m.json", trace = results_ / "trace.json";
  const auto lenet_figures = [&](const std::string& options) {
    const Outcome outcome =
        run_line(lenet("--epochs 2 --batch 4 --seed 3 " + options + " --log " + log + " --devices 1"));
    EXPECT_EQ(outcome.code, 0) << options << outcome.text();
    std::vector<double> losses;
    for (const EpochReport& epoch : log_in(log)) losses.push_back(epoch.train_loss);
    return losses;
  };
  const auto mlp_figures = [&](const std::string& options) {
    const Outcome outcome =
        run_line("train mlp --mode single --layers 2 --width 8 --inputs 4 --batch 9 --steps 3 --lr 0.01 " +
                 options + " --json " + json);
    EXPECT_EQ(outcome.code, 0) << options << outcome.text();
    return nlohmann::json::parse(read_text(json)).at("losses").get<std::vector<double>>();
  };
  const char* optimizers[] = {"--optimizer sgd",
                              "--optimizer adam",
                              "--optimizer sgd --momentum 0.9",
                              "--optimizer sgd --momentum 0.9 --nesterov",
                              "--optimizer sgd --weight-decay 0.1",
                              "--optimizer adam --weight-decay 0.1",
                              "--optimizer adamw --weight-decay 0.1"};
  std::map<std::vector<double>, std::string> of_lenet, of_mlp;
  const auto expect_new = [](auto& seen, const std::vector<double>& figures, const std::string& options) {
    const auto [entry, fresh] = seen.emplace(figures, options);
    EXPECT_TRUE(fresh) << "'" << options << "' trains as '" << entry->second << "' does";
  };
  for (const char* options : optimizers) {
    expect_new(of_lenet, lenet_figures(options + std::string(" --weights kaiming --lr 0.02")), options);
    expect_new(of_mlp, mlp_figures(options), options);
  }
  const std::string base = "--weights kaiming --lr 0.02 ";
  for (const char* options : {"--schedule step:1:0.5", "--schedule cosine", "--warmup-steps 4"})
    expect_new(of_lenet, lenet_figures(base + options), options);

  const std::vector<double> whole = lenet_figures(base);
  EXPECT_EQ(lenet_figures(base + "--checkpoint-layers 2 --trace " + trace), whole);
  EXPECT_FALSE(nlohmann::json::parse(read_text(trace))["traceEvents"].empty());
  const std::vector<double> accumulated = lenet_figures(base + "--micro-batches 2");
  ASSERT_EQ(accumulated.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(accumulated[i], whole[i], 1e-4 * whole[i]);
  std::filesystem::remove(trace);
  EXPECT_EQ(mlp_figures("--trace " + trace), mlp_figures(""));
  EXPECT_FALSE(nlohmann::json::parse(read_text(trace))["traceEvents"].empty());
}

TEST_F(CommandTrain, TheRateFollowsTheBatch) {
  const std::pair<std::string, const char*> rates[] = {
      {"", "batch 12, sgd, learning rate 0.0046875,"},
      {"--batch 6 --devices " + devices(2), "learning rate 0.00234375,"},
      {"--batch 6 --lr 0.03", "learning rate 0.03,"}};
  for (const auto& [options, rate] : rates)
    EXPECT_EQ(missing(run_line(resnet(options + " --epochs 1")).text(), {rate}), "");
}

// Ctrl-C: the current step ends and a checkpoint is written. A run resumed from it ends like one never
// stopped.
TEST_F(CommandTrain, StopsAndResumes) {
  const std::string options = "--batch 6 --optimizer adamw --lr 0.001 --weights kaiming --epochs 3 ";
  ASSERT_EQ(run_line(resnet(options + "--save " + (results_ / "straight") + " --log " +
                            (results_ / "straight.csv")))
                .code,
            0);

  const std::string parts = results_ / "parts";
  const pid_t child =
      start(words_of(resnet(options + "--save " + parts + " --log " + (results_ / "parts.csv"))));
  ASSERT_TRUE(comes(parts));
  kill(child, SIGINT);
  const Outcome stopped = wait_for(child);
  ASSERT_EQ(stopped.code, 128 + SIGINT) << stopped.text();
  EXPECT_EQ(missing(stopped.text(), {"stopped in epoch ", "continue with --resume " + parts}), "")
      << stopped.text();

  const Outcome rest = run_line(
      resnet(options + "--resume " + parts + " --save " + parts + " --log " + (results_ / "parts.csv")));
  ASSERT_EQ(rest.code, 0) << rest.text();
  std::smatch stop;
  const std::string text = stopped.text();
  ASSERT_TRUE(std::regex_search(text, stop, std::regex("stopped in epoch ([0-9]+) after ([0-9]+) step")));
  EXPECT_EQ(missing(rest.text(), {concat("resumed   ", parts, ": epoch ", stop[1].str(), ", ", stop[2].str(),
                                         " of its steps are done")}),
            "")
      << rest.text();
  EXPECT_TRUE(read_text(parts) == read_text(results_ / "straight")) << "the checkpoints differ";
  const std::vector<EpochReport> a = log_in(results_ / "straight.csv"), b = log_in(results_ / "parts.csv");
  ASSERT_EQ(b.size(), 3u);
  for (size_t epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(a[epoch].test_accuracy, b[epoch].test_accuracy);

  const Outcome done = run_line(resnet(options + "--resume " + parts));
  EXPECT_EQ(done.code, 2);
  EXPECT_EQ(missing(done.text(), {"--epochs is 3", "has 3 done"}), "") << done.text();
  const std::string bytes = read_text(parts);
  EXPECT_EQ(run_line(resnet(options + "--resume " + parts + " --plot " + parts)).code, 2);
  EXPECT_TRUE(read_text(parts) == bytes) << "the checkpoint is not a picture";
}

// The log continues after the epochs of the checkpoint, whatever it had of later ones.
TEST_F(CommandTrain, AnOlderCheckpointReplacesTheLaterEpochsOfTheLog) {
  const std::string one = results_ / "one", log = " --log " + (results_ / "log.csv");
  ASSERT_EQ(run_line(lenet("--epochs 1 --save " + one + log)).code, 0);
  const auto epochs = [&] {
    std::vector<int64_t> list;
    for (const EpochReport& report : log_in(results_ / "log.csv")) list.push_back(report.epoch);
    return list;
  };
  const std::vector<int64_t> first = epochs();
  ASSERT_EQ(first.size(), 1u);
  for (const int total : {3, 2}) {
    ASSERT_EQ(run_line(lenet(concat("--epochs ", total, " --resume ", one) + log)).code, 0);
    const std::vector<int64_t> all = epochs();
    ASSERT_EQ(all.size(), static_cast<size_t>(total));
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], first[0] + static_cast<int64_t>(i));
  }
}

// A run that ends while it saves an epoch has its row: the resumed training could not add it.
TEST_F(CommandTrain, TheLogIsWrittenBeforeTheCheckpoint) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small_files = {65536, limit.rlim_max};  // enough for the log, too little for the checkpoint
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small_files), 0);
  const Outcome outcome =
      run_line(lenet("--epochs 2 --save " + (results_ / "saved") + " --log " + (results_ / "log.csv")));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(outcome.code, 1) << outcome.text();
  EXPECT_EQ(missing(outcome.err, {"saved", "File too large"}), "");
  EXPECT_EQ(log_in(results_ / "log.csv").size(), 1u);
}

TEST_F(CommandTrain, AnOutputIsNoInput) {
  const std::string from = streams_ / "from", names = streams_ / "names.json";
  const std::string labels = data_ / "train-labels-idx1-ubyte.gz", old_labels = read_text(labels);
  ASSERT_EQ(run_line(lenet("--epochs 1 --save " + from)).code, 0);
  write_file(names, bytes_of("{}"));
  const std::string old = read_text(from);
  expect_refused(lenet("--from " + from + " --plot " + from),
                 {"--plot is '", "/from', which is the file of --from, must be another file"});
  expect_refused(lenet("--resume " + from + " --epochs 2 --html " + from),
                 {"--html is '", "/from', which is the file of --resume, must be another file"});
  for (const std::string option : {"--log", "--save"}) {
    expect_refused(lenet("--from " + from + " --names " + names + " " + option + " " + names),
                   {option + " is '", "/names.json', which is the file of --names, must be another file"});
    expect_refused(lenet(option + " " + labels),
                   {option + " is '", "ubyte.gz', which is a file of the data set, must be another file"});
  }
  expect_refused(lenet("--from-scratch --plot " + labels),
                 {"--plot is '", "which is a file of the data set"});
  expect_refused("convert lenet " + from + " " + names + " --names " + names,
                 {"to is '", "/names.json', which is the file of --names, must be another file"});
  expect_refused("convert lenet " + from + " " + from, {"to is '", "which is the file that is read"});
  EXPECT_TRUE(read_text(from) == old);
  EXPECT_TRUE(read_text(labels) == old_labels);
  EXPECT_EQ(read_text(names), "{}");
  EXPECT_EQ(run_line(lenet("--epochs 1 --from " + from + " --save " + from)).code, 0);
}

// Everything that the bits depend on must be unchanged. The message names exactly the options that differ.
TEST_F(CommandTrain, ResumingAsAnotherTrainingIsRefused) {
  const std::string path = results_ / "a", also = results_ / "b";
  const std::string same = "--batch 6 --schedule step:2:0.5 --momentum 0.5 --weights kaiming --epochs 2 ";
  ASSERT_EQ(
      run_line(resnet("--batch 6 --schedule step:2:0.5 --momentum 0.5 --weights kaiming --epochs 1 --save " +
                      path))
          .code,
      0);
  const std::string bytes = read_text(path);
  const auto refusal = [&](const std::string& options, const std::string& from) {
    const Outcome outcome = run_line(resnet(options + " --resume " + from));
    EXPECT_EQ(outcome.code, 2) << options << outcome.text();
    EXPECT_EQ(outcome.out, "");
    const std::string begin = "rondo: " + from + ": ";
    EXPECT_TRUE(outcome.err.starts_with(begin) && outcome.err.ends_with("\n")) << outcome.err;
    return outcome.err.substr(std::min(begin.size(), outcome.err.size()),
                              outcome.err.size() - begin.size() - 1);
  };
  const std::string began = "the options differ from those of its training: ";
  const std::pair<std::string, std::string> changes[] = {
      {"--seed 1", "--seed is 1, must be 0"},
      {"--lr 0.002", "--lr is 0.002, must be 0.0023437500000000003"},
      // With six digits the two values would be equal.
      {"--lr 0.0023437501", "--lr is 0.0023437501, must be 0.0023437500000000003"},
      {"--warmup-steps 1", "--warmup-steps is 1, must be 0"},
      {"--no-sync-bn", "--no-sync-bn is on, must be off"},
      {"--micro-batches 2", "--micro-batches is 2, must be 1"},
      {"--nesterov", "--nesterov is on, must be off"},
      {"--weight-decay 0.5 --seed 3", "--seed is 3, must be 0; --weight-decay is 0.5, must be 0"}};
  for (const auto& [option, want] : changes) EXPECT_EQ(refusal(same + option, path), began + want);
  EXPECT_EQ(refusal("--batch 4 --schedule step:2:0.5 --momentum 0.5 --weights kaiming --epochs 2", path),
            began + "--batch is 4, must be 6")
      << "the learning rate only follows";
  EXPECT_EQ(
      refusal("--batch 6 --optimizer adam --weights kaiming --epochs 2", path),
      began +
          "--momentum is 0, must be 0.5; --optimizer is adam, must be sgd; --schedule is constant, must be "
          "step:2:0.5");
  EXPECT_EQ(refusal("--batch 6 --momentum 0.5 --schedule cosine --weights kaiming --epochs 2", path),
            began + "--schedule is cosine, must be step:2:0.5")
      << "the epochs matter only to the cosine";
  const std::string limited = refusal(same + "--limit 10", path);
  EXPECT_EQ(
      missing(limited, {"--data is 10 images with the checksum ", ", must be 12 images with the checksum "}),
      "");
  EXPECT_EQ(refusal("--batch 6 --schedule step:2:0.5 --momentum 0.5 --weights kaiming --epochs 1", path),
            "--epochs is 1, must be more: it has 1 done");
  EXPECT_TRUE(read_text(path) == bytes);

  // Metadata as another training, or another program, would have written it.
  const auto refused_with = [&](const std::map<std::string, std::string>& metadata,
                                const std::string& options) {
    Safetensors file = read_safetensors(path);
    for (const auto& [key, value] : metadata) {
      file.metadata[key] = value;
      if (value.empty()) file.metadata.erase(key);
    }
    file.metadata.erase("crc32");
    file.metadata["crc32"] = std::to_string(checksum(file.tensors, file.metadata));
    write_safetensors(also, file.tensors, file.metadata);
    return refusal(options, also);
  };
  EXPECT_EQ(refused_with({{"recipe.batch", "5"}, {"recipe.devices", "2"}},
                         "--schedule step:2:0.5 --momentum 0.5 --weights kaiming --epochs 2"),
            began + "--batch is 12 with --devices 1, must be 5")
      << "nobody asked for this batch";
  EXPECT_EQ(refused_with({{"recipe.schedule", "cosine"}, {"recipe.epochs", "5"}},
                         "--batch 6 --schedule cosine --momentum 0.5 --weights kaiming --epochs 2"),
            began + "--epochs is 2, must be 5");
  // Checkpoints of versions without these options are of fp32.
  EXPECT_EQ(refused_with({{"recipe.precision", ""}, {"recipe.reduce_dtype", ""}}, same + "--seed 1"),
            began + "--seed is 1, must be 0");
  EXPECT_EQ(refused_with({{"recipe.reduce_dtype", ""}}, same + "--reduce-dtype bf16"),
            began + "--reduce-dtype is bf16, must be fp32");
  EXPECT_EQ(refused_with({{"recipe.seed", ""}}, same),
            "it was not made by rondo train resnet18: it has no --seed");
}

TEST_F(CommandTrain, ResumingWithOtherOptionsIsReported) {
  const std::string path = results_ / "a", straight = results_ / "straight";
  const std::string options = "--batch 6 --algorithm direct ", one = "--devices 1 " + options;
  ASSERT_EQ(run_line(lenet(one + "--weights kaiming --epochs 2 --save " + straight)).code, 0);
  ASSERT_EQ(run_line(lenet(one + "--weights kaiming --epochs 1 --save " + path)).code, 0);
  const Outcome weights = run_line(lenet(one + "--epochs 2 --resume " + path + " --save " + path));
  EXPECT_EQ(weights.code, 0) << weights.err;
  EXPECT_EQ(missing(weights.out, {"--weights normal has no effect: the training began with kaiming",
                                  "kaiming weights, seed 0"}),
            "");
  EXPECT_TRUE(read_text(path) == read_text(straight));
  EXPECT_EQ(weights.out.find("--devices"), std::string::npos) << weights.out;

  const Outcome devices = run_line(
      lenet(options + "--weights kaiming --devices 0,0 --epochs 3 --resume " + path + " --save " + path));
  EXPECT_EQ(devices.code, 0) << devices.err;
  const std::string sums = ": from now on sums are added in another order\n";
  EXPECT_EQ(missing(devices.out, {"with --devices 2, the checkpoint was made with 1" + sums}), "");
  EXPECT_EQ(devices.out.find("--weights"), std::string::npos) << devices.out;
  const Outcome algorithm =
      run_line(lenet("--batch 6 --algorithm ring --weights kaiming --devices 0,0 --epochs 4 "
                     "--resume " +
                     path));
  EXPECT_EQ(algorithm.code, 0) << algorithm.err;
  EXPECT_EQ(missing(algorithm.out, {"with --algorithm ring, the checkpoint was made with direct" + sums}),
            "");
  EXPECT_EQ(algorithm.out.find("with --devices"), std::string::npos) << algorithm.out;
}

// Two processes with the same --save: the second one is refused, and the first one loses nothing.
TEST_F(CommandTrain, TwoRunsDoNotShareAFile) {
  const std::string path = results_ / "shared", log = results_ / "shared.csv", link = results_ / "link";
  std::filesystem::create_symlink("shared", link);
  const std::string options = "--batch 6 --epochs 1000 ";
  const pid_t first =
      start(words_of(resnet(options + "--save " + path + " --log " + log)), streams_ / "first");
  ASSERT_TRUE(comes(log) && comes(path)) << "the first epoch does not end";
  const std::string taken = concat("' is in use as the output of another run (process ", first, ")");
  for (const std::string& output :
       {"--save " + path, "--resume " + path + " --save " + link, "--log " + log}) {
    const Outcome second = run_line(resnet("--batch 6 --epochs 1 " + output));
    EXPECT_EQ(second.code, 2) << second.text();
    EXPECT_EQ(second.out, "");
    EXPECT_EQ(missing(second.err, {"'" + output.substr(output.rfind(' ') + 1) + taken}), "");
  }
  EXPECT_EQ(missing(run_line("plot " + log + " --svg " + path).err, {"--svg '" + path + taken}), "");
  kill(first, SIGKILL);
  EXPECT_EQ(wait_for(first).code, 1000 + SIGKILL);

  // The lock ended with the process. The resumed run holds it now.
  const pid_t next = start(words_of(resnet(options + "--save " + path + " --resume " + path)));
  const std::string lock_file = results_ / ".shared.rondo-lock";
  ASSERT_TRUE(comes_true([&] { return read_text(lock_file) == std::to_string(next); }));
  ASSERT_TRUE(comes_true([&] { return read_text(streams_ / "out").find("resumed") != std::string::npos; }));
  std::filesystem::remove(path);
  ASSERT_TRUE(comes(path));
  kill(next, SIGTERM);
  const Outcome stopped = wait_for(next);
  EXPECT_EQ(stopped.code, 128 + SIGTERM) << stopped.text();
  EXPECT_FALSE(std::filesystem::exists(lock_file));
}

// Another program, which does not use the lock, writes the file during the run.
TEST_F(CommandTrain, AFailureAfterTheStartIsNotABadArgument) {
  const std::string path = results_ / "a";
  const pid_t child = start(words_of(resnet("--batch 6 --epochs 1000 --save " + path)));
  ASSERT_TRUE(comes(path));
  Outcome outcome;
  {
    int other = -1;
    const std::string temporary = results_ / ".a.rondo-tmp";
    ASSERT_TRUE(comes_true([&] {
      if (other >= 0) close(other);
      other = open(temporary.c_str(), O_WRONLY | O_CREAT, 0600);
      struct stat mine {
      }, named{};
      return flock(other, LOCK_EX | LOCK_NB) == 0 && fstat(other, &mine) == 0 &&
             stat(temporary.c_str(), &named) == 0 && mine.st_ino == named.st_ino;
    }));
    outcome = wait_for(child);
    close(other);
  }
  EXPECT_EQ(outcome.code, 1) << outcome.text();
  EXPECT_EQ(missing(outcome.err, {"'" + path + "' is being written by another process"}), "");
}

// The terminal closes: both the system and the shell send SIGHUP.
TEST_F(CommandTrain, AHangUpLeavesACheckpoint) {
  const std::string path = results_ / "a", log = results_ / "a.csv";
  const std::string options = "--batch 2 --lr 0.001 --epochs 1000 --save " + path;
  const pid_t child = start(words_of(resnet(options + " --log " + log)));
  ASSERT_TRUE(comes(log));
  for (int i = 0; i < 2; ++i) kill(child, SIGHUP);
  const Outcome stopped = wait_for(child);
  EXPECT_EQ(stopped.code, 128 + SIGHUP) << stopped.text();
  EXPECT_EQ(missing(stopped.out, {"stopped in epoch ", "continue with --resume " + path}), "")
      << stopped.text();
  const auto place = std::regex("stopped in epoch (\\d+) after (\\d+) steps?");
  std::smatch said;
  ASSERT_TRUE(std::regex_search(stopped.out, said, place));
  const Safetensors file = read_safetensors(path);
  EXPECT_EQ(file.metadata.at("epoch"), said[1]);
  EXPECT_EQ(file.metadata.at("epoch_steps"), said[2]);
}

TEST_F(CommandTrain, UnderNohupAHangUpIsIgnored) {
  const std::string path = results_ / "a";
  const auto before = signal(SIGHUP, SIG_IGN);  // the child inherits it
  const pid_t child = start(words_of(resnet("--batch 6 --epochs 1000 --save " + path)));
  signal(SIGHUP, before);
  ASSERT_TRUE(comes(path));
  kill(child, SIGHUP);
  std::filesystem::remove(path);
  EXPECT_TRUE(comes(path)) << "it did not go on";
  kill(child, SIGTERM);
  EXPECT_EQ(wait_for(child).code, 128 + SIGTERM);
}

TEST_F(CommandTrain, NamesTheNonfiniteTensor) {
  const Outcome outcome =
      run_line(resnet("--batch 2 --lr 1000 --weights kaiming --epochs 60 --checkpoint-layers 8"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(
      std::regex_search(outcome.text(), std::regex("rondo: the loss of epoch \\d+, step \\d+ is not finite: "
                                                   "\\S.*(is|:) .*(nan|inf).*learning rate below 1000")))
      << outcome.text();
}

TEST_F(CommandTrain, ADivergedStateDoesNotReplaceTheCheckpoint) {
  const std::string path = results_ / "kept";
  ASSERT_EQ(run_line(resnet("--batch 4 --epochs 1 --lr 0.01 --save " + path)).code, 0);
  const std::string kept = read_text(path);
  const Outcome outcome = run_line(resnet("--batch 4 --epochs 1 --lr 30 --save " + path));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(missing(outcome.text(), {"the loss of epoch 1 is", "diverged"}), "") << outcome.text();
  EXPECT_TRUE(read_text(path) == kept);
}

TEST_F(CommandTrain, ResNetRefuses) {
  expect_refused(resnet("--batch 13"), {"--batch is 13", "at most 12"});
  expect_refused(resnet("--batch 6 --micro-batches 7"), {"--micro-batches is 7", "at most 6, the batch"});
  expect_refused(resnet("--lr 0"), {"--lr is '0'", "above 0"});
  expect_refused(resnet("--optimizer lion"), {"--optimizer is 'lion'", "sgd, adam or adamw"});
  expect_refused(resnet("--optimizer adam --momentum 0.9"), {"--momentum", "adam"});
  expect_refused(resnet("--nesterov"), {"--nesterov", "--momentum"});
  expect_refused(resnet("--momentum 1"), {"--momentum is '1'", "below 1"});
  expect_refused(resnet("--weights zero"), {"zero", "kaiming"});
  expect_refused(resnet("--schedule step:0:0.1"), {"step:0:0.1"});
  expect_refused(resnet("--batch 6 --epochs 2 --warmup-steps 5"), {"warm-up", "5", "4"});
  expect_refused(resnet("--checkpoint-layers -1"), {"--checkpoint-layers is '-1'"});
  expect_refused(resnet("--device-count-invariant --algorithm ring"),
                 {"--algorithm", "automatic or direct with --device-count-invariant"});
  expect_refused(resnet("--device-count-invariant --group 1"),
                 {"--device-count-invariant is not possible with --group"});
  expect_refused(resnet("--devices 2 --group 3"), {"--group is 3, must divide 2"});
  expect_refused(resnet("--resume " + (results_ / "absent")), {"absent"});
  expect_refused(resnet("--save " + (results_ / "absent/file")), {"--save", "absent"});
  expect_refused(resnet("--save " + (results_ / "a") + " --log " + (results_ / "a")), {"same file"});
}

TEST_F(CommandTrain, MlpInAllModesHasTheSameLosses) {
  std::vector<double> first;
  for (const char* mode : {"single", "sharded", "replicated"})
    for (const char* more : {"", " --checkpoint-layers 2", " --micro-batches 3"}) {
      const Outcome outcome = run_line(
          "train mlp --layers 5 --width 48 --inputs 40 --outputs 3 --batch 30 --steps 4 --lr 0.01 "
          "--verify --mode " +
          std::string(mode) + more + " --json " + (results_ / "m.json"));
      ASSERT_EQ(outcome.code, 0) << outcome.text();
      EXPECT_EQ(missing(outcome.text(),
                        {"MLP of 5 layers of width 48", mode, "mean and standard deviation of 4 steps",
                         "at most on a device", "verified"}),
                "")
          << outcome.text();
      const nlohmann::json json = nlohmann::json::parse(read_text(results_ / "m.json"));
      EXPECT_EQ(json["parameters"], 40 * 48 + 48 + 4 * (48 * 48 + 48) + 48 * 3 + 3);
      EXPECT_EQ(json["seconds"].size(), 4u);
      const std::string options = more;
      const std::pair<const char*, nlohmann::json> given[] = {
          {"mode", mode},
          {"processes", 1},
          {"layers", 5},
          {"width", 48},
          {"inputs", 40},
          {"outputs", 3},
          {"batch", 30},
          {"weights", "default"},
          {"optimizer", "adam"},
          {"learning_rate", 0.01},
          {"micro_batches", options == " --micro-batches 3" ? 3 : 1},
          {"checkpoint_layers", options == " --checkpoint-layers 2" ? 2 : 0},
          {"precision", "fp32"},
          {"reduce_dtype", "fp32"}};
      for (const auto& [key, value] : given) EXPECT_EQ(json[key], value) << key;
      EXPECT_GT(json["flops_per_second"], 0);
      EXPECT_GT(json["peak_bytes"], 4 * json["parameters"].get<int64_t>());
      const std::vector<double> losses = json["losses"];
      ASSERT_EQ(losses.size(), 6u);
      EXPECT_LT(losses.back(), losses.front());
      if (first.empty()) first = losses;
      for (size_t i = 0; i < losses.size(); ++i)
        EXPECT_NEAR(losses[i], first[i], 2e-5 * first[i]) << mode << more;
    }
}

TEST_F(CommandTrain, TheMlpBeginsWithTheWeightsOfTheOption) {
  const std::string command = "train mlp --layers 2 --width 8 --inputs 4 --batch 9 --steps 1 ";
  const auto first_loss = [&](const std::string& options) {
    const Outcome outcome = run_line(command + options + " --json " + (results_ / "m.json"));
    EXPECT_EQ(outcome.code, 0) << outcome.text();
    return nlohmann::json::parse(read_text(results_ / "m.json")).at("losses").at(0).get<double>();
  };
  std::set<double> losses;
  for (const std::string name : {"default", "normal", "xavier", "kaiming"})
    losses.insert(first_loss("--weights " + name));
  EXPECT_EQ(losses.size(), 4u);
  EXPECT_TRUE(losses.contains(first_loss("")));
}

TEST_F(CommandTrain, MlpRefuses) {
  for (const std::string mode : {"single", "replicated"})
    for (const std::string option : {"--algorithm ring", "--group 1", "--device-count-invariant"})
      expect_refused("train mlp --mode " + mode + " " + option,
                     {option.substr(0, option.find(' ')) + " is not possible with --mode " + mode});
  expect_refused("train mlp --mode alone", {"--mode is 'alone'", "single, sharded or replicated"});
  expect_refused("train mlp --mode single --devices 2", {"2 replicas", "must be 1 with --mode single"});
  expect_refused("train mlp --weights zero", {"zero", "kaiming"});
  expect_refused("train mlp --save file", {"--save is not possible with mlp: its data are random"});
  expect_refused("train mlp --width 0", {"--width is '0'"});
  expect_refused("train mlp --batch 4 --micro-batches 5", {"--micro-batches is 5", "at most 4"});
  expect_refused("train mlp --json " + (results_ / "absent/f"), {"--json", "absent"});
}

// The largest values that the options allow together.
TEST_F(CommandTrain, TakesExactlyTheLimits) {
  const std::string mlp = "train mlp --layers 1 --width 4 --inputs 3 --steps 1 ";
  const std::string strategies = "strategies mlp --layers 2 --width 8 --steps 1 --strategy pipeline ";
  for (const std::string& command :
       {lenet("--epochs 1 --batch 12 --micro-batches 12 --devices 1"), lenet("--epochs 1 --micro-batches 12"),
        lenet("--epochs 1 --batch 2 --devices " + devices(2)),
        lenet("--epochs 1 --limit 2 --devices " + devices(2)), mlp + "--batch 4 --micro-batches 4",
        mlp + "--mode single --devices 1", strategies + "--batch 8 --micro-batches 8",
        "strategies lenet --steps 1 --batch 12 --data " + data_.path().string()}) {
    const Outcome outcome = run_line(command);
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.text();
  }
}

// The error comes before any allocation, and names the sizes.
TEST_F(CommandTrain, MemoryIsEstimated) {
  const Outcome outcome = run_line("train mlp --mode single --layers 90 --width 90000");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(missing(outcome.text(), {"training needs ", " free: parameters ", "optimizer ", "activations"}),
            "")
      << outcome.text();
}

}  // namespace
}  // namespace rondo::test

// Options of `rondo train lenet`, `resnet18`, `mobilenet`, `vit` and `mlp`.
#pragma once

#include <rondo/collectives/algorithm.h>
#include <rondo/tools/rondo/support/command.h>
#include <rondo/tools/rondo/support/precision.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rondo::program {

// Options of every training: the ranks and the exchange between them.
struct RanksArguments {
  std::optional<std::vector<int>> devices;  // of this process
  std::optional<int64_t> batch;
  Algorithm algorithm = Algorithm::automatic;
  bool device_count_invariant = false;
  int group = 0;     // ranks in a group of the hierarchical all-reduce; 0: all
  int timeout = 60;  // seconds for which processes wait for each other
  bool verify = false;
  Precision precision = Precision::fp32;
  Precision reduce_dtype = Precision::fp32;  // fp32 or bf16
};

// Options of a training on images. An empty path means "not requested".
struct ImageTraining : RanksArguments {
  int epochs = 10;
  uint64_t seed = 0;
  std::optional<int64_t> limit;  // samples to use of the training set and of the test set
  std::optional<std::string> data;
  std::optional<int64_t> classes;  // not given: the largest label + 1
  std::string log, plot, trace, html;
};

enum class OptimizerKind { sgd, adam, adamw };
const char* name_of(OptimizerKind kind);

// The optimizer and its settings.
struct OptimizerArguments {
  OptimizerKind kind = OptimizerKind::sgd;
  float momentum = 0;
  bool nesterov = false;
  float weight_decay = 0;
};

// The defaults of a network's training.
struct Recipe {
  int replicas;  // in a single process; with several processes each has 1
  int64_t batch;
  double rate;
  bool for_each_replica;  // the batch is per replica, and the rate is scaled with the batch
};
inline constexpr Recipe kLeNetRecipe = {2, 256, 0.2, false}, kResNet18Recipe = {1, 256, 0.1, true},
                        kVitRecipe = {1, 256, 0.001, true};

struct NetworkArguments : ImageTraining {
  std::string model = "resnet18";
  Recipe recipe = kResNet18Recipe;
  bool from_scratch = false;  // train by nn/lenet_from_scratch.cpp
  std::optional<double> lr;
  std::string schedule = "constant";
  int64_t warmup = 0;  // steps
  OptimizerArguments optimizer;
  std::string weights = "normal";
  int64_t crop = 0;  // pixels of padding
  bool flip = false;
  float erase = 0;  // probability
  bool normalize = false;
  std::vector<float> mean, stddev;  // given; empty: none, or those of the data with `normalize`
  bool no_sync_bn = false;
  int64_t micro_batches = 1;
  int64_t checkpoint_layers = 0;
  std::string save, resume;  // checkpoints
  std::string from;          // the initial parameters: of Rondo, or a PyTorch state dict
  std::string names;         // JSON of nn::StateDictNames, for `from`
};

// The learning rate, if it does not depend on the number of samples.
std::optional<double> known_rate(const NetworkArguments& arguments);
// Checks options that depend on each other, as far as the processes and the data do not matter. Throws a
// bad_argument Error.
void check(const NetworkArguments& arguments);

enum class MlpMode { single, sharded, replicated };
const char* name_of(MlpMode mode);

struct MlpArguments : RanksArguments {
  // The default batch per device. The default device count is one in the mode single and in each of several
  // processes, else two.
  static constexpr int64_t kBatchOfADevice = 256 * 27;

  MlpMode mode = MlpMode::sharded;
  int64_t layers = 90, width = 2056, inputs = 1024, outputs = 10;
  double lr = 1e-4;
  OptimizerArguments optimizer = {.kind = OptimizerKind::adam};
  int steps = 7;
  uint64_t seed = 0;
  std::string weights = "default";
  int64_t micro_batches = 1;
  int64_t checkpoint_layers = 0;
  std::string json, trace, html;
};

void check(const MlpArguments& arguments);

// The command has a command of its own for each model; options may also precede the model's name.
void add_train(Program& program);

}  // namespace rondo::program

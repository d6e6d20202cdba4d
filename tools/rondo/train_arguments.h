// What may be said to `rondo train lenet`, `rondo train resnet18` and `rondo train mlp`.
#pragma once

#include <rondo/collectives/algorithm.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rondo::program {

// What all that train on images may be told. A path that is empty was not asked for.
struct ImageTraining {
  std::optional<std::vector<int>> devices;
  std::optional<int64_t> batch;
  int epochs = 10;
  uint64_t seed = 0;
  Algorithm algorithm = Algorithm::automatic;
  std::optional<int64_t> limit;  // samples to use of each half of the data
  std::optional<std::string> data;
  std::string log, plot, trace;
  bool verify = false;
};

struct TrainArguments : ImageTraining {
  // Not given: kDefaultReplicas, on as many devices as there are; kDefaultBatch, or all samples where there are fewer.
  static constexpr int64_t kDefaultBatch = 256;
  static constexpr int kDefaultReplicas = 2;

  float lr = 0.2f;
  bool fixed_order = false;
  int group = 0;     // ranks in a group of the algorithm hierarchical; 0: all
  int timeout = 60;  // seconds for which processes wait for each other
};

enum class OptimizerKind { sgd, adam, adamw };
const char* name_of(OptimizerKind kind);

// How the parameters step.
struct OptimizerArguments {
  OptimizerKind kind = OptimizerKind::sgd;
  float momentum = 0;
  bool nesterov = false;
  float weight_decay = 0;
};

struct NetworkArguments : ImageTraining {
  // Not given: one device, and of each device so many samples at such a rate.
  static constexpr int64_t kBatchOfADevice = 256;
  static constexpr double kRateOfADevice = 0.1;

  std::string model = "resnet18";
  std::optional<double> lr;
  std::string schedule = "constant";
  int64_t warm_up = 0;  // steps
  OptimizerArguments optimizer;
  std::string weights = "normal";
  bool local_statistics = false;
  int64_t micro_batches = 1;
  int checkpoint_layers = 0;
  std::string save, resume;  // checkpoints
};

enum class MlpMode { single, sharded, replicated };
const char* name_of(MlpMode mode);

struct MlpArguments {
  // Not given: one device in the mode single, two in the others; and of each device so many samples.
  static constexpr int64_t kBatchOfADevice = 256 * 27;

  MlpMode mode = MlpMode::sharded;
  std::optional<std::vector<int>> devices;
  std::optional<int64_t> batch;
  int64_t layers = 90, width = 2056, inputs = 1024, outputs = 10;
  double lr = 1e-4;
  OptimizerArguments optimizer = {.kind = OptimizerKind::adam};
  int steps = 7;
  uint64_t seed = 0;
  Algorithm algorithm = Algorithm::automatic;
  int64_t micro_batches = 1;
  int checkpoint_layers = 0;
  bool verify = false;
  std::string json, trace;
};

inline constexpr const char* kTrainedModels = "lenet, resnet18 or mlp";

struct TrainCommands {
  const CLI::App *lenet, *resnet18, *mlp;
};
TrainCommands add_train(CLI::App& app, TrainArguments& lenet, NetworkArguments& resnet18, MlpArguments& mlp);

// The words of a command line, without the program's name. The model comes directly after "train", wherever it was. Throws a bad_argument Error for a model that there is not.
std::vector<std::string> words_of(int argc, const char* const* argv);

}  // namespace rondo::program

// Optimizers: the step that every replica takes after the gradients are summed.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/optimizer/adam.h>
#include <rondo/nn/train/unique.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rondo::nn {

class DataParallel;
class Replica;

// What an optimizer remembers from step to step beside one replica, in the memory of its device.
struct OptimizerMemory {
  struct Arena {
    std::string name;
    VectorView<float> values;  // of the parameters' size, laid out as they are
  };
  struct Counter {
    std::string name;
    int64_t* value;
  };
  std::vector<Arena> arenas;
  std::vector<Counter> counters;
};

struct OptimizerSetting {
  std::string name;
  float value;
};

// What an optimizer takes beside each replica, in the memory of its device.
struct OptimizerSize {
  int arenas = 0;     // of the parameters' size
  int64_t bytes = 0;  // beside them: the learning rate, Adam's state
};

// Belongs to the model that it was made for, and must go before it.
class Optimizer : public Unique {
 public:
  virtual ~Optimizer();  // waits for the steps
  // Enqueues the step of replica `rank`, whose device is current, with `scale` = 1 / (size of the whole batch). What it enqueues
  // may be recorded and replayed for the following steps: what changes from step to step must be in device memory.
  virtual void step(Replica& replica, size_t rank, float scale) = 0;

  // Whether it was made for this replica of this rank.
  bool serves(const Replica& replica, size_t rank) const {
    return rank < states_.size() && states_[rank].replica == &replica;
  }

  // From the next step on.
  void set_learning_rate(float rate);
  float learning_rate() const { return learning_rate_; }

  // For checkpoints: two of the same kind, settings, learning rate and memory take the same steps. The learning rate is not
  // among the settings. The memory belongs to the steps in flight.
  virtual std::string kind() const = 0;
  virtual std::vector<OptimizerSetting> settings() const = 0;
  virtual OptimizerMemory memory(size_t rank);

 protected:
  // On every replica's device: state arenas of the parameters' size, one for each name, and `bytes` of whatever else the steps
  // remember. All zeros. What steps use must lie there and not in a derived class, whose members go before the wait.
  Optimizer(DataParallel& model, float learning_rate, std::vector<std::string> arenas, int64_t bytes = 0);

  struct State {
    Replica* replica;
    Buffer<float> rate;  // one, in device memory
    std::vector<Buffer<float>> arenas;
    Buffer<std::byte> beside;
  };
  State& state(size_t rank) { return states_[rank]; }

 private:
  float learning_rate_;
  std::vector<std::string> arena_names_;
  std::vector<State> states_;
};

struct SgdOptions {
  float learning_rate = 0.1f;
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
};

// kernels/optimizer/sgd.h. Without momentum it remembers nothing.
class Sgd : public Optimizer {
 public:
  static constexpr OptimizerSize size(float momentum) { return {momentum != 0 ? 1 : 0, sizeof(float)}; }
  explicit Sgd(DataParallel& model, SgdOptions options = {});
  void step(Replica& replica, size_t rank, float scale) override;
  std::string kind() const override { return "sgd"; }
  std::vector<OptimizerSetting> settings() const override;

 private:
  SgdOptions options_;
};

struct AdamSettings {
  float learning_rate = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float eps = 1e-8f;
  float weight_decay = 0;
  bool decoupled = false;  // AdamW
};

// kernels/optimizer/adam.h
class Adam : public Optimizer {
 public:
  static constexpr OptimizerSize kSize = {2, sizeof(float) + sizeof(AdamState)};
  explicit Adam(DataParallel& model, AdamSettings settings = {});
  void step(Replica& replica, size_t rank, float scale) override;
  std::string kind() const override { return "adam"; }
  std::vector<OptimizerSetting> settings() const override;
  OptimizerMemory memory(size_t rank) override;

 private:
  AdamState* adam_state(size_t rank);

  AdamSettings settings_;
};

}  // namespace rondo::nn

// Optimizers: update the parameters of every replica after the gradients have been summed.
#pragma once

#include <rondo/kernels/optimizer/adam.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/graph/unique.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rondo::nn {

// The optimizer's state for one replica, in the memory of the replica's device.
struct OptimizerMemory {
  struct Arena {
    std::string name;
    VectorView<float> values;  // same size and layout as the parameters
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

// Device memory of an optimizer per replica.
struct OptimizerSize {
  int arenas = 0;     // number of arenas of the parameters' size
  int64_t bytes = 0;  // other memory: learning rate, Adam's state
};

// An optimizer belongs to the replicas it was made for and must be destroyed before them. A DataParallel
// converts to its replicas.
class Optimizer : public Unique {
 public:
  virtual ~Optimizer();  // waits for enqueued steps
  // Enqueues the step of replica `rank`, whose device is current. `scale` is 1 / (size of the whole batch).
  // The work may be recorded and replayed, so values that change between steps must be in device memory.
  virtual void step(Replica& replica, size_t rank, float scale) = 0;
  // True if step() also writes Replica::rounded_parameters(). If false, the next step begins with a pass over
  // the parameters that rounds them.
  virtual bool rounds_parameters() const { return false; }

  // True if the optimizer was made for this replica at this rank.
  bool serves(const Replica& replica, size_t rank) const {
    return rank < states_.size() && states_[rank].replica == &replica;
  }

  // Takes effect from the next step.
  void set_learning_rate(float rate);
  float learning_rate() const { return learning_rate_; }

  // For checkpoints. Optimizers with equal kind, settings, learning rate and memory take the same steps.
  // settings() does not include the learning rate. Wait for enqueued steps before reading the memory.
  virtual std::string kind() const = 0;
  virtual std::vector<OptimizerSetting> settings() const = 0;
  virtual OptimizerMemory memory(size_t rank);

 protected:
  // Allocates, on each replica's device, one state arena per name (of the parameters' size) and `bytes` bytes
  // of other state, all zero. Steps must not use members of a derived class: those are destroyed before
  // ~Optimizer() waits.
  Optimizer(std::span<Replica> replicas, float learning_rate, std::vector<std::string> arenas,
            int64_t bytes = 0);

  struct State {
    Replica* replica;
    Buffer<float> rate;  // one element, in device memory
    std::vector<Buffer<float>> arenas;
    Buffer<std::byte> beside;
  };
  State& state(size_t rank) { return states_[rank]; }

 private:
  float learning_rate_;
  std::vector<std::string> arena_names_;
  std::vector<State> states_;
};

// See kernels/optimizer/sgd.h. Without momentum there are no state arenas.
class Sgd : public Optimizer {
 public:
  struct Options {
    float learning_rate = 0.1f;
    float momentum = 0;
    float weight_decay = 0;
    bool nesterov = false;
  };
  static constexpr OptimizerSize size(float momentum) { return {momentum != 0 ? 1 : 0, sizeof(float)}; }
  explicit Sgd(std::span<Replica> replicas) : Sgd(replicas, Options{}) {}
  Sgd(std::span<Replica> replicas, Options options);
  void step(Replica& replica, size_t rank, float scale) override;
  bool rounds_parameters() const override { return true; }
  std::string kind() const override { return "sgd"; }
  std::vector<OptimizerSetting> settings() const override;

 private:
  Options options_;
};

// See kernels/optimizer/adam.h.
class Adam : public Optimizer {
 public:
  struct Options {
    float learning_rate = 1e-3f;
    float beta1 = 0.9f;
    float beta2 = 0.999f;
    float eps = 1e-8f;
    float weight_decay = 0;
    bool decoupled = false;  // AdamW
  };
  static constexpr OptimizerSize kSize = {2, sizeof(float) + sizeof(AdamState)};
  explicit Adam(std::span<Replica> replicas) : Adam(replicas, Options{}) {}
  Adam(std::span<Replica> replicas, Options options);
  void step(Replica& replica, size_t rank, float scale) override;
  bool rounds_parameters() const override { return true; }
  std::string kind() const override { return "adam"; }
  std::vector<OptimizerSetting> settings() const override;
  OptimizerMemory memory(size_t rank) override;

 private:
  AdamState* adam_state(size_t rank);

  Options options_;
};

}  // namespace rondo::nn

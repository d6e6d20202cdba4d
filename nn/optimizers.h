// Optimizers: the step that every replica takes after the gradients are summed.
#pragma once

#include <rondo/kernels/core/buffer.h>
#include <rondo/kernels/optimizer/adam.h>
#include <rondo/nn/unique.h>

#include <cstdint>
#include <vector>

namespace rondo::nn {

class DataParallel;
class Replica;

// Belongs to the model that it was made for, and must go before it.
class Optimizer : public Unique {
 public:
  virtual ~Optimizer() = default;
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

 protected:
  // State arenas of the parameters' size, zeros, on every replica's device.
  Optimizer(DataParallel& model, float learning_rate, int arenas);

  struct State {
    Replica* replica;
    Buffer<float> rate;  // one, in device memory
    std::vector<Buffer<float>> arenas;
  };
  State& state(size_t rank) { return states_[rank]; }

 private:
  float learning_rate_;
  std::vector<State> states_;
};

struct SgdOptions {
  float learning_rate = 0.1f;
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
};

// kernels/optimizer/momentum.h
class Sgd : public Optimizer {
 public:
  explicit Sgd(DataParallel& model, SgdOptions options = {});
  void step(Replica& replica, size_t rank, float scale) override;

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
  explicit Adam(DataParallel& model, AdamSettings settings = {});
  void step(Replica& replica, size_t rank, float scale) override;

 private:
  AdamSettings settings_;
  std::vector<Buffer<AdamClock>> clocks_;
};

}  // namespace rondo::nn

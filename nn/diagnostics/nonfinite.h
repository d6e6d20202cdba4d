// Finds the origin of a NaN. Runs a pass operation by operation and checks everything that each operation
// writes, up to the first NaN or infinity.
//
//   if (const auto bad = first_nonfinite_in_forward(replicas, pass)) std::cerr << bad->text() << '\n';
//
//   3.0.body.1 (batch norm, ReLU): output [image 3, row 0, column 5, channel 12] is nan
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/graph/shard.h>
#include <rondo/nn/train/world.h>

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace rondo::nn {

struct NonfiniteTensor {
  int replica = 0;
  std::string tensor;  // "3.0.body.1 (batch norm, ReLU): output", "0.weight: gradient"
  // "[image 3, row 0, column 5, channel 12]", the image counted in the whole batch; or "[4, 0, 1, 7]".
  std::string position;
  int64_t index = 0;  // in the tensor of that replica
  float value = 0;

  std::string text() const;  // names the replica, except replica 0
};

// Checks what forward() reads and writes: parameters, in evaluation also states, the input, then the output
// of each operation. Returns the first non-finite tensor; if several replicas have one, that of the lowest
// replica. The replicas' inputs must be set (a pass may have overwritten them). Restores the states
// afterwards. Waits for each operation. Throws rondo::Error, as forward() does.
//
// With several processes, all must call this together. The replicas of all processes are checked, and all get
// the same result.
std::optional<NonfiniteTensor> first_nonfinite_in_forward(std::span<Replica> replicas, const Pass& pass,
                                                          const World* world = nullptr);

// Checks what backward() reads and writes: the gradient of the output, then, from the last operation to the
// first, the gradients of its parameters and inputs. Call after forward(), with the output's gradient set.
std::optional<NonfiniteTensor> first_nonfinite_in_backward(std::span<Replica> replicas, const Pass& pass,
                                                           const World* world = nullptr);

// Checks the loss of each sample, by losses(r, samples): the sum over some samples of replica r's batch. Call
// after forward().
std::optional<NonfiniteTensor> first_nonfinite_loss(
    std::span<Replica> replicas, const std::function<LossStats(size_t replica, Shard samples)>& losses,
    const World* world = nullptr);

}  // namespace rondo::nn

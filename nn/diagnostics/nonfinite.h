// Where did the NaN come from? A pass is run operation by operation, and everything that an operation writes is looked
// at, until something is NaN or infinite.
//
//   if (const auto bad = first_bad_in_forward(replicas, pass)) std::cerr << bad->text() << '\n';
//
//   3.0.body.1 (batch norm, ReLU): output [image 3, row 0, column 5, channel 12] is nan
#pragma once

#include <rondo/nn/graph/replica.h>
#include <rondo/nn/train/world.h>

#include <optional>
#include <span>
#include <string>

namespace rondo::nn {

struct NonfiniteTensor {
  int replica = 0;
  std::string tensor;  // "3.0.body.1 (batch norm, ReLU): output", "0.weight: gradient"
  std::string
      position;  // "[image 3, row 0, column 5, channel 12]": of the image in the whole batch; "[4, 0, 1, 7]"
  int64_t index = 0;  // in the tensor of that replica
  float value = 0;

  std::string text() const;  // with the replica, unless it is the first
};

// The first of what forward() reads and writes: parameters, in evaluation states, input, then each operation's output. The replicas'
// inputs must be set (a pass may have overwritten them), and are those of the pass; states are put back as they were. Of
// several replicas the lowest is named. Waits for each operation. Throws rondo::Error, as forward() does.
//
// With several processes, which call this together, the replicas of all are looked at, and all get the same
// answer.
std::optional<NonfiniteTensor> first_bad_in_forward(std::span<Replica> replicas, const Pass& pass,
                                              const World* world = nullptr);

// The first of what backward() reads and writes: the output's gradient, then of each operation, from the last to the first,
// the gradients of its parameters and of its inputs. After forward(), with the output's gradient set.
std::optional<NonfiniteTensor> first_bad_in_backward(std::span<Replica> replicas, const Pass& pass,
                                               const World* world = nullptr);

}  // namespace rondo::nn

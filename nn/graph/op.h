// Op: one operation of a network, forward and backward, on one device.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/nn/graph/tensor.h>

#include <cuda_runtime_api.h>

#include <span>
#include <string>

namespace rondo::nn {

// What one call of an operation works on. Pointers are those of one replica; its device is current.
struct OpContext {
  int64_t batch = 0;         // samples here
  int64_t first = 0;         // samples of the whole batch that other replicas have before these
  int64_t summed_batch = 0;  // samples that went into `sums`: these, or those of all replicas
  bool training = false;
  bool recompute =
      false;          // forward: once more, for backward; states and sums are already those of this batch
  uint64_t seed = 0;  // of what is random in training
  const int64_t* step = nullptr;  // in device memory
  std::span<const ConstTensor> inputs;
  Tensor output;                                // forward: to write; backward: as forward left it
  Tensor output_gradient;                       // backward: to read, and then free to be overwritten
  std::span<const Tensor> input_gradients;      // backward: to write; without data where nobody asks for it
  std::span<float* const> parameters;           // in the order in which the operation declared them
  std::span<float* const> parameter_gradients;  // backward: to write, sums over the samples here
  std::span<float* const> states;               // running statistics: kept between steps, not trained
  std::span<double* const> sums;                // what the replicas share (Op::shared_sums())
  Workspace workspace;
  cudaStream_t stream = nullptr;
};

// What backward reads of what forward left; what it does not read may be overwritten before.
struct Saves {
  bool inputs = false;
  bool output = false;
};

// An operation is made once and serves all replicas and steps: it keeps nothing of a run in itself.
class Op {
 public:
  virtual ~Op() = default;

  // In words, for a table of the network: "conv 64 @ 3x3, stride 2".
  virtual std::string description() const = 0;
  // Multiplications and additions of forward for one sample.
  virtual double flops() const { return 0; }
  virtual Saves saves() const { return {}; }
  // The largest that forward or backward wants for so many samples.
  virtual int64_t workspace_bytes(int64_t batch) const {
    static_cast<void>(batch);
    return 0;
  }

  // Doubles that forward_sums() leaves in run.sums[0] and backward_sums() in run.sums[1], before forward() and backward();
  // in between they are added over all replicas, where the replicas share their statistics.
  virtual int64_t shared_sums() const { return 0; }
  virtual Status forward_sums(const OpContext&) const { return {}; }
  virtual Status backward_sums(const OpContext&) const { return {}; }

  virtual Status forward(const OpContext& run) const = 0;
  virtual Status backward(const OpContext& run) const = 0;

  // Takes a ReLU into the operation's own last pass, when it is asked before it is used. False: it can't.
  virtual bool fuse_relu() { return false; }
};

}  // namespace rondo::nn

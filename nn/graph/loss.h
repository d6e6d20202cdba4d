// LossHead: the end of a network on one device: labels or target values, the loss and its gradient.
#pragma once

#include <rondo/kernels/core/view.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/runtime/buffer.h>

#include <cstdint>

namespace rondo::nn {

enum class Loss {
  cross_entropy,  // softmax cross-entropy of a sample's outputs with its label
  squared_error,  // summed over a sample's outputs
};

// What the loss compares the outputs with: one entry per sample of the replica. Each loss uses one member.
struct LossTarget {
  VectorView<int32_t> labels;
  MatrixView<float> values;
};

class LossHead {
 public:
  // For at most `batch` samples with `outputs` outputs, on the device of `stream`. Throws rondo::Error.
  LossHead(int device, cudaStream_t stream, int64_t batch, int64_t outputs);

  // The memory of the targets of samples [first, first + samples). Write it in the order of the stream.
  LossTarget target(int64_t first, int64_t samples);

  // Enqueues the loss of consecutive samples, one per row of `outputs`, whose targets begin at sample
  // `first`: adds the losses to the statistics and, unless `gradient` is null, writes the gradient of their
  // sum. Overwrites `outputs` only through `gradient`.
  void run(Loss loss, MatrixView<const float> outputs, MatrixView<float> gradient, int64_t first);

  // The statistics, in device memory.
  const LossStats* stats() const { return stats_.data(); }
  // Wait for the stream. take_stats() returns the sums since the last call.
  LossStats read_stats() const;
  LossStats take_stats();
  void set_stats(const LossStats& stats);

  // Device memory, in bytes.
  static int64_t bytes(int64_t batch, int64_t outputs);

 private:
  int device_;
  cudaStream_t stream_;
  int64_t outputs_;
  Buffer<int32_t> labels_;
  Buffer<float> values_;
  Buffer<LossStats> stats_;
  Buffer<std::byte> workspace_;
};

}  // namespace rondo::nn

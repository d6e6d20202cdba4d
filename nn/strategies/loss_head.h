// LossHead: what comes behind a network's last layer on one device: labels or targets, the loss, and its gradient.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/strategies/strategy.h>

namespace rondo::nn {

class LossHead {
 public:
  // For at most `batch` samples of so many outputs, on `device`. Throws rondo::Error.
  LossHead(int device, cudaStream_t stream, int64_t batch, int64_t outputs);

  // Copies what is wanted of samples [first, first + the size of the part) to the device.
  void upload(const Batch& part, int64_t first);
  // gradient = the gradient of the summed losses of the samples from `first` on; adds the losses to the loss_stats. After upload().
  void run(const Tensor& output, const Tensor& gradient, int64_t first);

  // Sums since the last call. Waits for the stream.
  LossStats take_loss_stats();
  int64_t bytes() const;

 private:
  int device_;
  cudaStream_t stream_;
  int64_t outputs_;
  bool by_label_ = true;
  Buffer<int32_t> labels_;
  Buffer<float> targets_;
  Buffer<LossStats> loss_stats_;
  Buffer<std::byte> workspace_;
};

}  // namespace rondo::nn

// LossHead: labels or targets, the loss and its gradient, on the device of a network's last layer.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/nn/data/host_uploads.h>
#include <rondo/nn/strategies/strategy.h>

namespace rondo::nn {

class LossHead {
 public:
  // For at most `batch` samples with `outputs` outputs, on `device`. Throws rondo::Error.
  LossHead(int device, cudaStream_t stream, int64_t batch, int64_t outputs);

  // Copies the labels or targets of `part`, which begins at sample `first`, to the device.
  void upload(const Batch& part, int64_t first);
  // Writes the gradient of the summed losses of the samples from `first` on, and adds the losses to the loss
  // statistics. Call after upload().
  void run(const Tensor& output, const Tensor& gradient, int64_t first);

  // Returns the sums since the last call. Waits for the stream.
  LossStats take_loss_stats();
  int64_t bytes() const;

 private:
  int device_;
  cudaStream_t stream_;
  HostUploads uploads_;
  int64_t outputs_;
  bool by_label_ = true;
  Buffer<int32_t> labels_;
  Buffer<float> targets_;
  Buffer<LossStats> loss_stats_;
  Buffer<std::byte> workspace_;
};

}  // namespace rondo::nn

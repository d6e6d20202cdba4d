#include <rondo/nn/strategies/loss_head.h>

#include <rondo/kernels/loss/squared_error.h>

#include <algorithm>

namespace rondo::nn {

LossHead::LossHead(int device, cudaStream_t stream, int64_t batch, int64_t outputs)
    : device_(device), stream_(stream), uploads_(device, stream), outputs_(outputs) {
  const DeviceScope scope(device);
  labels_ = Buffer<int32_t>(batch);
  targets_ = Buffer<float>(batch * outputs);
  loss_stats_ = Buffer<LossStats>(1);
  workspace_ = Buffer<std::byte>(std::max(softmax_cross_entropy_workspace_bytes(batch, outputs),
                                          squared_error_workspace_bytes(batch, outputs)));
  loss_stats_.fill_bytes(0);
}

void LossHead::upload(const Batch& part, int64_t first) {
  by_label_ = part.targets.empty();
  uploads_.enqueue({by_label_ ? upload_of(labels_.data() + first, part.labels)
                              : upload_of(targets_.data() + first * outputs_, part.targets)});
}

void LossHead::run(const Tensor& output, const Tensor& gradient, int64_t first) {
  const DeviceScope scope(device_);
  const Workspace workspace = {workspace_.data(), workspace_.bytes()};
  const MatrixView<const float> predictions = ConstTensor(output).samples();
  if (by_label_)
    throw_if_error(softmax_cross_entropy(gradient.samples(), loss_stats_.data(), predictions,
                                         {labels_.data() + first, output.batch}, 1.0f, workspace, stream_));
  else
    throw_if_error(
        squared_error(gradient.samples(), loss_stats_.data(), predictions,
                      matrix<const float>(targets_.data() + first * outputs_, output.batch, outputs_), 1.0f,
                      workspace, stream_));
}

LossStats LossHead::take_loss_stats() {
  const DeviceScope scope(device_);
  RONDO_CUDA_THROW(cudaStreamSynchronize(stream_));
  const LossStats loss_stats = loss_stats_.download()[0];
  loss_stats_.fill_bytes(0);
  return loss_stats;
}

int64_t LossHead::bytes() const {
  return labels_.bytes() + targets_.bytes() + loss_stats_.bytes() + workspace_.bytes();
}

}  // namespace rondo::nn

#include <rondo/nn/graph/loss.h>

#include <rondo/kernels/loss/squared_error.h>

#include <algorithm>

namespace rondo::nn {

namespace {

int64_t workspace_bytes(int64_t batch, int64_t outputs) {
  return std::max(softmax_cross_entropy_workspace_bytes(batch, outputs),
                  squared_error_workspace_bytes(batch, outputs));
}

}  // namespace

LossHead::LossHead(int device, cudaStream_t stream, int64_t batch, int64_t outputs)
    : device_(device), stream_(stream), outputs_(outputs) {
  const DeviceScope scope(device);
  labels_ = Buffer<int32_t>(batch);
  values_ = Buffer<float>(batch * outputs);
  stats_ = Buffer<LossStats>(1);
  workspace_ = Buffer<std::byte>(workspace_bytes(batch, outputs));
  stats_.fill_bytes(0);
}

LossTarget LossHead::target(int64_t first, int64_t samples) {
  return {{labels_.data() + first, samples}, matrix(values_.data() + first * outputs_, samples, outputs_)};
}

void LossHead::run(Loss loss, MatrixView<const float> outputs, MatrixView<float> gradient, int64_t first) {
  const DeviceScope scope(device_);
  const LossTarget to = target(first, outputs.rows);
  const Workspace workspace = {workspace_.data(), workspace_.bytes()};
  throw_if_error(
      loss == Loss::cross_entropy
          ? softmax_cross_entropy(gradient, stats_.data(), outputs, to.labels, 1.0f, workspace, stream_)
          : squared_error(gradient, stats_.data(), outputs, to.values, 1.0f, workspace, stream_));
}

LossStats LossHead::read_stats() const {
  const DeviceScope scope(device_);
  RONDO_CUDA_THROW(cudaStreamSynchronize(stream_));
  return stats_.download()[0];
}

LossStats LossHead::take_stats() {
  const LossStats stats = read_stats();
  set_stats({});
  return stats;
}

void LossHead::set_stats(const LossStats& stats) {
  const DeviceScope scope(device_);
  RONDO_CUDA_THROW(cudaStreamSynchronize(stream_));
  stats_.upload(std::span(&stats, 1));
}

int64_t LossHead::bytes(int64_t batch, int64_t outputs) {
  return batch * static_cast<int64_t>(sizeof(int32_t)) +
         batch * outputs * static_cast<int64_t>(sizeof(float)) + static_cast<int64_t>(sizeof(LossStats)) +
         workspace_bytes(batch, outputs);
}

}  // namespace rondo::nn

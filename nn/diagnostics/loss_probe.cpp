#include <rondo/nn/diagnostics/loss_probe.h>

namespace rondo {

LossProbe::LossProbe(int device, cudaStream_t stream, std::vector<const LossStats*> loss_stats, int capacity)
    : device_(device), stream_(stream), loss_stats_(std::move(loss_stats)), capacity_(capacity) {
  DeviceScope scope(device_);
  for (int slot = 0; slot < capacity; ++slot) events_.emplace_back(Event::Kind::blocking);
  const size_t bytes = static_cast<size_t>(capacity) * loss_stats_.size() * sizeof(LossStats);
  RONDO_CUDA_THROW(cudaMallocHost(reinterpret_cast<void**>(&pinned_), bytes));
}

LossProbe::~LossProbe() {
  static_cast<void>(cudaStreamSynchronize(stream_));  // copies into the pinned memory may be in flight
  static_cast<void>(cudaFreeHost(pinned_));
}

bool LossProbe::enqueue_copy() {
  if (newest_ - oldest_ == capacity_) return false;
  DeviceScope scope(device_);
  const auto slot = static_cast<size_t>(newest_ % capacity_);
  for (size_t rank = 0; rank < loss_stats_.size(); ++rank)
    RONDO_CUDA_THROW(cudaMemcpyAsync(pinned_ + slot * loss_stats_.size() + rank, loss_stats_[rank],
                                     sizeof(LossStats), cudaMemcpyDefault, stream_));
  RONDO_CUDA_THROW(cudaEventRecord(events_[slot], stream_));
  ++newest_;
  return true;
}

LossStats LossProbe::wait_for_oldest() {
  const auto slot = static_cast<size_t>(oldest_ % capacity_);
  throw_if_error(from_cuda(cudaEventSynchronize(events_[slot]), "reading the loss statistics of the epoch"));
  ++oldest_;
  LossStats total;
  for (size_t rank = 0; rank < loss_stats_.size(); ++rank) total += pinned_[slot * loss_stats_.size() + rank];
  return total;
}

}  // namespace rondo

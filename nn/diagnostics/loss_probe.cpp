#include <rondo/nn/diagnostics/loss_probe.h>

#include <cstring>

namespace rondo {

LossProbe::LossProbe(int device, cudaStream_t stream, std::vector<const LossStats*> loss_stats,
                     const unsigned long long* first_nonfinite, int capacity)
    : device_(device),
      stream_(stream),
      loss_stats_(std::move(loss_stats)),
      first_nonfinite_(first_nonfinite),
      capacity_(capacity),
      slot_bytes_(loss_stats_.size() * sizeof(LossStats) + sizeof(unsigned long long)) {
  DeviceScope scope(device_);
  for (int slot = 0; slot < capacity; ++slot) events_.emplace_back(Event::Kind::blocking);
  pinned_ = PinnedMemory(capacity * static_cast<int64_t>(slot_bytes_), "for the loss");
}

LossProbe::~LossProbe() {
  static_cast<void>(cudaStreamSynchronize(stream_));  // copies into the pinned memory may be in flight
}

bool LossProbe::enqueue_copy() {
  if (newest_ - oldest_ == capacity_) return false;
  DeviceScope scope(device_);
  const auto slot = static_cast<size_t>(newest_ % capacity_);
  std::byte* to = pinned_.data() + slot * slot_bytes_;
  for (const LossStats* of_rank : loss_stats_) {
    RONDO_CUDA_THROW(cudaMemcpyAsync(to, of_rank, sizeof(LossStats), cudaMemcpyDefault, stream_));
    to += sizeof(LossStats);
  }
  if (first_nonfinite_)
    RONDO_CUDA_THROW(
        cudaMemcpyAsync(to, first_nonfinite_, sizeof(*first_nonfinite_), cudaMemcpyDefault, stream_));
  RONDO_CUDA_THROW(cudaEventRecord(events_[slot], stream_));
  ++newest_;
  return true;
}

LossProbe::Copy LossProbe::wait_for_oldest() {
  const auto slot = static_cast<size_t>(oldest_ % capacity_);
  throw_if_error(from_cuda(cudaEventSynchronize(events_[slot]), "reading the loss statistics of the epoch"));
  ++oldest_;
  Copy copy;
  const std::byte* from = pinned_.data() + slot * slot_bytes_;
  for (size_t rank = 0; rank < loss_stats_.size(); ++rank, from += sizeof(LossStats)) {
    LossStats of_rank;
    std::memcpy(&of_rank, from, sizeof(of_rank));
    copy.losses += of_rank;
  }
  if (first_nonfinite_) std::memcpy(&copy.first_nonfinite, from, sizeof(copy.first_nonfinite));
  return copy;
}

}  // namespace rondo

#include <rondo/nn/train/stream_group.h>

namespace rondo {

StreamGroup::StreamGroup(std::vector<int> devices) : devices_(std::move(devices)) {
  for (int device : devices_) {
    DeviceScope scope(device);
    streams_.emplace_back();
    handles_.push_back(streams_.back());
    reached_.emplace_back();
  }
}

void StreamGroup::fork() {
  DeviceScope scope(devices_[0]);
  RONDO_CUDA_THROW(cudaEventRecord(reached_[0], handles_[0]));
  for (size_t rank = 1; rank < handles_.size(); ++rank)
    RONDO_CUDA_THROW(cudaStreamWaitEvent(handles_[rank], reached_[0], 0));
}

void StreamGroup::join() {
  for (size_t rank = 1; rank < handles_.size(); ++rank) {
    DeviceScope scope(devices_[rank]);
    RONDO_CUDA_THROW(cudaEventRecord(reached_[rank], handles_[rank]));
    RONDO_CUDA_THROW(cudaStreamWaitEvent(handles_[0], reached_[rank], 0));
  }
}

void StreamGroup::synchronize() const {
  for (cudaStream_t stream : handles_) RONDO_CUDA_THROW(cudaStreamSynchronize(stream));
}

void StreamGroup::drain() const noexcept {
  for (cudaStream_t stream : handles_) static_cast<void>(cudaStreamSynchronize(stream));
}

}  // namespace rondo

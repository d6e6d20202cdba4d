#include <rondo/nn/data/host_uploads.h>

#include <cstring>

namespace rondo {

namespace {

// Throws for memory of a device, which the host cannot read.
bool is_pinned(const void* memory) {
  cudaPointerAttributes attributes;
  RONDO_CUDA_THROW(cudaPointerGetAttributes(&attributes, memory));
  if (attributes.type == cudaMemoryTypeDevice)
    throw Error(
        bad_argument("the batch is in the memory of device ", attributes.device, ", must be in host memory"));
  return attributes.type == cudaMemoryTypeHost;
}

}  // namespace

HostUploads::HostUploads(int device, cudaStream_t stream, int ahead) : device_(device), stream_(stream) {
  const DeviceScope scope(device);
  slots_.resize(static_cast<size_t>(ahead));
}

HostUploads::~HostUploads() {
  for (Slot& slot : slots_)
    if (slot.in_use) static_cast<void>(cudaEventSynchronize(slot.copied));
}

void HostUploads::enqueue(std::initializer_list<Part> parts) {
  constexpr size_t kAlignment = 256;
  const DeviceScope scope(device_);
  const auto placed = [](size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; };
  size_t bytes = 0;
  std::vector<bool> pinned;
  for (const Part& part : parts) {
    pinned.push_back(part.from.empty() || is_pinned(part.from.data()));
    if (!pinned.back()) bytes += placed(part.from.size());
  }
  Slot& slot = slots_[next_];
  if (bytes > 0) {
    next_ = (next_ + 1) % slots_.size();
    if (slot.in_use) {
      const RelaxedCaptureScope relaxed;
      throw_if_error(
          from_cuda(cudaEventSynchronize(slot.copied), "waiting for the copy of an earlier batch"));
      slot.in_use = false;
    }
    if (static_cast<int64_t>(bytes) > slot.memory.bytes()) {
      slot.memory = {};  // before the allocation, so that both need not fit
      slot.memory = PinnedMemory(static_cast<int64_t>(bytes), "for a batch");
    }
  }
  size_t i = 0, used = 0;
  cudaError_t error = cudaSuccess;
  for (const Part& part : parts) {
    const std::byte* from = part.from.data();
    if (!pinned[i++]) {
      from = slot.memory.data() + used;
      std::memcpy(slot.memory.data() + used, part.from.data(), part.from.size());
      used += placed(part.from.size());
    }
    if (!part.from.empty() && error == cudaSuccess)
      error = cudaMemcpyAsync(part.to, from, part.from.size(), cudaMemcpyHostToDevice, stream_);
  }
  if (bytes > 0) {  // after an error, too: an earlier part may be on its way
    slot.in_use = true;
    RONDO_CUDA_THROW(cudaEventRecord(slot.copied, stream_));
  }
  throw_if_error(from_cuda(error, "copying a batch to its device"));
}

}  // namespace rondo

#include <rondo/collectives/communicator.h>
#include <rondo/kernels/core/platform.h>

namespace rondo {

namespace {

void check(const std::vector<int>& devices, int64_t slot_bytes) {
  if (devices.empty())
    throw Error(bad_argument("communicator: the list of devices is empty, must name one device a rank"));
  const int present = device_count();
  for (size_t rank = 0; rank < devices.size(); ++rank)
    if (devices[rank] < 0 || devices[rank] >= present)
      throw Error(bad_argument("communicator: the device of rank ", rank, " is ", devices[rank],
                               ", must be at least 0 and below ", present, ", the number of devices"));
  if (slot_bytes < ring::kChunkAlignment)
    throw Error(bad_argument("communicator: slot_bytes is ", slot_bytes, ", must be at least ",
                             ring::kChunkAlignment));
}

// Lets `device` reach the memory of `peer`. Where the machine can't, cudaMemcpyPeerAsync goes through the
// host by itself, so that a refusal is not an error.
void connect(int device, int peer) {
  int reachable = 0;
  RONDO_CUDA_THROW(cudaDeviceCanAccessPeer(&reachable, device, peer));
  if (!reachable) return;
  DeviceScope scope(device);
  const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled || error == cudaErrorTooManyPeers)
    static_cast<void>(cudaGetLastError());
  else
    throw_if_error(from_cuda(error, concat("letting device ", device, " reach the memory of device ", peer)));
}

}  // namespace

Communicator::Communicator(std::vector<int> devices, int64_t slot_bytes)
    : slot_bytes_(slot_bytes - slot_bytes % ring::kChunkAlignment) {
  check(devices, slot_bytes);
  for (int device : devices)
    for (int peer : devices)
      if (device != peer) connect(device, peer);
  ranks_.reserve(devices.size());
  for (int device : devices) {
    DeviceScope scope(device);  // memory and events belong to the device that is current when they are made
    Rank& rank = ranks_.emplace_back();
    rank.device = device;
    if (devices.size() > 1) rank.slots = Buffer<std::byte>(ring::kSlots * slot_bytes_);
  }
}

}  // namespace rondo

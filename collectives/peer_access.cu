#include <rondo/collectives/peer_access.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/core/launch.cuh>

#include <algorithm>
#include <vector>

namespace rondo {

namespace {

constexpr int64_t kTrialWords = 1024;

// All words differ, so that lost, shifted and repeated stores are detected.
__host__ __device__ constexpr uint32_t pattern(uint32_t word) { return word * 2654435761u + 12345u; }

__global__ void write_pattern(uint32_t* to, int64_t words) {
  const int64_t word = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (word < words) to[word] = pattern(static_cast<uint32_t>(word));
}

// The owner copies the data to the host itself: a copy between the devices could be staged and hide the
// error.
bool stores_arrive(int device, int peer, uint32_t* memory, int64_t words) {
  const DeviceScope owner(peer);
  const auto bytes = static_cast<size_t>(words) * sizeof(uint32_t);
  const Stream reader;
  RONDO_CUDA_THROW(cudaMemsetAsync(memory, 0, bytes, reader));
  reader.synchronize();
  {
    const DeviceScope writer(device);
    const Stream stream;
    throw_if_error(launch("peer access trial", flat_shape(words, 256), stream, write_pattern, memory, words));
    stream.synchronize();
  }
  std::vector<uint32_t> found(static_cast<size_t>(words));
  RONDO_CUDA_THROW(cudaMemcpyAsync(found.data(), memory, bytes, cudaMemcpyDeviceToHost, reader));
  reader.synchronize();
  for (size_t word = 0; word < found.size(); ++word)
    if (found[word] != pattern(static_cast<uint32_t>(word))) return false;
  return true;
}

PeerAccess try_access(int device, int peer, uint32_t* memory, int64_t words) {
  int reachable = 0;
  RONDO_CUDA_THROW(cudaDeviceCanAccessPeer(&reachable, device, peer));
  if (!reachable) return PeerAccess::unsupported;
  const DeviceScope scope(device);
  const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
  if (error == cudaErrorTooManyPeers) {
    static_cast<void>(cudaGetLastError());
    return PeerAccess::unsupported;
  }
  if (error == cudaErrorPeerAccessAlreadyEnabled)
    static_cast<void>(cudaGetLastError());
  else
    throw_if_error(from_cuda(error, concat("letting device ", device, " reach the memory of device ", peer)));
  if (stores_arrive(device, peer, memory, words)) return PeerAccess::direct;
  RONDO_CUDA_THROW(cudaDeviceDisablePeerAccess(peer));
  return PeerAccess::broken;
}

}  // namespace

const char* name_of(PeerAccess access) {
  constexpr const char* kNames[] = {"same device", "direct", "unsupported", "broken"};
  return kNames[static_cast<int>(access)];
}

PeerAccess connect(int device, int peer, void* memory, int64_t bytes) {
  if (device == peer) return PeerAccess::same_device;
  const int64_t words = bytes / static_cast<int64_t>(sizeof(uint32_t));
  return try_access(device, peer, static_cast<uint32_t*>(memory), std::min(words, kTrialWords));
}

Status load_trial_kernel() { return load("peer access trial", write_pattern); }

PeerAccess connect(int device, int peer) {
  if (device == peer) return PeerAccess::same_device;
  const DeviceScope owner(peer);
  Buffer<uint32_t> memory(kTrialWords);
  return connect(device, peer, memory.data(), memory.bytes());
}

}  // namespace rondo

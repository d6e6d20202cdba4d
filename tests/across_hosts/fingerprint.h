// fingerprint(): a hash of the results; throws if they are not the same on all ranks of all processes.
#pragma once

#include <rondo/collectives/across_hosts/gather.h>
#include <rondo/tests/across_hosts/ranks.h>

#include <chrono>
#include <cstring>

namespace rondo::test {

inline uint64_t hash_of(const void* data, size_t bytes) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 1099511628211u;
  return hash;
}

// Waits for the streams and compares the vectors of all ranks.
template <class T>
uint64_t fingerprint(ProcessGroup* processes, Ranks& ranks, const Vectors<T>& vectors) {
  throw_if_error(ranks.communicator.wait(ranks.streams, std::chrono::minutes(2)));
  uint64_t first = 0;
  for (size_t rank = 0; rank < vectors.buffers.size(); ++rank) {
    const DeviceScope scope(ranks.devices[rank]);
    const std::vector<T> values = vectors.buffers[rank].download();
    const uint64_t hash = hash_of(values.data(), values.size() * sizeof(T));
    if (rank == 0) first = hash;
    if (hash != first) throw std::runtime_error(concat("local rank ", rank, " differs from local rank 0"));
  }
  if (!processes) return first;
  std::vector<uint64_t> all;
  throw_if_error(gather(*processes, first, all, "comparing the processes"));
  for (size_t process = 1; process < all.size(); ++process)
    if (all[process] != all[0])
      throw std::runtime_error(concat("process ", process, " differs from process 0"));
  return first;
}

}  // namespace rondo::test

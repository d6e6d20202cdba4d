// StreamGroup: one stream for each rank, and the two ways their work is tied together without the host.
#pragma once

#include <rondo/kernels/runtime/buffer.h>

#include <span>
#include <vector>

namespace rondo {

class StreamGroup {
 public:
  // One stream for each entry of `devices`; a device may appear several times.
  explicit StreamGroup(std::vector<int> devices);

  int size() const { return static_cast<int>(devices_.size()); }
  int device(int rank) const { return devices_[static_cast<size_t>(rank)]; }
  cudaStream_t stream(int rank) const { return handles_[static_cast<size_t>(rank)]; }
  std::span<const cudaStream_t> streams() const { return handles_; }

  // What the other streams are given from now on waits for what stream 0 has been given so far.
  void fork();
  // What stream 0 is given from now on waits for what every stream has been given so far.
  void join();
  // The host waits until all streams are done.
  void synchronize() const;

 private:
  std::vector<int> devices_;
  std::vector<Stream> streams_;
  std::vector<cudaStream_t> handles_;
  std::vector<Event> reached_;  // reached_[rank] is recorded on that rank's stream
};

}  // namespace rondo

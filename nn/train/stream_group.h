// StreamGroup: one stream per rank, with fork and join between them on the devices.
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

  // Later work on the other streams waits for all work enqueued so far on stream 0.
  void fork();
  // Later work on stream 0 waits for all work enqueued so far on every stream.
  void join();
  // Blocks the host until all streams are idle.
  void synchronize() const;
  // The same, and ignores failures: for destructors.
  void drain() const noexcept;

 private:
  std::vector<int> devices_;
  std::vector<Stream> streams_;
  std::vector<cudaStream_t> handles_;
  std::vector<Event> reached_;  // reached_[rank] is recorded on that rank's stream
};

// Drains a group at the end of a scope, after an exception, too. Declare it after the memory that the streams
// use: cudaFree() waits for the device of the memory, and not for the others, whose streams copy to it.
class DrainAtEnd {
 public:
  explicit DrainAtEnd(const StreamGroup& group) : group_(group) {}
  ~DrainAtEnd() { group_.drain(); }
  DrainAtEnd(const DrainAtEnd&) = delete;
  DrainAtEnd& operator=(const DrainAtEnd&) = delete;

 private:
  const StreamGroup& group_;
};

}  // namespace rondo

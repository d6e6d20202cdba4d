// StreamForkJoin: forks all streams from stream 0 and joins them back, so that one capture contains all of
// them.
#pragma once

#include <rondo/tests/collectives/world.h>

namespace rondo::test {

class Knot {
 public:
  explicit Knot(const World& world) : world_(world) {
    for (int device : world.devices) {
      DeviceScope scope(device);
      events_.emplace_back();
    }
  }
  void fork() {
    RONDO_CUDA_THROW(cudaEventRecord(events_[0], world_.handles[0]));
    for (size_t rank = 1; rank < events_.size(); ++rank)
      RONDO_CUDA_THROW(cudaStreamWaitEvent(world_.handles[rank], events_[0], 0));
  }
  void join() {
    for (size_t rank = 1; rank < events_.size(); ++rank) {
      RONDO_CUDA_THROW(cudaEventRecord(events_[rank], world_.handles[rank]));
      RONDO_CUDA_THROW(cudaStreamWaitEvent(world_.handles[0], events_[rank], 0));
    }
  }

 private:
  const World& world_;
  std::vector<Event> events_;
};

}  // namespace rondo::test

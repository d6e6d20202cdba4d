// StreamForkJoin: forks all streams from stream 0 and joins them back, so that one capture contains all of
// them.
#pragma once

#include <rondo/tests/collectives/communicator_fixture.h>

namespace rondo::test {

class StreamForkJoin {
 public:
  explicit StreamForkJoin(const CommunicatorFixture& fixture) : fixture_(fixture) {
    for (int device : fixture.devices) {
      DeviceScope scope(device);
      events_.emplace_back();
    }
  }
  void fork() {
    RONDO_CUDA_THROW(cudaEventRecord(events_[0], fixture_.handles[0]));
    for (size_t rank = 1; rank < events_.size(); ++rank)
      RONDO_CUDA_THROW(cudaStreamWaitEvent(fixture_.handles[rank], events_[0], 0));
  }
  void join() {
    for (size_t rank = 1; rank < events_.size(); ++rank) {
      RONDO_CUDA_THROW(cudaEventRecord(events_[rank], fixture_.handles[rank]));
      RONDO_CUDA_THROW(cudaStreamWaitEvent(fixture_.handles[0], events_[rank], 0));
    }
  }

 private:
  const CommunicatorFixture& fixture_;
  std::vector<Event> events_;
};

}  // namespace rondo::test

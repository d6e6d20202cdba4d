// StreamBlocker blocks a stream; UnguardedVectors can be used while devices are stuck. For the tests of late
// ranks.
#pragma once

#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/collectives/exact_data.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace rondo::test {

// A stream that must run while another one is blocked must not share a hardware queue with it. Set before
// CUDA starts.
[[maybe_unused]] inline const bool has_queues = [] {
  set_cuda_environment();
  return true;
}();

// Blocks a stream until release(), or until it is destroyed.
class StreamBlocker {
 public:
  explicit StreamBlocker(cudaStream_t stream) : stream_(stream) {
    RONDO_CUDA_THROW(cudaLaunchHostFunc(
        stream, [](void* blocker) { static_cast<StreamBlocker*>(blocker)->wait(); }, this));
  }
  // Waits until the host function has returned. Under SIMT_SEED the function starts only when the host
  // queries its stream, which a test may have destroyed: the executor's handles are numbers, CUDA's are
  // pointers.
  ~StreamBlocker() {
    release();
    std::unique_lock lock(mutex_);
    while (!left_) {
      lock.unlock();
#ifdef __SIMT__
      (void)cudaStreamQuery(stream_);
#endif
      lock.lock();
      changed_.wait_for(lock, std::chrono::milliseconds(1), [this] { return left_; });
    }
  }

  // Unblocks the stream. Calls no function of CUDA, so any thread may call it.
  void release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return released_; });
    left_ = true;
    changed_.notify_all();
  }
  [[maybe_unused]] const cudaStream_t stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false, left_ = false;
};

inline bool message_contains(const Status& status, const std::string& words) {
  return status.message().find(words) != std::string::npos;
}

// One vector per rank, without guards: nothing here may wait for a stuck device.
struct UnguardedVectors {
  explicit UnguardedVectors(const CommunicatorFixture& fixture, int64_t size = 12, uint64_t seed = 1)
      : data(exact_data<float>(Reduction::sum, fixture.communicator.size(), size, seed)) {
    for (size_t rank = 0; rank < fixture.devices.size(); ++rank) {
      DeviceScope scope(fixture.devices[rank]);
      buffers.emplace_back(data.inputs[rank]);
      views.push_back(VectorView<float>{buffers.back().data(), size});
    }
  }
  ExactData<float> data;
  std::vector<Buffer<float>> buffers;
  std::vector<DataView> views;
};

}  // namespace rondo::test

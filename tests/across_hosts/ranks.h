// Ranks: the ranks of one process of the test program, in a communicator of all processes.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/collectives/collectives.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/support/inputs.h>

#include <vector>

namespace rondo::test {

struct Ranks {
  // If `processes` is null, `local` ranks in groups of `group` replace several processes.
  Ranks(ProcessGroup* processes, int local, int group, int64_t slot_bytes)
      : first(processes ? processes->index() * local : 0),
        devices(spread(local)),
        communicator(devices, options(processes, group, slot_bytes)) {
    for (int device : devices) {
      const DeviceScope scope(device);
      streams.push_back(handles.emplace_back());
    }
  }

  static std::vector<int> spread(int ranks) {
    std::vector<int> devices;
    for (int rank = 0; rank < ranks; ++rank) devices.push_back(rank % device_count());
    return devices;
  }
  // Call it before MPI is initialised, which waits for all processes without a limit. A context takes up to
  // seconds on a GPU, and the processes of a test wait for each other for less.
  static void create_contexts(int local) {
    for (const int device : spread(local)) {
      const DeviceScope scope(device);
      RONDO_CUDA_THROW(cudaFree(nullptr));
    }
  }
  static CommunicatorOptions options(ProcessGroup* processes, int group, int64_t slot_bytes) {
    CommunicatorOptions options{.slot_bytes = slot_bytes, .bucket_bytes = 2048};
    options.group_size = processes ? 0 : group;
    options.processes = processes;
    return options;
  }

  // Values whose sum depends on the order of additions. They depend on the global rank and the element.
  template <class T>
  std::vector<T> values(int local_rank, int64_t size) const {
    std::vector<T> made;
    Random random(1000 + static_cast<uint64_t>(first + local_rank));
    for (int64_t i = 0; i < size; ++i)
      if constexpr (std::is_integral_v<T>)
        made.push_back(static_cast<T>(random.next()));
      else
        made.push_back(static_cast<T>(static_cast<float>(random.normal())));
    return made;
  }

  int first;  // global rank of local rank 0
  std::vector<int> devices;
  Communicator communicator;
  std::vector<Stream> handles;
  std::vector<cudaStream_t> streams;
};

// A graph of the work that `enqueue` puts on the ranks' streams.
class Recorded {
 public:
  template <class Function>
  Recorded(const Ranks& ranks, Function enqueue) : ranks_(ranks) {
    std::vector<Event> events;
    for (int device : ranks.devices) {
      const DeviceScope scope(device);
      events.emplace_back();
    }
    const DeviceScope scope(ranks.devices[0]);
    RONDO_CUDA_THROW(cudaStreamBeginCapture(ranks.streams[0], cudaStreamCaptureModeThreadLocal));
    RONDO_CUDA_THROW(cudaEventRecord(events[0], ranks.streams[0]));
    for (size_t rank = 1; rank < events.size(); ++rank)
      RONDO_CUDA_THROW(cudaStreamWaitEvent(ranks.streams[rank], events[0], 0));
    enqueue();
    for (size_t rank = 1; rank < events.size(); ++rank) {
      const DeviceScope of_rank(ranks.devices[rank]);
      RONDO_CUDA_THROW(cudaEventRecord(events[rank], ranks.streams[rank]));
      RONDO_CUDA_THROW(cudaStreamWaitEvent(ranks.streams[0], events[rank], 0));
    }
    cudaGraph_t graph = nullptr;
    RONDO_CUDA_THROW(cudaStreamEndCapture(ranks.streams[0], &graph));
    RONDO_CUDA_THROW(cudaGraphInstantiate(&executable_, graph, 0));
    static_cast<void>(cudaGraphDestroy(graph));
  }
  ~Recorded() { static_cast<void>(cudaGraphExecDestroy(executable_)); }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  void launch() const { RONDO_CUDA_THROW(cudaGraphLaunch(executable_, ranks_.streams[0])); }

 private:
  const Ranks& ranks_;
  cudaGraphExec_t executable_ = nullptr;
};

// One vector per rank.
template <class T>
struct Vectors {
  Vectors(const Ranks& ranks, int64_t size) {
    for (size_t rank = 0; rank < ranks.devices.size(); ++rank) {
      const DeviceScope scope(ranks.devices[rank]);
      buffers.emplace_back(ranks.values<T>(static_cast<int>(rank), size));
      views.push_back(VectorView<T>{buffers.back().data(), size});
    }
  }
  void reset(const Ranks& ranks) {
    for (size_t rank = 0; rank < buffers.size(); ++rank) {
      const DeviceScope scope(ranks.devices[rank]);
      buffers[rank].upload(ranks.values<T>(static_cast<int>(rank), buffers[rank].size()));
    }
  }
  std::vector<Buffer<T>> buffers;
  std::vector<DataView> views;
};

}  // namespace rondo::test

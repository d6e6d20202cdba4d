// Hardware faults on request.
#include <simt/faults.h>

#include "host_support.h"

namespace simt_test {
namespace {

using simt::PeerAccess;

struct View {
  int64_t rows;
  int* data;
};

__global__ void store(int* to, int value) { *to = value; }
__global__ void store_through_view(View view, int value) { view.data[1] = value; }
__global__ void load(int* to, const int* from) { *to = *from; }
__global__ void load_and_store(int* to, int* there, int64_t index) {
  *to = there[index];
  there[index] = 7;
}
__global__ void store_and_load(View view, int value, int* back, const int* from) {
  view.data[1] = value;
  *back = *from;
}

// Each device has some numbers in memory: device d has 10 d, 10 d + 1, ...
class HostFaults : public HostTest {
 protected:
  static constexpr int kCount = 4;

  void SetUp() override {
    HostTest::SetUp();
    fill_memory();
    testing::internal::CaptureStderr();  // the executor reports faults there
  }
  void TearDown() override {
    simt::fail_copy(0);
    simt::refuse_copy(0);
    simt::set_staged_graph_copies(simt::StagedGraphCopies::work);
    for (int d = 0; d < 2; ++d) {
      simt::set_peer_access(d, 1 - d, PeerAccess::works);
      simt::set_peer_copies(d, 1 - d, simt::PeerCopies::work);
      reset(d);
    }
    testing::internal::GetCapturedStderr();
    HostTest::TearDown();
  }

  void fill_memory() {
    for (int d = 1; d >= 0; --d) {
      CUDA_OK(cudaSetDevice(d));
      memory_[d] = allocate<int>(kCount);
      for (int i = 0; i < kCount; ++i) {
        const int value = 10 * d + i;
        CUDA_OK(cudaMemcpy(memory_[d] + i, &value, sizeof(int), cudaMemcpyHostToDevice));
      }
    }
  }
  static void reset(int device) {
    cudaSetDevice(device);
    cudaDeviceReset();
    cudaSetDevice(0);
  }
  // Records a copy between the devices and replays it, until a call returns something else than success.
  void replay_copy(cudaStream_t stream, cudaError_t result) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaError_t error = cudaMemcpyAsync(memory_[1], memory_[0], sizeof(int), cudaMemcpyDefault, stream);
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    EXPECT_EQ(ended, error == cudaSuccess ? cudaSuccess : cudaErrorStreamCaptureInvalidated);
    if (error == cudaSuccess) error = cudaGraphInstantiate(&exec, graph);
    if (error == cudaSuccess) error = cudaGraphLaunch(exec, stream);
    cudaGetLastError();
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(error, result);
    if (exec) cudaGraphExecDestroy(exec);
    if (graph) cudaGraphDestroy(graph);
  }
  // Copies number i of device 0 to place i on device 1.
  cudaError_t send(int i, cudaStream_t stream = nullptr) {
    return cudaMemcpyPeerAsync(memory_[1] + i, 1, memory_[0] + i, 0, sizeof(int), stream);
  }
  template <class... Parameters, class... Arguments>
  static void run(void (*kernel)(Parameters...), Arguments... arguments) {
    const auto config = shape(1, 1);
    CUDA_OK(cudaLaunchKernelEx(&config, kernel, arguments...));
    CUDA_OK(cudaDeviceSynchronize());
  }

  int* memory_[2];
};

TEST_F(HostFaults, OnlyTheChosenCopyFails) {
  simt::fail_copy(2);
  CUDA_OK(send(0));
  CUDA_OK(cudaDeviceSynchronize());  // a call that fails at once does not wait for it
  CUDA_OK(send(1));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorNvlinkUncorrectable);
  EXPECT_EQ(simt::last_fault().error, cudaErrorNvlinkUncorrectable);
  EXPECT_EQ(cudaMemset(memory_[0], 0, 4), cudaErrorNvlinkUncorrectable) << "the error stays";
  EXPECT_EQ(cudaGetLastError(), cudaErrorNvlinkUncorrectable);

  CUDA_OK(cudaSetDevice(1));  // this device still works
  EXPECT_EQ(read(memory_[1]), 0);
  EXPECT_EQ(read(memory_[1] + 1), 11) << "a copy that failed writes nothing";

  reset(0);
  CUDA_OK(cudaSetDevice(0));
  memory_[0] = allocate<int>(kCount);
  CUDA_OK(cudaMemset(memory_[0], 1, kCount * sizeof(int)));
  CUDA_OK(send(1));
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(read(memory_[1] + 1), 0x01010101);
}

// CUDA's documentation of each function: "may also return error codes from previous, asynchronous launches".
TEST_F(HostFaults, EveryCallReturnsTheErrorOfItsDevice) {
  const cudaEvent_t event = make_event();
  simt::fail_copy(1);
  CUDA_OK(send(0));
  constexpr cudaError_t kError = cudaErrorNvlinkUncorrectable;
  EXPECT_EQ(cudaDeviceSynchronize(), kError);
  int value = -1;
  cudaDeviceProp properties;
  cudaStreamCaptureStatus status;
  cudaPointerAttributes attributes;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  const auto calls_fail = [&] {
    EXPECT_EQ(cudaGetDevice(&value), kError);
    EXPECT_EQ(cudaSetDevice(0), kError);
    EXPECT_EQ(cudaGetDeviceCount(&value), kError);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1), kError);
    EXPECT_EQ(cudaDeviceCanAccessPeer(&value, 0, 1), kError);
    EXPECT_EQ(cudaRuntimeGetVersion(&value), kError);
    EXPECT_EQ(value, -1) << "nothing is written";
    EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), kError);
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, memory_[1]), kError);
    EXPECT_EQ(cudaStreamIsCapturing(nullptr, &status), kError);
    EXPECT_EQ(cudaEventDestroy(event), kError);
    EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), kError);
    EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed) << "not exchanged";
  };
  calls_fail();
  std::thread(calls_fail).join();  // its current device is 0

  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaGetDevice(&value));
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cudaSetDevice(0), kError);
  EXPECT_EQ(cudaGetDevice(&value), kError) << "it is current nevertheless";
  CUDA_OK(cudaDeviceReset());
  CUDA_OK(cudaGetDevice(&value));
  EXPECT_EQ(value, 0);
}

TEST_F(HostFaults, WorkOrderedAfterTheCopyDoesNotRun) {
  simt::set_seed(1);  // nothing runs until the host waits
  bool ran = false;
  simt::fail_copy(1);
  CUDA_OK(send(0));
  CUDA_OK(cudaLaunchHostFunc(
      nullptr, [](void* flag) { *static_cast<bool*>(flag) = true; }, &ran));
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaErrorNvlinkUncorrectable);
  EXPECT_FALSE(ran);
}

TEST_F(HostFaults, OnlyCopiesBetweenDeviceMemoriesCount) {
  int there = 7;
  int* pinned = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, sizeof(int)));
  simt::fail_copy(2);
  CUDA_OK(cudaMemcpyAsync(memory_[0], &there, sizeof(int), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpyAsync(pinned, memory_[0], sizeof(int), cudaMemcpyDefault));
  CUDA_OK(cudaMemsetAsync(memory_[0], 0, sizeof(int)));
  CUDA_OK(cudaMemcpyAsync(memory_[0] + 1, memory_[0], sizeof(int), cudaMemcpyDefault));  // the first copy
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaMemcpy(memory_[1], memory_[0], sizeof(int), cudaMemcpyDefault));  // does not wait
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorNvlinkUncorrectable);
  EXPECT_EQ(cudaFreeHost(pinned), cudaErrorNvlinkUncorrectable);
}

TEST_F(HostFaults, AFailureCanBeCancelled) {
  simt::fail_copy(1);
  simt::fail_copy(0);
  CUDA_OK(send(0));
  CUDA_OK(cudaDeviceSynchronize());
}

TEST_F(HostFaults, ARefusedCopyHasNoEffect) {
  simt::refuse_copy(2);
  CUDA_OK(send(0));
  EXPECT_EQ(send(1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  CUDA_OK(send(2));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaSetDevice(1));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read(memory_[1] + i), i == 1 ? 11 : i);
}

// cudaFree() waits for the device of the memory only, and these run on the other device.
TEST_F(HostFaults, MemoryThatIsFreedTooEarlyIsAFault) {
  for (const bool fill : {false, true}) {
    simt::set_seed(1);  // nothing runs until the host waits
    CUDA_OK(fill ? cudaMemsetAsync(memory_[1], 0, sizeof(int)) : send(0));
    CUDA_OK(cudaSetDevice(1));
    CUDA_OK(cudaFree(memory_[1]));
    CUDA_OK(cudaSetDevice(0));
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_EQ(simt::last_fault().message.find(fill ? "a fill: the memory at 0x" : "a copy: the memory at 0x"),
              0u)
        << simt::last_fault().message;
    for (const int device : {0, 1}) reset(device);
    simt::set_seed(std::nullopt);
    fill_memory();
  }
}

// Memory of another size, which mostly begins at the same address.
TEST_F(HostFaults, OtherMemoryDoesNotReplaceFreedMemory) {
  simt::set_seed(1);
  simt::set_free_waits(false);
  char* const freed = allocate<char>(4000);
  CUDA_OK(cudaMemsetAsync(freed, 0, 900));
  CUDA_OK(cudaFree(freed));
  for (int i = 0; i < 64; ++i)
    if (allocate<char>(1000) == freed) break;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  simt::set_free_waits(true);
  simt::set_seed(std::nullopt);
  reset(0);
}

TEST_F(HostFaults, FreeNeedNotWait) {
  for (const bool waits : {true, false}) {
    simt::set_seed(1);
    simt::set_free_waits(waits);
    CUDA_OK(cudaMemsetAsync(memory_[0], 0, sizeof(int)));
    CUDA_OK(cudaFree(memory_[0]));
    EXPECT_EQ(cudaDeviceSynchronize(), waits ? cudaSuccess : cudaErrorIllegalAddress);
    simt::set_free_waits(true);
    for (const int device : {0, 1}) reset(device);
    simt::set_seed(std::nullopt);
    fill_memory();
  }
}

TEST_F(HostFaults, CopiesOfAGraphCountAtEveryLaunch) {
  const cudaStream_t stream = make_stream();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  simt::fail_copy(5);  // the capture itself does not count
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 2; ++i)
    CUDA_OK(cudaMemcpyAsync(memory_[1] + i, memory_[0] + i, sizeof(int), cudaMemcpyDefault, stream));
  CUDA_OK(cudaStreamEndCapture(stream, &graph));
  CUDA_OK(cudaGraphInstantiate(&exec, graph));
  for (int launch = 0; launch < 2; ++launch) {
    CUDA_OK(cudaGraphLaunch(exec, stream));
    CUDA_OK(cudaStreamSynchronize(stream));
  }
  CUDA_OK(cudaGraphLaunch(exec, stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorNvlinkUncorrectable);
  reset(0);
  CUDA_OK(cudaGraphExecDestroy(exec));
  CUDA_OK(cudaGraphDestroy(graph));
}

// The order of the host's calls decides, not the order of execution.
TEST_F(HostFaults, TheSameCopyFailsUnderEverySeed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CUDA_OK(cudaSetDevice(0));
    simt::set_seed(seed);
    cudaStream_t streams[2];  // one per device: the copies may run in either order
    for (int d = 1; d >= 0; --d) {
      CUDA_OK(cudaSetDevice(d));
      streams[d] = make_stream();
    }
    simt::fail_copy(2);
    CUDA_OK(send(0, streams[0]));
    CUDA_OK(send(1, streams[1]));
    CUDA_OK(cudaStreamSynchronize(streams[0]));
    EXPECT_EQ(cudaStreamSynchronize(streams[1]), cudaErrorNvlinkUncorrectable);
    for (int d = 0; d < 2; ++d) reset(d);
    fill_memory();
  }
}

TEST_F(HostFaults, AbsentPeerAccessIsRefused) {
  CUDA_OK(simt::set_peer_access(0, 1, PeerAccess::absent));
  int value = -1;
  CUDA_OK(cudaDeviceCanAccessPeer(&value, 0, 1));
  EXPECT_EQ(value, 0);
  CUDA_OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
  EXPECT_EQ(value, 0);
  CUDA_ERROR(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);

  CUDA_OK(cudaDeviceCanAccessPeer(&value, 1, 0));
  EXPECT_EQ(value, 1) << "the other way is another link";

  CUDA_OK(send(0));
  CUDA_OK(cudaMemcpy(memory_[1] + 1, memory_[0] + 1, sizeof(int), cudaMemcpyDefault));
  EXPECT_EQ(read(memory_[1]), 0) << "copies need no link";
  EXPECT_EQ(read(memory_[1] + 1), 1);
}

TEST_F(HostFaults, AGraphWithAStagedCopyIsRefused) {
  using simt::StagedGraphCopies;
  const cudaStream_t stream = make_stream();
  const std::pair<StagedGraphCopies, cudaError_t> results[] = {
      {StagedGraphCopies::not_captured, cudaErrorStreamCaptureUnsupported},
      {StagedGraphCopies::not_instantiated, cudaErrorNotSupported},
      {StagedGraphCopies::not_launched, cudaErrorNotSupported},
      {StagedGraphCopies::work, cudaSuccess}};
  for (const auto& [copies, result] : results) {
    simt::set_staged_graph_copies(copies);
    CUDA_OK(simt::set_peer_access(0, 1, PeerAccess::works));
    replay_copy(stream, cudaSuccess);
    CUDA_OK(simt::set_peer_access(0, 1, PeerAccess::absent));
    replay_copy(stream, result);
  }
}

TEST_F(HostFaults, AbsentPeerAccessDisablesEnabledAccess) {
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  CUDA_OK(simt::set_peer_access(0, 1, PeerAccess::absent));
  const auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, store, memory_[1], 5));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

TEST_F(HostFaults, ABrokenLinkLosesKernelWrites) {
  CUDA_OK(simt::set_peer_access(0, 1, PeerAccess::broken));
  int value = -1;
  CUDA_OK(cudaDeviceCanAccessPeer(&value, 0, 1));
  EXPECT_EQ(value, 1) << "nobody tells";
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  run(store, memory_[1], 5);
  run(store_through_view, View{1, memory_[1]}, 6);
  EXPECT_EQ(read(memory_[1]), 10);
  EXPECT_EQ(read(memory_[1] + 1), 11);
  run(store, memory_[0], 5);
  EXPECT_EQ(read(memory_[0]), 5) << "its own memory is as near as ever";
  run(load, memory_[0], memory_[1]);
  EXPECT_EQ(read(memory_[0]), -1) << "0xFF in every byte";

  CUDA_OK(send(2));
  EXPECT_EQ(read(memory_[1] + 2), 2) << "copies take another way";

  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaDeviceEnablePeerAccess(0, 0));
  run(store, memory_[0] + 3, 8);
  EXPECT_EQ(read(memory_[0] + 3), 8) << "the other way is another link";
}

// Values that the kernel wrote over a broken link are lost: a later kernel does not read them either.
TEST_F(HostFaults, ABrokenLinkIsConsistentWithinAKernel) {
  CUDA_OK(simt::set_peer_access(0, 1, PeerAccess::broken));
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  run(store_and_load, View{1, memory_[1]}, 5, memory_[0], memory_[1] + 1);
  EXPECT_EQ(read(memory_[0]), 5);
  run(load, memory_[0], memory_[1] + 1);
  EXPECT_EQ(read(memory_[0]), -1);
}

TEST_F(HostFaults, ABrokenLinkStillHasToBeEnabled) {
  CUDA_OK(simt::set_peer_access(0, 1, PeerAccess::broken));
  const auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, store, memory_[1], 5));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

// Small loads are right, and so are all stores: a test of a few stores lets such a link pass.
TEST_F(HostFaults, WrongLoadsBeginBehindTheSoundBytes) {
  constexpr int kSound = simt::kSoundBytes / sizeof(int);
  CUDA_OK(cudaSetDevice(1));
  int* const large = allocate<int>(2 * kSound);
  CUDA_OK(cudaMemset(large, 0, 2 * simt::kSoundBytes));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(simt::set_peer_access(0, 1, PeerAccess::wrong_loads));
  CUDA_OK(cudaSetDevice(0));
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  for (int round = 0; round < 2; ++round)
    for (const auto& [index, right] :
         {std::pair{0, true}, {kSound - 1, true}, {kSound, false}, {2 * kSound - 1, false}}) {
      run(load_and_store, memory_[0], large, int64_t{index});
      EXPECT_EQ(read(memory_[0]) == (round == 0 ? 0 : 7), right) << index;
      EXPECT_EQ(read(large + index), 7) << "stores arrive, " << index;
    }
  EXPECT_EQ(read(large + 1), 0);
  EXPECT_EQ(read(large + kSound + 1), 0) << "only what was stored changes";
}

// A copy across a faulty link, by each call that there is.
TEST_F(HostFaults, CopiesCanBeCorruptedOrLost) {
  using simt::PeerCopies;
  constexpr size_t kCount = simt::kSoundBytes / sizeof(int);
  int* buffers[2];
  for (int d = 0; d < 2; ++d) {
    CUDA_OK(cudaSetDevice(d));
    buffers[d] = allocate<int>(kCount);
  }
  const auto wrong_bytes = [&](int from, size_t bytes, bool by_peer_call) {
    const int to = 1 - from;
    EXPECT_EQ(cudaMemset(buffers[from], 3, kCount * sizeof(int)), cudaSuccess);
    EXPECT_EQ(cudaMemset(buffers[to], 5, kCount * sizeof(int)), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    EXPECT_EQ(by_peer_call ? cudaMemcpyPeerAsync(buffers[to], to, buffers[from], from, bytes, nullptr)
                           : cudaMemcpyAsync(buffers[to], buffers[from], bytes, cudaMemcpyDefault, nullptr),
              cudaSuccess);
    std::vector<char> found(bytes);
    EXPECT_EQ(cudaMemcpy(found.data(), buffers[to], bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    return bytes - static_cast<size_t>(std::count(found.begin(), found.end(), 3));
  };
  const size_t small = simt::kSoundBytes - 4, large = simt::kSoundBytes;
  for (const bool by_peer_call : {false, true}) {
    CUDA_OK(simt::set_peer_copies(0, 1, PeerCopies::lost));
    EXPECT_EQ(wrong_bytes(0, small, by_peer_call), 0u) << "without access the host is in between";
    for (int opener = 0; opener < 2; ++opener) {
      CUDA_OK(cudaSetDevice(opener));
      CUDA_OK(cudaDeviceEnablePeerAccess(1 - opener, 0));
      CUDA_OK(simt::set_peer_copies(0, 1, PeerCopies::lost));
      EXPECT_EQ(wrong_bytes(0, small, by_peer_call), small);
      EXPECT_EQ(wrong_bytes(1, large, by_peer_call), 0u) << "the other way is another link";
      CUDA_OK(simt::set_peer_copies(0, 1, PeerCopies::corrupted));
      EXPECT_EQ(wrong_bytes(0, small, by_peer_call), 0u);
      EXPECT_GT(wrong_bytes(0, large, by_peer_call), 0u);
      EXPECT_EQ(wrong_bytes(1, large, by_peer_call), 0u);
      CUDA_OK(cudaSetDevice(opener));
      CUDA_OK(cudaDeviceDisablePeerAccess(1 - opener));
      EXPECT_EQ(wrong_bytes(0, large, by_peer_call), 0u);
    }
    CUDA_OK(simt::set_peer_copies(0, 1, PeerCopies::work));
  }
}

TEST_F(HostFaults, ALinkCanBeRepaired) {
  CUDA_OK(simt::set_peer_access(0, 1, PeerAccess::broken));
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  CUDA_OK(simt::set_peer_access(0, 1, PeerAccess::works));
  run(store, memory_[1], 5);
  EXPECT_EQ(read(memory_[1]), 5);
}

TEST_F(HostFaults, ALinkNeedsTwoValidDevices) {
  CUDA_ERROR(simt::set_peer_access(0, 0, PeerAccess::broken), cudaErrorInvalidDevice);
  CUDA_ERROR(simt::set_peer_access(0, 99, PeerAccess::broken), cudaErrorInvalidDevice);
  CUDA_ERROR(simt::set_peer_access(-1, 0, PeerAccess::broken), cudaErrorInvalidDevice);
  CUDA_ERROR(simt::set_peer_copies(0, 0, simt::PeerCopies::lost), cudaErrorInvalidDevice);
  CUDA_ERROR(simt::set_peer_copies(0, 99, simt::PeerCopies::lost), cudaErrorInvalidDevice);
  CUDA_ERROR(simt::set_peer_copies(-1, 0, simt::PeerCopies::lost), cudaErrorInvalidDevice);
}

}  // namespace
}  // namespace simt_test

// connect() if a link or the driver fails in ways that the executor cannot simulate: the linker redirects its
// calls (--wrap, CMakeLists.txt). The mangled names come from the executor's headers.
#include <rondo/collectives/peer_access.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/support/skip_without_devices.h>

#include <cuda_runtime_api.h>
#include <simt/faults.h>

#include <functional>

namespace rondo::test {

namespace {

// The error that enabling access returns; cudaSuccess: the real call is made.
cudaError_t enable_error = cudaSuccess;
// Modifies what a copy between devices has written. Counts the calls.
std::function<void(uint32_t* words, size_t count)> modify_copy;
int modified_copies = 0;

}  // namespace

cudaError_t real_enable(int peer, unsigned flags) asm("__real__Z26cudaDeviceEnablePeerAccessij");
cudaError_t wrapped_enable(int peer, unsigned flags) asm("__wrap__Z26cudaDeviceEnablePeerAccessij");
cudaError_t wrapped_enable(int peer, unsigned flags) {
  if (enable_error == cudaSuccess) return real_enable(peer, flags);
  // As in CUDA, the error stays for cudaGetLastError(): make a real call that fails.
  static_cast<void>(real_enable(-1, flags));
  return enable_error;
}

// The executor's device memory can be accessed by the host.
cudaError_t modified(cudaError_t error, void* to, size_t bytes, cudaStream_t stream) {
  if (!modify_copy || error != cudaSuccess) return error;
  const cudaError_t done = cudaStreamSynchronize(stream);
  if (done == cudaSuccess) modify_copy(static_cast<uint32_t*>(to), bytes / sizeof(uint32_t));
  ++modified_copies;
  return done;
}

cudaError_t real_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) asm(
    "__real__Z15cudaMemcpyAsyncPvPKvm14cudaMemcpyKindP11CUstream_st");
cudaError_t wrapped_copy(
    void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
    cudaStream_t stream) asm("__wrap__Z15cudaMemcpyAsyncPvPKvm14cudaMemcpyKindP11CUstream_st");
cudaError_t wrapped_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaError_t error = real_copy(to, from, bytes, kind, stream);
  return kind == cudaMemcpyDefault ? modified(error, to, bytes, stream) : error;
}

cudaError_t real_peer_copy(void* to, int to_device, const void* from, int from_device, size_t bytes,
                           cudaStream_t stream) asm("__real__Z19cudaMemcpyPeerAsyncPviPKvimP11CUstream_st");
cudaError_t wrapped_peer_copy(
    void* to, int to_device, const void* from, int from_device, size_t bytes,
    cudaStream_t stream) asm("__wrap__Z19cudaMemcpyPeerAsyncPviPKvimP11CUstream_st");
cudaError_t wrapped_peer_copy(void* to, int to_device, const void* from, int from_device, size_t bytes,
                              cudaStream_t stream) {
  return modified(real_peer_copy(to, to_device, from, from_device, bytes, stream), to, bytes, stream);
}

namespace {

class PeerAccessFault : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_DEVICES(3);
    forget_trials();
    modified_copies = 0;
  }
  void TearDown() override {
    enable_error = cudaSuccess;
    modify_copy = nullptr;
    forget_trials();
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error was left behind";
  }
};

// What a trial of devices 0 and 1 finds if only its copy number `copy` is modified.
std::string found(int copy, const std::function<void(uint32_t* words, size_t count)>& modify) {
  forget_trials();
  modified_copies = 0;
  modify_copy = [&](uint32_t* words, size_t count) {
    if (modified_copies == copy) modify(words, count);
  };
  const PeerAccess access = connect(0, 1);
  modify_copy = nullptr;
  return name_of(access);
}

// In each direction: two kinds of copies on a stream of either device.
constexpr int kCopiesOfATrial = 8;

// A check of only some words, or of only some copies, would accept a broken link.
TEST_F(PeerAccessFault, AnyWrongWordOfAnyCopyIsDetected) {
  constexpr size_t kWords = kTrialBytes / sizeof(uint32_t);
  for (int copy = 0; copy < kCopiesOfATrial; ++copy)
    for (const size_t word : {size_t{0}, size_t{1}, kWords / 2 + 2, kWords - 2, kWords - 1}) {
      SCOPED_TRACE(concat("copy ", copy, ", word ", word));
      size_t seen = 0;
      EXPECT_EQ(found(copy,
                      [&, word](uint32_t* words, size_t count) {
                        seen = count;
                        words[word] ^= 0x8000;
                      }),
                "broken");
      EXPECT_EQ(seen, kWords);
    }
  EXPECT_EQ(found(0, [](uint32_t*, size_t) {}), "direct");
  EXPECT_EQ(modified_copies, kCopiesOfATrial);
}

// Data at a wrong address, or the same data everywhere.
TEST_F(PeerAccessFault, ShiftedOrRepeatedDataIsDetected) {
  for (int copy = 0; copy < kCopiesOfATrial; ++copy) {
    EXPECT_EQ(
        found(copy, [](uint32_t* words, size_t count) { std::rotate(words, words + 1, words + count); }),
        "broken");
    EXPECT_EQ(found(copy, [](uint32_t* words, size_t count) { std::fill_n(words, count, words[0]); }),
              "broken");
  }
}

// Each fault of each direction, alone.
TEST_F(PeerAccessFault, OneDirectionIsEnough) {
  using simt::PeerCopies;
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}}) {
    for (const auto access : {simt::PeerAccess::broken, simt::PeerAccess::wrong_loads}) {
      forget_trials();
      ASSERT_EQ(simt::set_peer_access(from, to, access), cudaSuccess);
      EXPECT_STREQ(name_of(connect(0, 1)), "broken") << from << " to " << to;
      ASSERT_EQ(simt::set_peer_access(from, to, simt::PeerAccess::works), cudaSuccess);
    }
    for (const PeerCopies copies : {PeerCopies::corrupted, PeerCopies::lost}) {
      forget_trials();
      ASSERT_EQ(simt::set_peer_copies(from, to, copies), cudaSuccess);
      EXPECT_STREQ(name_of(connect(0, 1)), "broken") << from << " to " << to;
      ASSERT_EQ(simt::set_peer_copies(from, to, PeerCopies::work), cudaSuccess);
    }
  }
}

// Memory that has the data of an earlier trial, if nothing arrives in a later one.
TEST_F(PeerAccessFault, DataOfAnEarlierTrialIsNotAccepted) {
  std::vector<Buffer<std::byte>> memory;
  std::vector<TrialMemory> trial;
  for (int device = 0; device < 2; ++device) {
    const DeviceScope scope(device);
    memory.emplace_back(kTrialMemoryBytes);
    trial.push_back({device, memory.back().data(), memory.back().bytes()});
  }
  const auto access = [&] {
    forget_trials();
    return std::string(name_of(connect(trial[0], trial[1])));
  };
  EXPECT_EQ(access(), "direct");
  EXPECT_EQ(access(), "direct");
  ASSERT_EQ(simt::set_peer_copies(1, 0, simt::PeerCopies::lost), cudaSuccess);
  EXPECT_EQ(access(), "broken");
  ASSERT_EQ(simt::set_peer_copies(1, 0, simt::PeerCopies::work), cudaSuccess);
  ASSERT_EQ(simt::set_peer_access(1, 0, simt::PeerAccess::broken), cudaSuccess);
  EXPECT_EQ(access(), "broken");
  ASSERT_EQ(simt::set_peer_access(1, 0, simt::PeerAccess::works), cudaSuccess);
  EXPECT_EQ(access(), "direct");
}

void expect_closed(int device, int peer) {
  const DeviceScope scope(device);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(peer), cudaErrorPeerAccessNotEnabled) << device << " to " << peer;
  EXPECT_EQ(cudaGetLastError(), cudaErrorPeerAccessNotEnabled);
}

// Access that fails the trial must be disabled again: copies would use the same link.
TEST_F(PeerAccessFault, ABrokenLinkIsClosedInBothDirections) {
  for (const int copy : {0, kCopiesOfATrial - 1}) {
    EXPECT_EQ(found(copy, [](uint32_t* words, size_t) { words[0] ^= 1; }), "broken");
    expect_closed(0, 1);
    expect_closed(1, 0);
  }
  EXPECT_STREQ(name_of(connect(1, 0)), "broken") << "the process keeps the result";
  expect_closed(0, 1);
  expect_closed(1, 0);
}

// The trial says nothing about a direction that cannot be tried, so neither is used.
TEST_F(PeerAccessFault, ALinkWithOneDirectionIsClosed) {
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}}) {
    ASSERT_EQ(simt::set_peer_access(from, to, simt::PeerAccess::absent), cudaSuccess);
    EXPECT_STREQ(name_of(connect(0, 1)), "unsupported");
    EXPECT_STREQ(name_of(connect(1, 0)), "unsupported");
    expect_closed(0, 1);
    expect_closed(1, 0);
    ASSERT_EQ(simt::set_peer_access(from, to, simt::PeerAccess::works), cudaSuccess);
  }
  EXPECT_STREQ(name_of(connect(0, 1)), "direct") << "this is not kept";
}

// Makes connect() close what it has opened in an earlier test.
void start_closed() {
  ASSERT_EQ(simt::set_peer_access(0, 1, simt::PeerAccess::absent), cudaSuccess);
  EXPECT_STREQ(name_of(connect(0, 1)), "unsupported");
  ASSERT_EQ(simt::set_peer_access(0, 1, simt::PeerAccess::works), cudaSuccess);
}
// Enables access as the caller's program would.
void enable(int device, int peer) {
  const DeviceScope scope(device);
  ASSERT_EQ(cudaDeviceEnablePeerAccess(peer, 0), cudaSuccess);
}
void expect_still_open(int device, int peer) {
  const DeviceScope scope(device);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(peer), cudaSuccess) << device << " to " << peer;
}

TEST_F(PeerAccessFault, AccessOfTheCallerStaysWhereOneDirectionIsRefused) {
  start_closed();
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}}) {
    ASSERT_EQ(simt::set_peer_access(from, to, simt::PeerAccess::absent), cudaSuccess);
    enable(to, from);
    for (int i = 0; i < 2; ++i) EXPECT_STREQ(name_of(connect(0, 1)), "unsupported");
    expect_still_open(to, from);
    expect_closed(from, to);
    ASSERT_EQ(simt::set_peer_access(from, to, simt::PeerAccess::works), cudaSuccess);
  }
}

// It stays over a broken link, too, and the copies would use it.
TEST_F(PeerAccessFault, AccessOfTheCallerOverABrokenLinkIsAnError) {
  start_closed();
  enable(0, 1);
  ASSERT_EQ(simt::set_peer_access(1, 0, simt::PeerAccess::broken), cudaSuccess);
  try {
    connect(0, 1);
    ADD_FAILURE() << "connected";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::bad_argument);
    EXPECT_NE(error.status().message().find("between device 0 and device 1 do not arrive"), std::string::npos)
        << error.what();
  }
  expect_still_open(0, 1);
  expect_closed(1, 0);
  EXPECT_STREQ(name_of(connect(0, 1)), "broken");
  ASSERT_EQ(simt::set_peer_access(1, 0, simt::PeerAccess::works), cudaSuccess);
}

TEST_F(PeerAccessFault, AccessOfTheCallerOverAGoodLinkIsUsed) {
  start_closed();
  enable(1, 0);
  EXPECT_STREQ(name_of(connect(0, 1)), "direct");
  expect_still_open(1, 0);
  expect_still_open(0, 1);
}

// cudaDeviceReset() disables access; the result of the trial stays.
TEST_F(PeerAccessFault, AccessIsEnabledAgainAfterAReset) {
  EXPECT_STREQ(name_of(connect(0, 1)), "direct");
  {
    const DeviceScope scope(1);
    ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  }
  EXPECT_STREQ(name_of(connect(0, 1)), "direct");
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}}) {
    const DeviceScope scope(from);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(to), cudaSuccess);
  }
}

TEST_F(PeerAccessFault, ALinkThatIsOpenAlreadyIsNoError) {
  for (int i = 0; i < 2; ++i) EXPECT_STREQ(name_of(connect(0, 1)), "direct");
}

// A device has a maximum number of peers. Drivers also refuse access for other reasons, for example because
// memory cannot be mapped. All are no reason to fail: the data can be copied through the host.
TEST_F(PeerAccessFault, WithoutPermissionThereIsNoAccess) {
  constexpr auto kMapBufferObjectFailed = static_cast<cudaError_t>(205);  // the executor has no name for it
  for (const cudaError_t error :
       {cudaErrorTooManyPeers, cudaErrorPeerAccessUnsupported, kMapBufferObjectFailed, cudaErrorNotSupported,
        cudaErrorNotPermitted, cudaErrorMemoryAllocation, cudaErrorInvalidDevice}) {
    enable_error = error;
    EXPECT_STREQ(name_of(connect(0, 1)), "unsupported") << cudaGetErrorName(error);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error was left behind";
  }
  enable_error = cudaErrorTooManyPeers;
  CommunicatorFixture fixture({0, 1, 2}, 256);
  EXPECT_FALSE(fixture.communicator.all_reach_all());
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to) EXPECT_EQ(fixture.communicator.reaches(from, to), from == to);
  const auto inputs = exact_inputs(3, 500, 6);
  for (const Algorithm algorithm : kAlgorithms) {
    RankVectors data(fixture.devices, inputs);
    ASSERT_TRUE(ok(sum_by(algorithm, fixture, data)));
    fixture.synchronize();
    for (size_t rank = 0; rank < 3; ++rank)
      EXPECT_TRUE(all_equal_bits(data.download(rank), documented_sum(inputs, algorithm))) << algorithm;
  }
}

// The message names both devices.
TEST_F(PeerAccessFault, AFailedDeviceIsReported) {
  enable_error = cudaErrorNvlinkUncorrectable;
  try {
    connect(0, 1);
    ADD_FAILURE() << "connected";
  } catch (const Error& error) {
    EXPECT_EQ(error.status().code(), StatusCode::device_failed);
    EXPECT_NE(error.status().message().find("letting device 0 reach the memory of device 1"),
              std::string::npos)
        << error.what();
  }
  static_cast<void>(cudaGetLastError());
}

}  // namespace
}  // namespace rondo::test

// connect() if a link or the driver fails in ways that the executor cannot simulate: the linker redirects its
// calls (--wrap, CMakeLists.txt). The mangled names come from the executor's headers.
#include <rondo/collectives/peer_access.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/tests/collectives/communicator_fixture.h>

#include <cuda_runtime_api.h>
#include <simt/faults.h>

#include <functional>

namespace rondo::test {

namespace {

// The error that enabling access returns; cudaSuccess: the real call is made.
cudaError_t enable_error = cudaSuccess;
// Modifies the words that the owner of the memory reads back.
std::function<void(uint32_t* words, size_t count)> modify_read_back;

}  // namespace

cudaError_t real_enable(int peer, unsigned flags) asm("__real__Z26cudaDeviceEnablePeerAccessij");
cudaError_t wrapped_enable(int peer, unsigned flags) asm("__wrap__Z26cudaDeviceEnablePeerAccessij");
cudaError_t wrapped_enable(int peer, unsigned flags) {
  if (enable_error == cudaSuccess) return real_enable(peer, flags);
  // As in CUDA, the error stays for cudaGetLastError(): make a real call that fails.
  static_cast<void>(real_enable(-1, flags));
  return enable_error;
}

cudaError_t real_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) asm(
    "__real__Z15cudaMemcpyAsyncPvPKvm14cudaMemcpyKindP11CUstream_st");
cudaError_t wrapped_copy(
    void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
    cudaStream_t stream) asm("__wrap__Z15cudaMemcpyAsyncPvPKvm14cudaMemcpyKindP11CUstream_st");
cudaError_t wrapped_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const cudaError_t error = real_copy(to, from, bytes, kind, stream);
  if (!modify_read_back || kind != cudaMemcpyDeviceToHost || error != cudaSuccess) return error;
  const cudaError_t done = cudaStreamSynchronize(stream);
  if (done == cudaSuccess) modify_read_back(static_cast<uint32_t*>(to), bytes / sizeof(uint32_t));
  return done;
}

namespace {

class PeerAccessFault : public testing::Test {
 protected:
  void SetUp() override {
    if (device_count() < 3) GTEST_SKIP() << "needs 3 devices";
  }
  void TearDown() override {
    enable_error = cudaSuccess;
    modify_read_back = nullptr;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error was left behind";
  }
};

// A check of only some words would accept a broken link.
TEST_F(PeerAccessFault, AnyWrongWordIsDetected) {
  const Buffer<uint32_t> small = [] {
    const DeviceScope scope(1);
    return Buffer<uint32_t>(100);
  }();
  for (const auto& [memory, words] : {std::pair{false, 1024}, {true, 100}})
    for (const int word : {0, 1, 2, words / 2, words - 2, words - 1}) {
      SCOPED_TRACE(concat("word ", word, " of ", words));
      int seen = 0;
      modify_read_back = [&, wrong = static_cast<size_t>(word)](uint32_t* found, size_t count) {
        seen = static_cast<int>(count);
        found[wrong] ^= 0x8000;
      };
      const PeerAccess access =
          memory ? connect(0, 1, const_cast<uint32_t*>(small.data()), 400) : connect(0, 1);
      EXPECT_STREQ(name_of(access), "broken");
      EXPECT_EQ(seen, words);
    }
  modify_read_back = nullptr;
  EXPECT_STREQ(name_of(connect(0, 1)), "direct");
}

// Stores to a wrong address, or that all store the same value.
TEST_F(PeerAccessFault, ShiftedOrRepeatedStoresAreDetected) {
  modify_read_back = [](uint32_t* found, size_t count) { std::rotate(found, found + 1, found + count); };
  EXPECT_STREQ(name_of(connect(0, 1)), "broken");
  modify_read_back = [](uint32_t* found, size_t count) { std::fill_n(found, count, found[0]); };
  EXPECT_STREQ(name_of(connect(0, 1)), "broken");
}

// Access that fails the check must be disabled again: copies would use the same link.
TEST_F(PeerAccessFault, ABrokenLinkIsClosedAgain) {
  modify_read_back = [](uint32_t* found, size_t) { found[0] = 0; };
  EXPECT_STREQ(name_of(connect(0, 1)), "broken");
  const DeviceScope scope(0);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  EXPECT_EQ(cudaGetLastError(), cudaErrorPeerAccessNotEnabled);
}

TEST_F(PeerAccessFault, ALinkThatIsOpenAlreadyIsNoError) {
  for (int i = 0; i < 2; ++i) EXPECT_STREQ(name_of(connect(0, 1)), "direct");
}

// A device has a maximum number of peers; the others are accessed by copies.
TEST_F(PeerAccessFault, WithoutRoomForAPeerThereIsNoAccess) {
  enable_error = cudaErrorTooManyPeers;
  EXPECT_STREQ(name_of(connect(0, 1)), "unsupported");
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error was left behind";
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

// Any other error is a failure of the device; the message names both devices.
TEST_F(PeerAccessFault, AnotherFailureIsReported) {
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

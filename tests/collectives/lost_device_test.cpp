// Calls of a communicator while a device has failed, whose error every call of CUDA may return, and the
// number of calls that keep track of the operations. The linker redirects some calls (--wrap,
// CMakeLists.txt). The mangled names come from the executor's headers.
#include <rondo/tests/collectives/communicator_fixture.h>
#include <rondo/tests/support/failed_device.h>

#include <thread>

namespace rondo::test {
namespace {

constexpr cudaError_t kError = cudaErrorNvlinkUncorrectable;
bool get_device_fails = false;  // returns the error of another device that has failed
int set_device_fails = 0;       // the n-th call from now on makes the device current and returns an error
int event_queries = 0, mode_exchanges = 0;

}  // namespace

cudaError_t real_get_device(int* device) asm("__real__Z13cudaGetDevicePi");
cudaError_t wrapped_get_device(int* device) asm("__wrap__Z13cudaGetDevicePi");
cudaError_t wrapped_get_device(int* device) { return get_device_fails ? kError : real_get_device(device); }

cudaError_t real_set_device(int device) asm("__real__Z13cudaSetDevicei");
cudaError_t wrapped_set_device(int device) asm("__wrap__Z13cudaSetDevicei");
cudaError_t wrapped_set_device(int device) {
  const cudaError_t error = real_set_device(device);
  return set_device_fails > 0 && --set_device_fails == 0 ? kError : error;
}

cudaError_t real_query(cudaEvent_t event) asm("__real__Z14cudaEventQueryP10CUevent_st");
cudaError_t wrapped_query(cudaEvent_t event) asm("__wrap__Z14cudaEventQueryP10CUevent_st");
cudaError_t wrapped_query(cudaEvent_t event) {
  ++event_queries;
  return real_query(event);
}

cudaError_t real_exchange(cudaStreamCaptureMode* mode) asm(
    "__real__Z35cudaThreadExchangeStreamCaptureModeP21cudaStreamCaptureMode");
cudaError_t wrapped_exchange(cudaStreamCaptureMode* mode) asm(
    "__wrap__Z35cudaThreadExchangeStreamCaptureModeP21cudaStreamCaptureMode");
cudaError_t wrapped_exchange(cudaStreamCaptureMode* mode) {
  ++mode_exchanges;
  return real_exchange(mode);
}

namespace {

constexpr auto kTimeout = std::chrono::seconds(20);

class LostDevice : public ResetDevices<4> {
 protected:
  void TearDown() override {
    get_device_fails = false;
    set_device_fails = 0;
    ResetDevices::TearDown();
  }
};

// Device 0 is not the communicator's. A new thread begins with it.
TEST_F(LostDevice, OfTheCallerIsReportedByWait) {
  CommunicatorFixture fixture({1, 2});
  fail_device(0);
  Status status;
  EXPECT_NO_THROW(status = fixture.communicator.wait(fixture.handles, kTimeout));
  EXPECT_EQ(status.code(), StatusCode::device_failed) << status.message();
  EXPECT_EQ(fixture.communicator.state().code(), StatusCode::device_failed) << "aborted";
}

TEST_F(LostDevice, OfARankIsReportedByWait) {
  ASSERT_EQ(cudaSetDevice(3), cudaSuccess);
  CommunicatorFixture fixture({1, 2});
  fail_device(2);
  const Status status = fixture.communicator.wait(fixture.handles, kTimeout);
  EXPECT_EQ(status.code(), StatusCode::device_failed) << status.message();
  EXPECT_NE(status.message().find("rank 1 on device 2"), std::string::npos) << status.message();
  EXPECT_EQ(fixture.communicator.state().code(), StatusCode::device_failed);
  EXPECT_EQ(current_device(), 3);
}

// The operation does not know which device to restore, so it makes none current.
TEST_F(LostDevice, IsNotReplacedByDevice0) {
  ASSERT_EQ(cudaSetDevice(3), cudaSuccess);
  {
    CommunicatorFixture fixture({1, 2});
    get_device_fails = true;
    const Status status = barrier(fixture.communicator, fixture.handles);
    get_device_fails = false;
    EXPECT_EQ(status.code(), StatusCode::device_failed) << status.message();
    EXPECT_EQ(fixture.communicator.state().code(), StatusCode::device_failed);
    EXPECT_EQ(current_device(), 3);
  }
}

// The call that makes a device current may return the error and do it nevertheless.
TEST_F(LostDevice, LeavesTheCallersDeviceCurrent) {
  for (int n = 1; n <= 2; ++n) {
    ASSERT_EQ(cudaSetDevice(3), cudaSuccess);
    CommunicatorFixture fixture({1, 2});
    set_device_fails = n;
    const Status status = barrier(fixture.communicator, fixture.handles);
    set_device_fails = 0;
    EXPECT_EQ(status.code(), StatusCode::device_failed) << status.message();
    EXPECT_EQ(current_device(), 3) << "call " << n;
  }
}

// The sets of events of the first operations are used again, which requires that their work is done.
TEST(TrackingOfOperations, TakesOneScopeForAllQueries) {
  constexpr int kRanks = 4;
  CommunicatorFixture fixture(place(kRanks, Placement::spread));
  const auto run = [&] {
    ASSERT_TRUE(ok(barrier(fixture.communicator, fixture.handles)));
    fixture.synchronize();
  };
  for (size_t i = 0; i < OperationTracker::kTracked; ++i) run();
  event_queries = mode_exchanges = 0;
  run();
  EXPECT_EQ(event_queries, 3 * kRanks);
  EXPECT_EQ(mode_exchanges, 2);
}

}  // namespace
}  // namespace rondo::test

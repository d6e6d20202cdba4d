// Peer access: which device may access the memory of which other device.
#include <rondo/tests/support/marked_locale.h>

#include "host_support.h"

namespace simt_test {
namespace {

struct View {
  int64_t rows;
  int* data;
};

__global__ void add_from(int* out, const int* in) { *out += *in; }
__global__ void read_view(int* out, View view) { *out = view.data[0]; }
__global__ void ignore(int*, View) {}

class HostPeer : public HostTest {
 protected:
  void SetUp() override {
    HostTest::SetUp();
    for (int d = 0; d < 2; ++d) {
      CUDA_OK(cudaSetDevice(d));
      p_[d] = allocate<int>(4);
      CUDA_OK(cudaMemset(p_[d], 0, 4 * sizeof(int)));
      CUDA_OK(cudaDeviceSynchronize());
    }
    CUDA_OK(cudaSetDevice(0));
    testing::internal::CaptureStderr();  // the executor reports faults there
  }
  void TearDown() override {
    testing::internal::GetCapturedStderr();
    for (int d = 0; d < 2; ++d) {
      cudaSetDevice(d);
      cudaDeviceReset();
    }
    HostTest::TearDown();
  }
  // The message of the fault in which the work of device 0 must end.
  std::string fault() {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    return simt::last_fault().message;
  }
  int* p_[2];
};

TEST_F(HostPeer, AccessMustBeEnabled) {
  const auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, add_from, p_[0], p_[1]));
  const std::string message = fault();
  EXPECT_NE(message.find(argument("argument 2")), std::string::npos) << message;
  EXPECT_NE(message.find("add_from"), std::string::npos) << message;
  EXPECT_NE(message.find("memory of device 1"), std::string::npos) << message;
  EXPECT_NE(message.find("cudaDeviceEnablePeerAccess(1, 0)"), std::string::npos) << message;
}

TEST_F(HostPeer, EnabledAccessWorksOneWay) {
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  const int three = 3;
  CUDA_OK(cudaMemcpy(p_[1], &three, sizeof(int), cudaMemcpyDefault));
  auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, add_from, p_[0], p_[1]));
  CUDA_OK(cudaLaunchKernelEx(&config, read_view, p_[0] + 1, View{1, p_[1]}));
  CUDA_OK(cudaDeviceSynchronize());
  EXPECT_EQ(read(p_[0]), 3);
  EXPECT_EQ(read(p_[0] + 1), 3);
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaLaunchKernelEx(&config, add_from, p_[1], p_[0]));
  EXPECT_NE(fault().find("memory of device 0"), std::string::npos);
}

TEST_F(HostPeer, PointersInViewsAreChecked) {
  const auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, read_view, p_[0], View{1, p_[1]}));
  const std::string message = fault();
  EXPECT_NE(message.find(argument("argument 2 (byte 8 of a struct)")), std::string::npos) << message;
}

// Whatever locale the program has set: rondo/tests/support/marked_locale.h.
TEST_F(HostPeer, MessagesAreTheSameInEveryLocale) {
  const auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, read_view, nullptr, View{1, p_[1]}));
  const std::string before = fault();
  CUDA_OK(cudaDeviceReset());
  const rondo::test::MarkedLocale locale;
  CUDA_OK(cudaLaunchKernelEx(&config, read_view, nullptr, View{1, p_[1]}));
  EXPECT_EQ(fault(), before);
}

TEST_F(HostPeer, HarmlessPointersPass) {
  const auto config = shape(1, 1);
  int64_t on_the_host = 0;
  int* pinned = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, 64));
  CUDA_OK(cudaLaunchKernelEx(&config, ignore, p_[0] + 4, View{0, p_[0] + 4}));  // one past the end
  CUDA_OK(cudaLaunchKernelEx(&config, ignore, nullptr, View{-1, nullptr}));
  CUDA_OK(cudaLaunchKernelEx(&config, ignore, pinned, View{1, pinned}));
  // A word of a struct may be a number instead of a pointer, so a host address in it is not an error.
  CUDA_OK(cudaLaunchKernelEx(&config, ignore, nullptr, View{1, reinterpret_cast<int*>(&on_the_host)}));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaFreeHost(pinned));
}

TEST_F(HostPeer, PageablePointersFail) {
  const auto config = shape(1, 1);
  int on_the_host = 0;
  CUDA_OK(cudaLaunchKernelEx(&config, add_from, p_[0], &on_the_host));
  EXPECT_NE(fault().find("pinned host memory"), std::string::npos);
}

TEST_F(HostPeer, DisablingTakesEffectAtTheNextLaunch) {
  const auto config = shape(1, 1);
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  CUDA_OK(cudaLaunchKernelEx(&config, add_from, p_[0], p_[1]));
  CUDA_OK(cudaDeviceSynchronize());
  CUDA_OK(cudaDeviceDisablePeerAccess(1));
  CUDA_OK(cudaLaunchKernelEx(&config, add_from, p_[0], p_[1]));
  fault();
}

TEST_F(HostPeer, CopiesNeedNoAccess) {
  const int nine = 9;
  CUDA_OK(cudaMemcpy(p_[0], &nine, sizeof(int), cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpyPeerAsync(p_[1], 1, p_[0], 0, sizeof(int), nullptr));
  CUDA_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(read(p_[1]), 9);
}

TEST_F(HostPeer, ResettingADeviceEndsTheAccessToIt) {
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaDeviceReset());
  p_[1] = allocate<int>(4);
  CUDA_OK(cudaSetDevice(0));
  CUDA_ERROR(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  const auto config = shape(1, 1);
  CUDA_OK(cudaLaunchKernelEx(&config, add_from, p_[0], p_[1]));
  EXPECT_NE(fault().find("memory of device 1"), std::string::npos);
}

TEST_F(HostPeer, RefusesBadCalls) {
  int value = -1;
  CUDA_OK(cudaDeviceCanAccessPeer(&value, 0, 1));
  EXPECT_EQ(value, 1);
  CUDA_OK(cudaDeviceCanAccessPeer(&value, 1, 1));
  EXPECT_EQ(value, 0);
  CUDA_ERROR(cudaDeviceCanAccessPeer(&value, 0, 99), cudaErrorInvalidDevice);
  CUDA_ERROR(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
  CUDA_ERROR(cudaDeviceEnablePeerAccess(99, 0), cudaErrorInvalidDevice);
  CUDA_ERROR(cudaDeviceEnablePeerAccess(1, 7), cudaErrorInvalidValue);
  CUDA_ERROR(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  CUDA_ERROR(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  CUDA_OK(cudaDeviceDisablePeerAccess(1));
  CUDA_OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
  EXPECT_EQ(value, 1);
  CUDA_ERROR(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 1, 1), cudaErrorInvalidDevice);
}

}  // namespace
}  // namespace simt_test

// Contexts: which calls create one, and on which device. Captures: which calls must not touch a device while
// one of its streams is captured.
#include <cuda.h>

#include <functional>
#include <future>

#include "host_support.h"

namespace simt_test {
namespace {

__global__ void nothing() {}

// Every test starts without any context.
class HostContexts : public HostTest {
 protected:
  void SetUp() override {
    HostTest::SetUp();
    int count = 0;
    CUDA_OK(cudaGetDeviceCount(&count));
    for (int device = count - 1; device >= 0; --device) {
      CUDA_OK(cudaSetDevice(device));
      CUDA_OK(cudaDeviceReset());
    }
    ASSERT_EQ(simt::devices_with_context(), std::vector<int>{});
  }
};

using Devices = std::vector<int>;

// The devices with a context after some calls of a new thread, whose current device is 0.
Devices after(std::function<void()> calls) {
  std::thread(calls).join();
  return simt::devices_with_context();
}

TEST_F(HostContexts, QueriesCreateNone) {
  EXPECT_EQ(after([] {
              int value = 0;
              cudaDeviceProp properties;
              CUDA_OK(cudaGetDeviceCount(&value));
              CUDA_OK(cudaGetDevice(&value));
              CUDA_OK(cudaGetDeviceProperties(&properties, 1));
              CUDA_OK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1));
              CUDA_OK(cudaDeviceCanAccessPeer(&value, 1, 2));
              CUDA_OK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 1, 2));
              CUDA_OK(cudaRuntimeGetVersion(&value));
              CUDA_OK(cudaGetLastError());
            }),
            Devices{});
}

TEST_F(HostContexts, SettingADeviceCreatesItsContext) {
  EXPECT_EQ(after([] { CUDA_OK(cudaSetDevice(2)); }), Devices{2});
  EXPECT_EQ(after([] {
              CUDA_OK(cudaSetDevice(1));
              CUDA_OK(cudaDeviceReset());
              CUDA_ERROR(cudaSetDevice(99), cudaErrorInvalidDevice);
            }),
            Devices{2});
}

// Calls that use a context of the current device.
const std::vector<std::function<cudaError_t()>> kCallsWithAContext = {
    [] { return cudaFree(nullptr); },
    [] { return cudaFreeHost(nullptr); },
    [] { return cudaDeviceSynchronize(); },
    [] { return cudaStreamSynchronize(nullptr); },
    [] {
      void* memory = nullptr;
      return cudaMalloc(&memory, 16);
    },
    [] {
      void* memory = nullptr;
      const cudaError_t error = cudaMallocHost(&memory, 16);
      cudaFreeHost(memory);
      return error;
    },
    [] {
      size_t free, total;
      return cudaMemGetInfo(&free, &total);
    },
    [] {
      cudaStream_t stream;
      return cudaStreamCreate(&stream);
    },
    [] {
      cudaEvent_t event;
      return cudaEventCreate(&event);
    },
    [] {
      const auto config = shape(1, 1);
      return cudaLaunchKernelEx(&config, nothing);
    },
    [] {
      cudaFuncAttributes attributes;
      return cudaFuncGetAttributes(&attributes, nothing);
    },
};

// Each of these calls, made first, creates a context of device 0.
TEST_F(HostContexts, AnyOtherCallCreatesOneOfTheCurrentDevice) {
  for (size_t i = 0; i < kCallsWithAContext.size(); ++i) {
    EXPECT_EQ(after([&] { CUDA_OK(kCallsWithAContext[i]()); }), Devices{0}) << "call " << i;
    EXPECT_EQ(after([] { CUDA_OK(cudaDeviceReset()); }), Devices{});
  }
}

// The result of a function of the driver, which needs a current context.
CUresult encode_a_map() {
  static void* const found = [] {
    void* function = nullptr;
    EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault),
              cudaSuccess);
    return function;
  }();
  alignas(16) static float memory[64];
  CUtensorMap map;
  const cuuint64_t size = 64;
  const cuuint32_t box = 32, step = 1;
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found)(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 1, memory, &size, nullptr, &box, &step,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// A defective program: the driver does not bind a context, and another thread's does not count.
TEST_F(HostContexts, TheDriverNeedsAContextOfTheCallingThread) {
  CUDA_OK(cudaSetDevice(0));
  EXPECT_EQ(encode_a_map(), CUDA_SUCCESS);
  std::thread([] {
    int value = 0;
    cudaDeviceProp properties;
    EXPECT_EQ(encode_a_map(), CUDA_ERROR_INVALID_CONTEXT);
    CUDA_OK(cudaGetDeviceCount(&value));
    CUDA_OK(cudaGetDevice(&value));
    CUDA_OK(cudaGetDeviceProperties(&properties, value));
    CUDA_OK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, value));
    CUDA_OK(cudaGetLastError());
    EXPECT_EQ(encode_a_map(), CUDA_ERROR_INVALID_CONTEXT);
    CUDA_OK(cudaSetDevice(0));
    EXPECT_EQ(encode_a_map(), CUDA_SUCCESS);
  }).join();
  for (size_t i = 0; i < kCallsWithAContext.size(); ++i)
    std::thread([i] {
      EXPECT_EQ(encode_a_map(), CUDA_ERROR_INVALID_CONTEXT) << "call " << i;
      CUDA_OK(kCallsWithAContext[i]());
      EXPECT_EQ(encode_a_map(), CUDA_SUCCESS) << "call " << i;
    }).join();
}

TEST_F(HostContexts, TheDriverRefusesAContextThatWasReset) {
  CUDA_OK(cudaSetDevice(1));
  EXPECT_EQ(encode_a_map(), CUDA_SUCCESS);
  CUDA_OK(cudaDeviceReset());
  EXPECT_EQ(encode_a_map(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CUDA_OK(cudaFree(nullptr));
  EXPECT_EQ(encode_a_map(), CUDA_SUCCESS);
}

TEST_F(HostContexts, AHostFunctionMustNotCallTheDriver) {
  CUresult result = CUDA_SUCCESS;
  const auto call = [](void* to) { *static_cast<CUresult*>(to) = encode_a_map(); };
  EXPECT_EQ(encode_a_map(), CUDA_ERROR_CONTEXT_IS_DESTROYED) << "finds the function";
  CUDA_OK(cudaLaunchHostFunc(nullptr, call, &result));
  CUDA_OK(cudaStreamSynchronize(nullptr));
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
}

// A defective program: a thread that never set a device queries an event of device 2, which creates a context
// of device 0. A correct program sets the device first.
TEST_F(HostContexts, AHandleOfAnotherDeviceDoesNotSetTheDevice) {
  cudaEvent_t event = nullptr;
  EXPECT_EQ(after([&] {
              CUDA_OK(cudaSetDevice(2));
              event = make_event();
            }),
            Devices{2});
  EXPECT_EQ(after([&] {
              CUDA_OK(cudaSetDevice(2));
              CUDA_OK(cudaEventQuery(event));
            }),
            Devices{2});
  EXPECT_EQ(after([&] { CUDA_OK(cudaEventQuery(event)); }), (Devices{0, 2}));
}

// A defective program: it restores a device that was never set.
TEST_F(HostContexts, RestoringADeviceCreatesItsContext) {
  EXPECT_EQ(after([] {
              int before = -1;
              CUDA_OK(cudaGetDevice(&before));
              CUDA_OK(cudaSetDevice(3));
              CUDA_OK(cudaSetDevice(before));
            }),
            (Devices{0, 3}));
}

TEST_F(HostContexts, PeerAccessCreatesBothContexts) {
  EXPECT_EQ(after([] {
              CUDA_OK(cudaSetDevice(1));
              CUDA_OK(cudaDeviceEnablePeerAccess(3, 0));
            }),
            (Devices{1, 3}));
}

class Captures : public HostContexts {
 protected:
  void begin(cudaStreamCaptureMode mode) {
    stream_ = make_stream();
    CUDA_OK(cudaStreamBeginCapture(stream_, mode));
  }
  cudaError_t end() {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream_, &graph);
    if (graph) cudaGraphDestroy(graph);
    cudaStreamDestroy(stream_);
    return error;
  }
  static cudaError_t synchronize_from_another_thread(int device) {
    return std::async(std::launch::async,
                      [device] {
                        cudaSetDevice(device);
                        return cudaDeviceSynchronize();
                      })
        .get();
  }

  cudaStream_t stream_ = nullptr;
};

// A defective program: during a capture by any thread, in any mode, the device cannot be synchronised.
TEST_F(Captures, ADeviceCannotBeSynchronized) {
  for (const auto mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    begin(mode);
    EXPECT_EQ(synchronize_from_another_thread(0), cudaErrorStreamCaptureUnsupported) << mode;
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated) << mode;
    begin(mode);
    CUDA_ERROR(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated) << mode;
    cudaGetLastError();
  }
}

TEST_F(Captures, OnlyDevicesInTheCaptureAreAffected) {
  CUDA_OK(cudaSetDevice(1));
  const cudaStream_t joins = make_stream();
  const cudaEvent_t back = make_event();
  CUDA_OK(cudaSetDevice(0));
  const cudaEvent_t fork = make_event();
  begin(cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(synchronize_from_another_thread(1), cudaSuccess);
  CUDA_OK(cudaEventRecord(fork, stream_));
  CUDA_OK(cudaStreamWaitEvent(joins, fork));
  CUDA_OK(cudaEventRecord(back, joins));
  CUDA_OK(cudaStreamWaitEvent(stream_, back));
  EXPECT_EQ(synchronize_from_another_thread(2), cudaSuccess);
  EXPECT_EQ(synchronize_from_another_thread(1), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
}

// A correct program: it waits for its own stream or event.
TEST_F(Captures, AnotherStreamCanBeSynchronized) {
  for (const auto mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    begin(mode);
    const auto wait = [] {
      const cudaStream_t own = make_stream();
      const cudaEvent_t event = make_event();
      EXPECT_EQ(cudaEventRecord(event, own), cudaSuccess);
      EXPECT_EQ(cudaStreamSynchronize(own), cudaSuccess);
      EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
      EXPECT_EQ(cudaStreamDestroy(own), cudaSuccess);
    };
    std::thread(wait).join();
    EXPECT_EQ(end(), cudaSuccess) << mode;
    EXPECT_EQ(synchronize_from_another_thread(0), cudaSuccess);
  }
}

// Seen with driver 580 on an H200, in all modes.
TEST_F(Captures, QueriesOfACapturedStreamEndTheCapture) {
  const cudaStream_t other = make_stream();
  int device = -1;
  unsigned flags = 99;
  for (const auto mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    begin(mode);
    CUDA_OK(cudaStreamGetDevice(other, &device));
    CUDA_OK(cudaStreamGetFlags(other, &flags));
    EXPECT_EQ(end(), cudaSuccess);

    begin(mode);
    device = -1;
    CUDA_ERROR(cudaStreamGetDevice(stream_, &device), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(device, -1);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);

    begin(mode);
    flags = 99;
    CUDA_ERROR(cudaStreamGetFlags(stream_, &flags), cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(flags, 99u);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  }
  stream_ = make_stream(cudaStreamDefault);
  CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed));
  CUDA_ERROR(cudaStreamGetDevice(nullptr, &device), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
}

// CUDA: "The blocking stream capture is not invalidated." Other calls with the legacy stream invalidate it.
TEST_F(Captures, TheStatusOfTheLegacyStreamIsNotKnown) {
  stream_ = make_stream(cudaStreamDefault);  // which waits for the legacy stream
  CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  for (const cudaStream_t legacy : {static_cast<cudaStream_t>(nullptr), cudaStreamLegacy}) {
    cudaStreamCaptureStatus status;
    unsigned long long id = 0;
    CUDA_ERROR(cudaStreamIsCapturing(legacy, &status), cudaErrorStreamCaptureImplicit);
    CUDA_ERROR(cudaStreamGetCaptureInfo(legacy, &status, &id), cudaErrorStreamCaptureImplicit);
  }
  CUDA_OK(cudaSetDevice(1));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  CUDA_OK(cudaStreamIsCapturing(nullptr, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone) << "the legacy stream of another device";
  CUDA_OK(cudaSetDevice(0));
  EXPECT_EQ(end(), cudaSuccess);

  begin(cudaStreamCaptureModeThreadLocal);
  CUDA_OK(cudaStreamIsCapturing(nullptr, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusNone) << "a stream that does not wait for it";
  EXPECT_EQ(end(), cudaSuccess);

  stream_ = make_stream(cudaStreamDefault);
  CUDA_OK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  CUDA_ERROR(cudaStreamQuery(nullptr), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  cudaGetLastError();
}

TEST_F(Captures, AResetEndsThem) {
  begin(cudaStreamCaptureModeGlobal);
  CUDA_OK(cudaDeviceReset());
  cudaGraph_t graph = nullptr;
  CUDA_ERROR(cudaStreamEndCapture(stream_, &graph), cudaErrorInvalidResourceHandle);
  CUDA_OK(cudaDeviceSynchronize());
}

}  // namespace
}  // namespace simt_test

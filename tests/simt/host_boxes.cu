// Copies and fills of rows and boxes, callbacks, and the functions that only advise.
#include <cuda_profiler_api.h>

#include <string>

#include "host_support.h"

using namespace simt_test;

namespace {

__global__ void triple(int* values) { values[blockIdx.x * blockDim.x + threadIdx.x] *= 3; }
__global__ void nothing() {}

using HostBoxes = HostTest;

TEST_F(HostBoxes, RowsAndBoxesGoThereAndBack) {
  constexpr size_t kWidth = 5, kHeight = 3, kDepth = 2;
  const cudaExtent extent = make_cudaExtent(kWidth, kHeight, kDepth);
  cudaPitchedPtr box;
  CUDA_OK(cudaMalloc3D(&box, extent));
  EXPECT_GE(box.pitch, kWidth);
  EXPECT_EQ(box.pitch % 512, 0u);
  std::vector<char> host(kWidth * kHeight * kDepth), back(host.size());
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<char>(i + 1);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), kWidth, kWidth, kHeight);
  copy.dstPtr = box;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CUDA_OK(cudaMemcpy3D(&copy));
  EXPECT_EQ(read(static_cast<char*>(box.ptr) + (kHeight + 1) * box.pitch + 2), 15 + 5 + 3);
  // The middle of the second row of each slice becomes 9.
  const cudaPitchedPtr middle =
      make_cudaPitchedPtr(static_cast<char*>(box.ptr) + box.pitch + 1, box.pitch, kWidth, kHeight);
  CUDA_OK(cudaMemset3D(middle, 9, make_cudaExtent(2, 1, kDepth)));
  std::swap(copy.srcPtr, copy.dstPtr);
  copy.dstPtr.ptr = back.data();
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA_OK(cudaMemcpy3DAsync(&copy));
  CUDA_OK(cudaDeviceSynchronize());
  for (const size_t i : {6u, 7u, 21u, 22u}) host[i] = 9;
  EXPECT_EQ(host, back);
  CUDA_OK(cudaMemset2D(box.ptr, box.pitch, 4, 2, kHeight));
  CUDA_OK(cudaMemcpy3D(&copy));
  for (const size_t i : {0u, 1u, 5u, 6u, 10u, 11u}) host[i] = 4;
  EXPECT_EQ(host, back);
  CUDA_ERROR(cudaMemset2D(box.ptr, 4, 0, 5, 2), cudaErrorInvalidPitchValue);
  CUDA_ERROR(cudaMemcpy3D(nullptr), cudaErrorInvalidValue);
  copy.srcPos = {0, 0, 3};
  CUDA_ERROR(cudaMemcpy3D(&copy), cudaErrorInvalidValue);  // beyond the allocation
  CUDA_OK(cudaFree(box.ptr));
}

TEST_F(HostBoxes, CallbacksFollowTheirStream) {
  struct Call {
    cudaStream_t stream;
    cudaError_t status;
    int value;
    const int* pinned;
  } call = {};
  int *pinned = nullptr, *device = allocate<int>(1);
  CUDA_OK(cudaMallocHost(&pinned, sizeof(int)));
  *pinned = 5;
  call.pinned = pinned;
  const cudaStream_t stream = make_stream();
  CUDA_OK(cudaMemcpyAsync(device, pinned, sizeof(int), cudaMemcpyHostToDevice, stream));
  const cudaLaunchConfig_t config = shape(1, 1, stream);
  CUDA_OK(cudaLaunchKernelEx(&config, triple, device));
  CUDA_OK(cudaMemcpyAsync(pinned, device, sizeof(int), cudaMemcpyDeviceToHost, stream));
  const auto callback = [](cudaStream_t on, cudaError_t status, void* data) {
    Call& result = *static_cast<Call*>(data);
    result = {on, status, *result.pinned, nullptr};
  };
  CUDA_OK(cudaStreamAddCallback(stream, callback, &call, 0));
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(call.stream, stream);
  EXPECT_EQ(call.status, cudaSuccess);
  EXPECT_EQ(call.value, 15);
  CUDA_ERROR(cudaStreamAddCallback(stream, callback, &call, 1), cudaErrorInvalidValue);
  CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  CUDA_ERROR(cudaStreamAddCallback(stream, callback, &call, 0), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  CUDA_ERROR(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  CUDA_OK(cudaStreamDestroy(stream));
  CUDA_OK(cudaFreeHost(pinned));
  CUDA_OK(cudaFree(device));
}

TEST_F(HostBoxes, TheBestBlockSizeFillsAMultiprocessor) {
  int grid = 0, block = 0, blocks = 0, threads = 0, multiprocessors = 0;
  CUDA_OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, triple));
  CUDA_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, triple, block, 0));
  CUDA_OK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
  CUDA_OK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  EXPECT_EQ(blocks * block, threads);
  EXPECT_EQ(grid, blocks * multiprocessors);
  CUDA_OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, triple, 0, 100));
  EXPECT_LE(block, 100);
  // 1 KB a thread.
  CUDA_OK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, triple,
                                                         [](int size) { return size << 10; }));
  EXPECT_GT(grid, 0);
  EXPECT_LE(block, 228);
}

TEST_F(HostBoxes, LaunchesByAddressCheckWhatTheyCan) {
  int* values = allocate<int>(4);
  const std::vector<int> host = {1, 2, 3, 4};
  CUDA_OK(cudaMemcpy(values, host.data(), 16, cudaMemcpyHostToDevice));
  void* arguments[] = {&values};
  CUDA_OK(cudaLaunchKernel(triple, 2, 2, arguments));
  CUDA_OK(cudaLaunchKernel(reinterpret_cast<const void*>(triple), 2, 2, arguments, 0, nullptr));
  EXPECT_EQ(read(values + 3), 36);
  CUDA_ERROR(cudaLaunchKernel(triple, 1, 1, nullptr), cudaErrorInvalidValue);
  CUDA_ERROR(cudaLaunchKernel(nothing, 1, 2000, nullptr), cudaErrorInvalidConfiguration);
  const int no_kernel = 0;
  if (!kInterpreted) {
    CUDA_ERROR(cudaLaunchKernel(static_cast<const void*>(&no_kernel), 1, 1, arguments, 0, nullptr),
               cudaErrorInvalidDeviceFunction);
  }
  CUDA_OK(cudaFree(values));
}

TEST_F(HostBoxes, AdviceIsChecked) {
  size_t value = 0;
  CUDA_OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
  CUDA_OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
  EXPECT_EQ(value, size_t{1} << 20);
  CUDA_ERROR(cudaDeviceGetLimit(&value, static_cast<cudaLimit>(99)), cudaErrorUnsupportedLimit);
  unsigned flags = 0;
  CUDA_OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
  CUDA_OK(cudaGetDeviceFlags(&flags));
  EXPECT_EQ(flags, unsigned{cudaDeviceScheduleBlockingSync | cudaDeviceMapHost});
  CUDA_OK(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
  CUDA_ERROR(cudaSetDeviceFlags(0x100), cudaErrorInvalidValue);
  CUDA_OK(cudaFuncSetCacheConfig(triple, cudaFuncCachePreferL1));
  CUDA_OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
  CUDA_OK(cudaProfilerStart());
  CUDA_OK(cudaProfilerStop());
  char text[16] = {};
  int device = -1;
  CUDA_OK(cudaDeviceGetPCIBusId(text, sizeof(text), 0));
  CUDA_OK(cudaDeviceGetByPCIBusId(&device, text));
  EXPECT_EQ(device, 0);
  CUDA_ERROR(cudaDeviceGetByPCIBusId(&device, "no bus"), cudaErrorInvalidValue);
  cudaDeviceProp wanted = {};
  wanted.major = 1;
  CUDA_OK(cudaChooseDevice(&device, &wanted));
  EXPECT_EQ(device, 0);
}

}  // namespace

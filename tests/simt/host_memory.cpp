// Devices, memory and copies.
#include "host_support.h"

#include <atomic>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

namespace simt_test {
namespace {

using HostMemory = HostTest;

// The tests of this program use up to eight devices, whatever SIMT_DEVICES is.
[[maybe_unused]] const cudaError_t eight_devices = simt::set_device_count(8);

TEST_F(HostMemory, IsZeroedOnRequest) {
  const auto expect_bytes = [](unsigned want) {
    void* device = nullptr;
    void* pinned = nullptr;
    unsigned copied = 1;
    CUDA_OK(cudaMalloc(&device, 4));
    CUDA_OK(cudaHostAlloc(&pinned, 4, cudaHostAllocDefault));
    CUDA_OK(cudaMemcpy(&copied, device, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQ(copied, want);
    EXPECT_EQ(std::memcmp(&copied, pinned, 4), 0);
    CUDA_OK(cudaFree(device));
    CUDA_OK(cudaFreeHost(pinned));
  };
  simt::set_zeroed_memory(true);
  expect_bytes(0);
  simt::set_zeroed_memory(false);
  expect_bytes(0xFFFFFFFF);
}

// Every attribute that cudaDeviceProp has, too; and the clock rates, in kHz.
TEST_F(HostMemory, AttributesAreTheProperties) {
  cudaDeviceProp p;
  CUDA_OK(cudaGetDeviceProperties(&p, 1));
  const std::pair<cudaDeviceAttr, size_t> attributes[] = {
      {cudaDevAttrMaxThreadsPerBlock, static_cast<size_t>(p.maxThreadsPerBlock)},
      {cudaDevAttrMaxBlockDimX, static_cast<size_t>(p.maxThreadsDim[0])},
      {cudaDevAttrMaxBlockDimY, static_cast<size_t>(p.maxThreadsDim[1])},
      {cudaDevAttrMaxBlockDimZ, static_cast<size_t>(p.maxThreadsDim[2])},
      {cudaDevAttrMaxGridDimX, static_cast<size_t>(p.maxGridSize[0])},
      {cudaDevAttrMaxGridDimY, static_cast<size_t>(p.maxGridSize[1])},
      {cudaDevAttrMaxGridDimZ, static_cast<size_t>(p.maxGridSize[2])},
      {cudaDevAttrMaxSharedMemoryPerBlock, p.sharedMemPerBlock},
      {cudaDevAttrTotalConstantMemory, p.totalConstMem},
      {cudaDevAttrWarpSize, static_cast<size_t>(p.warpSize)},
      {cudaDevAttrMaxPitch, p.memPitch},
      {cudaDevAttrMaxRegistersPerBlock, static_cast<size_t>(p.regsPerBlock)},
      {cudaDevAttrTextureAlignment, p.textureAlignment},
      {cudaDevAttrMultiProcessorCount, static_cast<size_t>(p.multiProcessorCount)},
      {cudaDevAttrIntegrated, static_cast<size_t>(p.integrated)},
      {cudaDevAttrCanMapHostMemory, static_cast<size_t>(p.canMapHostMemory)},
      {cudaDevAttrConcurrentKernels, static_cast<size_t>(p.concurrentKernels)},
      {cudaDevAttrEccEnabled, static_cast<size_t>(p.ECCEnabled)},
      {cudaDevAttrPciBusId, static_cast<size_t>(p.pciBusID)},
      {cudaDevAttrPciDeviceId, static_cast<size_t>(p.pciDeviceID)},
      {cudaDevAttrPciDomainId, static_cast<size_t>(p.pciDomainID)},
      {cudaDevAttrGlobalMemoryBusWidth, static_cast<size_t>(p.memoryBusWidth)},
      {cudaDevAttrL2CacheSize, static_cast<size_t>(p.l2CacheSize)},
      {cudaDevAttrMaxThreadsPerMultiProcessor, static_cast<size_t>(p.maxThreadsPerMultiProcessor)},
      {cudaDevAttrAsyncEngineCount, static_cast<size_t>(p.asyncEngineCount)},
      {cudaDevAttrUnifiedAddressing, static_cast<size_t>(p.unifiedAddressing)},
      {cudaDevAttrComputeCapabilityMajor, static_cast<size_t>(p.major)},
      {cudaDevAttrComputeCapabilityMinor, static_cast<size_t>(p.minor)},
      {cudaDevAttrStreamPrioritiesSupported, static_cast<size_t>(p.streamPrioritiesSupported)},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, p.sharedMemPerMultiprocessor},
      {cudaDevAttrMaxRegistersPerMultiprocessor, static_cast<size_t>(p.regsPerMultiprocessor)},
      {cudaDevAttrManagedMemory, static_cast<size_t>(p.managedMemory)},
      {cudaDevAttrPageableMemoryAccess, static_cast<size_t>(p.pageableMemoryAccess)},
      {cudaDevAttrConcurrentManagedAccess, static_cast<size_t>(p.concurrentManagedAccess)},
      {cudaDevAttrCooperativeLaunch, static_cast<size_t>(p.cooperativeLaunch)},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, p.sharedMemPerBlockOptin},
      {cudaDevAttrMaxBlocksPerMultiprocessor, static_cast<size_t>(p.maxBlocksPerMultiProcessor)},
      {cudaDevAttrMaxPersistingL2CacheSize, static_cast<size_t>(p.persistingL2CacheMaxSize)},
      {cudaDevAttrMaxAccessPolicyWindowSize, static_cast<size_t>(p.accessPolicyMaxWindowSize)},
      {cudaDevAttrReservedSharedMemoryPerBlock, p.reservedSharedMemPerBlock},
      {cudaDevAttrMemoryPoolsSupported, static_cast<size_t>(p.memoryPoolsSupported)},
      {cudaDevAttrClusterLaunch, static_cast<size_t>(p.clusterLaunch)},
  };
  for (const auto& [attribute, want] : attributes) {
    int value = -1;
    CUDA_OK(cudaDeviceGetAttribute(&value, attribute, 1));
    EXPECT_EQ(static_cast<size_t>(value), want) << "attribute " << attribute;
  }
  EXPECT_EQ(p.maxThreadsPerBlock, 1024);
  EXPECT_EQ(p.memPitch, size_t{INT_MAX});
  for (const cudaDeviceAttr clock : {cudaDevAttrClockRate, cudaDevAttrMemoryClockRate}) {
    int khz = 0;
    CUDA_OK(cudaDeviceGetAttribute(&khz, clock, 1));
    EXPECT_GE(khz, 100'000) << clock;
    EXPECT_LE(khz, 10'000'000) << clock;
  }
}

TEST_F(HostMemory, DevicesAreNumberedAndDescribed) {
  int count = 0, device = -1, value = 0;
  CUDA_OK(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, simt::settings().devices);
  CUDA_OK(cudaGetDevice(&device));
  EXPECT_EQ(device, 0);
  CUDA_ERROR(cudaSetDevice(-1), cudaErrorInvalidDevice);
  CUDA_ERROR(cudaSetDevice(count), cudaErrorInvalidDevice);
  CUDA_ERROR(cudaGetDevice(nullptr), cudaErrorInvalidValue);
  cudaDeviceProp properties;
  CUDA_OK(cudaGetDeviceProperties(&properties, 1));
  EXPECT_STREQ(properties.name, kInterpreted ? "PTX interpreter" : "CPU executor");
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, size_t{227} << 10);
  CUDA_ERROR(cudaGetDeviceProperties(&properties, count), cudaErrorInvalidDevice);
  CUDA_OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT_EQ(value, properties.multiProcessorCount);
  EXPECT_GE(value, 1);
  CUDA_ERROR(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(127), 0), cudaErrorInvalidValue);
  CUDA_OK(cudaRuntimeGetVersion(&value));
  EXPECT_EQ(value, 13000);
  EXPECT_EQ(simt::set_device_count(3), cudaErrorSetOnActiveProcess);
  EXPECT_EQ(simt::set_device_count(0), cudaErrorInvalidValue);
}

TEST_F(HostMemory, TheCurrentDeviceBelongsToTheThread) {
  CUDA_OK(cudaSetDevice(3));
  std::thread([] {
    int device = -1;
    EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
  }).join();
}

TEST_F(HostMemory, FreshMemoryIsAlignedAndFullOfNan) {
  float* p = allocate<float>(1001);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 256, 0u);
  std::vector<float> host(1001, 0.0f);
  CUDA_OK(cudaMemcpy(host.data(), p, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (const float value : host) ASSERT_TRUE(std::isnan(value));
  CUDA_OK(cudaFree(p));
}

TEST_F(HostMemory, RunningOutIsRecoverable) {
  CUDA_OK(cudaSetDevice(4));
  ASSERT_EQ(simt::set_memory_limit(4, 1 << 20), cudaSuccess);
  void *most = nullptr, *more = reinterpret_cast<void*>(1);
  size_t free = 0, total = 0;
  CUDA_OK(cudaMalloc(&most, 900 << 10));
  CUDA_OK(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(total, size_t{1} << 20);
  EXPECT_EQ(free, size_t{124} << 10);
  CUDA_ERROR(cudaMalloc(&more, 200 << 10), cudaErrorMemoryAllocation);
  EXPECT_EQ(more, nullptr);
  CUDA_ERROR(cudaMalloc(&more, SIZE_MAX), cudaErrorMemoryAllocation);
  CUDA_OK(cudaMemset(most, 0, 900 << 10));  // the device still works
  CUDA_OK(cudaFree(most));
  CUDA_OK(cudaMalloc(&more, 1 << 20));
  CUDA_OK(cudaFree(more));
  ASSERT_EQ(simt::set_memory_limit(4, simt::settings().memory_bytes), cudaSuccess);
}

TEST_F(HostMemory, FreeTakesOnlyAllocatedPointers) {
  int* p = allocate<int>(8);
  void* pinned = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, 64));
  CUDA_OK(cudaFree(nullptr));
  CUDA_OK(cudaFreeHost(nullptr));
  CUDA_ERROR(cudaFree(p + 1), cudaErrorInvalidValue);
  CUDA_ERROR(cudaFree(pinned), cudaErrorInvalidValue);
  CUDA_ERROR(cudaFreeHost(p), cudaErrorInvalidValue);
  int local = 0;
  CUDA_ERROR(cudaFree(&local), cudaErrorInvalidValue);
  CUDA_OK(cudaFree(p));
  CUDA_ERROR(cudaFree(p), cudaErrorInvalidValue);
  CUDA_OK(cudaFreeHost(pinned));
  void* none = &local;
  CUDA_OK(cudaMalloc(&none, 0));
  EXPECT_EQ(none, nullptr);
  CUDA_ERROR(cudaMalloc(static_cast<void**>(nullptr), 4), cudaErrorInvalidValue);
  CUDA_ERROR(cudaHostAlloc(&none, 4, 0x80), cudaErrorInvalidValue);
}

// The flags of the pages at `address` (proc(5)), such as "rd wr hg"; empty if Linux does not say.
std::string page_flags(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream file("/proc/self/smaps");
  bool here = false;
  for (std::string line; std::getline(file, line);) {
    uintptr_t begin, end;
    char dash;
    if (std::istringstream range(line); range >> std::hex >> begin >> dash >> end && dash == '-')
      here = begin <= wanted && wanted < end;
    else if (here && line.starts_with("VmFlags:"))
      return line.substr(sizeof("VmFlags:") - 1);
  }
  return "";
}

TEST_F(HostMemory, LargeAllocationsAskForHugePages) {
  constexpr size_t kMebibyte = 1 << 20;
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "no huge pages";
  // The last page of each is at least half full.
  for (const size_t bytes : {kMebibyte, 3 * kMebibyte, 16 * kMebibyte}) {
    const char* const memory = allocate<char>(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % (2 * kMebibyte), 0) << bytes;
    EXPECT_NE((page_flags(memory) + " ").find(" hg "), std::string::npos) << bytes;
    EXPECT_NE((page_flags(memory + bytes - 1) + " ").find(" hg "), std::string::npos) << bytes;
  }
}

TEST_F(HostMemory, PointerAttributesNameTheDevice) {
  CUDA_OK(cudaSetDevice(2));
  char* p = allocate<char>(10);
  void* pinned = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, 10));
  cudaPointerAttributes attributes;
  CUDA_OK(cudaPointerGetAttributes(&attributes, p + 9));
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 2);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  CUDA_OK(cudaPointerGetAttributes(&attributes, p + 10));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  CUDA_OK(cudaPointerGetAttributes(&attributes, pinned));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.devicePointer, pinned);
  CUDA_OK(cudaPointerGetAttributes(&attributes, &attributes));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  CUDA_OK(cudaFree(p));
  CUDA_OK(cudaFreeHost(pinned));
}

TEST_F(HostMemory, CopiesReachEveryByteOfEverySize) {
  for (const size_t bytes : {size_t{1}, size_t{4097}, (size_t{1} << 20) - 1, (size_t{5} << 20) + 3}) {
    std::vector<unsigned char> source(bytes), back(bytes);
    for (size_t i = 0; i < bytes; ++i) source[i] = static_cast<unsigned char>(i * 7 + i / 251);
    char *a = allocate<char>(bytes), *b = nullptr;
    CUDA_OK(cudaMemcpy(a, source.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_OK(cudaSetDevice(1));
    b = allocate<char>(bytes);
    CUDA_OK(cudaMemcpyPeer(b, 1, a, 0, bytes));
    CUDA_OK(cudaMemcpy(back.data(), b, bytes, cudaMemcpyDeviceToHost));
    EXPECT_EQ(back, source);
    CUDA_OK(cudaMemset(b, 0x5A, bytes));
    CUDA_OK(cudaMemcpy(back.data(), b, bytes, cudaMemcpyDefault));
    EXPECT_EQ(back, std::vector<unsigned char>(bytes, 0x5A));
    CUDA_OK(cudaFree(b));
    CUDA_OK(cudaSetDevice(0));
    CUDA_OK(cudaFree(a));
  }
}

TEST_F(HostMemory, CopiesOfRowsLeaveTheGapsAlone) {
  const size_t height = 5, width = 3, to_pitch = 7, from_pitch = 4;
  std::vector<char> source(height * from_pitch), back(height * to_pitch, 'x');
  std::iota(source.begin(), source.end(), char{0});
  char* p = allocate<char>(height * to_pitch);
  CUDA_OK(cudaMemset(p, 'g', height * to_pitch));
  CUDA_OK(cudaMemcpy2D(p, to_pitch, source.data(), from_pitch, width, height, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemcpy(back.data(), p, back.size(), cudaMemcpyDeviceToHost));
  for (size_t row = 0; row < height; ++row)
    for (size_t column = 0; column < to_pitch; ++column)
      EXPECT_EQ(back[row * to_pitch + column], column < width ? source[row * from_pitch + column] : 'g');
  CUDA_ERROR(cudaMemcpy2D(p, 2, source.data(), from_pitch, width, height, cudaMemcpyHostToDevice),
             cudaErrorInvalidPitchValue);
  CUDA_ERROR(cudaMemcpy2D(p, to_pitch + 2, source.data(), from_pitch, width, height, cudaMemcpyHostToDevice),
             cudaErrorInvalidValue);
  CUDA_OK(cudaFree(p));
}

TEST_F(HostMemory, RefusesCopiesOfTheWrongKindOrRange) {
  char* p = allocate<char>(100);
  CUDA_OK(cudaSetDevice(1));
  char* q = allocate<char>(100);
  CUDA_OK(cudaSetDevice(0));
  std::vector<char> host(200);
  char* h = host.data();
  CUDA_ERROR(cudaMemcpy(p, h, 101, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpy(p + 50, h, 51, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpy(p + 100, h, 1, cudaMemcpyDefault), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpy(h, p, 101, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpy(h, p, 10, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpy(h, h + 100, 10, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpy(h, p, 10, cudaMemcpyHostToHost), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpy(nullptr, p, 10, cudaMemcpyDefault), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpy(h, p, 10, static_cast<cudaMemcpyKind>(7)), cudaErrorInvalidMemcpyDirection);
  CUDA_ERROR(cudaMemset(h, 0, 10), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemset(p, 0, 101), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpyPeer(q, 1, p, 0, 101), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpyPeer(q, 0, p, 0, 10), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpyPeerAsync(q, 1, p, 1, 10, nullptr), cudaErrorInvalidValue);
  CUDA_ERROR(cudaMemcpyPeerAsync(q, 1, p, 64, 10, nullptr), cudaErrorInvalidDevice);
  CUDA_ERROR(cudaMemcpyPeerAsync(q, -1, p, 0, 10, nullptr), cudaErrorInvalidDevice);
  CUDA_OK(cudaMemcpy(h, p, 0, cudaMemcpyDeviceToHost));
  CUDA_OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
  CUDA_OK(cudaMemcpy(q, p, 100, cudaMemcpyDeviceToDevice));  // across devices, by unified address
  CUDA_OK(cudaFree(p));
  CUDA_OK(cudaFree(q));
}

// Most GPUs copy from a pageable source before the call returns; all copy from a pinned one when the copy
// runs.
TEST_F(HostMemory, PageableSourcesMayBeReusedImmediately) {
  simt::set_late_copies(false);
  for (const size_t bytes : {size_t{16}, size_t{1} << 20}) {
    simt::set_seed(1);  // nothing runs until it is waited for
    const cudaStream_t stream = make_stream();
    char* p = allocate<char>(bytes);
    std::vector<char> host(bytes, 1);
    CUDA_OK(cudaMemcpyAsync(p, host.data(), bytes, cudaMemcpyHostToDevice, stream));
    host.assign(bytes, 2);
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(read(p + bytes - 1), 1);

    char* pinned = nullptr;
    CUDA_OK(cudaMallocHost(&pinned, bytes));
    std::memset(pinned, 3, bytes);
    CUDA_OK(cudaMemcpyAsync(p, pinned, bytes, cudaMemcpyHostToDevice, stream));
    std::memset(pinned, 4, bytes);  // a defect of the program, which changes the result
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(read(p + bytes - 1), 4);

    CUDA_OK(cudaMemcpyAsync(host.data(), p, bytes, cudaMemcpyDeviceToHost, stream));
    EXPECT_EQ(host.back(), 4);  // a copy to pageable memory has completed when the call returns
    CUDA_OK(cudaFreeHost(pinned));
    CUDA_OK(cudaFree(p));
    CUDA_OK(cudaStreamDestroy(stream));
  }
}

// CUDA promises nothing about pageable memory after an asynchronous copy. With late copies it is accessed
// when the host waits, small or large, and copies between host memories stay synchronous.
TEST_F(HostMemory, LateCopiesAccessPageableMemoryWhenTheHostWaits) {
  simt::set_late_copies(true);
  for (const size_t bytes : {size_t{16}, size_t{1} << 20}) {
    const cudaStream_t stream = make_stream();
    char* p = allocate<char>(bytes);
    std::vector<char> host(bytes, 1), back(bytes, 9);
    CUDA_OK(cudaMemcpyAsync(p, host.data(), bytes, cudaMemcpyHostToDevice, stream));
    CUDA_OK(cudaMemcpyAsync(back.data(), p, bytes, cudaMemcpyDefault, stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // idle workers leave it alone
    host.assign(bytes, 2);
    EXPECT_EQ(back, std::vector<char>(bytes, 9));
    CUDA_OK(cudaStreamSynchronize(stream));
    EXPECT_EQ(read(p + bytes - 1), 2);
    EXPECT_EQ(back, std::vector<char>(bytes, 2));

    CUDA_OK(cudaMemcpy2DAsync(p, bytes / 2, host.data(), bytes / 2, bytes / 2, 2, cudaMemcpyHostToDevice,
                              stream));
    host.assign(bytes, 3);
    while (cudaStreamQuery(stream) == cudaErrorNotReady) std::this_thread::yield();
    EXPECT_EQ(read(p + bytes - 1), 3);

    CUDA_OK(cudaMemcpyAsync(back.data(), host.data(), bytes, cudaMemcpyHostToHost, stream));
    EXPECT_EQ(back, host);
    CUDA_OK(cudaFree(p));
    CUDA_OK(cudaStreamDestroy(stream));
  }
  simt::set_late_copies(false);
}

// A host that waits for the result without a call of CUDA gets it, too.
TEST_F(HostMemory, LateCopiesRunForAnIdleHost) {
  simt::set_late_copies(true);
  const cudaStream_t stream = make_stream();
  int* p = allocate<int>(1);
  int* pinned = nullptr;
  CUDA_OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), sizeof(int)));
  *pinned = 0;
  const int five = 5;
  CUDA_OK(cudaMemcpyAsync(p, &five, sizeof(int), cudaMemcpyHostToDevice, stream));
  CUDA_OK(cudaMemcpyAsync(pinned, p, sizeof(int), cudaMemcpyDeviceToHost, stream));
  const std::atomic_ref<int> seen(*pinned);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (seen != 5 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(seen, 5);
  CUDA_OK(cudaStreamSynchronize(stream));
  CUDA_OK(cudaFreeHost(pinned));
  CUDA_OK(cudaFree(p));
  CUDA_OK(cudaStreamDestroy(stream));
  simt::set_late_copies(false);
}

TEST_F(HostMemory, RegisteredMemoryIsPinned) {
  std::vector<char> host(300, 1);
  char* const h = host.data() + 100;
  CUDA_ERROR(cudaHostRegister(nullptr, 100, cudaHostRegisterDefault), cudaErrorInvalidValue);
  CUDA_ERROR(cudaHostRegister(h, 0, cudaHostRegisterDefault), cudaErrorInvalidValue);
  CUDA_ERROR(cudaHostRegister(h, 100, 0x100), cudaErrorInvalidValue);
  CUDA_ERROR(cudaHostUnregister(h), cudaErrorHostMemoryNotRegistered);
  CUDA_OK(cudaHostRegister(h, 100, cudaHostRegisterPortable | cudaHostRegisterMapped));
  for (char* inside : {h, h + 99, h - 1})
    CUDA_ERROR(cudaHostRegister(inside, 2, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
  for (char* beside : {h + 100, h - 2}) {
    CUDA_OK(cudaHostRegister(beside, 2, cudaHostRegisterDefault));
    CUDA_OK(cudaHostUnregister(beside));
  }
  CUDA_ERROR(cudaFreeHost(h), cudaErrorInvalidValue);
  cudaPointerAttributes attributes;
  for (const auto& [pointer, type] :
       {std::pair{h - 1, cudaMemoryTypeUnregistered}, std::pair{h, cudaMemoryTypeHost},
        std::pair{h + 99, cudaMemoryTypeHost}, std::pair{h + 100, cudaMemoryTypeUnregistered}}) {
    CUDA_OK(cudaPointerGetAttributes(&attributes, pointer));
    EXPECT_EQ(attributes.type, type) << pointer - h;
  }

  simt::set_seed(1);  // nothing runs until it is waited for
  const cudaStream_t stream = make_stream();
  char* p = allocate<char>(300);
  CUDA_OK(cudaMemcpyAsync(p, h, 100, cudaMemcpyHostToDevice, stream));
  CUDA_OK(cudaMemcpyAsync(p + 100, h + 100, 100, cudaMemcpyHostToDevice, stream));  // pageable
  host.assign(300, 2);
  CUDA_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(read(p + 99), 2);
  EXPECT_EQ(read(p + 199), 1);
  CUDA_ERROR(cudaMemcpy(p, h, 101, cudaMemcpyHostToDevice), cudaErrorInvalidValue);

  CUDA_OK(cudaHostUnregister(h));
  CUDA_ERROR(cudaHostUnregister(h), cudaErrorHostMemoryNotRegistered);
  CUDA_OK(cudaPointerGetAttributes(&attributes, h));
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  CUDA_OK(cudaFree(p));
  CUDA_OK(cudaStreamDestroy(stream));
}

TEST_F(HostMemory, AsyncAllocationsAreFreedInStreamOrder) {
  CUDA_OK(cudaSetDevice(5));
  const cudaStream_t stream = make_stream();
  void* p = nullptr;
  size_t free_before = 0, free_between = 0, free_after = 0, total = 0;
  CUDA_OK(cudaMemGetInfo(&free_before, &total));
  CUDA_OK(cudaMallocAsync(&p, 1000, stream));
  CUDA_OK(cudaMemsetAsync(p, 0, 1000, stream));
  Gate gate;
  gate.hold(stream);
  CUDA_OK(cudaFreeAsync(p, stream));
  CUDA_OK(cudaMemGetInfo(&free_between, &total));
  EXPECT_EQ(free_between, free_before - 1000);
  gate.open();
  CUDA_OK(cudaStreamSynchronize(stream));
  CUDA_OK(cudaMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_after, free_before);
  CUDA_ERROR(cudaFreeAsync(p, stream), cudaErrorInvalidValue);
  CUDA_OK(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace simt_test

// Counters of observed kernels against arithmetic by hand. In a build that does not observe kernels, only
// that it says so.
#include <simt/async_copy.h>
#include <simt/counted_operations.h>
#include <simt/observe.h>
#include <simt/shared.h>

#include <array>
#include <filesystem>
#include <numeric>

#include "host_support.h"

using simt::AccessCounts;
using simt::AccessKind;
using simt::AccessSpace;
using simt::KernelProfile;

namespace {

constexpr int kLineOfCopy = __LINE__ + 4;  // of its load and store

__global__ void copy(float* to, const float* from) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i];
}

__global__ void copy_vectors(float4* to, const float4* from) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i];
}

__global__ void copy_strided(float* to, const float* from, int stride) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i * static_cast<unsigned>(stride)];
}

__global__ void broadcast(float* to, const float* from) {
  to[blockIdx.x * blockDim.x + threadIdx.x] = from[0];
}

__global__ void copy_even_threads(float* to, const float* from) {
  if (threadIdx.x % 2 == 0) to[threadIdx.x] = from[threadIdx.x];
}

// One block of 32 x 32 threads transposes a matrix through shared memory.
template <int kStride>
__global__ void transpose(float* to, const float* from) {
  auto* tile = static_cast<float*>(simt::shared_memory());
  const unsigned x = threadIdx.x, y = threadIdx.y;
  tile[y * kStride + x] = from[y * 32 + x];
  __syncthreads();
  to[y * 32 + x] = tile[x * kStride + y];
}

__global__ void sum_by_atomics(int* sum) { atomicAdd(sum, 1); }
__global__ void sum_and_most(float* sum, int* most) {
  atomicAdd(sum, 1.0f);
  atomicMax(most, static_cast<int>(threadIdx.x));
}

__global__ void copy_all_but_one(const float* from) {
  auto* const shared = static_cast<float*>(simt::shared_memory());
  const int thread = static_cast<int>(threadIdx.x);
#pragma GCC unroll 1
  for (int i = 0; i < 8; ++i) {
    const int at = i * 32 + thread;
    simt::async_copy<4>(shared + at, from + at, i != thread);
  }
  simt::async_commit();
  simt::async_wait(0);
}

struct ThreeFloats {
  float x, y, z;
};
struct FourFloats {  // at multiples of 4 bytes, so a GPU has no wider access to it
  float x, y, z, w;
};
template <class T>
__global__ void copy_structs(T* to, const T* from) {
  to[threadIdx.x] = from[threadIdx.x];
}

// A condition that does not change in the loop: the compiler could copy the loop for the odd threads.
__global__ void loop_with_odd_threads(float* to, const float* from, int n) {
  const bool odd = threadIdx.x % 2 == 1;
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    const float value = from[i * 32 + static_cast<int>(threadIdx.x)];
    if (odd) to[i * 32 + static_cast<int>(threadIdx.x)] = value;
    sum += value;
  }
  to[n * 32 + static_cast<int>(threadIdx.x)] = sum;
}
// Or for the first iterations of a thread.
__global__ void loop_in_two_parts(float* first, float* rest, const float* from, int n) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = 0; i < n; ++i) {
    const float value = from[i * 32 + thread];
    if (i < thread)
      first[i * 32 + thread] = value;
    else
      rest[i * 32 + thread] = value;
  }
}

__global__ void loop(float* to, const float* from, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += from[i * 32 + static_cast<int>(threadIdx.x)];
  to[threadIdx.x] = sum;
}

constexpr int kLineOfByteCopy = __LINE__ + 3;  // of its load and store
template <class T>
__global__ void copy_at_byte(unsigned char* to, const unsigned char* from, int to_byte, int from_byte) {
  if (threadIdx.x == 3) *reinterpret_cast<T*>(to + to_byte) = *reinterpret_cast<const T*>(from + from_byte);
}
__global__ void count_at_byte(unsigned char* to, const unsigned char*, int byte) {
  if (threadIdx.x == 3) atomicAdd(reinterpret_cast<unsigned*>(to + byte), 1u);
}
struct [[gnu::packed]] PackedFloat {
  unsigned char before;
  float value;
};
__global__ void copy_packed(unsigned char* to, const unsigned char* from) {
  reinterpret_cast<PackedFloat*>(to)->value = reinterpret_cast<const PackedFloat*>(from)->value;
}

// Lane l runs the loop l times.
__global__ void loop_of_lane(float* to, const float* from) {
  float sum = 0;
  for (unsigned i = 0; i < threadIdx.x; ++i) sum += from[i];
  to[threadIdx.x] = sum;
}

class Observe : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!simt::can_observe()) GTEST_SKIP() << "needs RONDO_OBSERVE";
    NOT_UNDER_CHECK();
  }
};

TEST(ObserveNothing, BuildThatCannotObserveSaysSo) {
  if (simt::can_observe()) GTEST_SKIP() << "needs a build without RONDO_OBSERVE";
  EXPECT_EQ(simt::start_profile(), cudaErrorNotSupported);
  EXPECT_TRUE(simt::stop_profile().empty());
}

template <class T = float>
struct Device {
  explicit Device(size_t n) {
    EXPECT_EQ(cudaMalloc(&data, n * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemset(data, 0, n * sizeof(T)), cudaSuccess);
  }
  ~Device() { cudaFree(data); }
  T* data = nullptr;
};

template <class... Parameters, class... Arguments>
void launch(dim3 grid, dim3 block, size_t shared, void (*kernel)(Parameters...), Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  ASSERT_EQ(cudaLaunchKernelEx(&config, kernel, arguments...), cudaSuccess);
}

// The profile of the only kernel that `work` launches.
template <class Work>
KernelProfile profile_of(Work work, const simt::ProfileOptions& options = {}) {
  EXPECT_EQ(simt::start_profile(options), cudaSuccess);
  work();
  const std::vector<KernelProfile> profiles = simt::stop_profile();
  EXPECT_EQ(profiles.size(), 1u);
  return profiles.empty() ? KernelProfile{} : profiles.front();
}

AccessCounts total(const KernelProfile& profile, AccessKind kind, AccessSpace space) {
  AccessCounts sum;
  for (const AccessCounts& counts : profile.accesses) {
    if (counts.kind != kind || counts.space != space) continue;
    sum.bytes = counts.bytes;
    sum.inlined = counts.inlined;
    sum.requests += counts.requests;
    sum.lanes += counts.lanes;
    sum.sectors += counts.sectors;
    sum.least_sectors += counts.least_sectors;
    sum.wavefronts += counts.wavefronts;
    sum.least_wavefronts += counts.least_wavefronts;
    sum.same_address += counts.same_address;
  }
  return sum;
}
AccessCounts global_loads(const KernelProfile& profile) {
  return total(profile, AccessKind::load, AccessSpace::global);
}
AccessCounts global_stores(const KernelProfile& profile) {
  return total(profile, AccessKind::store, AccessSpace::global);
}
AccessCounts shared_loads(const KernelProfile& profile) {
  return total(profile, AccessKind::load, AccessSpace::shared);
}
AccessCounts shared_stores(const KernelProfile& profile) {
  return total(profile, AccessKind::store, AccessSpace::shared);
}

TEST_F(Observe, CopyOfFloats) {
  const Device<> to(512), from(512);
  const KernelProfile profile = profile_of([&] { launch(4, 128, 0, copy, to.data, from.data); });
  EXPECT_EQ(profile.launches, 1u);
  EXPECT_EQ(profile.blocks, 4u);
  for (const AccessCounts& counts : {global_loads(profile), global_stores(profile)}) {
    EXPECT_EQ(counts.requests, 16u);
    EXPECT_EQ(counts.lanes, 512u);
    EXPECT_EQ(counts.bytes, 4);
    EXPECT_EQ(counts.sectors, 64u);
    EXPECT_EQ(counts.least_sectors, 64u);
  }
  EXPECT_EQ(profile.block_bytes, 2 * 2048u);
  EXPECT_EQ(profile.launch_bytes_read, 2048u);
  EXPECT_EQ(profile.launch_bytes_written, 2048u);
  EXPECT_EQ(profile.accesses.size(), 2u);
}

TEST_F(Observe, NamesTheSourceLine) {
  const Device<> to(32), from(32);
  const KernelProfile profile = profile_of([&] { launch(1, 32, 0, copy, to.data, from.data); });
  const AccessCounts loads = global_loads(profile);
  ASSERT_FALSE(loads.inlined.empty());
  EXPECT_EQ(std::filesystem::path(loads.inlined.front().file).filename(), "observe.cu");
  EXPECT_EQ(loads.inlined.front().line, kLineOfCopy);
  EXPECT_NE(profile.name.find("copy"), std::string::npos);
}

TEST_F(Observe, VectorOf16BytesIsOneInstruction) {
  const Device<float4> to(128), from(128);
  const KernelProfile profile = profile_of([&] { launch(1, 128, 0, copy_vectors, to.data, from.data); });
  for (const AccessCounts& counts : {global_loads(profile), global_stores(profile)}) {
    EXPECT_EQ(counts.bytes, 16);
    EXPECT_EQ(counts.requests, 4u);
    EXPECT_EQ(counts.sectors, 64u);
  }
}

TEST_F(Observe, StridedLoadsTouchASectorEach) {
  const Device<> to(32), from(32 * 32);
  for (const int stride : {1, 2, 4, 8, 32}) {
    const KernelProfile profile =
        profile_of([&] { launch(1, 32, 0, copy_strided, to.data, from.data, stride); });
    const uint64_t sectors = std::min(4 * stride, 32);
    EXPECT_EQ(global_loads(profile).sectors, sectors) << stride;
    EXPECT_EQ(profile.launch_bytes_read, 32 * sectors) << stride;
  }
}

TEST_F(Observe, BroadcastIsOneSector) {
  const Device<> to(64), from(1);
  const KernelProfile profile = profile_of([&] { launch(2, 32, 0, broadcast, to.data, from.data); });
  EXPECT_EQ(global_loads(profile).requests, 2u);
  EXPECT_EQ(global_loads(profile).sectors, 2u);
  EXPECT_EQ(profile.block_bytes, 2 * (32u + 128u));
  EXPECT_EQ(profile.launch_bytes_read, 32u);
}

TEST_F(Observe, CountsActiveLanes) {
  const Device<> to(64), from(64);
  const KernelProfile profile = profile_of([&] { launch(1, 64, 0, copy_even_threads, to.data, from.data); });
  EXPECT_EQ(global_loads(profile).requests, 2u);
  EXPECT_EQ(global_loads(profile).lanes, 32u);
  EXPECT_EQ(global_loads(profile).sectors, 8u);
}

TEST_F(Observe, TranspositionWithoutPaddingHas32WayConflicts) {
  const Device<> to(1024), from(1024);
  const KernelProfile profile =
      profile_of([&] { launch(1, dim3(32, 32), 1024 * sizeof(float), transpose<32>, to.data, from.data); });
  EXPECT_EQ(shared_stores(profile).requests, 32u);
  EXPECT_EQ(shared_stores(profile).wavefronts, 32u);
  EXPECT_EQ(shared_loads(profile).requests, 32u);
  EXPECT_EQ(shared_loads(profile).wavefronts, 32u * 32u);
  EXPECT_EQ(shared_loads(profile).least_wavefronts, 32u);
  EXPECT_EQ(profile.barriers, 1u);
}

TEST_F(Observe, TranspositionWithPaddingHasNone) {
  const Device<> to(1024), from(1024);
  const KernelProfile profile = profile_of(
      [&] { launch(1, dim3(32, 32), 32 * 33 * sizeof(float), transpose<33>, to.data, from.data); });
  EXPECT_EQ(shared_loads(profile).wavefronts, 32u);
  EXPECT_EQ(shared_stores(profile).wavefronts, 32u);
}

TEST_F(Observe, AtomicsOnOneAddressWaitForEachOther) {
  const Device<int> sum(1);
  const KernelProfile profile = profile_of([&] { launch(2, 32, 0, sum_by_atomics, sum.data); });
  const AccessCounts atomics = total(profile, AccessKind::atomic, AccessSpace::global);
  EXPECT_EQ(atomics.requests, 2u);
  EXPECT_EQ(atomics.same_address, 2 * 31u);
  int result = 0;
  cudaMemcpy(&result, sum.data, sizeof(int), cudaMemcpyDeviceToHost);
  EXPECT_EQ(result, 64);
}

// Each lane leaves out one of its copies, which fills shared memory with zeros.
TEST_F(Observe, CopiesThatAreLeftOutKeepTheirPlace) {
  const Device<> from(32 * 8);
  const KernelProfile profile = profile_of([&] { launch(1, 32, 1024, copy_all_but_one, from.data); });
  const AccessCounts loads = total(profile, AccessKind::async_copy_load, AccessSpace::global);
  EXPECT_EQ(loads.requests, 8u);
  EXPECT_EQ(loads.lanes, 8 * 32 - 8u);
  EXPECT_EQ(loads.sectors, 8 * 4u);
  EXPECT_EQ(total(profile, AccessKind::async_copy_store, AccessSpace::shared).lanes, 8 * 32u);
}

TEST_F(Observe, AnAtomicIsOneAccess) {
  const Device<> sum(1);
  const Device<int> most(1);
  const KernelProfile profile = profile_of([&] { launch(1, 32, 0, sum_and_most, sum.data, most.data); });
  EXPECT_EQ(profile.accesses.size(), 2u);
  EXPECT_EQ(total(profile, AccessKind::atomic, AccessSpace::global).requests, 2u);
}

TEST_F(Observe, StructsAreAccessedFloatByFloat) {
  const Device<ThreeFloats> to3(32), from3(32);
  const Device<FourFloats> to4(32), from4(32);
  const KernelProfile three =
      profile_of([&] { launch(1, 32, 0, copy_structs<ThreeFloats>, to3.data, from3.data); });
  const KernelProfile four =
      profile_of([&] { launch(1, 32, 0, copy_structs<FourFloats>, to4.data, from4.data); });
  for (const auto& [counts, floats] :
       {std::pair(global_loads(three), 3u), std::pair(global_stores(three), 3u),
        std::pair(global_loads(four), 4u), std::pair(global_stores(four), 4u)}) {
    EXPECT_EQ(counts.bytes, 4);
    EXPECT_EQ(counts.requests, floats);
    EXPECT_EQ(counts.lanes, 32 * floats);
    EXPECT_EQ(counts.sectors, floats * 4 * floats);
  }
}

TEST_F(Observe, LoopsAreNotCopiedForSomeThreads) {
  const Device<> to(32 * 11), rest(32 * 10), from(32 * 10);
  const KernelProfile odd =
      profile_of([&] { launch(1, 32, 0, loop_with_odd_threads, to.data, from.data, 10); });
  EXPECT_EQ(global_loads(odd).requests, 10u);
  EXPECT_EQ(global_loads(odd).sectors, 40u);
  EXPECT_EQ(global_stores(odd).requests, 11u);
  EXPECT_EQ(global_stores(odd).lanes, 10 * 16 + 32u);
  const KernelProfile parts =
      profile_of([&] { launch(1, 32, 0, loop_in_two_parts, to.data, rest.data, from.data, 10); });
  EXPECT_EQ(global_loads(parts).requests, 10u);
  EXPECT_EQ(global_loads(parts).sectors, 40u);
}

TEST_F(Observe, GroupsTheIterationsOfALoop) {
  const Device<> to(32), from(32 * 100);
  const KernelProfile profile = profile_of([&] { launch(1, 32, 0, loop, to.data, from.data, 100); });
  EXPECT_EQ(global_loads(profile).requests, 100u);
  EXPECT_EQ(global_loads(profile).sectors, 400u);
}

TEST_F(Observe, LanesThatLeaveALoopAreNotActive) {
  const Device<> to(32), from(32);
  const KernelProfile profile = profile_of([&] { launch(1, 32, 0, loop_of_lane, to.data, from.data); });
  EXPECT_EQ(global_loads(profile).requests, 31u);
  EXPECT_EQ(global_loads(profile).lanes, 31u * 32u / 2);
  EXPECT_EQ(global_loads(profile).sectors, 31u);  // all active lanes load one value
}

TEST_F(Observe, BlocksThatAreNotChosenDoNotRun) {
  const Device<> to(512), from(512);
  const KernelProfile profile =
      profile_of([&] { launch(16, 32, 0, copy, to.data, from.data); }, {.blocks = 3});
  EXPECT_EQ(profile.blocks, 16u);
  EXPECT_EQ(profile.observed_blocks, 3u);
  EXPECT_EQ(global_loads(profile).requests, 3u);
  EXPECT_DOUBLE_EQ(profile.scale(), 16.0 / 3);
}

TEST_F(Observe, EqualLaunchesRunOnce) {
  const Device<> to(512), from(1024), other(512);
  const KernelProfile profile = profile_of(
      [&] {
        launch(4, 32, 0, copy, to.data, from.data);
        launch(4, 32, 0, copy, other.data, from.data + 512);  // other memory, equal otherwise
      },
      {.first_of_equal_launches = true});
  EXPECT_EQ(profile.launches, 2u);
  EXPECT_EQ(profile.observed_launches, 1u);
  EXPECT_EQ(profile.blocks, 4u);
  EXPECT_EQ(global_loads(profile).requests, 4u);
}

TEST_F(Observe, OtherArgumentsAreAnotherProfile) {
  const Device<> to(32), from(1024);
  EXPECT_EQ(simt::start_profile({.first_of_equal_launches = true}), cudaSuccess);
  launch(1, 32, 0, copy_strided, to.data, from.data, 1);
  launch(1, 32, 0, copy_strided, to.data, from.data, 2);
  EXPECT_EQ(simt::stop_profile().size(), 2u);
}

TEST_F(Observe, LaunchHasTheBytesThatItMovesOverLinks) {
  const Device<> to(64), from(64);
  float *pinned = nullptr, *of_peer = nullptr;
  CUDA_OK(cudaMallocHost(&pinned, 64 * sizeof(float)));
  CUDA_OK(cudaSetDevice(1));
  CUDA_OK(cudaMalloc(&of_peer, 64 * sizeof(float)));
  CUDA_OK(cudaSetDevice(0));
  CUDA_OK(cudaDeviceEnablePeerAccess(1, 0));
  CUDA_OK(simt::start_profile());
  launch(2, 32, 0, copy, to.data, from.data);
  launch(2, 32, 0, copy, of_peer, pinned);
  launch(1, 32, 0, copy, pinned, of_peer);
  const simt::ProgramProfile profile = simt::stop_program_profile();
  ASSERT_EQ(profile.operations.size(), 3u);
  const auto bytes = [&](size_t i) {
    const simt::CountedOperation& of = profile.operations[i];
    return std::array{of.host_link.read, of.host_link.written, of.peer_link.read, of.peer_link.written};
  };
  EXPECT_EQ(bytes(0), (std::array<uint64_t, 4>{0, 0, 0, 0}));
  EXPECT_EQ(bytes(1), (std::array<uint64_t, 4>{256, 0, 0, 256}));
  EXPECT_EQ(bytes(2), (std::array<uint64_t, 4>{0, 128, 128, 0}));
  CUDA_OK(cudaDeviceDisablePeerAccess(1));
  CUDA_OK(cudaFree(of_peer));
  CUDA_OK(cudaFreeHost(pinned));
}

TEST_F(Observe, FreedMemoryIsNoOperation) {
  void* memory = nullptr;
  CUDA_OK(simt::start_profile());
  CUDA_OK(cudaMallocAsync(&memory, 256, nullptr));
  CUDA_OK(cudaMemsetAsync(memory, 1, 256, nullptr));
  CUDA_OK(cudaFreeAsync(memory, nullptr));
  const simt::ProgramProfile profile = simt::stop_program_profile();
  ASSERT_EQ(profile.operations.size(), 1u);
  EXPECT_EQ(profile.operations[0].bytes, 256u);
}

TEST_F(Observe, OneProfileAtATime) {
  EXPECT_EQ(simt::start_profile(), cudaSuccess);
  EXPECT_EQ(simt::start_profile(), cudaErrorInvalidValue);
  EXPECT_TRUE(simt::stop_profile().empty());
}

// A GPU faults at a scalar access whose address is not a multiple of its size, too.
class ObserveAlignment : public Observe {
 protected:
  template <class... Parameters, class... Arguments>
  static simt::Fault fault_of(void (*kernel)(Parameters...), Arguments... arguments) {
    Device<unsigned char> to(64), from(64);
    testing::internal::CaptureStderr();  // the executor reports faults there
    const auto config = simt_test::shape(1, 4);
    EXPECT_EQ(cudaLaunchKernelEx(&config, kernel, to.data, from.data, arguments...), cudaSuccess);
    const cudaError_t error = cudaDeviceSynchronize();
    testing::internal::GetCapturedStderr();
    if (error == cudaSuccess) return {};
    cudaDeviceReset();
    return simt::last_fault();
  }
  static void expect_named(const simt::Fault& fault, const std::string& what, int line, size_t size,
                           size_t past) {
    EXPECT_EQ(fault.error, cudaErrorMisalignedAddress) << fault.message;
    for (const std::string& part :
         {what + " at ", "observe.cu:" + std::to_string(line) + " (",
          " of " + std::to_string(size) + " bytes", "the address is " + std::to_string(past) + " bytes past",
          std::string("thread (3, 0, 0)")})
      EXPECT_NE(fault.message.find(part), std::string::npos)
          << "'" << part << "' is not in: " << fault.message;
  }
  template <class T>
  static void expect_copies_checked() {
    constexpr int kSize = sizeof(T);
    for (int byte = 0; byte < 2 * kSize; ++byte) {
      const auto past = static_cast<size_t>(byte % kSize);
      const simt::Fault load = fault_of(copy_at_byte<T>, 0, byte), store = fault_of(copy_at_byte<T>, byte, 0);
      if (past == 0) {
        EXPECT_EQ(load.error, cudaSuccess) << load.message;
        EXPECT_EQ(store.error, cudaSuccess) << store.message;
      } else {
        expect_named(load, "a load", kLineOfByteCopy, kSize, past);
        expect_named(store, "a store", kLineOfByteCopy, kSize, past);
      }
    }
  }
};

TEST_F(ObserveAlignment, OfScalars) {
  expect_copies_checked<unsigned char>();
  expect_copies_checked<short>();
  expect_copies_checked<float>();
  expect_copies_checked<double>();
}

TEST_F(ObserveAlignment, OfAtomics) {
  EXPECT_EQ(fault_of(count_at_byte, 4).error, cudaSuccess);
  expect_named(fault_of(count_at_byte, 2), "an atomic", kLineOfByteCopy + 3, 4, 2);
}

// nvcc divides such an access into bytes.
TEST_F(ObserveAlignment, IsNotRequiredOfMembersOfPackedStructs) {
  EXPECT_EQ(fault_of(copy_packed).error, cudaSuccess);
}

using OperationsOf = Observe;

// What comes before each operation, as text: "0: -, 1: 0".
std::string order_of(const simt::ProgramProfile& profile) {
  std::string text;
  for (size_t i = 0; i < profile.operations.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(i) + ":";
    for (const size_t other : profile.operations[i].after) text += " " + std::to_string(other);
  }
  return text;
}

TEST_F(OperationsOf, CopiesAndLaunchesHaveTheirBytesDevicesAndKernels) {
  const Device<> a(64), b(64);
  std::vector<float> host(64);
  ASSERT_EQ(simt::start_profile(), cudaSuccess);
  cudaMemcpy(a.data, host.data(), 256, cudaMemcpyHostToDevice);
  launch(2, 32, 0, copy, b.data, a.data);
  launch(1, 32, 0, copy, b.data, a.data);
  cudaMemset(a.data, 0, 128);
  cudaMemcpy(host.data(), b.data, 256, cudaMemcpyDeviceToHost);
  const simt::ProgramProfile profile = simt::stop_program_profile();
  ASSERT_EQ(profile.kernels.size(), 2u);  // of two shapes
  ASSERT_EQ(profile.operations.size(), 5u);
  const auto& all = profile.operations;
  EXPECT_EQ(all[0].kernel, std::nullopt);
  EXPECT_EQ(all[0].from, simt::kHostMemory);
  EXPECT_EQ(all[0].to, 0);
  EXPECT_EQ(all[0].bytes, 256u);
  EXPECT_EQ(all[1].kernel, std::optional<size_t>(0));
  EXPECT_EQ(all[2].kernel, std::optional<size_t>(1));
  EXPECT_EQ(all[3].from, 0);
  EXPECT_EQ(all[3].to, 0);
  EXPECT_EQ(all[3].bytes, 128u);
  EXPECT_EQ(all[4].to, simt::kHostMemory);
  EXPECT_EQ(order_of(profile), "0:, 1: 0, 2: 1, 3: 2, 4: 3");
  EXPECT_EQ(profile.uncounted_operations, 0u);
}

TEST_F(OperationsOf, StreamsAndEventsOrderThem) {
  const Device<> a(32), b(32);
  cudaStream_t first, second;
  ASSERT_EQ(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
  cudaEvent_t event;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(simt::start_profile(), cudaSuccess);
  cudaMemsetAsync(a.data, 0, 4, first);   // 0
  cudaMemsetAsync(b.data, 0, 4, second);  // 1, beside 0
  cudaEventRecord(event, first);
  cudaMemsetAsync(a.data, 0, 4, first);  // 2, after 0
  cudaStreamWaitEvent(second, event);
  cudaMemsetAsync(b.data, 0, 4, second);  // 3, after 0 and 1
  cudaDeviceSynchronize();
  cudaMemsetAsync(b.data, 0, 4, second);  // 4, after all, by the host
  EXPECT_EQ(order_of(simt::stop_program_profile()), "0:, 1:, 2: 0, 3: 0 1, 4: 2 3");
  cudaEventDestroy(event);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

TEST_F(OperationsOf, AFillIsOnTheDeviceOfItsMemory) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  {
    const Device<> a(32);
    ASSERT_EQ(simt::start_profile(), cudaSuccess);
    cudaMemset(a.data, 0, 128);
    const simt::ProgramProfile profile = simt::stop_program_profile();
    ASSERT_EQ(profile.operations.size(), 1u);
    EXPECT_EQ(profile.operations[0].from, 1);
    EXPECT_EQ(profile.operations[0].to, 1);
    EXPECT_FALSE(profile.operations[0].is_copy());
  }
  cudaSetDevice(0);
}

TEST_F(OperationsOf, ManagedMemoryIsOnNoLink) {
  float* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&managed), 256), cudaSuccess);
  simt::ProgramProfile profile;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);  // not that of the allocation
  {
    const Device<> a(64);
    ASSERT_EQ(simt::start_profile(), cudaSuccess);
    launch(2, 32, 0, copy, managed, a.data);
    profile = simt::stop_program_profile();
  }
  cudaSetDevice(0);
  cudaFree(managed);
  ASSERT_EQ(profile.operations.size(), 1u);
  EXPECT_EQ(profile.operations[0].host_link.written, 0u);
  EXPECT_EQ(profile.operations[0].peer_link.written, 0u);
}

TEST_F(OperationsOf, OnlyTheFirstAreKept) {
  const Device<> a(1);
  ASSERT_EQ(simt::start_profile(), cudaSuccess);
  for (size_t i = 0; i < simt::kMostCountedOperations + 2; ++i) cudaMemsetAsync(a.data, 0, 4);
  const simt::ProgramProfile profile = simt::stop_program_profile();
  EXPECT_EQ(profile.operations.size(), simt::kMostCountedOperations);
  EXPECT_EQ(profile.uncounted_operations, 2u);
}

}  // namespace

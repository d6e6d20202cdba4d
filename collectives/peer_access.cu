#include <rondo/collectives/peer_access.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace rondo {

namespace {

constexpr int kTrialThreads = 256;
constexpr int kTrialPacksPerThread = 16;
constexpr int kTrialPackWords = 4;
using WordPack = Pack<uint32_t, kTrialPackWords>;
constexpr int64_t kTrialPacks = kTrialBytes / static_cast<int64_t>(sizeof(WordPack));
static_assert(kTrialPacks % (kTrialThreads * kTrialPacksPerThread) == 0);

// All words of a trial differ, so that lost, shifted and repeated data are detected. They also differ from
// those of other trials, whose data may still be in the memory.
__device__ __forceinline__ WordPack pattern(int64_t pack, uint32_t trial) {
  WordPack words;
#pragma unroll
  for (int i = 0; i < kTrialPackWords; ++i)
    words.v[i] =
        static_cast<uint32_t>(pack * kTrialPackWords + i) * 2654435761u + trial * 2246822519u + 12345u;
  return words;
}

__device__ __forceinline__ int64_t first_pack() {
  return static_cast<int64_t>(blockIdx.x) * kTrialThreads * kTrialPacksPerThread + threadIdx.x;
}

__global__ void __launch_bounds__(kTrialThreads) write_pattern(uint32_t* to, uint32_t trial) {
  for (int i = 0; i < kTrialPacksPerThread; ++i) {
    const int64_t pack = first_pack() + i * kTrialThreads;
    store_pack(to + pack * kTrialPackWords, pattern(pack, trial));
  }
}

// Adds the number of right packs to `count`.
__global__ void __launch_bounds__(kTrialThreads)
    count_right(const uint32_t* from, uint32_t trial, uint32_t* count) {
  WordPack found[kTrialPacksPerThread];  // all loads are issued before the first is used
#pragma unroll
  for (int i = 0; i < kTrialPacksPerThread; ++i)
    found[i] = load_pack<kTrialPackWords>(from + (first_pack() + i * kTrialThreads) * kTrialPackWords);
  uint32_t right = 0;
#pragma unroll
  for (int i = 0; i < kTrialPacksPerThread; ++i) {
    const WordPack expected = pattern(first_pack() + i * kTrialThreads, trial);
    uint32_t wrong_bits = 0;
#pragma unroll
    for (int j = 0; j < kTrialPackWords; ++j) wrong_bits |= found[i].v[j] ^ expected.v[j];
    right += wrong_bits == 0;
  }
  atomicAdd(count, right);
}

// One device of a trial. Its memory has three parts: the pattern that it sends, the data that it receives,
// and the number of packs that were right.
class Side {
 public:
  explicit Side(const TrialMemory& memory)
      : device(memory.device), stream(on(memory.device)), memory_(static_cast<std::byte*>(memory.data)) {}

  uint32_t* pattern() const { return part(0); }
  uint32_t* received() const { return part(1); }

  void write(uint32_t* to, uint32_t trial) const {
    const DeviceScope scope(device);
    throw_if_error(launch("peer access trial", kShape, stream, write_pattern, to, trial));
    stream.synchronize();
  }
  bool finds(const uint32_t* from, uint32_t trial) const {
    const DeviceScope scope(device);
    uint32_t* const count = part(2);
    uint32_t right = 0;
    RONDO_CUDA_THROW(cudaMemsetAsync(count, 0, sizeof(right), stream));
    throw_if_error(launch("peer access trial", kShape, stream, count_right, from, trial, count));
    RONDO_CUDA_THROW(cudaMemcpyAsync(&right, count, sizeof(right), cudaMemcpyDeviceToHost, stream));
    stream.synchronize();
    return right == kTrialPacks;
  }

  const int device;
  const Stream stream;

 private:
  static constexpr LaunchShape kShape = {.grid_x = kTrialPacks / (kTrialThreads * kTrialPacksPerThread),
                                         .block_x = kTrialThreads};
  static Stream on(int device) {
    const DeviceScope scope(device);
    return Stream();
  }
  uint32_t* part(int index) const { return reinterpret_cast<uint32_t*>(memory_ + index * kTrialBytes); }

  std::byte* memory_;
};

// How OperationBuilder copies outside and inside of captures.
enum class CopyCall { peer, unified };

void copy_pattern(const Side& from, const Side& to, const Side& caller, CopyCall call) {
  const DeviceScope scope(caller.device);
  if (call == CopyCall::peer)
    RONDO_CUDA_THROW(cudaMemcpyPeerAsync(to.received(), to.device, from.pattern(), from.device, kTrialBytes,
                                         caller.stream));
  else
    RONDO_CUDA_THROW(
        cudaMemcpyAsync(to.received(), from.pattern(), kTrialBytes, cudaMemcpyDefault, caller.stream));
  caller.stream.synchronize();
}

uint32_t next_trial() {
  static std::atomic<uint32_t> trials{0};
  return ++trials;
}

// Whether data arrives in one direction. The receiving device compares it: the sender might read its own
// writes back from somewhere else.
bool arrives(const Side& from, const Side& to) {
  for (const Side* caller : {&from, &to})
    for (const CopyCall call : {CopyCall::peer, CopyCall::unified}) {
      const uint32_t trial = next_trial();
      from.write(from.pattern(), trial);
      copy_pattern(from, to, *caller, call);
      if (!to.finds(to.received(), trial)) return false;
    }
  const uint32_t trial = next_trial();
  from.write(to.received(), trial);
  from.write(from.pattern(), trial);
  return to.finds(to.received(), trial) && to.finds(from.pattern(), trial);
}

bool arrives_both_ways(const TrialMemory& a, const TrialMemory& b) {
  const Side one(a), other(b);
  return arrives(one, other) && arrives(other, one);
}

Buffer<std::byte> trial_memory(int device) {
  const DeviceScope scope(device);
  return Buffer<std::byte>(kTrialMemoryBytes);
}

bool passes(const TrialMemory& a, const TrialMemory& b) {
  if (a.bytes >= kTrialMemoryBytes && b.bytes >= kTrialMemoryBytes) return arrives_both_ways(a, b);
  Buffer<std::byte> own_a = trial_memory(a.device), own_b = trial_memory(b.device);
  return arrives_both_ways({a.device, own_a.data(), own_a.bytes()}, {b.device, own_b.data(), own_b.bytes()});
}

// Whether CUDA accepts a change of peer access. Throws if a device has failed.
bool accepted(cudaError_t error, int device, int peer) {
  const Status status =
      from_cuda(error, concat("letting device ", device, " reach the memory of device ", peer));
  if (status.code() == StatusCode::device_failed) throw Error(status);
  return status.ok();
}

using Direction = std::pair<int, int>;  // a device, and the peer whose memory it reaches

// The trials of this process, and the access that it has enabled. The lock is held during a trial.
struct Trials {
  std::mutex mutex;
  std::map<std::pair<int, int>, bool> passed;  // by the two devices, the smaller number first
  std::set<Direction> opened;                  // by connect(), and not by the caller's program
};

Trials& trials() {
  static Trials& all = *new Trials;
  return all;
}

enum class Opened { no, by_us, by_caller };

Opened open(int device, int peer) {
  int reachable = 0;
  if (!accepted(cudaDeviceCanAccessPeer(&reachable, device, peer), device, peer) || !reachable)
    return Opened::no;
  const DeviceScope scope(device);
  const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
  if (accepted(error, device, peer))
    trials().opened.insert({device, peer});
  else if (error != cudaErrorPeerAccessAlreadyEnabled)
    return Opened::no;
  return trials().opened.contains({device, peer}) ? Opened::by_us : Opened::by_caller;
}

// Disables what open() has enabled. Access that the caller's program has enabled stays.
void close_both(int device, int peer) {
  for (const auto& [from, to] : {Direction{device, peer}, {peer, device}}) {
    if (trials().opened.erase({from, to}) == 0) continue;
    const DeviceScope scope(from);
    static_cast<void>(accepted(cudaDeviceDisablePeerAccess(to), from, to));
  }
}

}  // namespace

const char* name_of(PeerAccess access) {
  constexpr const char* kNames[] = {"same device", "direct", "unsupported", "broken"};
  return kNames[static_cast<int>(access)];
}

PeerAccess connect(const TrialMemory& device, const TrialMemory& peer) {
  const int a = device.device, b = peer.device;
  if (a == b) return PeerAccess::same_device;
  const std::lock_guard lock(trials().mutex);
  const Opened there = open(a, b), back = open(b, a);
  if (there == Opened::no || back == Opened::no) {
    close_both(a, b);
    return PeerAccess::unsupported;
  }
  const auto pair = std::minmax(a, b);
  auto known = trials().passed.find(pair);
  if (known == trials().passed.end()) known = trials().passed.emplace(pair, passes(device, peer)).first;
  if (known->second) return PeerAccess::direct;
  close_both(a, b);
  if (there == Opened::by_caller || back == Opened::by_caller)  // copies would still use the link
    throw Error(bad_argument("data sent between device ", a, " and device ", b,
                             " do not arrive, but this program has enabled peer access between them, must "
                             "disable it (cudaDeviceDisablePeerAccess)"));
  return PeerAccess::broken;
}

PeerAccess connect(int device, int peer) { return connect(TrialMemory{device}, TrialMemory{peer}); }

Status load_trial_kernels() {
  RONDO_RETURN_IF_ERROR(load("peer access trial", write_pattern));
  return load("peer access trial", count_right);
}

void forget_trials() {
  const std::lock_guard lock(trials().mutex);
  trials().passed.clear();
}

}  // namespace rondo

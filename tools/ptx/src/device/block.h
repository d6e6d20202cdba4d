// A block and its cluster: shared memory, barriers, mbarriers.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include "interpreter.h"
#include "races.h"
#include "shadow.h"
#include "warp.h"

namespace ptx {

// Addresses of shared memory are the rank of the block in its cluster in the upper 8 bits, and an offset. The
// offsets below kSharedBase are reserved for the system (%reserved_smem_offset).
inline constexpr uint32_t kSharedBase = 0x400;
inline constexpr int kRankShift = 24;
inline constexpr uint32_t kOffsetMask = (1u << kRankShift) - 1;
// Windows of generic addresses.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 56;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << 56;
inline constexpr int kWindowShift = 56;

// PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
struct MBarrier {
  uint32_t expected = 0;
  int64_t pending = 0;       // arrivals
  int64_t transactions = 0;  // bytes
  uint32_t phase = 0;
  uint32_t initialiser = 0;         // its thread
  Clock clock;                      // of the arrivals
  bool visible_to_cluster = false;  // fence.mbarrier_init, or another fence of the cluster, since
  bool visible_to_copies = false;   // fence.mbarrier_init or fence.proxy.async since: to the async proxy
};

struct NamedBarrier {
  uint32_t arrived = 0;
  uint32_t expected = 0;  // threads; 0: all live threads of the block
  uint32_t red_and = 1, red_or = 0, red_count = 0;
  Clock clock;
};

struct Cluster;
struct LaunchState;

struct Block {
  Cluster* cluster = nullptr;
  const LaunchState* launch = nullptr;
  uint32_t id[3] = {};
  uint32_t rank = 0;
  std::vector<char> shared;  // from offset 0
  SharedShadow shadow;       // of `shared`
  WordCells accesses;        // to `shared`, if races are looked for
  std::vector<Warp> warps;
  std::unordered_map<uint32_t, MBarrier> mbarriers;  // by offset
  NamedBarrier barriers[16];
  int live_threads = 0;
};

// A bulk copy to shared memory that has not happened.
struct PendingLoad {
  std::function<void()> act;
};

struct Cluster {
  const LaunchState* launch = nullptr;
  uint64_t number = 0;
  std::vector<std::unique_ptr<Block>> blocks;  // by rank
  uint32_t arrived = 0;                        // threads at the barrier of the cluster
  uint64_t phase = 0;
  Clock clock, clock_of_phase;  // of the arrivals, and of those of the phase that has ended
  std::vector<PendingLoad> loads;
  bool progress = false;  // since the scheduler cleared it
  std::mt19937_64 random;
};

// A launch, as a worker sees it.
inline constexpr uint64_t kWorkspaceBytes = 64;  // of grid.sync()

struct LaunchState {
  explicit LaunchState(const Launch& launch);
  const Launch& launch;
  const Kernel* kernel;
  const Code* code;
  Shape shape;
  uint64_t parameters;             // address
  uint64_t workspace;              // of grid.sync(): address; 0 without one
  uint32_t dynamic_shared_at;      // offset from kSharedBase
  std::shared_ptr<RaceLog> races;  // null: races are not looked for
  uint64_t* counts = nullptr;      // how often each instruction was executed; null: they are not counted
};

// The bytes at a shared address. Faults if they are outside of the block, misaligned, or of a block that has
// exited. `owner` and `offset`: whose they are.
char* shared_pointer(const Block& self, uint32_t address, uint32_t bytes, uint32_t alignment,
                     Block** owner = nullptr, uint32_t* offset = nullptr);

// The number of a lane's thread in its block.
inline uint32_t thread_of(const Warp& warp, int lane) {
  return static_cast<uint32_t>(warp.index * kWarpSize + lane);
}

}  // namespace ptx

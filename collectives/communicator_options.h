// CommunicatorOptions: the settings of a communicator.
#pragma once

#include <rondo/collectives/models/cost_model.h>
#include <rondo/collectives/ring_schedule.h>

#include <cstdint>
#include <vector>

namespace rondo {

class ProcessGroup;

// The smallest slot: an alignment unit of any type as partial sums, 16 bytes of uint8 summed as int32.
inline constexpr int64_t kLeastSlotBytes = 64;

struct CommunicatorOptions {
  // Every rank gets 2 * ring::kSlots slots of this size, rounded up to 16 bytes. Chunks are sent in segments
  // of at most a slot, each with its own latency: large slots are faster, small slots stay in the cache.
  int64_t slot_bytes = int64_t{4} << 20;
  // Size of the bucket into which all_reduce_coalesced() packs small buffers. 0: all_reduce_coalesced()
  // returns bad_argument.
  int64_t bucket_bytes = int64_t{4} << 20;
  // ring_order[p] is the rank at position p of the ring. Empty: 0, 1, 2, ... ring_order.h searches for a good
  // one.
  std::vector<int> ring_order = {};
  // Input of Algorithm::automatic. The communicator sets slot_bytes and ranks_share_one_memory itself.
  LinkConstants links = {};
  // For the algorithm `hierarchical`: ranks 0 .. m-1 are group 0, the next m ranks group 1, and so on. Inside
  // a group the order is that of ring_order. Must divide the number of ranks. 0: all ranks are one group.
  int group_size = 0;
  // Connects the communicators of several processes, on one host or many. All processes must construct theirs
  // together, with the same number of ranks each. Ranks are numbered process by process and each process is
  // one group. The functions of Communicator number only the ranks of this process, always 0 .. size()-1.
  // Only all_reduce() and all_reduce_coalesced() work across processes. The process group must outlive the
  // communicator.
  ProcessGroup* processes = nullptr;
};

// Throws a bad_argument Error if a communicator of `ranks` ranks cannot have these options.
void check(int ranks, const CommunicatorOptions& options);

}  // namespace rondo

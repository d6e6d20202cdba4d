#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/collectives/communicator_options.h>
#include <rondo/collectives/types.h>
#include <rondo/kernels/core/counted.h>

namespace rondo {

namespace {

constexpr int64_t kMostMessageBytes = int64_t{1} << 30;  // between processes

template <class... Parts>
[[noreturn]] void refuse(const Parts&... why) {
  throw Error(bad_argument("communicator: ", why...));
}

void check_order(const std::vector<int>& order, int ranks) {
  if (static_cast<int>(order.size()) != ranks)
    refuse("ring_order has ", counted(order.size(), "entry", "entries"), ", must have ", ranks,
           ", one for each rank");
  PerRank<bool> seen(order.size(), false);
  for (size_t position = 0; position < order.size(); ++position) {
    const int rank = order[position];
    if (rank < 0 || rank >= ranks || seen[rank])
      refuse("ring_order[", position, "] is ", rank, ", must be a rank from 0 to ", ranks - 1,
             " that is not in the list yet");
    seen[rank] = true;
  }
}

void check_groups(int ranks, const CommunicatorOptions& options) {
  const int m = options.group_size;
  if (m == 0) return;
  if (options.processes && m != ranks)
    refuse("group_size is ", m, ", must be 0 or ", ranks,
           ", the number of ranks: across processes each process is a group");
  if (m < 0 || ranks % m != 0)
    refuse("group_size is ", m, ", must be 0 or divide ", ranks, ", the number of ranks");
  // Step 2 of the hierarchical algorithm puts slices of all groups into one slot.
  if (ranks > m && options.slot_bytes < kLeastSlotBytes * (ranks / m + 1))
    refuse("slot_bytes is ", options.slot_bytes, ", must be at least ", kLeastSlotBytes * (ranks / m + 1),
           " for ", counted(ranks / m, "group"));
}

void check_processes(const ProcessGroup& group, int64_t slot_bytes) {
  if (group.size() > kMaxRanks)
    refuse(there_are(group.size(), "process", "processes"), ", must be at most ", kMaxRanks);
  if (slot_bytes > kMostMessageBytes)
    refuse("slot_bytes is ", slot_bytes, ", must be at most ", kMostMessageBytes, " across processes");
}

}  // namespace

void check(int ranks, const CommunicatorOptions& options) {
  const int64_t slot = options.slot_bytes, bucket = options.bucket_bytes;
  if (ranks < 1 || ranks > kMaxRanks) refuse(there_are(ranks, "rank"), ", must be 1 to ", kMaxRanks);
  if (slot < kLeastSlotBytes) refuse("slot_bytes is ", slot, ", must be at least ", kLeastSlotBytes);
  if (slot > kMostVectorBytes) refuse("slot_bytes is ", slot, ", must be at most ", kMostVectorBytes);
  if (options.processes) check_processes(*options.processes, slot);
  if (bucket > kMostVectorBytes) refuse("bucket_bytes is ", bucket, ", must be at most ", kMostVectorBytes);
  if (bucket < 0) refuse("bucket_bytes is ", bucket, ", must not be negative");
  throw_if_error(check(options.links));
  if (!options.ring_order.empty()) check_order(options.ring_order, ranks);
  check_groups(ranks, options);
}

}  // namespace rondo

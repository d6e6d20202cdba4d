#include <rondo/collectives/across_hosts/exchange.h>
#include <rondo/collectives/pack.h>
#include <rondo/collectives/peer_access.h>
#include <rondo/collectives/rank_resources.h>
#include <rondo/collectives/reduce/reduce_vectors.h>
#include <rondo/kernels/runtime/platform.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

namespace rondo {

namespace {

// Spare bytes after a slot, for data that begin up to 15 elements after a 16-byte boundary (lead_of()).
constexpr int64_t kLeadBytes = 128;

int64_t rounded_up(int64_t bytes) {
  return (bytes + ring::kChunkAlignment - 1) / ring::kChunkAlignment * ring::kChunkAlignment;
}

// CUDA loads a kernel at its first launch on a device, which synchronises with the device. Load all now.
Status load_kernels() {
  RONDO_RETURN_IF_ERROR(load_reduce_kernels());
  RONDO_RETURN_IF_ERROR(load_pack_kernels());
  return load_trial_kernels();
}

// All devices of the CPU executor are in the memory of one machine.
bool share_one_memory(std::span<const int> devices) {
  return std::string(platform()) == "cpu" || std::equal(devices.begin() + 1, devices.end(), devices.begin());
}

// Replaces the defaults by values.
CommunicatorOptions completed(CommunicatorOptions options, std::span<const int> devices) {
  const auto ranks = static_cast<int>(devices.size());
  if (options.processes && options.processes->size() == 1) options.processes = nullptr;
  check(ranks, options);
  options.slot_bytes = rounded_up(options.slot_bytes);
  options.links.slot_bytes = options.slot_bytes;
  options.links.ranks_share_one_memory = share_one_memory(devices);
  if (options.ring_order.empty()) {
    options.ring_order.resize(devices.size());
    std::iota(options.ring_order.begin(), options.ring_order.end(), 0);
  }
  if (options.group_size == 0) options.group_size = ranks;
  return options;
}

}  // namespace

int64_t RankResources::slot_stride(const CommunicatorOptions& options) {
  return rounded_up(options.slot_bytes) + kLeadBytes;
}

// staged_copy.cpp cuts this memory into n regions instead of slots; each region needs a minimum size.
int64_t RankResources::inbox_and_outbox_bytes(int ranks, const CommunicatorOptions& options) {
  if (ranks == 1 && !options.processes) return 0;
  return std::max(2 * ring::kSlots * slot_stride(options), kLeastSlotBytes * ranks);
}

int64_t RankResources::bytes_per_rank(int ranks, const CommunicatorOptions& options) {
  check(ranks, options);
  return inbox_and_outbox_bytes(ranks, options) + rounded_up(options.bucket_bytes);
}

RankResources::RankResources(std::span<const int> devices, const CommunicatorOptions& options)
    : options_(completed(options, devices)),
      tracker_(devices),
      ring_order_(options_.ring_order),
      group_order_(options_.ring_order) {
  const auto ranks = static_cast<int>(devices.size());
  std::stable_sort(group_order_.begin(), group_order_.end(),
                   [&](int a, int b) { return a / options_.group_size < b / options_.group_size; });
  ranks_.reserve(devices.size());
  for (const int device : devices) add_rank(device, ranks);
  connect_ranks();
  if (options_.processes)
    exchange_ = std::make_unique<Exchange>(
        *options_.processes, Layout{ranks, options_.slot_bytes, options_.bucket_bytes}, devices[0]);
}

RankResources::~RankResources() = default;

void RankResources::add_rank(int device, int ranks) {
  const DeviceScope scope(device);  // memory, streams and events belong to the current device
  if (std::none_of(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.device == device; }))
    throw_if_error(load_kernels());
  Rank& rank = ranks_.emplace_back();
  rank.device = device;
  rank.scratch = Buffer<std::byte>(bytes_per_rank(ranks, options_));
  for (int step = 0; step < ring::steps(ranks); ++step) rank.delivered.emplace_back();
}

// The trial uses the scratch memory if it is large enough: freeing other memory would wait for the devices,
// which may be stuck.
void RankResources::connect_ranks() {
  std::map<std::pair<int, int>, PeerAccess> links;  // ranks on the same device share its links
  const auto memory_of = [](Rank& rank) {
    return TrialMemory{rank.device, rank.scratch.data(), rank.scratch.bytes()};
  };
  for (Rank& rank : ranks_)
    for (Rank& peer : ranks_) {
      const auto [link, is_new] = links.try_emplace(std::minmax(rank.device, peer.device));
      if (is_new) link->second = connect(memory_of(rank), memory_of(peer));
      reaches_.push_back(link->second == PeerAccess::same_device || link->second == PeerAccess::direct);
      all_reach_all_ = all_reach_all_ && reaches_.back();
    }
}

}  // namespace rondo

// cp.async.bulk and cp.reduce.async.bulk (PTX ISA 9.7.9.25.4, 9.7.9.25.5).
#include "bulk_copy.h"

#include "async.h"
#include "fault.h"
#include "instruction_table.h"
#include "lexer.h"
#include "mbarrier.h"
#include "memory.h"

namespace ptx {
namespace {

constexpr uint32_t kUnit = 16;  // addresses and sizes are multiples

void check_units(uint64_t to, uint64_t from, uint32_t bytes) {
  if (to % kUnit != 0 || from % kUnit != 0 || bytes % kUnit != 0)
    fail(kMisalignedAddress, "cp.async.bulk of ", bytes, " bytes from ", hex(from), " to ", hex(to),
         ": these are not all multiples of ", kUnit);
}

uint32_t shared_address(const Warp& warp, Operand operand, int lane, int64_t offset) {
  return static_cast<uint32_t>(value_of(warp, operand, lane)) + static_cast<uint32_t>(offset);
}

// Operands: to, from, bytes, mbarrier, mask or absent. option: from the block's shared memory. numbers:
// offsets of the addresses.
void load(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const Operand* const operands = instruction.operands;
  for_lanes(lanes, [&](int lane) {
    const uint32_t to = shared_address(warp, operands[0], lane, instruction.numbers[0]);
    const uint64_t from = value_of(warp, operands[1], lane) + static_cast<uint64_t>(instruction.numbers[1]);
    const uint32_t bytes = static_cast<uint32_t>(value_of(warp, operands[2], lane));
    const uint32_t barrier = shared_address(warp, operands[3], lane, instruction.numbers[2]);
    check_units(to, from, bytes);
    const bool from_shared = instruction.option;
    if (from_shared) {
      uint32_t at = 0;
      shared_pointer(*warp.block, static_cast<uint32_t>(from), bytes, kUnit, nullptr, &at);
      warp.block->shadow.check_proxy(at, bytes, thread_of(warp, lane), warp.block->rank, "a bulk copy");
    } else {
      check_global(warp, from, bytes, Access::read);
    }
    const uint32_t mask = receiving_blocks(warp, operands[4], lane, to);
    check_mbarriers_of_copy(*warp.block, mask, barrier & kOffsetMask, false);
    Cluster* const cluster = warp.block->cluster;
    Block* const self = warp.block;
    for (uint32_t rank = 0; rank < cluster->blocks.size(); ++rank) {
      if (!(mask >> rank & 1)) continue;
      shared_pointer(*self, (to & kOffsetMask) | rank << kRankShift, bytes, kUnit);
      cluster->blocks[rank]->shadow.expect_bulk(to & kOffsetMask, bytes);
    }
    issue_load(warp, [=] {
      const char* source = reinterpret_cast<const char*>(from);
      if (from_shared) {
        uint32_t offset = 0;
        source = shared_pointer(*self, static_cast<uint32_t>(from), bytes, kUnit, nullptr, &offset);
        self->shadow.check_read(offset, bytes, self->rank);
      }
      for (uint32_t rank = 0; rank < cluster->blocks.size(); ++rank) {
        if (!(mask >> rank & 1)) continue;
        Block& block = *cluster->blocks[rank];
        const uint32_t offset = to & kOffsetMask;
        std::memcpy(shared_pointer(block, offset | rank << kRankShift, bytes, kUnit), source, bytes);
        block.shadow.write_bulk(offset, bytes);
        forget_accesses(block, offset, bytes);
        // Of a copy to another block of the cluster, the mbarrier is there, too.
        complete_transactions(block, barrier & kOffsetMask, bytes);
      }
    });
  });
}

// Operands: to, from, bytes. immediate: the type, immediate2: the reduction, numbers: offsets of the
// addresses.
void store(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const Operand* const operands = instruction.operands;
  const BulkReduction how{static_cast<Type>(instruction.immediate),
                          static_cast<Reduction>(instruction.immediate2)};
  for_lanes(lanes, [&](int lane) {
    const uint64_t to = value_of(warp, operands[0], lane) + static_cast<uint64_t>(instruction.numbers[0]);
    const uint32_t from = shared_address(warp, operands[1], lane, instruction.numbers[1]);
    const uint32_t bytes = static_cast<uint32_t>(value_of(warp, operands[2], lane));
    check_units(to, from, bytes);
    check_global(warp, to, bytes, Access::write);
    Block* const block = warp.block;
    uint32_t at = 0;
    shared_pointer(*block, from, bytes, kUnit, nullptr, &at);
    block->shadow.check_read(at, bytes, block->rank);
    block->shadow.check_proxy(at, bytes, thread_of(warp, lane), block->rank, "a bulk copy");
    block->shadow.begin_source(at, bytes);
    note_shared_access(warp, *block, at, bytes, false, false);
    const auto data = std::make_shared<std::vector<char>>(bytes);
    issue_store(
        warp, lane,
        [=] {
          uint32_t offset = 0;
          const char* source = shared_pointer(*block, from, bytes, kUnit, nullptr, &offset);
          std::memcpy(data->data(), source, bytes);
          block->shadow.end_source(offset, bytes);
        },
        [=] { put_bulk(how, reinterpret_cast<char*>(to), data->data(), bytes); });
  });
}

void commit_group(Warp& warp, const Instruction&, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) { ++warp.async.store_group[lane]; });
}

void read_source(PendingStore& store) {
  if (!store.read) return;
  store.read();
  store.read = nullptr;
}

void perform(PendingStore& store) {
  read_source(store);
  if (store.write) store.write();
  store.write = nullptr;
}

// option: .read: only the sources have to be read.
void wait_group(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  std::vector<PendingStore>& stores = warp.async.stores;
  const uint64_t newest = static_cast<uint64_t>(instruction.immediate);
  const auto due = [&](const PendingStore& store) {
    return lanes >> store.lane & 1 && store.group + newest < warp.async.store_group[store.lane];
  };
  for (PendingStore& store : stores) {
    if (!due(store)) continue;
    store.waited = true;
    instruction.option ? read_source(store) : perform(store);
  }
  std::erase_if(stores, [&](const PendingStore& store) { return store.waited && !store.write; });
}

}  // namespace

void put_bulk(const BulkReduction& how, char* to, const char* from, uint32_t bytes) {
  if (how.reduction == Reduction::none) {
    std::memcpy(to, from, bytes);
  } else {
    reduce_elements(how.type, how.reduction, to, from, bytes);
  }
}

uint32_t receiving_blocks(const Warp& warp, Operand mask, int lane, uint32_t address) {
  const size_t blocks = warp.block->cluster->blocks.size();
  const uint32_t receivers = mask.present() ? static_cast<uint32_t>(value_of(warp, mask, lane)) & 0xFFFF
                                            : 1u << (address >> kRankShift);
  if (receivers >> blocks != 0)
    fail(kLaunchFailure, "a bulk copy to the blocks ", hex(receivers), " of a cluster of ", blocks);
  return receivers;
}

void issue_load(Warp& warp, std::function<void()> act) {
  if (warp.block->launch->launch.late.bulk) {
    warp.block->cluster->loads.push_back({std::move(act)});
  } else {
    act();
  }
}

void issue_store(Warp& warp, int lane, std::function<void()> read, std::function<void()> write) {
  std::vector<PendingStore>& stores = warp.async.stores;
  stores.push_back(
      {std::move(read), std::move(write), false, warp.async.store_group[lane], static_cast<uint8_t>(lane)});
  if (!warp.block->launch->launch.late.bulk) perform(stores.back());
}

char* GlobalRange::pointer(uint64_t address, uint64_t bytes, bool write) {
  if (address < allocation_.begin || address + bytes > allocation_.end) {
    std::string problem = "not all allocated";
    if (!find_allocation(*launch_, address, &allocation_, &problem) || address + bytes > allocation_.end)
      fail(kIllegalAddress, "a tensor copy ", write ? "writes " : "reads ", bytes, " bytes at ", hex(address),
           ": ", problem);
  }
  if (write && !allocation_.writable)
    fail(kIllegalAddress, "a tensor copy writes constant memory at ", hex(address));
  return reinterpret_cast<char*>(address);
}

void perform_load(Cluster& cluster, uint64_t drawn) {
  const auto chosen = cluster.loads.begin() + static_cast<std::ptrdiff_t>(drawn % cluster.loads.size());
  const PendingLoad load = std::move(*chosen);
  cluster.loads.erase(chosen);
  load.act();
}

void finish_stores(Warp& warp, uint32_t lanes) {
  std::vector<PendingStore>& stores = warp.async.stores;
  const auto of_lanes = [&](const PendingStore& store) { return (lanes >> store.lane & 1) != 0; };
  for (PendingStore& store : stores) {
    if (!of_lanes(store)) continue;
    if (!store.waited && warp.block->launch->launch.checks.unwaited_stores)
      fail(kLaunchFailure, "lane ", int{store.lane},
           " exits without a wait for its bulk copy from shared memory, which may not have been read");
    perform(store);
  }
  std::erase_if(stores, of_lanes);
}

void perform_drawn_store(Warp& warp, uint64_t drawn) {
  std::vector<PendingStore>& stores = warp.async.stores;
  if (!stores.empty()) perform(stores[drawn % stores.size()]);
}

bool decode_cp(Decoder& decoder, Draft& draft) {
  if (draft.parts.size() < 3) return false;
  const bool bulk = draft.has("bulk");
  if (!bulk) return decode_cp_async(decoder, draft);
  if (draft.has("prefetch")) return decode_hint(decoder, draft);
  return draft.has("tensor") ? decode_tensor(decoder, draft) : decode_bulk(decoder, draft);
}

bool decode_bulk(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  if (draft.has("commit_group")) {
    instruction.run = commit_group;
    return true;
  }
  if (draft.has("wait_group")) {
    instruction.option = draft.has("read");
    instruction.run = wait_group;
    return decode_newest_groups(draft);
  }
  const bool reduces = draft.parts[1] == "reduce";
  const size_t spaces = reduces ? 4 : 3;  // cp.reduce.async.bulk.to.from, cp.async.bulk.to.from
  if (draft.parts.size() < spaces + 2) return false;
  const std::string_view to_space = draft.parts[spaces], from_space = draft.parts[spaces + 1];
  const Address to = decoder.address(draft.arguments.at(0)), from = decoder.address(draft.arguments.at(1));
  if (!to.base.present() || !from.base.present()) return false;
  draft.operands = {to.base, from.base, decoder.source(draft.arguments.at(2), 4)};
  draft.numbers = {static_cast<int32_t>(to.offset), static_cast<int32_t>(from.offset)};
  if (to_space == "global" && from_space == "shared::cta") {
    instruction.run = store;
    decoder.uses_async_reads();
    instruction.immediate2 = static_cast<int64_t>(Reduction::none);
    if (!reduces) return !draft.has("cp_mask");
    instruction.immediate = static_cast<int64_t>(draft.type());
    for (const std::string_view part : draft.parts)
      if (const Reduction reduction = reduction_named(part); reduction != Reduction::none)
        instruction.immediate2 = static_cast<int64_t>(reduction);
    return can_reduce(draft.type(), static_cast<Reduction>(instruction.immediate2));
  }
  if (reduces || (to_space != "shared::cluster" && to_space != "shared::cta")) return false;
  if (from_space != "global" && from_space != "shared::cta") return false;
  instruction.run = load;
  instruction.option = from_space == "shared::cta";
  if (instruction.option) decoder.uses_async_reads();
  const Address barrier = decoder.address(draft.arguments.at(3));
  if (!barrier.base.present()) return false;
  draft.add(barrier.base);
  draft.numbers.push_back(static_cast<int32_t>(barrier.offset));
  if (draft.has_prefix("multicast")) {
    draft.add(decoder.source(draft.arguments.at(4), 2));
  } else {
    draft.add_absent();
  }
  return true;
}

}  // namespace ptx

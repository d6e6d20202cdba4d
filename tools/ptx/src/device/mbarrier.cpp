// mbarrier instructions (PTX ISA 9.7.13.15). Operand 0: the address.
#include "mbarrier.h"

#include "fault.h"
#include "instruction_table.h"
#include "memory.h"

namespace ptx {
namespace {

constexpr uint32_t kMostArrivals = (1u << 20) - 1;
constexpr uint32_t kBytes = 8;
// What an mbarrier leaves in its memory, by which other stores there are seen.
constexpr uint64_t kContent = 0x7265697272616272;

struct Place {
  Block* block;
  uint32_t offset;
};
Place place_of(const Warp& warp, uint32_t address) {
  Place place{};
  shared_pointer(*warp.block, address, kBytes, kBytes, &place.block, &place.offset);
  return place;
}

uint32_t address_of(const Warp& warp, const Instruction& instruction, int lane) {
  return static_cast<uint32_t>(lane_address(warp, instruction, lane));
}

void check_content(const Block& block, uint32_t offset) {
  if (std::memcmp(block.shared.data() + offset, &kContent, kBytes) != 0)
    fail(kLaunchFailure, "mbarrier at ", hex(offset | block.rank << kRankShift),
         ": something else has been written there since it was initialised");
}

// Bytes of pending copies, by which the count of a phase may differ from zero.
constexpr int64_t kMostBytes = (1 << 20) - 1;

void expect_bytes(MBarrier& barrier, int64_t bytes, uint32_t address) {
  barrier.transactions += bytes;
  if (barrier.transactions > kMostBytes || barrier.transactions < -kMostBytes)
    fail(kLaunchFailure, "mbarrier at ", hex(address), ": ", barrier.transactions,
         " bytes are pending, and the limit is ", kMostBytes);
}

// The phase ends when all threads have arrived and all bytes have been copied.
void end_phase_if_complete(MBarrier& barrier) {
  if (barrier.pending != 0 || barrier.transactions != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
}

void init(Warp& warp, const Instruction& instruction, uint32_t lanes) {  // Operands: the address, the count
  for_lanes(lanes, [&](int lane) {
    const uint32_t count = values<uint32_t>(warp, instruction, 1)[lane];
    if (count == 0 || count > kMostArrivals)
      fail(kLaunchFailure, "mbarrier.init with a count of ", count, ", which must be from 1 to ",
           kMostArrivals);
    const Place place = place_of(warp, address_of(warp, instruction, lane));
    MBarrier& barrier = place.block->mbarriers[place.offset];
    barrier = MBarrier();
    barrier.expected = count;
    barrier.pending = count;
    barrier.initialiser = thread_of(warp, lane);
    std::memcpy(place.block->shared.data() + place.offset, &kContent, kBytes);
    place.block->shadow.write(place.offset, kBytes, thread_of(warp, lane), place.block->rank);
  });
}

void invalidate(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    const uint32_t address = address_of(warp, instruction, lane);
    find_mbarrier(warp, address);
    const Place place = place_of(warp, address);
    place.block->mbarriers.erase(place.offset);
  });
}

enum Arrival : uint8_t { kDrop = 1, kNoComplete = 2 };

// Of all phases after this one.
void drop(MBarrier& barrier, uint32_t threads, uint32_t address) {
  if (threads > barrier.expected)
    fail(kLaunchFailure, "mbarrier at ", hex(address), ": arrive_drop of ", threads,
         " threads, and it expects ", barrier.expected);
  barrier.expected -= threads;
}

// Operands: the address, the count or absent, the bytes of expect_tx or absent, the state or absent. option:
// .shared::cluster; option2: .relaxed, which orders nothing; variant: kDrop, kNoComplete
void arrive_lanes(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const Operand count = instruction.operands[1], bytes = instruction.operands[2],
                state = instruction.operands[3];
  for_lanes(lanes, [&](int lane) {
    const uint32_t address = address_of(warp, instruction, lane);
    if (!instruction.option && address >> kRankShift != warp.block->rank)
      fail(kLaunchFailure, "mbarrier.arrive.shared::cta at the mbarrier of block ", address >> kRankShift,
           " of the cluster");
    MBarrier& barrier = find_mbarrier(warp, address);
    if (!instruction.option2) arrive_clock(warp, barrier.clock);
    if (state.present()) set_value(warp, state, lane, barrier.phase);
    if (bytes.present()) expect_bytes(barrier, static_cast<int64_t>(value_of(warp, bytes, lane)), address);
    const uint32_t threads = count.present() ? static_cast<uint32_t>(value_of(warp, count, lane)) : 1;
    if (instruction.variant & kDrop) drop(barrier, threads, address);
    const uint32_t phase = barrier.phase;
    arrive(warp, address, threads);
    if ((instruction.variant & kNoComplete) && barrier.phase != phase)
      fail(kLaunchFailure, "mbarrier at ", hex(address), ": an arrival with .noComplete completes the phase");
  });
}

void expect_transactions(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    const uint32_t address = address_of(warp, instruction, lane);
    expect_bytes(find_mbarrier(warp, address), values<uint32_t>(warp, instruction, 1)[lane], address);
  });
}

void complete_bytes(Warp& warp, const Instruction& instruction, uint32_t lanes) {  // mbarrier.complete_tx
  for_lanes(lanes, [&](int lane) {
    const Place place = place_of(warp, address_of(warp, instruction, lane));
    complete_transactions(*place.block, place.offset, values<uint32_t>(warp, instruction, 1)[lane]);
  });
}

// Operands: the address, the predicate, the parity or state. option: .parity. Lanes whose phase is not
// complete let others run.
void test_wait(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  uint32_t complete = 0;
  for_lanes(lanes, [&](int lane) {
    const uint32_t address = address_of(warp, instruction, lane);
    const MBarrier& barrier = find_mbarrier(warp, address);
    const uint64_t awaited = value_of(warp, instruction.operands[2], lane);
    bool done = false;
    if (instruction.option) {
      done = (barrier.phase & 1) != (awaited & 1);
    } else {
      const uint32_t phase = static_cast<uint32_t>(awaited);
      if (barrier.phase - phase > 1)
        fail(kLaunchFailure, "mbarrier.test_wait at ", hex(address), " for phase ", phase, " in phase ",
             barrier.phase);
      done = barrier.phase != phase;
    }
    if (done) leave_clock(warp, barrier.clock);
    complete |= uint32_t{done} << lane;
  });
  set_predicate(warp, instruction, 1, lanes, complete);
  if (complete != lanes) warp.yielded |= lanes;
}

}  // namespace

MBarrier& find_mbarrier(const Warp& warp, uint32_t address) {
  const Place place = place_of(warp, address);
  const auto found = place.block->mbarriers.find(place.offset);
  if (found == place.block->mbarriers.end())
    fail(kLaunchFailure, "there is no mbarrier at ", hex(address),
         ": it has not been initialised, or was invalidated");
  check_content(*place.block, place.offset);
  if (place.block != warp.block) check_visible(*warp.block, found->second, address);
  return found->second;
}

void check_visible(const Block& self, const MBarrier& barrier, uint32_t address) {
  if (self.launch->launch.checks.proxies && !barrier.visible_to_cluster)
    fail(kLaunchFailure, "another block of the cluster uses the mbarrier at ", hex(address), ", and thread ",
         barrier.initialiser, ", which has initialised it, has not executed fence.mbarrier_init");
}

void check_mbarriers_of_copy(const Block& self, uint32_t blocks, uint32_t offset, bool is_tensor_copy) {
  for (const auto& block : self.cluster->blocks) {
    if (!(blocks >> block->rank & 1)) continue;
    const auto found = block->mbarriers.find(offset);
    if (found == block->mbarriers.end()) continue;
    const uint32_t address = offset | block->rank << kRankShift;
    if (block.get() != &self)
      check_visible(self, found->second, address);
    else if (!is_tensor_copy)
      continue;
    if (self.launch->launch.checks.proxies && !found->second.visible_to_copies)
      fail(kLaunchFailure, "a bulk copy uses the mbarrier at ", hex(address), ", and thread ",
           found->second.initialiser, ", which has initialised it, has executed neither fence.mbarrier_init ",
           "nor fence.proxy.async");
  }
}

void fence_mbarriers(Warp& warp, uint32_t lanes, Visibility visibility) {
  for (auto& [offset, barrier] : warp.block->mbarriers) {
    const int lane = static_cast<int>(barrier.initialiser) - warp.index * kWarpSize;
    if (lane < 0 || lane >= kWarpSize || !(lanes >> lane & 1)) continue;
    barrier.visible_to_cluster |= visibility.to_cluster;
    barrier.visible_to_copies |= visibility.to_copies;
  }
}

std::string describe_awaited(const Warp& warp) {
  if (!warp.at || warp.at->run != test_wait || warp.yielded == 0) return {};
  const uint32_t address = address_of(warp, *warp.at, std::countr_zero(warp.yielded));
  const Block& block = *warp.block->cluster->blocks[address >> kRankShift];
  const auto found = block.mbarriers.find(address & kOffsetMask);
  if (found == block.mbarriers.end()) return {};
  const MBarrier& barrier = found->second;
  return concat(" (the mbarrier at ", hex(address), ", whose phase ", barrier.phase, " lacks ",
                barrier.pending, " of ", barrier.expected, " arrivals and ", barrier.transactions, " bytes)");
}

void arrive(Warp& warp, uint32_t address, uint32_t count) {
  MBarrier& barrier = find_mbarrier(warp, address);
  warp.block->cluster->progress = true;
  barrier.pending -= count;
  if (barrier.pending < 0)
    fail(kLaunchFailure, "mbarrier at ", hex(address), ": more arrivals than its count of ",
         barrier.expected);
  end_phase_if_complete(barrier);
}

void complete_transactions(Block& block, uint32_t offset, uint32_t bytes) {
  const auto found = block.mbarriers.find(offset);
  if (found == block.mbarriers.end())
    fail(kLaunchFailure, "a bulk copy completes at ", hex(offset | block.rank << kRankShift),
         ", where no mbarrier is");
  check_content(block, offset);
  found->second.transactions -= bytes;
  end_phase_if_complete(found->second);
}

bool decode_mbarrier(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  const std::string_view operation = draft.parts[1];
  const auto argument = [&](size_t n) { return draft.arguments.at(n); };
  if (operation == "init" || operation == "expect_tx" || operation == "complete_tx") {
    instruction.run = operation == "init"        ? init
                      : operation == "expect_tx" ? expect_transactions
                                                 : complete_bytes;
    decoder.add_address(draft, argument(0));
    draft.add(decoder.source(argument(1), 4));
    return true;
  }
  if (operation == "inval") {
    instruction.run = invalidate;
    decoder.add_address(draft, argument(0));
    return true;
  }
  if (operation == "arrive" || operation == "arrive_drop") {
    instruction.variant = static_cast<uint8_t>((operation == "arrive_drop" ? kDrop : 0) |
                                               (draft.has("noComplete") ? kNoComplete : 0));
    const bool transactions = draft.has("expect_tx");
    instruction.run = arrive_lanes;
    instruction.option = draft.has("shared::cluster");
    instruction.option2 = draft.has("relaxed");
    decoder.add_address(draft, argument(1));
    draft.operands.resize(4);
    if (draft.arguments.size() > 2) draft.operands[transactions ? 2 : 1] = decoder.source(argument(2), 4);
    if (argument(0) != "_") draft.operands[3] = decoder.destination(argument(0));
    return true;
  }
  if (operation == "try_wait" || operation == "test_wait") {
    instruction.run = test_wait;
    instruction.flow = Flow::poll;
    instruction.option = draft.has("parity");
    decoder.add_address(draft, argument(1));
    draft.add(decoder.destination(argument(0)));
    draft.add(decoder.source(argument(2), instruction.option ? 4 : 8));
    return true;
  }
  return false;
}

}  // namespace ptx

// cp.async without .bulk (PTX ISA 9.7.9.25.3): copies of 4, 8 or 16 bytes from global to shared memory.
// Operands: the destination, the source, the size of the source or absent, the predicate ignore-src or
// absent. bytes: of a copy; immediate, immediate2: offsets of the addresses.
#include "async.h"
#include "fault.h"
#include "instruction_table.h"
#include "lexer.h"
#include "mbarrier.h"
#include "memory.h"

namespace ptx {
namespace {

void perform(Warp& warp, const PendingCopy& copy) {
  Block* block = nullptr;
  uint32_t offset = 0;
  char* to = shared_pointer(*warp.block, copy.to, copy.bytes, copy.bytes, &block, &offset);
  if (copy.read != 0) std::memcpy(to, reinterpret_cast<const void*>(copy.from), copy.read);
  std::memset(to + copy.read, 0, static_cast<size_t>(copy.bytes - copy.read));
  note_shared_access(warp, *block, offset, copy.bytes, true, false);
  block->shadow.write(offset, copy.bytes, thread_of(warp, copy.lane), block->rank);
}

// Performs the copies of `lanes` for which due(copy) is true, in the order in which they were issued.
template <class Due>
void perform_due(Warp& warp, uint32_t lanes, Due due) {
  std::vector<PendingCopy>& copies = warp.async.copies;
  size_t kept = 0;
  for (const PendingCopy& copy : copies) {
    if (lanes >> copy.lane & 1 && due(copy)) {
      perform(warp, copy);
    } else {
      copies[kept++] = copy;
    }
  }
  copies.resize(kept);
}

void copy(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const Operand size = instruction.operands[2], ignore = instruction.operands[3];
  const bool late = warp.block->launch->launch.late.copies;
  for_lanes(lanes, [&](int lane) {
    const uint32_t to = static_cast<uint32_t>(value_of(warp, instruction.operands[0], lane)) +
                        static_cast<uint32_t>(instruction.immediate);
    const uint64_t from =
        value_of(warp, instruction.operands[1], lane) + static_cast<uint64_t>(instruction.immediate2);
    uint64_t read = size.present() ? value_of(warp, size, lane) : instruction.bytes;
    if (ignore.present() && value_of(warp, ignore, lane)) read = 0;
    if (read > instruction.bytes)
      fail(kLaunchFailure, "cp.async of ", int{instruction.bytes}, " bytes with a source of ", read);
    shared_pointer(*warp.block, to, instruction.bytes, instruction.bytes);  // checks it
    if (from % instruction.bytes != 0)
      fail(kMisalignedAddress, "cp.async from ", hex(from), ", which is not a multiple of ",
           int{instruction.bytes});
    if (read != 0) check_global(warp, from, read, Access::read);
    const PendingCopy pending{from,
                              warp.async.copy_group[lane],
                              to,
                              instruction.bytes,
                              static_cast<uint8_t>(read),
                              static_cast<uint8_t>(lane)};
    if (late) {
      warp.async.copies.push_back(pending);
    } else {
      perform(warp, pending);
    }
  });
}

void commit_group(Warp& warp, const Instruction&, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) { ++warp.async.copy_group[lane]; });
}

void wait_group(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint64_t newest = static_cast<uint64_t>(instruction.immediate);
  perform_due(warp, lanes, [&](const PendingCopy& copy) {
    return copy.group + newest < warp.async.copy_group[copy.lane];
  });
}

void wait_all(Warp& warp, const Instruction&, uint32_t lanes) { finish_copies(warp, lanes); }

// cp.async.mbarrier.arrive: an arrival when the lane's earlier copies are complete. They become so here.
// option: .noinc; without it the count of pending arrivals is raised by this one.
void arrive_after_copies(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  finish_copies(warp, lanes);
  for_lanes(lanes, [&](int lane) {
    const uint32_t address = static_cast<uint32_t>(lane_address(warp, instruction, lane));
    arrive_clock(warp, find_mbarrier(warp, address).clock);
    if (instruction.option) arrive(warp, address, 1);
  });
}

}  // namespace

void finish_copies(Warp& warp, uint32_t lanes) {
  perform_due(warp, lanes, [](const PendingCopy&) { return true; });
}

void perform_drawn_copy(Warp& warp, uint64_t drawn) {
  std::vector<PendingCopy>& copies = warp.async.copies;
  if (copies.empty()) return;
  const auto chosen = copies.begin() + static_cast<std::ptrdiff_t>(drawn % copies.size());
  perform(warp, *chosen);
  copies.erase(chosen);
}

bool decode_cp_async(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  const std::string_view operation = draft.parts[2];
  uint64_t number = 0;
  if (operation == "commit_group") {
    instruction.run = commit_group;
    return true;
  }
  if (operation == "wait_group") {
    instruction.run = wait_group;
    return decode_newest_groups(draft);
  }
  if (operation == "wait_all") {
    instruction.run = wait_all;
    return true;
  }
  if (operation == "mbarrier") {
    instruction.run = arrive_after_copies;
    instruction.option = draft.has("noinc");
    decoder.add_address(draft, draft.arguments.at(0));
    return true;
  }
  if ((operation != "ca" && operation != "cg") || !parse_number(draft.arguments.at(2), 4, &number))
    return false;
  const Address to = decoder.address(draft.arguments[0]), from = decoder.address(draft.arguments[1]);
  if (!to.base.present() || !from.base.present()) return false;
  if (number != 4 && number != 8 && number != 16) return false;
  instruction.run = copy;
  instruction.bytes = static_cast<uint8_t>(number);
  instruction.immediate = to.offset;
  instruction.immediate2 = from.offset;
  draft.operands = {to.base, from.base, {}, {}};
  if (draft.arguments.size() > 3 && !draft.has_prefix("L2::cache_hint")) {
    const Operand operand = decoder.source(draft.arguments[3], 4);
    draft.operands[operand.bytes == 0 ? 3 : 2] = operand;  // a predicate is ignore-src
  }
  return true;
}

}  // namespace ptx

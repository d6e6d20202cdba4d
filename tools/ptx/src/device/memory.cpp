#include "memory.h"

#include <algorithm>
#include <cstring>

#include "heap.h"
#include "module.h"

namespace ptx {
namespace {

bool find_in_module(const LaunchState& launch, uint64_t address, Allocation* allocation) {
  for (const auto& [name, variable] : launch.kernel->module->variables) {
    const uint64_t begin = reinterpret_cast<uint64_t>(variable.data);
    if (address < begin || address >= begin + variable.bytes) continue;
    *allocation = {begin, begin + variable.bytes, !variable.constant};
    return true;
  }
  return false;
}

bool find_in_heap(const LaunchState& launch, uint64_t address, Allocation* allocation) {
  allocation->writable = true;
  return launch.launch.heap && launch.launch.heap->find(address, &allocation->begin, &allocation->end);
}

// Makes the allocation with `address` the warp's latest.
bool find_latest(Warp& warp, uint64_t address, std::string* problem) {
  Allocation allocation;
  if (!find_allocation(*warp.block->launch, address, &allocation, problem)) return false;
  warp.allocation_begin = allocation.begin;
  warp.allocation_end = allocation.end;
  warp.allocation_writable = allocation.writable;
  return true;
}

bool in_latest_allocation(const Warp& warp, uint64_t first, uint64_t end, Access access) {
  return first >= warp.allocation_begin && end <= warp.allocation_end &&
         (access == Access::read || warp.allocation_writable);
}

const char* name_of(Access access) {
  return access == Access::read ? "load" : access == Access::write ? "store" : "atomic operation";
}

uint64_t local_bytes(const Warp& warp) { return warp.local.size() / kWarpSize; }

}  // namespace

bool find_allocation(const LaunchState& launch, uint64_t address, Allocation* allocation,
                     std::string* problem) {
  const uint64_t parameters_end = launch.parameters + static_cast<uint64_t>(launch.kernel->parameter_bytes);
  if (address >= launch.parameters && address < parameters_end) {
    *allocation = {launch.parameters, parameters_end, false};
    return true;
  }
  if (launch.workspace != 0 && address >= launch.workspace && address < launch.workspace + kWorkspaceBytes) {
    *allocation = {launch.workspace, launch.workspace + kWorkspaceBytes, true};
    return true;
  }
  return launch.launch.memory->find(address, &allocation->begin, &allocation->end, &allocation->writable,
                                    problem) ||
         find_in_module(launch, address, allocation) || find_in_heap(launch, address, allocation);
}

void check_global(Warp& warp, uint64_t address, uint64_t bytes, Access access) {
  if (in_latest_allocation(warp, address, address + bytes, access)) return;
  std::string problem;
  if (!find_latest(warp, address, &problem))
    fail(kIllegalAddress, name_of(access), " of ", bytes, " bytes at ", hex(address), ": ",
         problem.empty() ? "not allocated" : problem);
  if (address + bytes > warp.allocation_end)
    fail(kIllegalAddress, name_of(access), " of ", bytes, " bytes at ", hex(address), ", ",
         warp.allocation_end - address, " bytes before the end of an allocation of ",
         warp.allocation_end - warp.allocation_begin, " bytes");
  if (access != Access::read && !warp.allocation_writable)
    fail(kIllegalAddress, name_of(access), " to constant memory at ", hex(address));
}

uint64_t base_address(const Warp& warp, const Instruction& instruction) {
  const Block& block = *warp.block;
  const uint64_t offset = static_cast<uint64_t>(instruction.immediate);
  const uint64_t shared = kSharedBase | uint64_t{block.rank} << kRankShift;
  switch (instruction.base) {
    case Base::parameters:
      return block.launch->parameters + offset;
    case Base::shared:
      return shared + offset;
    case Base::dynamic_shared:
      return shared + block.launch->dynamic_shared_at + offset;
    default:
      return offset;
  }
}

char* shared_pointer(const Block& self, uint32_t address, uint32_t bytes, uint32_t alignment, Block** owner,
                     uint32_t* offset) {
  const uint32_t rank = address >> kRankShift;
  const uint32_t at = address & kOffsetMask;
  if (address % alignment != 0)
    fail(kMisalignedAddress, "access of ", bytes, " bytes to shared memory at ", hex(address),
         ", which is not a multiple of ", alignment);
  const auto& blocks = self.cluster->blocks;
  if (rank >= blocks.size())
    fail(kIllegalAddress, "shared address ", hex(address), " is of block ", rank, " of a cluster of ",
         blocks.size());
  Block& block = *blocks[rank];
  if (rank != self.rank && block.live_threads == 0 && self.launch->launch.checks.exited_blocks)
    fail(kLaunchFailure, "access to shared memory of block ", rank, " of the cluster, which has exited");
  if (at + bytes > block.shared.size() || (at < kSharedBase && !self.launch->code->reserved_shared))
    fail(kIllegalAddress, "access of ", bytes, " bytes to shared memory at ", hex(address),
         ": the block has ", block.shared.size() - kSharedBase, " bytes from ",
         hex(kSharedBase | rank << kRankShift));
  if (owner) *owner = &block;
  if (offset) *offset = at;
  return block.shared.data() + at;
}

namespace {

char* checked_pointer(Warp& warp, Space space, uint64_t address, uint32_t bytes, Access access, int lane) {
  if (space == Space::generic) {
    const uint64_t window = address >> kWindowShift;
    space = window == 1 ? Space::shared_cluster : window == 2 ? Space::local : Space::global;
    if (window == 1) address &= 0xFFFFFFFFu;
    if (window == 2) address &= ~kLocalWindow;
  }
  switch (space) {
    case Space::shared:
      if (static_cast<uint32_t>(address) >> kRankShift != warp.block->rank)
        fail(kIllegalAddress, "access by .shared::cta to the memory of block ",
             static_cast<uint32_t>(address) >> kRankShift, " of the cluster");
      [[fallthrough]];
    case Space::shared_cluster: {
      Block* owner = nullptr;
      uint32_t offset = 0;
      char* pointer =
          shared_pointer(*warp.block, static_cast<uint32_t>(address), bytes, bytes, &owner, &offset);
      note_shared_access(warp, *owner, offset, bytes, access != Access::read, warp.strong);
      if (access != Access::write) owner->shadow.check_load(offset, bytes, owner->rank);
      if (access != Access::read)
        owner->shadow.write(
            offset, bytes, owner == warp.block ? thread_of(warp, lane) : SharedShadow::kForeign, owner->rank);
      return pointer;
    }
    case Space::local:
      if (address % bytes != 0)
        fail(kMisalignedAddress, "misaligned ", name_of(access), " of ", bytes, " bytes of local memory at ",
             hex(address));
      if (address + bytes > local_bytes(warp))
        fail(kIllegalAddress, name_of(access), " of ", bytes, " bytes of local memory at ", hex(address),
             ": the thread has ", local_bytes(warp), " bytes");
      return warp.local.data() + local_bytes(warp) * static_cast<uint64_t>(lane) + address;
    case Space::parameter: {
      const LaunchState& launch = *warp.block->launch;
      const uint64_t end = launch.parameters + static_cast<uint64_t>(launch.kernel->parameter_bytes);
      if (address < launch.parameters || address + bytes > end || access != Access::read)
        fail(kIllegalAddress, name_of(access), " of ", bytes, " bytes outside of the parameters");
      [[fallthrough]];
    }
    default:
      if (address % bytes != 0)
        fail(kMisalignedAddress, "misaligned ", name_of(access), " of ", bytes, " bytes at ", hex(address));
      if (space == Space::parameter) return reinterpret_cast<char*>(address);
      check_global(warp, address, bytes, access);
      if (space != Space::constant)
        note_global_access(warp, address, bytes, access != Access::read, warp.strong);
      return reinterpret_cast<char*>(address);
  }
}

}  // namespace

char* lane_pointer(Warp& warp, Space space, uint64_t address, uint32_t bytes, Access access, int lane) {
  try {
    return checked_pointer(warp, space, address, bytes, access, lane);
  } catch (Fault& fault) {
    fault.lane = lane;
    throw;
  }
}

void lane_addresses(const Warp& warp, const Instruction& instruction, uint32_t lanes, Addresses* addresses) {
  const Operand base = instruction.operands[0];
  const uint64_t offset = static_cast<uint64_t>(instruction.immediate);
  uint64_t* const of = addresses->of;
  if (!base.present()) {
    std::fill_n(of, kWarpSize, base_address(warp, instruction));
  } else if (base.bytes == 4) {
    const uint32_t* from = warp.values<uint32_t>(base);
    for (int lane = 0; lane < kWarpSize; ++lane) of[lane] = from[lane] + offset;
  } else {
    const uint64_t* from = warp.values<uint64_t>(base);
    for (int lane = 0; lane < kWarpSize; ++lane) of[lane] = from[lane] + offset;
  }
  if (lanes == kAllLanes) return;
  const uint64_t active = of[std::countr_zero(lanes)];
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) of[lane] = lanes >> lane & 1 ? of[lane] : active;
}

bool accessible_together(Warp& warp, Space space, const Addresses& addresses, uint32_t bytes, Access access,
                         Together* together) {
  if (warp.block->launch->races) return false;
  uint64_t least = addresses.of[0], most = least, all = least;
  for (int lane = 1; lane < kWarpSize; ++lane) {
    least = std::min(least, addresses.of[lane]);
    most = std::max(most, addresses.of[lane]);
    all |= addresses.of[lane];
  }
  if (all % bytes != 0) return false;
  uint64_t window = 0;
  if (space == Space::generic) {
    window = least & ~(kSharedWindow - 1);
    if (most >> kWindowShift != least >> kWindowShift) return false;
    space = window == kSharedWindow ? Space::shared : window == kLocalWindow ? Space::local : Space::global;
    if (space == Space::global) window = 0;
  }
  least -= window;
  most -= window;
  switch (space) {
    case Space::shared:
    case Space::shared_cluster: {
      Block& block = *warp.block;
      const uint64_t first = uint64_t{block.rank} << kRankShift;
      if (least < first + kSharedBase || most + bytes > first + block.shared.size()) return false;
      together->base = reinterpret_cast<uint64_t>(block.shared.data()) - first - window;
      together->shared = &block;
      return true;
    }
    case Space::local:
      if (most + bytes > local_bytes(warp)) return false;
      together->stride = local_bytes(warp);
      together->base = reinterpret_cast<uint64_t>(warp.local.data()) - window;
      return true;
    case Space::parameter:
      return false;
    default:
      if (!in_latest_allocation(warp, least, most + bytes, access)) {
        std::string problem;
        return find_latest(warp, least, &problem) && in_latest_allocation(warp, least, most + bytes, access);
      }
      return true;
  }
}

}  // namespace ptx

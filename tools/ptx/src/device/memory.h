// Addresses of lanes, and the memory behind them.
#pragma once

#include "block.h"
#include "fault.h"
#include "warp.h"

namespace ptx {

enum class Access : uint8_t { read, write, update };  // update: of an atomic operation

struct Allocation {
  uint64_t begin = 1, end = 0;
  bool writable = false;
};
// The allocation with a global address: of the host, of a variable of the module, or of the launch's
// parameters. False, and why in `problem`: there is none.
bool find_allocation(const LaunchState& launch, uint64_t address, Allocation* allocation,
                     std::string* problem);

// The allocation of a global address becomes the warp's latest. Faults if the bytes are outside of it.
void check_global(Warp& warp, uint64_t address, uint64_t bytes, Access access);

// The address that an operand without a register stands for.
uint64_t base_address(const Warp& warp, const Instruction& instruction);

// The address in operand 0 plus `immediate`.
inline uint64_t lane_address(const Warp& warp, const Instruction& instruction, int lane) {
  const Operand base = instruction.operands[0];
  if (!base.present()) return base_address(warp, instruction);
  return value_of(warp, base, lane) + static_cast<uint64_t>(instruction.immediate);
}

// The memory of `bytes` at `address` in the space of the instruction, for one lane. Faults if the lane may
// not access it.
char* lane_pointer(Warp& warp, Space space, uint64_t address, uint32_t bytes, Access access, int lane);

// Addresses of all lanes; a lane that is not active has that of one which is.
struct Addresses {
  uint64_t of[kWarpSize];
};
void lane_addresses(const Warp& warp, const Instruction& instruction, uint32_t lanes, Addresses* addresses);

// Accesses of `bytes` by several lanes that are all valid, and in one allocation, in the block's shared
// memory, or in local memory.
struct Together {
  uint64_t base = 0;  // a lane's host pointer is base + its address + its number * stride
  uint64_t stride = 0;
  Block* shared = nullptr;  // whose shared memory it is
  char* pointer(uint64_t address, int lane) const {
    return reinterpret_cast<char*>(base + address + stride * static_cast<uint64_t>(lane));
  }
};

// False: they are not; each lane takes lane_pointer(), which faults with the details where one is invalid.
bool accessible_together(Warp& warp, Space space, const Addresses& addresses, uint32_t bytes, Access access,
                         Together* together);

}  // namespace ptx

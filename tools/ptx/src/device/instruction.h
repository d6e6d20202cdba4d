// A decoded instruction, and the code of a kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

struct Warp;
struct Instruction;

// Executes an instruction for the lanes of the mask.
using Handler = void (*)(Warp& warp, const Instruction& instruction, uint32_t lanes);

// How an instruction changes the flow of a warp.
enum class Flow : uint8_t {
  next,            // the handler runs, then the next instruction
  branch,          // to `target`
  branch_indexed,  // to one of `numbers`
  exit,
  attempt,   // the handler sets Warp::fruitless if the instruction may be one of a loop that waits
  converge,  // waits for the lanes that it needs: all of the warp (`aligned`), or those of a mask
  barrier,   // bar, barrier
  poll,      // the handler may set lanes of Warp::yielded, which then run later
  sleep,     // like poll: nanosleep
  wait,      // like poll, and lanes of Warp::yielded execute it again
  trap,      // trap; option: what is not supported, and `immediate` the index in Code::problems
};

// A state space, for addresses.
enum class Space : uint8_t { generic, global, constant, shared, shared_cluster, local, parameter };

// A register of a warp: the values of its 32 lanes lie one after another.
struct Operand {
  int32_t at = -1;    // offset in the registers of a warp, in bytes; -1: the operand is absent
  int32_t bytes = 0;  // of a lane; 0: a predicate, which is one word with a bit for each lane
  bool present() const { return at >= 0; }
};

// What a base without a register is relative to.
enum class Base : uint8_t { absolute, parameters, shared, dynamic_shared };

// The fields below `flow` mean what the instruction's family says in its file.
struct Instruction {
  Handler run = nullptr;
  const Operand* operands = nullptr;
  const int32_t* numbers = nullptr;  // branch targets, sizes
  int64_t immediate = 0;             // often the offset of an address
  int64_t immediate2 = 0;
  int32_t guard = -1;  // offset of the predicate; -1: none
  int32_t target = -1;
  Flow flow = Flow::next;
  bool guard_negated = false;
  bool aligned = false;  // all lanes of the warp must execute it together
  bool whole = false;    // and none may have exited
  bool loads = false;    // from memory that others may change
  bool changes = false;  // may change something besides registers; of ld, st and atom Warp::changed says so
  bool option = false;
  bool option2 = false;
  uint8_t bytes = 0;     // of an element
  uint8_t elements = 1;  // of a vector
  uint8_t variant = 0;
  Space space = Space::generic;
  Base base = Base::absolute;
};
static_assert(sizeof(Instruction) <= 64);

// A line of a source file, and the line into which the compiler inlined its function.
struct Location {
  int file = 0, line = 0;
  int inlined_at = -1;  // index in Code::locations
};

// Where an instruction comes from.
struct Source {
  std::string_view text;
  int location = -1;  // index in Code::locations; -1: not known
  int form = 0;
};

// An immediate operand: a register with the same value in all warps.
struct Constant {
  int32_t at;
  uint8_t bytes;
  uint64_t value;
};

// A special register, such as %tid.x, which is filled when a warp starts.
enum class Special : uint8_t {
  tid,
  ntid,
  ctaid,
  nctaid,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge,
  lanemask_eq,
  dynamic_smem_size,
  total_smem_size,
  reserved_smem,
  clusterid,
  nclusterid,
  cluster_ctaid,
  cluster_nctaid,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  workspace_low,
  workspace_high,
  zero,
};

struct SpecialRegister {
  int32_t at;
  Special special;
  int dimension;  // of those with .x, .y, .z
};

// Registers begin at multiples of this, except predicates.
inline constexpr int kRegisterUnit = 64;

struct Code {
  std::vector<Instruction> instructions;
  std::vector<Source> sources;  // of each instruction
  std::vector<Operand> operands;
  std::vector<int32_t> numbers;
  std::vector<Constant> constants;
  std::vector<SpecialRegister> specials;
  std::vector<Location> locations;
  std::vector<std::string> problems;  // of instructions that are not supported
  // Registers that wgmma reads and writes, and the index of each in this list, by at / kRegisterUnit; -1:
  // none.
  std::vector<Operand> product_registers;
  std::vector<int32_t> product_index;
  int register_bytes = 0;        // of a warp
  uint64_t serial = 0;           // different for each kernel
  bool async_reads = false;      // the asynchronous proxy reads shared memory: wgmma, bulk copies
  bool reserved_shared = false;  // the kernel uses %reserved_smem_offset

  mutable std::atomic<uint64_t> launches{0};
  mutable std::vector<uint64_t> executed;  // how often each instruction was; empty: none was counted
};

}  // namespace ptx

// The products of a warpgroup that are in flight.
#pragma once

#include <simt/wgmma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fiber.h"

namespace simt {

class AsyncState;

inline constexpr unsigned kWarpgroup = 128;

// The accumulators of all threads, d[64][n], and their registers.
struct Accumulators {
  std::array<float*, kWarpgroup> registers;
  int n = 0;
  std::vector<float> d;  // row by row
  int pending = 0;       // products that have yet to be computed
};

struct PendingProduct {
  WarpgroupProduct product;  // that of thread 0; its pointers are not used
  // Of operands in shared memory: their lines of 16 bytes at the issue.
  std::vector<unsigned char> a_lines, b_lines;
  // Of a in registers: the 4 registers of each thread, and their values at the issue.
  std::vector<const uint32_t*> a_registers;
  std::vector<uint32_t> a;
  size_t accumulators;  // index
  unsigned group;
  Place place;
};

struct Warpgroup {
  // The meeting of the threads.
  unsigned arrived = 0;
  const char* instruction = nullptr;
  std::array<const void*, kWarpgroup> records = {};
  std::array<Fiber*, kWarpgroup> fibers = {};

  std::vector<PendingProduct> products;  // not waited for, oldest first
  // Products that the last wait covered. Each warp waits for its own part only: the others may still read the
  // operands until a thread of each warp has returned from the wait. `returned`: the bits of those warps.
  std::vector<PendingProduct> ending;
  unsigned returned = 0;
  std::vector<Accumulators> accumulators;
};

// An operand in shared memory. Its element (i, k) is loaded to to[i * i_step + k * k_step], for i < count and
// the steps of k of one instruction.
struct OperandShape {
  const char* name;  // "a" or "b"
  TensorFormat format;
  bool transposed, negated;
  int count, i_step, k_step;
};
// At the issue: the lines of the operand. Raises a fault if they are not all in shared memory, if a thread
// has written them without a fence (late mode), or if a tensor copy has written them with another swizzle.
std::vector<unsigned char> read_operand(AsyncState& state, uint64_t descriptor, const OperandShape& shape,
                                        const Place& place);
void load_operand(float* to, const std::vector<unsigned char>& lines, uint64_t descriptor,
                  const OperandShape& shape);
// After the waits of all warps: raises a fault if the lines have changed.
void check_operand(const std::vector<unsigned char>& lines, uint64_t descriptor, const OperandShape& shape,
                   const Place& place);
// Whether a byte of the operand is in [begin, end), offsets in shared memory.
bool operand_meets(uint64_t descriptor, const OperandShape& shape, size_t begin, size_t end);

// Registers of a: reads those of one thread at the issue; their values are now those of the fence; raises a
// fault if they have changed at the wait.
void read_registers(PendingProduct& pending, unsigned thread, Fiber& fiber, const uint32_t* registers);
void fence_registers(Fiber& fiber);
void check_registers(const PendingProduct& pending);

// In a build that observes kernels: the reads of an operand by the warpgroup, at an instruction's address.
void observe_operand(uint64_t descriptor, const OperandShape& shape, unsigned warpgroup,
                     const void* instruction);

}  // namespace simt

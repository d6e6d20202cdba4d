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
  // Of a in registers: the 4 registers of each thread, and their values at the issue.
  std::vector<const uint32_t*> a_registers;
  std::vector<uint32_t> a;
  size_t accumulators;       // index
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
  std::vector<Accumulators> accumulators;
};

// Loads an operand from shared memory: element (i, k) to to[i * i_step + k * k_step], for i < count and the
// steps of k of one instruction.
struct OperandShape {
  const char* name;  // "a" or "b"
  TensorFormat format;
  bool transposed, negated;
  int count, i_step, k_step;
};
void load_operand(AsyncState& state, float* to, uint64_t descriptor, const OperandShape& shape,
                  const Place& place);

// In a build that observes kernels: the reads of an operand by the warpgroup, at an instruction's address.
void observe_operand(uint64_t descriptor, const OperandShape& shape, unsigned warpgroup,
                     const void* instruction);

}  // namespace simt

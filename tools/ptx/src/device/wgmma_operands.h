// What a decoded wgmma.mma_async means, and its matrices in shared memory. Operands: d, a (4 registers or a
// descriptor), b (a descriptor), the predicate scale-d, and the metadata of a sparse product. immediate: the
// type of A, variant: that of B, immediate2: n. elements: registers of A, 1 for a descriptor. bytes: the type
// of D; option: .satfinite; option2: the product is sparse.
#pragma once

#include <cstdint>

#include "tensor_elements.h"
#include "warp.h"

namespace ptx {

namespace wgmma_number {  // indices in Instruction::numbers
enum { scale_a, scale_b, transpose_a, transpose_b, selector };
}

inline constexpr int kWarpRows = 16, kUnitWords = 4;

inline Type type_of_a(const Instruction& instruction) { return static_cast<Type>(instruction.immediate); }
inline Type type_of_b(const Instruction& instruction) { return static_cast<Type>(instruction.variant); }
inline Type type_of_d(const Instruction& instruction) { return static_cast<Type>(instruction.bytes); }
inline int columns_of(const Instruction& instruction) { return static_cast<int>(instruction.immediate2); }
inline int accumulators_of(const Instruction& instruction) {  // registers
  return columns_of(instruction) / (type_of_d(instruction) == Type::f16 ? 4 : 2);
}
// k of A as it is stored, and of the product.
inline int stored_k_of(const Instruction& instruction) {
  return 8 * elements_in_word(type_of_a(instruction));
}
inline int k_of(const Instruction& instruction) {
  return stored_k_of(instruction) * (instruction.option2 ? 2 : 1);
}

// A matrix in shared memory by its descriptor (ISA, "Matrix Descriptor Format", "Strides").
struct Descriptor {
  uint32_t start, leading, stride;  // bytes
  int swizzle;                      // 0 none, 1: 128, 2: 64, 3: 32 bytes
  explicit Descriptor(uint64_t bits)
      : start(static_cast<uint32_t>(bits & 0x3FFF) << 4),
        leading(static_cast<uint32_t>(bits >> 16 & 0x3FFF) << 4),
        stride(static_cast<uint32_t>(bits >> 32 & 0x3FFF) << 4),
        swizzle(static_cast<int>(bits >> 62)) {}
  // 16-byte units in a row of the swizzled pattern.
  uint32_t units() const { return swizzle == 0 ? 1 : 16u >> swizzle; }
  uint32_t swizzled(uint32_t address) const {
    return swizzle == 0 ? address : address ^ ((address >> 7 & (units() - 1)) << 4);
  }
};

// The address of the 16 bytes with the element (mn, k), in the canonical layouts: in K-major order ((8, m),
// (t, 2k)), and in MN-major order ((t, units, m), (8, k)), where t elements have 16 bytes.
inline uint32_t unit_address(const Descriptor& matrix, int mn, int k, int t, bool mn_major) {
  const int units = static_cast<int>(matrix.units());
  const auto u = [](int value) { return static_cast<uint32_t>(value); };
  uint32_t offset = 0;
  if (!mn_major) {
    offset = u(mn % 8 * units * 16) + u(mn / 8) * matrix.stride +
             u(k / t) * (matrix.swizzle == 0 ? matrix.leading : 16);
  } else if (matrix.swizzle == 0) {
    offset = u(mn / t) * matrix.stride + u(k % 8 * 16) + u(k / 8) * matrix.leading;
  } else {
    offset = u(mn / t % units * 16) + u(mn / (t * units)) * matrix.leading + u(k % 8 * units * 16) +
             u(k / 8) * matrix.stride;
  }
  return matrix.swizzled(matrix.start + offset);
}

// Faults if the 16 bytes are outside of the block's shared memory, or nobody wrote them.
const char* unit_pointer(const Block& block, uint32_t address);

// D = A B + D of one warp, without the checks between proxies.
void compute_product(const Warp& warp, const PendingProduct& product);

}  // namespace ptx

// Elements of the operands of tensor cores, packed in words of registers or of shared memory.
#pragma once

#include "float_bits.h"
#include "types.h"

namespace ptx {

inline constexpr int kMostInWord = 32;

// Elements in a word of 32 bits. 0: tensor cores have no operands of this type.
int elements_in_word(Type type);

void unpack_narrow(Type type, uint32_t word, float* elements);  // of less than 16 bits

// Their values, the lowest bits first. A float holds each of them exactly.
inline void unpack(Type type, uint32_t word, float* elements) {
  switch (type) {
    case Type::tf32:
      elements[0] = tf32_operand(word);
      break;
    case Type::f16:
      for (int e = 0; e < 2; ++e) elements[e] = half_to_float(static_cast<uint16_t>(word >> (16 * e)));
      break;
    case Type::bf16:
      for (int e = 0; e < 2; ++e) elements[e] = bfloat_to_float(static_cast<uint16_t>(word >> (16 * e)));
      break;
    default:
      unpack_narrow(type, word, elements);
  }
}

}  // namespace ptx

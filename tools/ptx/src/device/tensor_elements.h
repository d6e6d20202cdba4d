// Elements of the operands of tensor cores, packed in words of registers or of shared memory.
#pragma once

#include "types.h"

namespace ptx {

inline constexpr int kMostInWord = 32;

// Elements in a word of 32 bits. 0: tensor cores have no operands of this type.
int elements_in_word(Type type);

// Their values, the lowest bits first. A float holds each of them exactly.
void unpack(Type type, uint32_t word, float* elements);

}  // namespace ptx

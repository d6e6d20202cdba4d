// Numbers whose first byte is the highest.
#pragma once

#include <cstdint>

namespace rondo {

inline uint32_t big_endian_word(const uint8_t* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

}  // namespace rondo

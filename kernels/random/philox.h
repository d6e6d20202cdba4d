// Philox4x32-10: a counter-based random number generator.
//
// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011). A bijection of 128-bit
// counters with a 64-bit key: ten rounds of two 32 x 32 -> 64 bit products. It has no state: block i of a
// sequence is a function of i. The threads may therefore run in any order, and a CPU computes the same bits.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace rondo {

struct PhiloxBlock {
  uint32_t v[4];
};

__host__ __device__ inline PhiloxBlock philox4x32_10(PhiloxBlock counter, uint64_t key) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;  // from the golden ratio and from sqrt(3) - 1
  auto key0 = static_cast<uint32_t>(key), key1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter.v[0], product1 = kMultiplier1 * counter.v[2];
    counter = {{static_cast<uint32_t>(product1 >> 32) ^ counter.v[1] ^ key0, static_cast<uint32_t>(product1),
                static_cast<uint32_t>(product0 >> 32) ^ counter.v[3] ^ key1,
                static_cast<uint32_t>(product0)}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return counter;
}

// Block `index` of a sequence. The low half of the counter is the index, the high half the sequence.
__host__ __device__ inline PhiloxBlock philox_block(uint64_t seed, uint64_t sequence, uint64_t index) {
  return philox4x32_10({{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                         static_cast<uint32_t>(sequence), static_cast<uint32_t>(sequence >> 32)}},
                       seed);
}

}  // namespace rondo

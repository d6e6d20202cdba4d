// A random permutation of 0 ... size - 1. Each element is computed independently, and nothing is stored.
//
// The algorithm is the swap-or-not shuffle (Hoang, Morris, Rogaway: An enciphering scheme based on a card
// shuffle, CRYPTO 2012). A round pairs every number i with k - i (mod size), for a random k, and swaps the
// two or not, according to one random bit per pair. This is a bijection for any size, and so is a chain of
// rounds. Both random values come from Philox with the seed as the key; the counter holds the epoch, the
// round, and the pair.
//
// Uniformity: a round leaves an element in place with probability 1/2. After 48 rounds the probability that
// any of 60 000 elements has never been swapped is 2e-10. Over the epochs, all permutations of up to 6
// elements are equally frequent. For larger sizes all pairs of position and element are (chi-square, in the
// tests). A 64-bit seed cannot reach all size! permutations; this holds for every seeded shuffle.
#pragma once

#include <cuda_runtime.h>

#include <rondo/kernels/random/philox.h>

#include <cstdint>

namespace rondo {

class Permutation {
 public:
  // 1 <= size < 2^31
  __host__ __device__ Permutation(int32_t size, uint64_t seed, uint64_t epoch)
      : size_(static_cast<uint32_t>(size)), seed_(seed), epoch_(epoch) {}

  // The element at position i.
  __host__ __device__ int32_t operator()(int32_t i) const {
    auto value = static_cast<uint32_t>(i);
    for (uint32_t four = 0; four < kRounds / 4; ++four) {
      const PhiloxBlock sums = random(four, kNoPair);
      for (uint32_t r = 0; r < 4; ++r) {
        const auto sum =
            static_cast<uint32_t>(static_cast<uint64_t>(sums.v[r]) * size_ >> 32);  // in [0, size)
        const uint32_t partner = sum >= value ? sum - value : sum + size_ - value;
        const uint32_t pair = value > partner ? value : partner;
        if (random(4 * four + r, pair).v[0] & 1) value = partner;
      }
    }
    return static_cast<int32_t>(value);
  }

 private:
  static constexpr uint32_t kRounds = 48;
  static constexpr uint32_t kNoPair = 0xFFFFFFFF;  // larger than every element

  __host__ __device__ PhiloxBlock random(uint32_t round, uint32_t pair) const {
    return philox4x32_10({{pair, round, static_cast<uint32_t>(epoch_), static_cast<uint32_t>(epoch_ >> 32)}},
                         seed_);
  }

  uint32_t size_;
  uint64_t seed_, epoch_;
};

}  // namespace rondo

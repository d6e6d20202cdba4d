// A random permutation of 0 ... size - 1 that is computed element by element, with nothing stored.
//
// A Feistel network is a bijection of the numbers of b bits whatever its round function is: (left, right)
// becomes (right, left ^ F(right)), which can be undone. With a random F a few rounds make it a random
// permutation (Luby, Rackoff 1988); F is Philox here, keyed by the seed, with the round and the epoch in its
// counter. Numbers from size up to the next power of two are walked over: the network is applied again until
// the result is below size, which keeps it a bijection (cycle walking; Black, Rogaway 2002) and takes less
// than two turns on average.
//
// Uniformity: the permutations of up to 5 elements occur equally often over the epochs (chi-square, in the
// tests), and so do position and element for larger sizes. As with any seed of 64 bits, not every one of
// size! permutations can occur.
#pragma once

#include <cuda_runtime.h>

#include <rondo/kernels/random/philox.h>

#include <cstdint>

namespace rondo {

class Permutation {
 public:
  // 1 <= size < 2^31
  __host__ __device__ Permutation(int32_t size, uint64_t seed, uint64_t epoch)
      : size_(static_cast<uint32_t>(size)), seed_(seed), epoch_(epoch) {
    int bits = 2;
    while ((uint64_t{1} << bits) < size_) ++bits;
    left_bits_ = bits / 2;
    right_bits_ = bits - left_bits_;
  }

  __host__ __device__ int32_t operator()(int32_t i) const {
    auto value = static_cast<uint32_t>(i);
    do value = network(value);
    while (value >= size_);
    return static_cast<int32_t>(value);
  }

 private:
  static constexpr int kRounds = 8;

  // The halves may differ by a bit: they change their widths as they change their places, an even number of
  // times.
  __host__ __device__ uint32_t network(uint32_t value) const {
    uint32_t left = value >> right_bits_, right = value & ((1u << right_bits_) - 1);
    int left_bits = left_bits_;
    for (uint32_t round = 0; round < kRounds; ++round) {
      const PhiloxBlock random = philox4x32_10(
          {{right, round, static_cast<uint32_t>(epoch_), static_cast<uint32_t>(epoch_ >> 32)}}, seed_);
      const uint32_t mixed = left ^ (random.v[0] & ((1u << left_bits) - 1));
      left = right;
      right = mixed;
      left_bits = left_bits_ + right_bits_ - left_bits;
    }
    return left << right_bits_ | right;
  }

  uint32_t size_;
  int left_bits_, right_bits_;
  uint64_t seed_, epoch_;
};

}  // namespace rondo

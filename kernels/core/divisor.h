// Division by a number that the host knows, for kernels: a multiplication and a shift. A GPU has no
// instruction for the division of integers.
//
// Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994. With
// 2^(l-1) < d <= 2^l and m = ceil(2^(31+l) / d), n / d = n m / 2^(31+l) rounded down, for 0 <= n < 2^31: m d
// exceeds 2^(31+l) by less than 2^l. m has 32 bits.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstdint>

namespace rondo {

class Divisor {
 public:
  Divisor() = default;  // 1
  // From 1 to 2^31 - 1.
  explicit Divisor(int divisor)
      : divisor_(static_cast<uint32_t>(divisor)),
        shift_(31 + std::bit_width(divisor_ - 1)),
        factor_(static_cast<uint32_t>(((uint64_t{1} << shift_) + divisor_ - 1) / divisor_)) {}

  struct Result {
    int quotient, remainder;
  };
  // `number`: from 0 to 2^31 - 1.
  __host__ __device__ Result divide(int number) const {
    const auto n = static_cast<uint32_t>(number);
    const auto quotient = static_cast<uint32_t>(uint64_t{n} * factor_ >> shift_);
    return {static_cast<int>(quotient), static_cast<int>(n - quotient * divisor_)};
  }

 private:
  uint32_t divisor_ = 1;
  int shift_ = 31;
  uint32_t factor_ = uint32_t{1} << 31;
};

}  // namespace rondo

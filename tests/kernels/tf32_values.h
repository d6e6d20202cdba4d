// Values of tf32, which has 10 bits after the point.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace rondo::test {

// The nearest value of tf32; of two, that with the greater magnitude.
inline float nearest_tf32(float value) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000u) & 0xFFFFE000u);
}
inline std::vector<float> nearest_tf32(std::vector<float> values) {
  for (float& value : values) value = nearest_tf32(value);
  return values;
}

// Changes the last bit of values between two of tf32. mma.sync takes to_tf32(), which rounds them away from
// zero; tensor maps round them to even.
inline std::vector<float> without_ties(std::vector<float> values) {
  for (float& value : values)
    if (const auto bits = std::bit_cast<uint32_t>(value); (bits & 0x1FFFu) == 0x1000u)
      value = std::bit_cast<float>(bits | 1u);
  return values;
}

}  // namespace rondo::test

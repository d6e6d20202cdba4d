// 8-bit floats (PTX ISA, "Alternate Floating-Point Data Formats"): e4m3 has no infinities, and one NaN of
// each sign.
#include "narrow_float.h"

#include <array>
#include <cmath>

#include "float_bits.h"
#include "warp.h"

namespace ptx {
namespace {

struct E4m3 {
  static constexpr int kMantissa = 3, kBias = 7;
  static constexpr double kMost = 448;
  static constexpr uint8_t kNan = 0x7F, kMostBits = 0x7E;
  static bool is_nan(uint8_t bits) { return (bits & 0x7F) == 0x7F; }
  static bool is_infinite(uint8_t) { return false; }
};
struct E5m2 {
  static constexpr int kMantissa = 2, kBias = 15;
  static constexpr double kMost = 57344;
  static constexpr uint8_t kNan = 0x7F, kMostBits = 0x7B;
  static bool is_nan(uint8_t bits) { return (bits & 0x7F) > 0x7C; }
  static bool is_infinite(uint8_t bits) { return (bits & 0x7F) == 0x7C; }
};

template <class Format>
float to_float(uint8_t bits) {
  const int exponent = bits >> Format::kMantissa & ((1 << (7 - Format::kMantissa)) - 1);
  const int mantissa = bits & ((1 << Format::kMantissa) - 1);
  float value;
  if (Format::is_nan(bits)) {
    value = std::numeric_limits<float>::quiet_NaN();
  } else if (Format::is_infinite(bits)) {
    value = std::numeric_limits<float>::infinity();
  } else {
    const int implied = exponent == 0 ? 0 : 1 << Format::kMantissa;
    value = std::ldexp(static_cast<float>(implied + mantissa),
                       (exponent == 0 ? 1 : exponent) - Format::kBias - Format::kMantissa);
  }
  return bits & 0x80 ? -value : value;
}

// Rounded to nearest even; .satfinite: what is larger than the largest number becomes it.
template <class Format>
uint8_t from_float(float value, bool relu) {
  if (value != value) return Format::kNan;
  if (relu && !(value > 0)) value = 0;
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  const double magnitude = std::fabs(double{value});
  if (magnitude >= Format::kMost) return sign | Format::kMostBits;
  const int least = 1 - Format::kBias;
  const int scale = std::max(std::ilogb(magnitude), least) - Format::kMantissa;  // of the last bit
  const double units = std::nearbyint(std::ldexp(magnitude, -scale));
  // Units of the next power of two carry into the exponent.
  const int steps = static_cast<int>(units) + ((scale + Format::kMantissa - least) << Format::kMantissa);
  return sign | static_cast<uint8_t>(std::min(steps, int{Format::kMostBits}));
}

template <class Format>
void from_floats(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const float* a = values<float>(warp, instruction, 1);
  const float* b = values<float>(warp, instruction, 2);
  uint16_t* result = values<uint16_t>(warp, instruction, 0);
  for_lanes(lanes, [&](int lane) {
    result[lane] = static_cast<uint16_t>(from_float<Format>(a[lane], instruction.option2) << 8 |
                                         from_float<Format>(b[lane], instruction.option2));
  });
}
template <class Format, class Source>
void from_pair(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t* a = values<uint32_t>(warp, instruction, 1);
  uint16_t* result = values<uint16_t>(warp, instruction, 0);
  for_lanes(lanes, [&](int lane) {
    const float low = Source::to_float(static_cast<uint16_t>(a[lane]));
    const float high = Source::to_float(static_cast<uint16_t>(a[lane] >> 16));
    result[lane] = static_cast<uint16_t>(from_float<Format>(high, instruction.option2) << 8 |
                                         from_float<Format>(low, instruction.option2));
  });
}
template <class Format>
void to_halves(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint16_t* a = values<uint16_t>(warp, instruction, 1);
  uint32_t* result = values<uint32_t>(warp, instruction, 0);
  const auto one = [&](uint8_t bits) -> uint32_t {
    float value = to_float<Format>(bits);
    if (instruction.option2 && !(value > 0) && value == value) value = 0;
    return float_to_half(value);
  };
  for_lanes(lanes, [&](int lane) {
    result[lane] = one(static_cast<uint8_t>(a[lane] >> 8)) << 16 | one(static_cast<uint8_t>(a[lane]));
  });
}

template <class Format>
std::array<float, 256> all_values() {
  std::array<float, 256> values;
  for (size_t bits = 0; bits < values.size(); ++bits)
    values[bits] = to_float<Format>(static_cast<uint8_t>(bits));
  return values;
}

}  // namespace

float e4m3_to_float(uint8_t bits) {
  static const std::array<float, 256> values = all_values<E4m3>();
  return values[bits];
}
float e5m2_to_float(uint8_t bits) {
  static const std::array<float, 256> values = all_values<E5m2>();
  return values[bits];
}

bool decode_narrow(Decoder& decoder, Draft& draft, Type from, Type to) {
  Instruction& instruction = draft.instruction;
  if (to == Type::e4m3x2 || to == Type::e5m2x2) {
    const bool e4m3 = to == Type::e4m3x2;
    if (from == Type::f32) {
      instruction.run = e4m3 ? from_floats<E4m3> : from_floats<E5m2>;
    } else if (from == Type::f16x2) {
      instruction.run = e4m3 ? from_pair<E4m3, Half> : from_pair<E5m2, Half>;
    } else {
      return false;
    }
    add_operands(decoder, draft, from == Type::f32 ? 2 : 1, from);
    return true;
  }
  if (to == Type::f16x2 && (from == Type::e4m3x2 || from == Type::e5m2x2)) {
    instruction.run = from == Type::e4m3x2 ? to_halves<E4m3> : to_halves<E5m2>;
    add_operands(decoder, draft, 1, from);
    return true;
  }
  return false;
}

}  // namespace ptx

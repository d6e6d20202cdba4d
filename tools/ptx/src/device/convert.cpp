// cvt (PTX ISA 9.7.9.21) and cvta, isspacep (9.7.9.19, 9.7.9.20).
#include <cmath>

#include "narrow_float.h"

#include "block.h"
#include "elementwise.h"
#include "fault.h"
#include "float_bits.h"
#include "instruction_table.h"
#include "memory.h"

namespace ptx {
namespace {

enum Rounding : uint8_t { none, rn, rz, rm, rp, rna, rni, rzi, rmi, rpi };
constexpr std::string_view kRoundings[] = {"", "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"};

struct Conversion {
  Type from, to;
  uint8_t rounding;
  bool saturate;  // .sat, .satfinite
  bool relu;
  bool ftz;
};

double round_to_integer(double value, uint8_t rounding) {
  switch (rounding) {
    case rni:
      return std::nearbyint(value);
    case rmi:
      return std::floor(value);
    case rpi:
      return std::ceil(value);
    default:
      return std::trunc(value);
  }
}

struct Limits {
  __int128 least, most;
};
Limits limits_of(Type type) {
  const int bits = 8 * type_bytes(type);
  const __int128 one = 1;
  return is_signed(type) ? Limits{-(one << (bits - 1)), (one << (bits - 1)) - 1}
                         : Limits{0, (one << bits) - 1};
}

// The value of an integer, extended by its sign.
__int128 integer_of(uint64_t bits, Type type) {
  switch (type) {
    case Type::u8:
    case Type::b8:
      return static_cast<uint8_t>(bits);
    case Type::s8:
      return static_cast<int8_t>(bits);
    case Type::u16:
    case Type::b16:
      return static_cast<uint16_t>(bits);
    case Type::s16:
      return static_cast<int16_t>(bits);
    case Type::u32:
    case Type::b32:
      return static_cast<uint32_t>(bits);
    case Type::s32:
      return static_cast<int32_t>(bits);
    case Type::s64:
      return static_cast<int64_t>(bits);
    default:
      return bits;
  }
}

uint64_t from_integer_to_integer(__int128 value, const Conversion& conversion) {
  if (conversion.saturate) {
    const Limits limits = limits_of(conversion.to);
    value = value < limits.least ? limits.least : value > limits.most ? limits.most : value;
  }
  // Of a destination register that is wider, the rest are copies of the sign.
  return static_cast<uint64_t>(integer_of(static_cast<uint64_t>(value), conversion.to));
}

// NaN becomes 0, and 0x80...0 in 64 bits, as on GPUs.
uint64_t from_float_to_integer(double value, const Conversion& conversion) {
  const double whole = round_to_integer(value, conversion.rounding);
  const Type to = conversion.to;
  if (whole != whole) return type_bytes(to) == 8 ? uint64_t{1} << 63 : 0;
  const Limits limits = limits_of(to);
  if (whole <= static_cast<double>(limits.least)) return static_cast<uint64_t>(limits.least);
  if (whole >= static_cast<double>(limits.most)) return static_cast<uint64_t>(limits.most);
  return static_cast<uint64_t>(static_cast<__int128>(whole));
}

// `nearest` is the float next to the exact value; `over` and `under`: it is above or below it.
float directed(float nearest, bool over, bool under, uint8_t rounding) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (rounding == rz && (nearest > 0 ? over : under)) return std::nextafter(nearest, 0.0f);
  if (rounding == rm && over) return std::nextafter(nearest, -kInfinity);
  if (rounding == rp && under) return std::nextafter(nearest, kInfinity);
  return nearest;
}

// The 16 bits of `value` in the format.
template <class Format>
uint16_t directed_half(double value, uint8_t rounding) {
  const uint16_t nearest = Format::from(value);
  const double back = Format::to_float(nearest);
  if (!std::isfinite(value) || back == value) return nearest;
  const bool over = back > value, negative = nearest & 0x8000;
  const bool down = over && (rounding == rm || (rounding == rz && !negative));
  const bool up = !over && (rounding == rp || (rounding == rz && negative));
  if (!down && !up) return nearest;
  return static_cast<uint16_t>(up == negative ? nearest - 1 : nearest + 1);
}

uint64_t from_integer_to_float(__int128 value, const Conversion& conversion) {
  switch (conversion.to) {
    case Type::f32: {
      const float nearest = static_cast<float>(value);
      const __int128 back = static_cast<__int128>(nearest);
      return float_to_bits(directed(nearest, back > value, back < value, conversion.rounding));
    }
    case Type::f64: {
      double nearest = static_cast<double>(value);
      const __int128 back = static_cast<__int128>(nearest);
      if (conversion.rounding == rz && (value > 0 ? back > value : back < value))
        nearest = std::nextafter(nearest, 0.0);
      if (conversion.rounding == rm && back > value) nearest = std::nextafter(nearest, -HUGE_VAL);
      if (conversion.rounding == rp && back < value) nearest = std::nextafter(nearest, HUGE_VAL);
      return std::bit_cast<uint64_t>(nearest);
    }
    default: {
      // Integers above 2^53 are infinite or rounded to 16 bits from far away: a double with a sticky bit.
      const double nearest = static_cast<double>(value);
      const double exact = odd_sum(nearest, static_cast<double>(value - static_cast<__int128>(nearest)));
      return conversion.to == Type::bf16 ? directed_half<BFloat>(exact, conversion.rounding)
                                         : directed_half<Half>(exact, conversion.rounding);
    }
  }
}

double float_value(uint64_t bits, Type type) {
  switch (type) {
    case Type::f16:
      return half_to_float(static_cast<uint16_t>(bits));
    case Type::bf16:
      return bfloat_to_float(static_cast<uint16_t>(bits));
    case Type::f64:
      return std::bit_cast<double>(bits);
    default:
      return bits_to_float(static_cast<uint32_t>(bits));
  }
}

uint64_t to_float(double value, const Conversion& conversion) {
  if (conversion.rounding >= rni) value = round_to_integer(value, conversion.rounding);
  if (conversion.saturate) value = saturate(value);
  if (conversion.relu && !(value > 0)) value = value != value ? value : 0;
  const float nearest = static_cast<float>(value);
  switch (conversion.to) {
    case Type::f16:
      return directed_half<Half>(value, conversion.rounding);
    case Type::bf16:
      return directed_half<BFloat>(value, conversion.rounding);
    case Type::tf32:
      if (conversion.rounding == rna) return float_to_bits(to_tf32_ties_away(nearest));
      return conversion.rounding == rz ? float_to_bits(nearest) & kTf32Mask
                                       : float_to_bits(to_tf32_ties_even(nearest));
    case Type::f32: {
      const float rounded =
          directed(nearest, double{nearest} > value, double{nearest} < value, conversion.rounding);
      return float_to_bits(conversion.ftz ? flush_subnormal(rounded) : rounded);
    }
    default:
      return std::bit_cast<uint64_t>(value);
  }
}

uint64_t convert(uint64_t bits, const Conversion& conversion) {
  if (!is_float(conversion.from)) {
    const __int128 value = integer_of(bits, conversion.from);
    return is_float(conversion.to) ? from_integer_to_float(value, conversion)
                                   : from_integer_to_integer(value, conversion);
  }
  double value = float_value(bits, conversion.from);
  if (conversion.ftz && conversion.from == Type::f32) value = flush_subnormal(static_cast<float>(value));
  return is_float(conversion.to) ? to_float(value, conversion) : from_float_to_integer(value, conversion);
}

// immediate: the source's type, immediate2: the destination's, variant: the rounding, option: .sat, option2:
// .relu, bytes: .ftz
void convert_lanes(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const Conversion conversion{static_cast<Type>(instruction.immediate),
                              static_cast<Type>(instruction.immediate2),
                              instruction.variant,
                              instruction.option,
                              instruction.option2,
                              instruction.bytes != 0};
  for_lanes(lanes, [&](int lane) {
    set_value(warp, instruction.operands[0], lane,
              convert(value_of(warp, instruction.operands[1], lane), conversion));
  });
}

// The most frequent conversions.
template <class To>
struct Cast {
  template <class From>
  static To of(From a) {
    return static_cast<To>(a);
  }
};
struct ToTf32 {
  static float of(float a) { return to_tf32_ties_away(a); }
};
struct FromHalf {
  static float of(uint16_t a) { return half_to_float(a); }
};
struct FromBFloat {
  static float of(uint16_t a) { return bfloat_to_float(a); }
};
struct ToHalf {
  static uint16_t of(float a) { return float_to_half(a); }
};
struct ToBFloat {
  static uint16_t of(float a) { return float_to_bfloat(a); }
};

Handler frequent_conversion(Type from, Type to, uint8_t rounding, int to_bytes, int from_bytes) {
  const auto is = [&](Type a, Type b) { return from == a && to == b; };
  if (to_bytes == 8 && from_bytes == 4) {
    if (is(Type::u32, Type::u64) || is(Type::u32, Type::s64))
      return unary<Cast<uint64_t>, uint64_t, uint32_t>;
    if (is(Type::s32, Type::s64) || is(Type::s32, Type::u64)) return unary<Cast<int64_t>, int64_t, int32_t>;
  }
  if (to_bytes == 4 && from_bytes == 8 && (from == Type::u64 || from == Type::s64) &&
      (to == Type::u32 || to == Type::s32))
    return unary<Cast<uint32_t>, uint32_t, uint64_t>;
  if (is(Type::f32, Type::tf32) && rounding == rna) return unary<ToTf32, float, float>;
  if (is(Type::f16, Type::f32) && rounding == none) return unary<FromHalf, float, uint16_t>;
  if (is(Type::bf16, Type::f32) && rounding == none) return unary<FromBFloat, float, uint16_t>;
  if (is(Type::f32, Type::f16) && rounding == rn) return unary<ToHalf, uint16_t, float>;
  if (is(Type::f32, Type::bf16) && rounding == rn) return unary<ToBFloat, uint16_t, float>;
  if (is(Type::s32, Type::f32) && rounding == rn) return unary<Cast<float>, float, int32_t>;
  if (is(Type::f32, Type::f64) && rounding == none) return unary<Cast<double>, double, float>;
  return nullptr;
}

// cvt.rn.f16x2.f32 d, a, b: a becomes the upper half. option2: relu
template <class Format>
void convert_pair(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const float* a = values<float>(warp, instruction, 1);
  const float* b = values<float>(warp, instruction, 2);
  const bool relu = instruction.option2, toward_zero = instruction.variant == rz;
  const auto one = [=](float value) -> uint32_t {
    if (relu && !(value > 0) && value == value) value = 0;
    if (toward_zero)
      return static_cast<uint32_t>(to_float(value, {Type::f32, Format::kType, rz, false, false, false}));
    return Format::of(value);
  };
  store_lanes(values<uint32_t>(warp, instruction, 0), lanes,
              [=](int lane) -> uint32_t { return one(a[lane]) << 16 | one(b[lane]); });
}
struct PairOfHalves {
  static constexpr Type kType = Type::f16;
  static uint16_t of(float a) { return float_to_half(a); }
};
struct PairOfBFloats {
  static constexpr Type kType = Type::bf16;
  static uint16_t of(float a) { return float_to_bfloat(a); }
};

uint8_t rounding_of(const Draft& draft) {
  uint8_t rounding = none;
  for (uint8_t n = rn; n <= rpi; ++n)
    if (draft.has(kRoundings[n])) rounding = n;
  return rounding;
}

// cvta. variant: what happens to the address.
enum Cvta : uint8_t { same, from_shared, to_shared, from_local, to_local };
void convert_address(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  for_lanes(lanes, [&](int lane) {
    uint64_t address = value_of(warp, instruction.operands[1], lane);
    switch (instruction.variant) {
      case from_shared:
        address |= kSharedWindow;
        break;
      case to_shared:
        if (address >> kWindowShift != 1)
          fail(kIllegalAddress, "cvta.to.shared of ", hex(address), ", which is not shared");
        address &= ~kSharedWindow;
        break;
      case from_local:
        address |= kLocalWindow;
        break;
      case to_local:
        if (address >> kWindowShift != 2)
          fail(kIllegalAddress, "cvta.to.local of ", hex(address), ", which is not local");
        address &= ~kLocalWindow;
        break;
      default:
        break;
    }
    set_value(warp, instruction.operands[0], lane, address);
  });
}

// isspacep p, a
void is_in_space(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const LaunchState& launch = *warp.block->launch;
  const uint64_t parameters_end = launch.parameters + static_cast<uint64_t>(launch.kernel->parameter_bytes);
  uint32_t result = 0;
  for_lanes(lanes, [&](int lane) {
    const uint64_t address = values<uint64_t>(warp, instruction, 1)[lane], window = address >> kWindowShift;
    bool is = false;
    switch (instruction.space) {
      case Space::shared:
        is = window == 1 && static_cast<uint32_t>(address) >> kRankShift == warp.block->rank;
        break;
      case Space::shared_cluster:
        is = window == 1;
        break;
      case Space::local:
        is = window == 2;
        break;
      case Space::parameter:
        is = address >= launch.parameters && address < parameters_end;
        break;
      case Space::constant:
        is = false;
        break;
      default:
        is = window == 0;
        break;
    }
    result |= uint32_t{is} << lane;
  });
  set_predicate(warp, instruction, 0, lanes, result);
}

}  // namespace

bool decode_cvt(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  const Type from = draft.type(), to = type_named(draft.parts[draft.parts.size() - 2]);
  if (draft.has("pack")) return false;
  instruction.variant = rounding_of(draft);
  instruction.option2 = draft.has("relu");
  if (decode_narrow(decoder, draft, from, to)) return true;
  if (to == Type::f16x2 || to == Type::bf16x2) {
    if (from != Type::f32 || draft.has("satfinite")) return false;
    instruction.run = to == Type::f16x2 ? convert_pair<PairOfHalves> : convert_pair<PairOfBFloats>;
    add_operands(decoder, draft, 2, Type::f32);
    return true;
  }
  if (draft.has("satfinite") || from == Type::none || to == Type::none) return false;
  instruction.option = draft.has("sat");
  instruction.bytes = draft.has("ftz");
  instruction.immediate = static_cast<int64_t>(from);
  instruction.immediate2 = static_cast<int64_t>(to);
  add_operands(decoder, draft, 1, from);
  const bool special = instruction.option || instruction.option2 || instruction.bytes;
  const Handler frequent = special ? nullptr
                                   : frequent_conversion(from, to, instruction.variant,
                                                         draft.operands[0].bytes, draft.operands[1].bytes);
  instruction.run = frequent ? frequent : convert_lanes;
  return true;
}

bool decode_cvta(Decoder& decoder, Draft& draft) {
  const bool to = draft.has("to");
  const bool shared = draft.has("shared") || draft.has("shared::cta") || draft.has("shared::cluster");
  draft.instruction.variant = shared               ? (to ? to_shared : from_shared)
                              : draft.has("local") ? (to ? to_local : from_local)
                                                   : same;
  draft.instruction.run = convert_address;
  draft.add(decoder.destination(draft.arguments.at(0)));
  Operand source;
  Address variable;
  if (!decoder.find_register(draft.arguments.at(1), &source) &&
      decoder.find_variable(draft.arguments[1], &variable))
    return false;  // of a variable: nvcc moves its address to a register first
  draft.add(decoder.source(draft.arguments[1], 8));
  return true;
}

bool decode_isspacep(Decoder& decoder, Draft& draft) {
  const std::string_view space = draft.parts.at(1);
  draft.instruction.space = space == "shared" || space == "shared::cta" ? Space::shared
                            : space == "shared::cluster"                ? Space::shared_cluster
                            : space == "local"                          ? Space::local
                            : space.starts_with("param")                ? Space::parameter
                            : space == "const"                          ? Space::constant
                                                                        : Space::global;
  draft.instruction.run = is_in_space;
  draft.add(decoder.destination(draft.arguments.at(0)));
  draft.add(decoder.source(draft.arguments.at(1), 8));
  return true;
}

}  // namespace ptx

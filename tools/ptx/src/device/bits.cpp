// Bit fields and permutations (PTX ISA 9.7.1, 9.7.8, 9.7.9.7) and dot products of bytes (9.7.1.23).
#include <bit>
#include <cstdlib>
#include <type_traits>

#include "elementwise.h"
#include "instruction_table.h"
#include "integers.h"
#include "lexer.h"

namespace ptx {
namespace {

struct PopulationCount {
  template <class T>
  static uint32_t of(T a) {
    return static_cast<uint32_t>(std::popcount(a));
  }
};
struct LeadingZeros {
  template <class T>
  static uint32_t of(T a) {
    return static_cast<uint32_t>(std::countl_zero(a));
  }
};
struct Reverse {
  template <class T>
  static T of(T a) {
    T reversed = 0;
    for (size_t bit = 0; bit < sizeof(T) * 8; ++bit) reversed |= (a >> bit & 1) << (sizeof(T) * 8 - 1 - bit);
    return reversed;
  }
};

// The position of the highest bit that is not a copy of the sign; all ones if there is none. .shiftamt: how
// far to shift it left to the top.
template <class T, bool shift_amount>
struct FindBit {
  static uint32_t of(T a) {
    using U = Unsigned<T>;
    const U bits = a < 0 ? static_cast<U>(~a) : static_cast<U>(a);
    if (bits == 0) return ~0u;
    const int zeros = std::countl_zero(bits);
    return static_cast<uint32_t>(shift_amount ? zeros : static_cast<int>(sizeof(T)) * 8 - 1 - zeros);
  }
};

// bfe d, a, position, length
struct Extract {
  template <class T>
  static T of(T a, uint32_t position, uint32_t length) {
    using U = Unsigned<T>;
    constexpr uint32_t kBits = sizeof(T) * 8;
    position &= 255;
    length &= 255;
    if (length == 0) return 0;
    const uint32_t top = position + length - 1 < kBits - 1 ? position + length - 1 : kBits - 1;
    const bool sign = std::is_signed_v<T> && (static_cast<U>(a) >> top & 1);
    U field = position < kBits ? static_cast<U>(static_cast<U>(a) >> position) : U{0};
    const uint32_t present = position < kBits ? top - position + 1 : 0;  // bits from `a`
    if (present < kBits) {
      const U low = (U{1} << present) - 1;
      field = sign ? static_cast<U>(field | ~low) : static_cast<U>(field & low);
    }
    return static_cast<T>(field);
  }
};

// bfi f, a, b, position, length: `a` into `b`
template <class T>
void insert(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  constexpr uint32_t kBits = sizeof(T) * 8;
  const T* a = values<T>(warp, instruction, 1);
  const T* b = values<T>(warp, instruction, 2);
  const uint32_t* positions = values<uint32_t>(warp, instruction, 3);
  const uint32_t* lengths = values<uint32_t>(warp, instruction, 4);
  store_lanes(values<T>(warp, instruction, 0), lanes, [=](int lane) -> T {
    const uint32_t position = positions[lane] & 255, length = lengths[lane] & 255;
    if (position >= kBits) return b[lane];
    const T ones = length >= kBits ? ~T{0} : (T{1} << length) - 1;
    const T mask = ones << position;
    return (b[lane] & ~mask) | (a[lane] << position & mask);
  });
}

// fns d, mask, base, offset: the place of the |offset|-th set bit from `base`, upwards or downwards; with 0
// `base` itself, if it is set. All ones: there is none.
struct FindNthSet {
  static uint32_t of(uint32_t mask, uint32_t base, uint32_t offset) {
    const int n = static_cast<int32_t>(offset), step = n < 0 ? -1 : 1;
    int64_t left = n == 0 ? 1 : std::abs(int64_t{n});
    for (int64_t at = static_cast<int32_t>(base); at >= 0 && at < 32; at += step) {
      if (mask >> at & 1 && --left == 0) return static_cast<uint32_t>(at);
      if (n == 0) break;
    }
    return ~0u;
  }
};

// szext.wrap and .clamp d, a, n: the low n bits of a, extended by their sign or zeros
template <bool clamp>
struct ExtendField {
  template <class T>
  static T of(T a, uint32_t n) {
    if (clamp && n >= 32) return a;
    n &= 31;
    if (n == 0) return 0;
    return static_cast<T>(static_cast<T>(static_cast<uint32_t>(a) << (32 - n)) >> (32 - n));
  }
};

// bmsk.wrap and .clamp d, position, length
template <bool clamp>
struct Mask {
  static uint32_t of(uint32_t position, uint32_t length) {
    if (clamp ? position >= 32 : false) return 0;
    position &= 31;
    if (!clamp) length &= 31;
    const uint32_t ones = length >= 32 ? ~0u : (1u << length) - 1;
    return ones << position;
  }
};

void funnel_shift(Warp& warp, const Instruction& instruction,
                  uint32_t lanes) {  // option: left, option2: wrap
  const uint32_t* a = values<uint32_t>(warp, instruction, 1);
  const uint32_t* b = values<uint32_t>(warp, instruction, 2);
  const uint32_t* c = values<uint32_t>(warp, instruction, 3);
  const bool left = instruction.option, wrap = instruction.option2;
  store_lanes(values<uint32_t>(warp, instruction, 0), lanes, [=](int lane) -> uint32_t {
    const uint32_t n = wrap ? c[lane] & 31 : c[lane] < 32 ? c[lane] : 32;
    const uint64_t pair = uint64_t{b[lane]} << 32 | a[lane];
    return static_cast<uint32_t>(left ? pair << n >> 32 : pair >> n);
  });
}

void logic_of_three(Warp& warp, const Instruction& instruction,
                    uint32_t lanes) {  // immediate: the truth table
  const uint32_t* a = values<uint32_t>(warp, instruction, 1);
  const uint32_t* b = values<uint32_t>(warp, instruction, 2);
  const uint32_t* c = values<uint32_t>(warp, instruction, 3);
  uint32_t rows[8];
  for (int row = 0; row < 8; ++row) rows[row] = instruction.immediate >> row & 1 ? ~0u : 0;
  store_lanes(values<uint32_t>(warp, instruction, 0), lanes, [=](int lane) -> uint32_t {
    const uint32_t x = a[lane], y = b[lane], z = c[lane];
    return (rows[0] & ~x & ~y & ~z) | (rows[1] & ~x & ~y & z) | (rows[2] & ~x & y & ~z) |
           (rows[3] & ~x & y & z) | (rows[4] & x & ~y & ~z) | (rows[5] & x & ~y & z) |
           (rows[6] & x & y & ~z) | (rows[7] & x & y & z);
  });
}

// prmt: bytes of b:a by the selectors of c. The default mode; the others give selectors.
uint32_t permute(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int n = 0; n < 4; ++n) {
    const uint32_t selector = selectors >> (4 * n) & 15;
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7))) & 255;
    if (selector & 8) byte = byte & 128 ? 255 : 0;  // copies of its sign
    result |= byte << (8 * n);
  }
  return result;
}
struct Permute {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) { return permute(a, b, c); }
};
template <uint16_t mode0, uint16_t mode1, uint16_t mode2, uint16_t mode3>
struct PermuteByMode {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    constexpr uint16_t kSelectors[] = {mode0, mode1, mode2, mode3};
    return permute(a, b, kSelectors[c & 3]);
  }
};

template <class A, class B>
struct DotOfBytes {  // dp4a
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    for (int n = 0; n < 4; ++n)
      c += static_cast<uint32_t>(int32_t{static_cast<A>(a >> 8 * n)} * int32_t{static_cast<B>(b >> 8 * n)});
    return c;
  }
};
template <class A, class B, int half>
struct DotOfHalves {  // dp2a.lo, .hi: the lower or upper two bytes of b
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    for (int n = 0; n < 2; ++n)
      c += static_cast<uint32_t>(int32_t{static_cast<A>(a >> 16 * n)} *
                                 int32_t{static_cast<B>(b >> (8 * n + 16 * half))});
    return c;
  }
};
template <template <class, class> class Dot, class U, class S>
Handler dot(bool signed_a, bool signed_b) {
  using W = uint32_t;
  if (signed_a) return signed_b ? ternary<Dot<S, int8_t>, W, W, W, W> : ternary<Dot<S, uint8_t>, W, W, W, W>;
  return signed_b ? ternary<Dot<U, int8_t>, W, W, W, W> : ternary<Dot<U, uint8_t>, W, W, W, W>;
}
template <class A, class B>
using DotOfLowHalves = DotOfHalves<A, B, 0>;
template <class A, class B>
using DotOfHighHalves = DotOfHalves<A, B, 1>;

template <class Operation>
Handler to_word(Type type, Draft&) {
  if (type == Type::b32) return unary<Operation, uint32_t, uint32_t>;
  return type == Type::b64 ? unary<Operation, uint32_t, uint64_t> : nullptr;
}
Handler reverse(Type type, Draft&) {
  if (type == Type::b32) return unary<Reverse, uint32_t, uint32_t>;
  return type == Type::b64 ? unary<Reverse, uint64_t, uint64_t> : nullptr;
}
template <bool shift_amount>
Handler find_bit(Type type, Draft&) {
  switch (type) {
    case Type::u32:
      return unary<FindBit<uint32_t, shift_amount>, uint32_t, uint32_t>;
    case Type::s32:
      return unary<FindBit<int32_t, shift_amount>, uint32_t, int32_t>;
    case Type::u64:
      return unary<FindBit<uint64_t, shift_amount>, uint32_t, uint64_t>;
    case Type::s64:
      return unary<FindBit<int64_t, shift_amount>, uint32_t, int64_t>;
    default:
      return nullptr;
  }
}
Handler extract(Type type, Draft&) {
  switch (type) {
    case Type::u32:
      return ternary<Extract, uint32_t, uint32_t, uint32_t, uint32_t>;
    case Type::s32:
      return ternary<Extract, int32_t, int32_t, uint32_t, uint32_t>;
    case Type::u64:
      return ternary<Extract, uint64_t, uint64_t, uint32_t, uint32_t>;
    case Type::s64:
      return ternary<Extract, int64_t, int64_t, uint32_t, uint32_t>;
    default:
      return nullptr;
  }
}
Handler insert_field(Type type, Draft&) {
  return type == Type::b32 ? insert<uint32_t> : type == Type::b64 ? insert<uint64_t> : nullptr;
}
template <bool clamp>
Handler mask(Type type, Draft&) {
  return type == Type::b32 ? binary<Mask<clamp>, uint32_t, uint32_t, uint32_t> : nullptr;
}

Handler find_nth_set(Type type, Draft&) {
  return type == Type::b32 ? ternary<FindNthSet, uint32_t, uint32_t, uint32_t, uint32_t> : nullptr;
}
template <bool clamp>
Handler extend_field(Type type, Draft&) {
  if (type == Type::u32) return binary<ExtendField<clamp>, uint32_t, uint32_t, uint32_t>;
  return type == Type::s32 ? binary<ExtendField<clamp>, int32_t, int32_t, uint32_t> : nullptr;
}

constexpr Form kForms[] = {
    {"popc", "ds", to_word<PopulationCount>},
    {"clz", "ds", to_word<LeadingZeros>},
    {"brev", "ds", reverse},
    {"bfind", "ds", find_bit<false>},
    {"bfind.shiftamt", "ds", find_bit<true>},
    {"bfe", "dsuu", extract},
    {"bfi", "dssuu", insert_field},
    {"fns", "dsuu", find_nth_set},
    {"szext.wrap", "dsu", extend_field<false>},
    {"szext.clamp", "dsu", extend_field<true>},
    {"bmsk.wrap", "duu", mask<false>},
    {"bmsk.clamp", "duu", mask<true>},
};

}  // namespace

std::span<const Form> bit_forms() { return kForms; }

bool decode_shf(Decoder& decoder, Draft& draft) {
  if (draft.type() != Type::b32) return false;
  draft.instruction.option = draft.has("l");
  draft.instruction.option2 = draft.has("wrap");
  draft.instruction.run = funnel_shift;
  add_operands(decoder, draft, 3, Type::b32);
  return true;
}

bool decode_lop3(Decoder& decoder, Draft& draft) {
  uint64_t table = 0;
  if (draft.opcode != "lop3.b32" || !parse_number(draft.arguments.at(4), 4, &table)) return false;
  draft.instruction.immediate = static_cast<int64_t>(table);
  draft.instruction.run = logic_of_three;
  add_operands(decoder, draft, 3, Type::b32);
  return true;
}

bool decode_prmt(Decoder& decoder, Draft& draft) {
  using W = uint32_t;
  const std::string_view mode = draft.parts.size() == 3 ? draft.parts[2] : std::string_view();
  // The selectors of c = 0, 1, 2, 3.
  draft.instruction.run = mode.empty()    ? ternary<Permute, W, W, W, W>
                          : mode == "f4e" ? ternary<PermuteByMode<0x3210, 0x4321, 0x5432, 0x6543>, W, W, W, W>
                          : mode == "b4e" ? ternary<PermuteByMode<0x5670, 0x6701, 0x7012, 0x0123>, W, W, W, W>
                          : mode == "rc8" ? ternary<PermuteByMode<0x0000, 0x1111, 0x2222, 0x3333>, W, W, W, W>
                          : mode == "ecl" ? ternary<PermuteByMode<0x3210, 0x3211, 0x3222, 0x3333>, W, W, W, W>
                          : mode == "ecr" ? ternary<PermuteByMode<0x0000, 0x1110, 0x2210, 0x3210>, W, W, W, W>
                          : mode == "rc16"
                              ? ternary<PermuteByMode<0x1010, 0x3232, 0x1010, 0x3232>, W, W, W, W>
                              : nullptr;
  add_operands(decoder, draft, 3, Type::b32);
  return draft.instruction.run != nullptr;
}

bool decode_dp(Decoder& decoder, Draft& draft) {
  const size_t count = draft.parts.size();
  const bool signed_a = draft.parts[count - 2] == "s32", signed_b = draft.parts[count - 1] == "s32";
  draft.instruction.run = draft.parts[0] == "dp4a" ? dot<DotOfBytes, uint8_t, int8_t>(signed_a, signed_b)
                          : draft.has("hi") ? dot<DotOfHighHalves, uint16_t, int16_t>(signed_a, signed_b)
                                            : dot<DotOfLowHalves, uint16_t, int16_t>(signed_a, signed_b);
  add_operands(decoder, draft, 3, Type::b32);
  return true;
}

}  // namespace ptx

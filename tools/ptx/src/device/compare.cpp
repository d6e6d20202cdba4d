// Comparisons and selections (PTX ISA 9.7.6, 9.7.7), operations on predicates, and testp (9.7.3.2).
#include <cmath>

#include "elementwise.h"
#include "float_bits.h"
#include "instruction_table.h"

namespace ptx {
namespace {

// A bit for each of 32 bytes that are 0 or 1.
uint32_t bits_of(const uint8_t (&bytes)[kWarpSize]) {
  uint32_t bits = 0;
  for (int part = 0; part < 4; ++part) {
    uint64_t eight = 0;
    std::memcpy(&eight, bytes + 8 * part, 8);
    // The multiplication gathers the lowest bits of the bytes in the highest byte.
    bits |= static_cast<uint32_t>(eight * 0x0102040810204080u >> 56) << 8 * part;
  }
  return bits;
}

struct Equal {
  template <class T>
  static bool of(T a, T b) {
    return a == b;
  }
};
struct NotEqual {  // false for NaN
  template <class T>
  static bool of(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a < b || a > b;
    return a != b;
  }
};
struct Less {
  template <class T>
  static bool of(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  static bool of(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  static bool of(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  static bool of(T a, T b) {
    return a >= b;
  }
};
struct Numbers {
  template <class T>
  static bool of(T a, T b) {
    return a == a && b == b;
  }
};
// The unordered comparisons are true for NaN.
template <class Opposite>
struct Otherwise {
  template <class T>
  static bool of(T a, T b) {
    return !Opposite::of(a, b);
  }
};

template <class Comparison, class T>
uint32_t compare(const T* a, const T* b) {
  alignas(32) uint8_t bytes[kWarpSize];
  for (int lane = 0; lane < kWarpSize; ++lane) bytes[lane] = Comparison::of(a[lane], b[lane]);
  return bits_of(bytes);
}

template <class T>
using Compare = uint32_t (*)(const T*, const T*);

struct NamedComparison {
  std::string_view name;
  uint8_t number;
};
// The order of compare_by().
enum Comparison : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
constexpr NamedComparison kComparisons[] = {
    {"eq", eq},   {"ne", ne},   {"lt", lt},   {"le", le},   {"gt", gt},   {"ge", ge},
    {"lo", lt},   {"ls", le},   {"hi", gt},   {"hs", ge},   {"equ", equ}, {"neu", neu},
    {"ltu", ltu}, {"leu", leu}, {"gtu", gtu}, {"geu", geu}, {"num", num}, {"nan", nan},
};

template <class T>
uint32_t compare_by(uint8_t comparison, const T* a, const T* b) {
  switch (comparison) {
    case eq:
      return compare<Equal>(a, b);
    case ne:
      return compare<NotEqual>(a, b);
    case lt:
      return compare<Less>(a, b);
    case le:
      return compare<LessEqual>(a, b);
    case gt:
      return compare<Greater>(a, b);
    case ge:
      return compare<GreaterEqual>(a, b);
    case equ:
      return compare<Otherwise<NotEqual>>(a, b);
    case neu:
      return compare<Otherwise<Equal>>(a, b);
    case ltu:
      return compare<Otherwise<GreaterEqual>>(a, b);
    case leu:
      return compare<Otherwise<Greater>>(a, b);
    case gtu:
      return compare<Otherwise<LessEqual>>(a, b);
    case geu:
      return compare<Otherwise<Less>>(a, b);
    case num:
      return compare<Numbers>(a, b);
    default:
      return compare<Otherwise<Numbers>>(a, b);
  }
}

// The sources, flushed with .ftz (bytes: 1); halves are compared as floats.
template <class T>
uint32_t compare_sources(const Warp& warp, const Instruction& instruction) {
  const T* a = values<T>(warp, instruction, 1);
  const T* b = values<T>(warp, instruction, 2);
  if constexpr (std::is_same_v<T, float>) {
    if (instruction.bytes) {
      float x[kWarpSize], y[kWarpSize];
      for (int lane = 0; lane < kWarpSize; ++lane)
        x[lane] = flush_subnormal(a[lane]), y[lane] = flush_subnormal(b[lane]);
      return compare_by(instruction.variant, x, y);
    }
  }
  return compare_by(instruction.variant, a, b);
}
template <class Format>
uint32_t compare_halves(const Warp& warp, const Instruction& instruction, int shift, bool packed) {
  float x[kWarpSize], y[kWarpSize];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const int bytes = packed ? 4 : 2;
    const Operand a{instruction.operands[1].at, bytes}, b{instruction.operands[2].at, bytes};
    x[lane] = Format::to_float(static_cast<uint16_t>(value_of(warp, a, lane) >> shift));
    y[lane] = Format::to_float(static_cast<uint16_t>(value_of(warp, b, lane) >> shift));
  }
  return compare_by(instruction.variant, x, y);
}

// setp p[|q], a, b[, [!]c]. Operands: p, a, b, q or absent, c. immediate: 0 none, 1 and, 2 or, 3 xor with c;
// option: c negated.
uint32_t combine(const Warp& warp, const Instruction& instruction, uint32_t result) {
  if (instruction.immediate == 0) return result;
  const uint32_t c = predicate(warp, instruction, 4) ^ (instruction.option ? ~0u : 0);
  return instruction.immediate == 1 ? result & c : instruction.immediate == 2 ? result | c : result ^ c;
}
void store_predicates(Warp& warp, const Instruction& instruction, uint32_t lanes, uint32_t result) {
  const uint32_t first = combine(warp, instruction, result), second = combine(warp, instruction, ~result);
  set_predicate(warp, instruction, 0, lanes, first);
  if (instruction.operands[3].present()) set_predicate(warp, instruction, 3, lanes, second);
}

template <class T>
void setp(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  store_predicates(warp, instruction, lanes, compare_sources<T>(warp, instruction));
}
template <class Format>
void setp_half(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  store_predicates(warp, instruction, lanes, compare_halves<Format>(warp, instruction, 0, false));
}
// setp.f16x2: p of the lower halves, q of the upper ones.
template <class Format>
void setp_pair(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t low = combine(warp, instruction, compare_halves<Format>(warp, instruction, 0, true));
  const uint32_t high = combine(warp, instruction, compare_halves<Format>(warp, instruction, 16, true));
  set_predicate(warp, instruction, 0, lanes, low);
  if (instruction.operands[3].present()) set_predicate(warp, instruction, 3, lanes, high);
}

// set d, a, b[, [!]c]: 1.0 for .f32, all ones for integers. option2: float.
template <class T>
void set(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t result = combine(warp, instruction, compare_sources<T>(warp, instruction));
  const uint64_t one = instruction.option2 ? float_to_bits(1.0f) : ~uint64_t{0};
  for_lanes(lanes,
            [&](int lane) { set_value(warp, instruction.operands[0], lane, result >> lane & 1 ? one : 0); });
}
// set.f16x2 and the like: each half 1.0, or all ones.
template <class Format, bool packed>
void set_half(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t low = combine(warp, instruction, compare_halves<Format>(warp, instruction, 0, packed));
  const uint32_t high =
      packed ? combine(warp, instruction, compare_halves<Format>(warp, instruction, 16, true)) : 0;
  const int bytes = instruction.operands[0].bytes;
  const uint64_t one = !instruction.option2    ? (packed ? 0xFFFF : ~uint64_t{0})
                       : bytes == 4 && !packed ? float_to_bits(1.0f)
                                               : Format::from(1.0);
  for_lanes(lanes, [&](int lane) {
    set_value(warp, instruction.operands[0], lane,
              (low >> lane & 1 ? one : 0) | (high >> lane & 1 ? one << 16 : 0));
  });
}

Handler setp_of(Type type) {
  switch (type) {
    case Type::f32:
      return setp<float>;
    case Type::f64:
      return setp<double>;
    case Type::f16:
      return setp_half<Half>;
    case Type::bf16:
      return setp_half<BFloat>;
    case Type::f16x2:
      return setp_pair<Half>;
    case Type::bf16x2:
      return setp_pair<BFloat>;
    case Type::b16:
    case Type::u16:
      return setp<uint16_t>;
    case Type::s16:
      return setp<int16_t>;
    case Type::b32:
    case Type::u32:
      return setp<uint32_t>;
    case Type::s32:
      return setp<int32_t>;
    case Type::b64:
    case Type::u64:
      return setp<uint64_t>;
    case Type::s64:
      return setp<int64_t>;
    default:
      return nullptr;
  }
}
Handler set_of(Type type) {
  switch (type) {
    case Type::f32:
      return set<float>;
    case Type::f64:
      return set<double>;
    case Type::f16:
      return set_half<Half, false>;
    case Type::bf16:
      return set_half<BFloat, false>;
    case Type::f16x2:
      return set_half<Half, true>;
    case Type::bf16x2:
      return set_half<BFloat, true>;
    case Type::b16:
    case Type::u16:
      return set<uint16_t>;
    case Type::s16:
      return set<int16_t>;
    case Type::b32:
    case Type::u32:
      return set<uint32_t>;
    case Type::s32:
      return set<int32_t>;
    case Type::b64:
    case Type::u64:
      return set<uint64_t>;
    case Type::s64:
      return set<int64_t>;
    default:
      return nullptr;
  }
}

// The comparison, the Boolean operation, and the operands a, b, q, c.
bool add_comparison(Decoder& decoder, Draft& draft, std::string_view second) {
  Instruction& instruction = draft.instruction;
  bool found = false;
  for (const NamedComparison& comparison : kComparisons) {
    if (comparison.name != draft.parts[1]) continue;
    instruction.variant = comparison.number;
    found = true;
  }
  if (!found) return false;
  instruction.immediate = draft.parts[2] == "and"   ? 1
                          : draft.parts[2] == "or"  ? 2
                          : draft.parts[2] == "xor" ? 3
                                                    : 0;
  instruction.bytes = draft.has("ftz");
  draft.add(decoder.source(draft.arguments.at(1), draft.type()));
  draft.add(decoder.source(draft.arguments.at(2), draft.type()));
  if (second.empty()) {
    draft.add_absent();
  } else {
    draft.add(decoder.destination(second));
  }
  if (instruction.immediate != 0) {
    std::string_view c = draft.arguments.at(3);
    instruction.option = c.starts_with('!');
    if (instruction.option) c.remove_prefix(1);
    draft.add(decoder.source(c, 0));
  }
  return true;
}

template <class T>
struct Selection {  // selp d, a, b, p
  static void run(Warp& warp, const Instruction& instruction, uint32_t lanes) {
    const T* a = values<T>(warp, instruction, 1);
    const T* b = values<T>(warp, instruction, 2);
    const uint32_t p = predicate(warp, instruction, 3);
    store_lanes(values<T>(warp, instruction, 0), lanes,
                [=](int lane) -> T { return p >> lane & 1 ? a[lane] : b[lane]; });
  }
};
Handler selection(Type type, Draft&) {
  switch (register_bytes(type)) {
    case 2:
      return Selection<uint16_t>::run;
    case 4:
      return Selection<uint32_t>::run;
    case 8:
      return Selection<uint64_t>::run;
    default:
      return nullptr;
  }
}

struct PredicateAnd {
  static uint32_t of(uint32_t a, uint32_t b) { return a & b; }
};
struct PredicateOr {
  static uint32_t of(uint32_t a, uint32_t b) { return a | b; }
};
struct PredicateXor {
  static uint32_t of(uint32_t a, uint32_t b) { return a ^ b; }
};
struct PredicateNot {
  static uint32_t of(uint32_t a, uint32_t) { return ~a; }
};

// All lanes are bits of one word.
template <class Operation, int sources>
void predicates(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t a = predicate(warp, instruction, 1), b = sources > 1 ? predicate(warp, instruction, 2) : 0;
  set_predicate(warp, instruction, 0, lanes, Operation::of(a, b));
}
template <class Operation, int sources>
Handler of_predicates(Type type, Draft&) {
  return type == Type::pred ? predicates<Operation, sources> : nullptr;
}

constexpr Form kForms[] = {
    {"selp", "dssp", selection},
    {"and", "dss", of_predicates<PredicateAnd, 2>},
    {"or", "dss", of_predicates<PredicateOr, 2>},
    {"xor", "dss", of_predicates<PredicateXor, 2>},
    {"not", "ds", of_predicates<PredicateNot, 1>},
};

template <class T, class C>
void slct(Warp& warp, const Instruction& instruction, uint32_t lanes) {  // c >= 0 ? a : b
  const T* a = values<T>(warp, instruction, 1);
  const T* b = values<T>(warp, instruction, 2);
  const C* c = values<C>(warp, instruction, 3);
  store_lanes(values<T>(warp, instruction, 0), lanes,
              [=](int lane) -> T { return c[lane] >= 0 ? a[lane] : b[lane]; });
}

// testp.op p, a. variant: the kind of number.
enum Property : uint8_t { finite, infinite, number, notanumber, normal, subnormal };
template <class T>
void testp(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  uint32_t result = 0;
  for_lanes(lanes, [&](int lane) {
    const int kind = std::fpclassify(values<T>(warp, instruction, 1)[lane]);
    bool is = false;
    switch (instruction.variant) {
      case finite:
        is = kind != FP_NAN && kind != FP_INFINITE;
        break;
      case infinite:
        is = kind == FP_INFINITE;
        break;
      case number:
        is = kind != FP_NAN;
        break;
      case notanumber:
        is = kind == FP_NAN;
        break;
      case normal:
        is = kind == FP_NORMAL;
        break;
      default:
        is = kind == FP_SUBNORMAL;
        break;
    }
    result |= uint32_t{is} << lane;
  });
  set_predicate(warp, instruction, 0, lanes, result);
}

}  // namespace

std::span<const Form> predicate_forms() { return kForms; }

bool decode_setp(Decoder& decoder, Draft& draft) {
  const auto [first, second] = split_pair(draft.arguments.at(0));
  draft.instruction.run = setp_of(draft.type());
  draft.add(decoder.destination(first));
  return draft.instruction.run && add_comparison(decoder, draft, second);
}

bool decode_set(Decoder& decoder, Draft& draft) {
  const Type result = type_named(draft.parts[draft.parts.size() - 2]);
  draft.instruction.run = set_of(draft.type());
  draft.instruction.option2 = is_float(result);
  draft.add(decoder.destination(draft.arguments.at(0)));
  return draft.instruction.run && add_comparison(decoder, draft, {});
}

bool decode_slct(Decoder& decoder, Draft& draft) {
  const Type type = type_named(draft.parts[draft.parts.size() - 2]);
  const bool real = draft.type() == Type::f32;
  switch (register_bytes(type)) {
    case 2:
      draft.instruction.run = real ? slct<uint16_t, float> : slct<uint16_t, int32_t>;
      break;
    case 4:
      draft.instruction.run = real ? slct<uint32_t, float> : slct<uint32_t, int32_t>;
      break;
    case 8:
      draft.instruction.run = real ? slct<uint64_t, float> : slct<uint64_t, int32_t>;
      break;
    default:
      return false;
  }
  add_operands(decoder, draft, 2, type);
  draft.add(decoder.source(draft.arguments.at(3), 4));
  return true;
}

bool decode_testp(Decoder& decoder, Draft& draft) {
  constexpr std::string_view kNames[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  for (uint8_t n = 0; n < 6; ++n)
    if (draft.parts[1] == kNames[n]) draft.instruction.variant = n;
  draft.instruction.run = draft.type() == Type::f64 ? testp<double> : testp<float>;
  add_operands(decoder, draft, 1, draft.type());
  return true;
}

}  // namespace ptx

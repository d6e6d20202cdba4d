// Integer arithmetic (PTX ISA 9.7.1), logic and shifts (9.7.8).
#include <algorithm>
#include <limits>
#include <type_traits>

#include "elementwise.h"
#include "instruction_table.h"
#include "integers.h"

namespace ptx {
namespace {

template <class T>
T product_high(T a, T b) {
  return static_cast<T>((Twice<T>(a) * Twice<T>(b)) >> (sizeof(T) * 8));
}

struct Subtract {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(Unsigned<T>(a) - Unsigned<T>(b));
  }
};
struct MultiplyLow {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(uint64_t(Unsigned<T>(a)) * uint64_t(Unsigned<T>(b)));
  }
};
struct MultiplyHigh {
  template <class T>
  static T of(T a, T b) {
    return product_high(a, b);
  }
};
struct MultiplyWide {
  template <class T>
  static Twice<T> of(T a, T b) {
    return Twice<T>(a) * Twice<T>(b);
  }
};
struct MultiplyAddLow {
  template <class T>
  static T of(T a, T b, T c) {
    return Add::of(MultiplyLow::of(a, b), c);
  }
};
struct MultiplyAddHigh {
  template <class T>
  static T of(T a, T b, T c) {
    return Add::of(product_high(a, b), c);
  }
};
struct MultiplyAddWide {
  template <class T>
  static Twice<T> of(T a, T b, Twice<T> c) {
    return Add::of(MultiplyWide::of(a, b), c);
  }
};
// The low 24 bits of the sources; .lo: the low 32 bits of the 48-bit product, .hi: the high ones.
template <class T>
int64_t product24(T a, T b) {
  const int64_t x = static_cast<T>(Unsigned<T>(a) << 8), y = static_cast<T>(Unsigned<T>(b) << 8);
  return (x >> 8) * (y >> 8);
}
struct Multiply24Low {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(product24(a, b));
  }
};
struct Multiply24High {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(product24(a, b) >> 16);
  }
};
struct MultiplyAdd24Low {
  template <class T>
  static T of(T a, T b, T c) {
    return Add::of(Multiply24Low::of(a, b), c);
  }
};
struct MultiplyAdd24High {
  template <class T>
  static T of(T a, T b, T c) {
    return Add::of(Multiply24High::of(a, b), c);
  }
};
struct SumOfAbsoluteDifferences {
  template <class T>
  static T of(T a, T b, T c) {
    return Add::of(c, a < b ? Subtract::of(b, a) : Subtract::of(a, b));
  }
};
// A division by zero has an unspecified result: all ones, as GPUs return.
struct Divide {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return static_cast<T>(-1);
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Subtract::of(T{0}, a);
    return static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Absolute {
  template <class T>
  static T of(T a) {
    return a < 0 ? Subtract::of(T{0}, a) : a;
  }
};
struct Negate {
  template <class T>
  static T of(T a) {
    return Subtract::of(T{0}, a);
  }
};
struct Not {
  template <class T>
  static T of(T a) {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  template <class T>
  static T of(T a) {
    return a == 0;
  }
};
// Shifts by the width or more give zeros, or copies of the sign.
struct ShiftLeft {
  template <class T>
  static T of(T a, uint32_t n) {
    constexpr uint32_t kBits = sizeof(T) * 8;
    return n >= kBits ? T{0} : static_cast<T>(Unsigned<T>(a) << (n & (kBits - 1)));
  }
};
struct ShiftRight {
  template <class T>
  static T of(T a, uint32_t n) {
    constexpr uint32_t kBits = sizeof(T) * 8;
    return n >= kBits ? static_cast<T>(a < 0 ? -1 : 0) : static_cast<T>(a >> (n & (kBits - 1)));
  }
};

// .sat: of s32 alone.
int32_t saturated(int64_t value) {
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::clamp(value, kLeast, kMost));
}
struct AddSaturated {
  static int32_t of(int32_t a, int32_t b) { return saturated(int64_t{a} + b); }
};
struct SubtractSaturated {
  static int32_t of(int32_t a, int32_t b) { return saturated(int64_t{a} - b); }
};
struct MultiplyAddHighSaturated {
  static int32_t of(int32_t a, int32_t b, int32_t c) { return saturated(int64_t{product_high(a, b)} + c); }
};

// Calls f<T>() with the C++ type of an integer type; `bits`: .b types, too.
template <class Chooser>
Handler by_integer(Type type, bool bits, Chooser chooser) {
  switch (type) {
    case Type::u16:
      return chooser.template operator()<uint16_t>();
    case Type::s16:
      return chooser.template operator()<int16_t>();
    case Type::u32:
      return chooser.template operator()<uint32_t>();
    case Type::s32:
      return chooser.template operator()<int32_t>();
    case Type::u64:
      return chooser.template operator()<uint64_t>();
    case Type::s64:
      return chooser.template operator()<int64_t>();
    case Type::b16:
      return bits ? chooser.template operator()<uint16_t>() : nullptr;
    case Type::b32:
      return bits ? chooser.template operator()<uint32_t>() : nullptr;
    case Type::b64:
      return bits ? chooser.template operator()<uint64_t>() : nullptr;
    default:
      return nullptr;
  }
}

template <class Operation>
Handler one_source(Type type, Draft&) {
  return by_integer(type, false, []<class T>() -> Handler { return unary<Operation, T, T>; });
}
template <class Operation>
Handler two_sources(Type type, Draft&) {
  return by_integer(type, false, []<class T>() -> Handler { return binary<Operation, T, T, T>; });
}
template <class Operation>
Handler three_sources(Type type, Draft&) {
  return by_integer(type, false, []<class T>() -> Handler { return ternary<Operation, T, T, T, T>; });
}
template <class Operation>
Handler bits_of_one(Type type, Draft&) {
  return by_integer(type, true, []<class T>() -> Handler { return unary<Operation, T, T>; });
}
template <class Operation>
Handler bits_of_two(Type type, Draft&) {
  return by_integer(type, true, []<class T>() -> Handler { return binary<Operation, T, T, T>; });
}
template <class Operation>
Handler shift(Type type, Draft&) {
  return by_integer(type, true, []<class T>() -> Handler { return binary<Operation, T, T, uint32_t>; });
}
template <class Operation>
Handler wide_product(Type type, Draft&) {
  return by_integer(type, false, []<class T>() -> Handler {
    if constexpr (sizeof(T) == 8) {
      return nullptr;
    } else {
      return binary<Operation, Twice<T>, T, T>;
    }
  });
}
template <class Operation>
Handler wide_sum(Type type, Draft&) {
  return by_integer(type, false, []<class T>() -> Handler {
    if constexpr (sizeof(T) == 8) {
      return nullptr;
    } else {
      return ternary<Operation, Twice<T>, T, T, Twice<T>>;
    }
  });
}
template <class Operation>
Handler product_of_24_bits(Type type, Draft&) {
  if (type == Type::u32) return binary<Operation, uint32_t, uint32_t, uint32_t>;
  return type == Type::s32 ? binary<Operation, int32_t, int32_t, int32_t> : nullptr;
}
template <class Operation>
Handler sum_of_24_bits(Type type, Draft&) {
  if (type == Type::u32) return ternary<Operation, uint32_t, uint32_t, uint32_t, uint32_t>;
  return type == Type::s32 ? ternary<Operation, int32_t, int32_t, int32_t, int32_t> : nullptr;
}

template <class Operation>
Handler two_saturated(Type type, Draft&) {
  return type == Type::s32 ? binary<Operation, int32_t, int32_t, int32_t> : nullptr;
}
template <class Operation>
Handler three_saturated(Type type, Draft&) {
  return type == Type::s32 ? ternary<Operation, int32_t, int32_t, int32_t, int32_t> : nullptr;
}

constexpr Form kForms[] = {
    {"add", "dss", two_sources<Add>},
    {"sub", "dss", two_sources<Subtract>},
    {"mul.lo", "dss", two_sources<MultiplyLow>},
    {"mul.hi", "dss", two_sources<MultiplyHigh>},
    {"mul.wide", "dss", wide_product<MultiplyWide>},
    {"mad.lo", "dsss", three_sources<MultiplyAddLow>},
    {"mad.hi", "dsss", three_sources<MultiplyAddHigh>},
    {"add.sat", "dss", two_saturated<AddSaturated>},
    {"sub.sat", "dss", two_saturated<SubtractSaturated>},
    {"mad.hi.sat", "dsss", three_saturated<MultiplyAddHighSaturated>},
    {"mad.wide", "dssw", wide_sum<MultiplyAddWide>},
    {"mul24.lo", "dss", product_of_24_bits<Multiply24Low>},
    {"mul24.hi", "dss", product_of_24_bits<Multiply24High>},
    {"mad24.lo", "dsss", sum_of_24_bits<MultiplyAdd24Low>},
    {"mad24.hi", "dsss", sum_of_24_bits<MultiplyAdd24High>},
    {"sad", "dsss", three_sources<SumOfAbsoluteDifferences>},
    {"div", "dss", two_sources<Divide>},
    {"rem", "dss", two_sources<Remainder>},
    {"abs", "ds", one_source<Absolute>},
    {"neg", "ds", one_source<Negate>},
    {"min", "dss", two_sources<Minimum>},
    {"max", "dss", two_sources<Maximum>},
    {"and", "dss", bits_of_two<And>},
    {"or", "dss", bits_of_two<Or>},
    {"xor", "dss", bits_of_two<Xor>},
    {"not", "ds", bits_of_one<Not>},
    {"cnot", "ds", bits_of_one<LogicalNot>},
    {"shl", "dsu", shift<ShiftLeft>},
    {"shr", "dsu", shift<ShiftRight>},
};

}  // namespace

std::span<const Form> integer_forms() { return kForms; }

}  // namespace ptx

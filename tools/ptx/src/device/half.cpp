// Arithmetic of 16-bit floats, alone and in pairs (PTX ISA 9.7.4). Computed in double and rounded once.
#include <cmath>

#include "float_bits.h"
#include "instruction_table.h"
#include "warp.h"

namespace ptx {
namespace {

struct Add {
  static double of(double a, double b, double) { return odd_sum(a, b); }
};
struct Subtract {
  static double of(double a, double b, double) { return odd_sum(a, -b); }
};
struct Multiply {
  static double of(double a, double b, double) { return a * b; }  // exact
};
struct MultiplyAdd {
  static double of(double a, double b, double c) { return odd_sum(a * b, c); }
};
struct MultiplyAddRelu {
  static double of(double a, double b, double c) {
    const double sum = odd_sum(a * b, c);
    return sum > 0 || sum != sum ? sum : 0;
  }
};
struct Minimum {
  static double of(double a, double b, double) { return least_of(a, b); }
};
struct Maximum {
  static double of(double a, double b, double) { return greatest_of(a, b); }
};
struct MinimumOrNan {
  static double of(double a, double b, double) { return a != a || b != b ? NAN : least_of(a, b); }
};
struct MaximumOrNan {
  static double of(double a, double b, double) { return a != a || b != b ? NAN : greatest_of(a, b); }
};
struct Negate {
  static double of(double a, double, double) { return -a; }
};
struct Absolute {
  static double of(double a, double, double) { return std::fabs(a); }
};
struct PowerOfTwo {
  static double of(double a, double, double) { return std::exp2(a); }
};
struct HyperbolicTangent {
  static double of(double a, double, double) { return std::tanh(a); }
};

template <class Operation, class Format, bool ftz, bool sat>
uint16_t compute(uint16_t a, uint16_t b, uint16_t c) {
  const auto read = [](uint16_t bits) -> double {
    // A subnormal half has exponent bits of zero.
    if (ftz && (bits & 0x7C00) == 0) bits &= 0x8000;
    return Format::to_float(bits);
  };
  double value = Operation::of(read(a), read(b), read(c));
  if (sat) value = saturate(value);
  uint16_t bits = Format::from(value);
  if (ftz && (bits & 0x7C00) == 0) bits &= 0x8000;
  return bits;
}

template <class Operation, class Format, int sources, bool packed, bool ftz, bool sat>
void run(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  using Word = std::conditional_t<packed, uint32_t, uint16_t>;
  Word* result = values<Word>(warp, instruction, 0);
  const Word* a = values<Word>(warp, instruction, 1);
  const Word* b = sources > 1 ? values<Word>(warp, instruction, 2) : a;
  const Word* c = sources > 2 ? values<Word>(warp, instruction, 3) : a;
  for_lanes(lanes, [&](int lane) {
    const uint32_t x = a[lane], y = b[lane], z = c[lane];
    uint32_t bits = compute<Operation, Format, ftz, sat>(static_cast<uint16_t>(x), static_cast<uint16_t>(y),
                                                         static_cast<uint16_t>(z));
    if (packed)
      bits |=
          uint32_t{compute<Operation, Format, ftz, sat>(
              static_cast<uint16_t>(x >> 16), static_cast<uint16_t>(y >> 16), static_cast<uint16_t>(z >> 16))}
          << 16;
    result[lane] = static_cast<Word>(bits);
  });
}

template <class Operation, int sources>
Handler half(Type type, Draft& draft) {
  const bool ftz = draft.has("ftz"), sat = draft.has("sat");
  for (const std::string_view rounding : {"rz", "rm", "rp"})
    if (draft.has(rounding)) return nullptr;
  switch (type) {
    case Type::f16:
      if (sat)
        return ftz ? run<Operation, Half, sources, false, true, true>
                   : run<Operation, Half, sources, false, false, true>;
      return ftz ? run<Operation, Half, sources, false, true, false>
                 : run<Operation, Half, sources, false, false, false>;
    case Type::f16x2:
      if (sat)
        return ftz ? run<Operation, Half, sources, true, true, true>
                   : run<Operation, Half, sources, true, false, true>;
      return ftz ? run<Operation, Half, sources, true, true, false>
                 : run<Operation, Half, sources, true, false, false>;
    // bf16 has no .ftz and no .sat, except that ex2.approx.ftz flushes: its results are so large that none is
    // subnormal.
    case Type::bf16:
      return sat ? nullptr : run<Operation, BFloat, sources, false, false, false>;
    case Type::bf16x2:
      return sat ? nullptr : run<Operation, BFloat, sources, true, false, false>;
    default:
      return nullptr;
  }
}

constexpr Form kForms[] = {
    {"add", "dss", half<Add, 2>},
    {"sub", "dss", half<Subtract, 2>},
    {"mul", "dss", half<Multiply, 2>},
    {"fma", "dsss", half<MultiplyAdd, 3>},
    {"fma.relu", "dsss", half<MultiplyAddRelu, 3>},
    {"neg", "ds", half<Negate, 1>},
    {"abs", "ds", half<Absolute, 1>},
    {"min", "dss", half<Minimum, 2>},
    {"max", "dss", half<Maximum, 2>},
    {"min.NaN", "dss", half<MinimumOrNan, 2>},
    {"max.NaN", "dss", half<MaximumOrNan, 2>},
    {"ex2", "ds", half<PowerOfTwo, 1>},
    {"tanh", "ds", half<HyperbolicTangent, 1>},
};

}  // namespace

std::span<const Form> half_forms() { return kForms; }

}  // namespace ptx

// Arithmetic of float and double (PTX ISA 9.7.3). Approximations are computed more exactly than on GPUs.
#include <cfenv>
#include <cmath>

#include "elementwise.h"
#include "float_bits.h"
#include "instruction_table.h"

namespace ptx {
namespace {

struct Add {
  template <class T>
  static T of(T a, T b) {
    return a + b;
  }
};
struct Subtract {
  template <class T>
  static T of(T a, T b) {
    return a - b;
  }
};
struct Multiply {
  template <class T>
  static T of(T a, T b) {
    return a * b;
  }
};
struct Divide {
  template <class T>
  static T of(T a, T b) {
    return a / b;
  }
};
struct MultiplyAdd {
  template <class T>
  static T of(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};
struct Negate {
  template <class T>
  static T of(T a) {
    return -a;
  }
};
struct Absolute {
  template <class T>
  static T of(T a) {
    return std::fabs(a);
  }
};
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return least_of(a, b);
  }
};
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return greatest_of(a, b);
  }
};
// .NaN: a NaN of a source is the result.
struct MinimumOrNan {
  template <class T>
  static T of(T a, T b) {
    return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : least_of(a, b);
  }
};
struct MaximumOrNan {
  template <class T>
  static T of(T a, T b) {
    return a != a || b != b ? std::numeric_limits<T>::quiet_NaN() : greatest_of(a, b);
  }
};
struct CopySign {  // of a, to b
  template <class T>
  static T of(T a, T b) {
    return std::copysign(b, a);
  }
};
struct SquareRoot {
  template <class T>
  static T of(T a) {
    return std::sqrt(a);
  }
};
struct Reciprocal {
  template <class T>
  static T of(T a) {
    return T{1} / a;
  }
};
struct ReciprocalRoot {
  static float of(float a) { return static_cast<float>(1 / std::sqrt(double{a})); }
  static double of(double a) { return 1 / std::sqrt(a); }
};
// rcp.approx.ftz.f64, rsqrt.approx.ftz.f64: the lower 32 bits of the result are zero.
template <class Operation>
struct UpperHalf {
  static double of(double a) {
    return std::bit_cast<double>(std::bit_cast<uint64_t>(Operation::of(a)) & ~uint64_t{0xFFFFFFFF});
  }
};
struct PowerOfTwo {
  static float of(float a) { return static_cast<float>(std::exp2(double{a})); }
};
struct Logarithm {
  static float of(float a) { return static_cast<float>(std::log2(double{a})); }
};
struct Sine {
  static float of(float a) { return static_cast<float>(std::sin(double{a})); }
};
struct Cosine {
  static float of(float a) { return static_cast<float>(std::cos(double{a})); }
};
struct HyperbolicTangent {
  static float of(float a) { return static_cast<float>(std::tanh(double{a})); }
};

// With the flushing of .ftz and the limits of .sat.
template <class Operation, bool ftz, bool sat>
struct Modified {
  template <class... T>
  static auto of(T... source) {
    auto result = ftz ? Operation::of(flush_subnormal(source)...) : Operation::of(source...);
    if (ftz) result = flush_subnormal(result);
    return sat ? saturate(result) : result;
  }
};

// .rz, .rm, .rp. option: .ftz, option2: .sat, variant: the rounding. volatile: the operation must happen
// while the rounding is set.
template <class Operation, class T, int sources>
[[gnu::noinline, gnu::optimize("rounding-math", "no-tree-vectorize")]] void rounded(
    Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const int before = std::fegetround();
  constexpr int kRoundings[] = {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  std::fesetround(kRoundings[instruction.variant]);
  const T* from[3] = {};
  for (int n = 0; n < sources; ++n) from[n] = values<T>(warp, instruction, n + 1);
  T* result = values<T>(warp, instruction, 0);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    volatile T source[3] = {};
    for (int n = 0; n < sources; ++n)
      source[n] = instruction.option ? flush_subnormal(from[n][lane]) : from[n][lane];
    volatile T value = 0;
    if constexpr (sources == 1) {
      value = Operation::of(T{source[0]});
    } else if constexpr (sources == 2) {
      value = Operation::of(T{source[0]}, T{source[1]});
    } else {
      value = Operation::of(T{source[0]}, T{source[1]}, T{source[2]});
    }
    T final = value;
    if (instruction.option) final = flush_subnormal(final);
    result[lane] = instruction.option2 ? saturate(final) : final;
  }
  std::fesetround(before);
}

template <class Operation, class T, int sources>
constexpr Handler plain() {
  if constexpr (sources == 1) {
    return unary<Operation, T, T>;
  } else if constexpr (sources == 2) {
    return binary<Operation, T, T, T>;
  } else {
    return ternary<Operation, T, T, T, T>;
  }
}

template <class Operation, class T, int sources>
Handler with_modifiers(Draft& draft) {
  const bool ftz = draft.has("ftz"), sat = draft.has("sat");
  const bool toward_zero = draft.has("rz"), down = draft.has("rm"), up = draft.has("rp");
  if (toward_zero || down || up) {
    draft.instruction.variant = toward_zero ? 0 : down ? 1 : 2;
    draft.instruction.option = ftz;
    draft.instruction.option2 = sat;
    return rounded<Operation, T, sources>;
  }
  if (ftz)
    return sat ? plain<Modified<Operation, true, true>, T, sources>()
               : plain<Modified<Operation, true, false>, T, sources>();
  return sat ? plain<Modified<Operation, false, true>, T, sources>() : plain<Operation, T, sources>();
}

template <class Operation, int sources>
Handler real(Type type, Draft& draft) {
  if (type == Type::f32) return with_modifiers<Operation, float, sources>(draft);
  return type == Type::f64 ? with_modifiers<Operation, double, sources>(draft) : nullptr;
}
template <class Operation>
Handler single(Type type, Draft& draft) {
  return type == Type::f32 ? with_modifiers<Operation, float, 1>(draft) : nullptr;
}
template <class Operation>
Handler approximate(Type type, Draft& draft) {
  if (type == Type::f64 && draft.has("approx"))
    return draft.has("ftz") ? unary<UpperHalf<Operation>, double, double> : unary<Operation, double, double>;
  return real<Operation, 1>(type, draft);
}

constexpr Form kForms[] = {
    {"add", "dss", real<Add, 2>},
    {"sub", "dss", real<Subtract, 2>},
    {"mul", "dss", real<Multiply, 2>},
    {"fma", "dsss", real<MultiplyAdd, 3>},
    {"mad", "dsss", real<MultiplyAdd, 3>},
    {"div", "dss", real<Divide, 2>},
    {"abs", "ds", real<Absolute, 1>},
    {"neg", "ds", real<Negate, 1>},
    {"min", "dss", real<Minimum, 2>},
    {"max", "dss", real<Maximum, 2>},
    {"min.NaN", "dss", real<MinimumOrNan, 2>},
    {"max.NaN", "dss", real<MaximumOrNan, 2>},
    {"copysign", "dss", real<CopySign, 2>},
    {"rcp", "ds", approximate<Reciprocal>},
    {"sqrt", "ds", real<SquareRoot, 1>},
    {"rsqrt", "ds", approximate<ReciprocalRoot>},
    {"sin", "ds", single<Sine>},
    {"cos", "ds", single<Cosine>},
    {"lg2", "ds", single<Logarithm>},
    {"ex2", "ds", single<PowerOfTwo>},
    {"tanh", "ds", single<HyperbolicTangent>},
};

}  // namespace

std::span<const Form> float_forms() { return kForms; }

}  // namespace ptx

// Arithmetic of pairs of floats: .f32x2 (PTX ISA 9.7.3), the first in the lower half of a 64-bit register.
#include <cfenv>
#include <cmath>

#include "float_bits.h"
#include "instruction_table.h"
#include "warp.h"

namespace ptx {
namespace {

struct Add {
  static float of(float a, float b, float) { return a + b; }
};
struct Subtract {
  static float of(float a, float b, float) { return a - b; }
};
struct Multiply {
  static float of(float a, float b, float) { return a * b; }
};
struct MultiplyAdd {
  static float of(float a, float b, float c) { return std::fma(a, b, c); }
};

// option: .ftz; immediate: the rounding, of <cfenv>. volatile: the operation must happen while the rounding
// is set.
template <class Operation, int sources>
[[gnu::noinline, gnu::optimize("rounding-math", "no-tree-vectorize")]] void run(
    Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const int before = std::fegetround();
  std::fesetround(static_cast<int>(instruction.immediate));
  const float* from[3] = {};
  for (int n = 0; n < 3; ++n) from[n] = values<float>(warp, instruction, std::min(n, sources - 1) + 1);
  float* const result = values<float>(warp, instruction, 0);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    for (const int at : {2 * lane, 2 * lane + 1}) {
      volatile float source[3] = {};
      for (int n = 0; n < 3; ++n) source[n] = instruction.option ? flush_subnormal(from[n][at]) : from[n][at];
      volatile const float value = Operation::of(source[0], source[1], source[2]);
      result[at] = instruction.option ? flush_subnormal(float{value}) : value;
    }
  }
  std::fesetround(before);
}

template <class Operation, int sources>
Handler pair(Type type, Draft& draft) {
  if (type != Type::f32x2 || draft.has("sat")) return nullptr;
  draft.instruction.option = draft.has("ftz");
  draft.instruction.immediate = draft.has("rz")   ? FE_TOWARDZERO
                                : draft.has("rm") ? FE_DOWNWARD
                                : draft.has("rp") ? FE_UPWARD
                                                  : FE_TONEAREST;
  return run<Operation, sources>;
}

constexpr Form kForms[] = {
    {"add", "dss", pair<Add, 2>},
    {"sub", "dss", pair<Subtract, 2>},
    {"mul", "dss", pair<Multiply, 2>},
    {"fma", "dsss", pair<MultiplyAdd, 3>},
};

}  // namespace

std::span<const Form> float_pair_forms() { return kForms; }

}  // namespace ptx

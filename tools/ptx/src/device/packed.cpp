// Two integers of 16 bits in a register, .relu of integers (PTX ISA 9.7.1), and the SIMD video instructions
// that nvcc emits for __vabsdiffu4(), __vsadu4() and __vsadu2() (9.7.18).
#include "elementwise.h"
#include "instruction_table.h"
#include "integers.h"

namespace ptx {
namespace {

template <class Operation>
struct NotNegative {
  template <class T>
  static T of(T a, T b) {
    const T result = Operation::of(a, b);
    return result < 0 ? T{0} : result;
  }
};

template <class Operation, class T>
struct EachHalf {
  static uint32_t of(uint32_t a, uint32_t b) {
    const uint16_t low = static_cast<uint16_t>(Operation::of(static_cast<T>(a), static_cast<T>(b)));
    const uint16_t high =
        static_cast<uint16_t>(Operation::of(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
    return uint32_t{high} << 16 | low;
  }
};

// The absolute differences of the unsigned elements: their sum and c, or without `add` each in its place.
template <int elements, bool add>
struct AbsoluteDifferences {
  static uint32_t of(uint32_t a, uint32_t b, uint32_t c) {
    constexpr int kBits = 32 / elements;
    constexpr uint32_t kMask = (1u << kBits) - 1;
    uint32_t sum = c, packed = 0;
    for (int n = 0; n < elements; ++n) {
      const uint32_t x = a >> kBits * n & kMask, y = b >> kBits * n & kMask;
      const uint32_t difference = x < y ? y - x : x - y;
      sum += difference;
      packed |= difference << kBits * n;
    }
    return add ? sum : packed;
  }
};

template <class Operation>
Handler halves(Type type, Draft&) {
  using W = uint32_t;
  if (type == Type::u16x2) return binary<EachHalf<Operation, uint16_t>, W, W, W>;
  return type == Type::s16x2 ? binary<EachHalf<Operation, int16_t>, W, W, W> : nullptr;
}
template <class Operation>
Handler not_negative(Type type, Draft&) {
  using W = uint32_t;
  if (type == Type::s32) return binary<NotNegative<Operation>, int32_t, int32_t, int32_t>;
  return type == Type::s16x2 ? binary<EachHalf<NotNegative<Operation>, int16_t>, W, W, W> : nullptr;
}
// With .relu behind the type, as CUDA's headers write it.
template <class Operation, Type type>
Handler relu_last(Type, Draft& draft) {
  return draft.parts.back() == "relu" ? not_negative<Operation>(type, draft) : nullptr;
}
template <int elements>
Handler differences(Type type, Draft&) {
  using W = uint32_t;
  return type == Type::u32 ? ternary<AbsoluteDifferences<elements, false>, W, W, W, W> : nullptr;
}
template <int elements>
Handler sum_of_differences(Type, Draft& draft) {
  using W = uint32_t;
  return draft.parts.back() == "add" ? ternary<AbsoluteDifferences<elements, true>, W, W, W, W> : nullptr;
}

constexpr Form kForms[] = {
    {"add", "dss", halves<Add>},
    {"min", "dss", halves<Minimum>},
    {"max", "dss", halves<Maximum>},
    {"min.relu", "dss", not_negative<Minimum>},
    {"max.relu", "dss", not_negative<Maximum>},
    {"min.s32", "duu", relu_last<Minimum, Type::s32>},
    {"max.s32", "duu", relu_last<Maximum, Type::s32>},
    {"min.s16x2", "duu", relu_last<Minimum, Type::s16x2>},
    {"max.s16x2", "duu", relu_last<Maximum, Type::s16x2>},
    {"vabsdiff2.u32.u32", "dsss", differences<2>},
    {"vabsdiff4.u32.u32", "dsss", differences<4>},
    {"vabsdiff2.u32.u32.u32", "duuu", sum_of_differences<2>},
    {"vabsdiff4.u32.u32.u32", "duuu", sum_of_differences<4>},
};

}  // namespace

std::span<const Form> packed_forms() { return kForms; }

}  // namespace ptx

// Extended-precision arithmetic with the carry flag CC.CF (PTX ISA 9.7.2).
#include <type_traits>

#include "instruction_table.h"
#include "integers.h"
#include "warp.h"

namespace ptx {
namespace {

using Wide = unsigned __int128;

// option: the carry is an input, in place of `otherwise`; option2: it is an output.
template <class T, class Compute>
void with_carry(Warp& warp, const Instruction& instruction, uint32_t lanes, uint32_t otherwise,
                Compute compute) {
  T* result = values<T>(warp, instruction, 0);
  for_lanes(lanes, [&](int lane) {
    const Wide sum = compute(lane, instruction.option ? warp.carry[lane] : otherwise);
    result[lane] = static_cast<T>(sum);
    if (instruction.option2) warp.carry[lane] = static_cast<uint32_t>(sum >> (sizeof(T) * 8)) & 1;
  });
}

template <class T>
void add(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const T* a = values<T>(warp, instruction, 1);
  const T* b = values<T>(warp, instruction, 2);
  with_carry<T>(warp, instruction, lanes, 0,
                [=](int l, uint32_t carry) { return Wide{a[l]} + b[l] + carry; });
}

// a - b is a + ~b + 1: the carry is 1 if nothing was borrowed. The ISA leaves that open; nvcc's division of
// 128-bit integers has an addc behind a sub.cc that needs it.
template <class T>
void subtract(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const T* a = values<T>(warp, instruction, 1);
  const T* b = values<T>(warp, instruction, 2);
  with_carry<T>(warp, instruction, lanes, 1,
                [=](int l, uint32_t carry) { return Wide{a[l]} + static_cast<T>(~b[l]) + carry; });
}

// T: the type of the factors.
template <class T, bool high>
void multiply_add(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  using U = Unsigned<T>;
  const T* a = values<T>(warp, instruction, 1);
  const T* b = values<T>(warp, instruction, 2);
  const U* c = values<U>(warp, instruction, 3);
  with_carry<U>(warp, instruction, lanes, 0, [=](int l, uint32_t carry) {
    const Wide product = static_cast<Wide>(a[l]) * static_cast<Wide>(b[l]);  // modulo 2^128
    const U part = static_cast<U>(high ? product >> (sizeof(T) * 8) : product);
    return Wide{part} + c[l] + carry;
  });
}

template <bool carry_in>
void set_carries(Draft& draft) {
  draft.instruction.option = carry_in;
  draft.instruction.option2 = carry_in ? draft.has("cc") : true;
}

template <bool carry_in, bool difference>
Handler sum(Type type, Draft& draft) {
  set_carries<carry_in>(draft);
  switch (type) {
    case Type::u32:
    case Type::s32:
      return difference ? subtract<uint32_t> : add<uint32_t>;
    case Type::u64:
    case Type::s64:
      return difference ? subtract<uint64_t> : add<uint64_t>;
    default:
      return nullptr;
  }
}

template <bool carry_in, bool high>
Handler product(Type type, Draft& draft) {
  set_carries<carry_in>(draft);
  switch (type) {
    case Type::u32:
      return multiply_add<uint32_t, high>;
    case Type::s32:
      return multiply_add<int32_t, high>;
    case Type::u64:
      return multiply_add<uint64_t, high>;
    case Type::s64:
      return multiply_add<int64_t, high>;
    default:
      return nullptr;
  }
}

constexpr Form kForms[] = {
    {"add.cc", "dss", sum<false, false>},
    {"addc", "dss", sum<true, false>},
    {"addc.cc", "dss", sum<true, false>},
    {"sub.cc", "dss", sum<false, true>},
    {"subc", "dss", sum<true, true>},
    {"subc.cc", "dss", sum<true, true>},
    {"mad.lo.cc", "dsss", product<false, false>},
    {"mad.hi.cc", "dsss", product<false, true>},
    {"madc.lo", "dsss", product<true, false>},
    {"madc.hi", "dsss", product<true, true>},
    {"madc.lo.cc", "dsss", product<true, false>},
    {"madc.hi.cc", "dsss", product<true, true>},
};

}  // namespace

std::span<const Form> carry_forms() { return kForms; }

}  // namespace ptx

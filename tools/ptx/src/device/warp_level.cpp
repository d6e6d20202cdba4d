// Instructions in which lanes of a warp exchange values (PTX ISA 9.7.9.6, 9.7.13.9 to 9.7.13.14). The warp
// has brought the lanes of the mask together.
#include "elementwise.h"
#include "fault.h"
#include "float_bits.h"
#include "instruction_table.h"
#include "integers.h"

namespace ptx {
namespace {

enum Shuffle : uint8_t { up, down, bfly, idx };

// Operands: d, p or absent, a, b, c. variant: the mode.
void shfl(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  uint32_t source[kWarpSize];
  std::memcpy(source, values<uint32_t>(warp, instruction, 2), sizeof source);
  const uint32_t* b = values<uint32_t>(warp, instruction, 3);
  const uint32_t* c = values<uint32_t>(warp, instruction, 4);
  uint32_t* d = values<uint32_t>(warp, instruction, 0);
  uint32_t in_range = 0;
  for_lanes(lanes, [&](int lane) {
    const int offset = static_cast<int>(b[lane] & 31), clamp = static_cast<int>(c[lane] & 31);
    const int segment = static_cast<int>(c[lane] >> 8 & 31);
    const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int from = 0;
    bool in = false;
    switch (instruction.variant) {
      case up:
        from = lane - offset, in = from >= most;
        break;
      case down:
        from = lane + offset, in = from <= most;
        break;
      case bfly:
        from = lane ^ offset, in = from <= most;
        break;
      default:
        from = least | (offset & ~segment), in = from <= most;
        break;
    }
    if (!in) from = lane;
    if (!(lanes >> from & 1))
      fail(kLaunchFailure, "shfl.sync: lane ", lane, " reads lane ", from, ", which does not take part");
    d[lane] = source[from];
    in_range |= uint32_t{in} << lane;
  });
  if (instruction.operands[1].present()) set_predicate(warp, instruction, 1, lanes, in_range);
}

enum Vote : uint8_t { ballot, any, all, uni };

// Operands: d, a. option: a negated.
void vote(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t votes = (predicate(warp, instruction, 1) ^ (instruction.option ? ~0u : 0)) & lanes;
  if (instruction.variant == ballot) {
    uint32_t* d = values<uint32_t>(warp, instruction, 0);
    for_lanes(lanes, [&](int lane) { d[lane] = votes; });
    return;
  }
  const bool none = votes == 0, every = votes == lanes;
  const bool result = instruction.variant == any ? !none : instruction.variant == all ? every : none || every;
  set_predicate(warp, instruction, 0, lanes, result ? ~0u : 0);
}

struct MinimumFloat {
  static float of(float a, float b) { return least_of(a, b); }
};
struct MaximumFloat {
  static float of(float a, float b) { return greatest_of(a, b); }
};

template <class Operation, class T>
void redux(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const T* a = values<T>(warp, instruction, 1);
  T total = a[std::countr_zero(lanes)];
  for_lanes(lanes & (lanes - 1), [&](int lane) { total = Operation::of(total, a[lane]); });
  T* d = values<T>(warp, instruction, 0);
  for_lanes(lanes, [&](int lane) { d[lane] = total; });
}

void match_any(Warp& warp, const Instruction& instruction, uint32_t lanes) {  // Operands: d, a
  const Operand a = instruction.operands[1];
  for_lanes(lanes, [&](int lane) {
    uint32_t equal = 0;
    for_lanes(lanes, [&](int other) {
      equal |= uint32_t{value_of(warp, a, other) == value_of(warp, a, lane)} << other;
    });
    values<uint32_t>(warp, instruction, 0)[lane] = equal;
  });
}

void match_all(Warp& warp, const Instruction& instruction, uint32_t lanes) {  // Operands: d, a, p or absent
  const uint64_t first = value_of(warp, instruction.operands[1], std::countr_zero(lanes));
  bool equal = true;
  for_lanes(lanes, [&](int lane) { equal &= value_of(warp, instruction.operands[1], lane) == first; });
  for_lanes(lanes, [&](int lane) { values<uint32_t>(warp, instruction, 0)[lane] = equal ? lanes : 0; });
  if (instruction.operands[2].present()) set_predicate(warp, instruction, 2, lanes, equal ? ~0u : 0);
}

void activemask(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  uint32_t* d = values<uint32_t>(warp, instruction, 0);
  for_lanes(lanes, [&](int lane) { d[lane] = warp.active; });
}

void elect(Warp& warp, const Instruction& instruction, uint32_t lanes) {  // Operands: d, p
  const int leader = std::countr_zero(lanes);
  for_lanes(lanes,
            [&](int lane) { set_value(warp, instruction.operands[0], lane, static_cast<uint64_t>(leader)); });
  set_predicate(warp, instruction, 1, lanes, 1u << leader);
}

Handler redux_of(const Draft& draft) {
  if (draft.type() == Type::f32) {
    if (draft.has("NaN") || draft.has("abs")) return nullptr;
    return draft.has("min")   ? redux<MinimumFloat, float>
           : draft.has("max") ? redux<MaximumFloat, float>
                              : nullptr;
  }
  const bool is_signed = draft.type() == Type::s32;
  if (draft.has("add")) return redux<Add, uint32_t>;
  if (draft.has("min")) return is_signed ? redux<Minimum, int32_t> : redux<Minimum, uint32_t>;
  if (draft.has("max")) return is_signed ? redux<Maximum, int32_t> : redux<Maximum, uint32_t>;
  return draft.has("and")  ? redux<And, uint32_t>
         : draft.has("or") ? redux<Or, uint32_t>
                           : redux<Xor, uint32_t>;
}

void add_pair(Decoder& decoder, Draft& draft, std::string_view second) {
  if (second.empty()) {
    draft.add_absent();
  } else {
    draft.add(decoder.destination(second));
  }
}

}  // namespace

bool decode_shfl(Decoder& decoder, Draft& draft) {
  if (!draft.has("sync")) return false;
  draft.instruction.run = shfl;
  draft.instruction.variant = draft.has("up")     ? up
                              : draft.has("down") ? down
                              : draft.has("bfly") ? bfly
                                                  : idx;
  const auto [d, p] = split_pair(draft.arguments.at(0));
  draft.add(decoder.destination(d));
  add_pair(decoder, draft, p);
  for (size_t n = 1; n < 4; ++n) draft.add(decoder.source(draft.arguments.at(n), 4));
  converge_by_mask(decoder, draft, draft.arguments.at(4));
  return true;
}

bool decode_vote(Decoder& decoder, Draft& draft) {
  if (!draft.has("sync")) return false;
  draft.instruction.run = vote;
  draft.instruction.variant = draft.has("ballot") ? ballot
                              : draft.has("any")  ? any
                              : draft.has("all")  ? all
                                                  : uni;
  draft.add(decoder.destination(draft.arguments.at(0)));
  std::string_view a = draft.arguments.at(1);
  draft.instruction.option = a.starts_with('!');
  if (draft.instruction.option) a.remove_prefix(1);
  draft.add(decoder.source(a, 0));
  converge_by_mask(decoder, draft, draft.arguments.at(2));
  return true;
}

bool decode_redux(Decoder& decoder, Draft& draft) {
  draft.instruction.run = redux_of(draft);
  add_operands(decoder, draft, 1, draft.type());
  converge_by_mask(decoder, draft, draft.arguments.at(2));
  return draft.instruction.run != nullptr;
}

bool decode_match(Decoder& decoder, Draft& draft) {
  const bool any_of = draft.has("any");
  draft.instruction.run = any_of ? match_any : match_all;
  const auto [d, p] = split_pair(draft.arguments.at(0));
  draft.add(decoder.destination(d));
  draft.add(decoder.source(draft.arguments.at(1), draft.type()));
  if (!any_of) add_pair(decoder, draft, p);
  converge_by_mask(decoder, draft, draft.arguments.at(2));
  return true;
}

bool decode_activemask(Decoder& decoder, Draft& draft) {
  draft.instruction.run = activemask;
  draft.add(decoder.destination(draft.arguments.at(0)));
  return true;
}

bool decode_elect(Decoder& decoder, Draft& draft) {
  draft.instruction.run = elect;
  const auto [d, p] = split_pair(draft.arguments.at(0));
  draft.add(decoder.destination(d));
  draft.add(decoder.destination(p));
  converge_by_mask(decoder, draft, draft.arguments.at(1));
  return true;
}

}  // namespace ptx

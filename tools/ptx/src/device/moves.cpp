// mov (PTX ISA 9.7.9.1, 9.7.9.3): registers, vectors, addresses of variables, clocks.
#include <atomic>

#include "block.h"
#include "elementwise.h"
#include "instruction_table.h"
#include "lexer.h"
#include "memory.h"

namespace ptx {
namespace {

struct Copy {
  template <class T>
  static T of(T a) {
    return a;
  }
};

struct Widen {
  static uint64_t of(uint32_t a) { return a; }
};

Handler copy_of(int bytes) {
  switch (bytes) {
    case 2:
      return unary<Copy, uint16_t, uint16_t>;
    case 4:
      return unary<Copy, uint32_t, uint32_t>;
    case 8:
      return unary<Copy, uint64_t, uint64_t>;
    default:
      return nullptr;
  }
}

void copy_predicate(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  set_predicate(warp, instruction, 0, lanes, predicate(warp, instruction, 1));
}

void address_of_variable(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint64_t address = base_address(warp, instruction);
  for_lanes(lanes, [&](int lane) { set_value(warp, instruction.operands[0], lane, address); });
}

// mov.b64 d, {a, b}: the first is the lowest. bytes: of an element; elements: how many
void pack(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const int bits = instruction.bytes * 8;
  for_lanes(lanes, [&](int lane) {
    uint64_t packed = 0;
    for (int n = 0; n < instruction.elements; ++n) {
      const uint64_t element =
          value_of(warp, instruction.operands[n + 1], lane) & ((uint64_t{1} << bits) - 1);
      packed |= element << (bits * n);
    }
    set_value(warp, instruction.operands[0], lane, packed);
  });
}

// mov.b64 {a, b}, d. Operands: d, a, b
void unpack(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const int bits = instruction.bytes * 8;
  for_lanes(lanes, [&](int lane) {
    const uint64_t packed = value_of(warp, instruction.operands[0], lane);
    for (int n = 0; n < instruction.elements; ++n)
      set_value(warp, instruction.operands[n + 1], lane, packed >> (bits * n));
  });
}

// %clock, %clock64, %globaltimer: no time is modelled; each read is later than the last one.
void read_clock(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  static std::atomic<uint64_t> clock{0};
  const uint64_t now = clock.fetch_add(32, std::memory_order_relaxed);
  for_lanes(lanes, [&](int lane) { set_value(warp, instruction.operands[0], lane, now); });
}

}  // namespace

bool decode_mov(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  const std::string_view to = draft.arguments.at(0), from = draft.arguments.at(1);
  if (draft.type() == Type::b128) return decode_wide_move(decoder, draft);
  const int bytes = register_bytes(draft.type());
  const bool packs = from.starts_with('{'), unpacks = to.starts_with('{');
  if (packs || unpacks) {
    const std::vector<std::string_view> elements = elements_of(packs ? from : to);
    if (bytes > 8 || elements.empty()) return false;
    instruction.run = packs ? pack : unpack;
    instruction.elements = static_cast<uint8_t>(elements.size());
    instruction.bytes = static_cast<uint8_t>(bytes / static_cast<int>(elements.size()));
    draft.add(packs ? decoder.destination(to) : decoder.source(from, bytes));
    for (const std::string_view element : elements)
      draft.add(packs ? decoder.source(element, instruction.bytes) : decoder.destination(element));
    return true;
  }
  draft.add(decoder.destination(to));
  if (draft.type() == Type::pred) {
    instruction.run = copy_predicate;
    draft.add(decoder.source(from, 0));
    return true;
  }
  if (from.starts_with("%clock") || from.starts_with("%globaltimer")) {
    instruction.run = read_clock;
    return true;
  }
  Operand source;
  Address variable;
  if (!decoder.find_register(from, &source) && decoder.find_variable(from, &variable)) {
    instruction.run = address_of_variable;
    instruction.immediate = variable.offset;
    instruction.base = variable.relative;
    return true;
  }
  source = decoder.source(from, bytes);
  draft.add(source);
  // A 32-bit special register as a 64-bit source is extended by zeros.
  if (source.bytes == 4 && bytes == 8) {
    instruction.run = unary<Widen, uint64_t, uint32_t>;
  } else {
    instruction.run = copy_of(bytes);
  }
  return instruction.run != nullptr;
}

}  // namespace ptx

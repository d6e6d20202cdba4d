// atom, red (PTX ISA 9.7.13.5, 9.7.13.7). Operands: the address, the destination or absent, b, c or absent.
// variant: the operation; bytes: the order.
#include <algorithm>
#include <atomic>

#include "float_bits.h"
#include "instruction_table.h"
#include "integers.h"
#include "lexer.h"
#include "memory.h"
#include "reduction.h"

namespace ptx {
namespace {

template <class T>
T combine(T old, T b, T c, Reduction operation) {
  switch (operation) {
    case Reduction::add:
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(b));
      return old + b;
    case Reduction::exch:
      return b;
    case Reduction::cas:
      return old == b ? c : old;
    case Reduction::min:
      return b < old ? b : old;
    case Reduction::max:
      return b > old ? b : old;
    case Reduction::inc:
      return old >= b ? T{0} : static_cast<T>(old + 1);
    case Reduction::dec:
      return old == 0 || old > b ? b : static_cast<T>(old - 1);
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>)
    return operation == Reduction::and_ ? old & b : operation == Reduction::or_ ? old | b : old ^ b;
  return old;
}

// The numbers in a word: integers and floats themselves, or 16-bit floats, alone or in a pair.
template <class T>
struct Plain {
  using Word = typename Integer<sizeof(T)>::type;
  static Word of(Word old, Word b, Word c, Reduction operation) {
    return std::bit_cast<Word>(
        combine(std::bit_cast<T>(old), std::bit_cast<T>(b), std::bit_cast<T>(c), operation));
  }
};
template <class Format>
uint16_t combine_halves(uint16_t old, uint16_t b, Reduction operation) {
  const double x = Format::to_float(old), y = Format::to_float(b);
  return Format::from(operation == Reduction::add   ? odd_sum(x, y)
                      : operation == Reduction::min ? least_of(x, y)
                                                    : greatest_of(x, y));
}
template <class Format>
struct Single {
  using Word = uint16_t;
  static Word of(Word old, Word b, Word, Reduction operation) {
    return combine_halves<Format>(old, b, operation);
  }
};
template <class Format>
struct Pair {
  using Word = uint32_t;
  static Word of(Word old, Word b, Word, Reduction operation) {
    const auto half = [&](int shift) -> Word {
      return combine_halves<Format>(static_cast<uint16_t>(old >> shift), static_cast<uint16_t>(b >> shift),
                                    operation);
    };
    return half(16) << 16 | half(0);
  }
};

// Other workers may access global memory at the same time.
template <class Numbers>
typename Numbers::Word update(char* at, typename Numbers::Word b, typename Numbers::Word c,
                              Reduction operation) {
  using Word = typename Numbers::Word;
  std::atomic_ref<Word> word(*reinterpret_cast<Word*>(at));
  Word old = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(old, Numbers::of(old, b, c, operation))) {
  }
  return old;
}

template <class Numbers>
void atomic(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  using Word = typename Numbers::Word;
  const Operand* const operands = instruction.operands;
  const Order order = static_cast<Order>(instruction.bytes);
  warp.strong = true;
  bool changed = false;
  for_lanes(lanes, [&](int lane) {
    const uint64_t address = lane_address(warp, instruction, lane);
    acquire_by(warp, address, order);
    release_by(warp, address, order);
    for (int n = 0; n < instruction.elements; ++n) {
      const Operand result = operands[1 + n], source = operands[1 + instruction.elements + n];
      const Operand other = operands[1 + 2 * instruction.elements];
      char* const at = lane_pointer(warp, instruction.space, address + sizeof(Word) * static_cast<size_t>(n),
                                    sizeof(Word), Access::update, lane);
      const Word b = static_cast<Word>(value_of(warp, source, lane));
      const Word c = other.present() ? static_cast<Word>(value_of(warp, other, lane)) : Word{0};
      const Reduction reduction = static_cast<Reduction>(instruction.variant);
      const Word old = update<Numbers>(at, b, c, reduction);
      if (result.present()) set_value(warp, result, lane, old);
      if (result.present() || warp.watched) changed |= Numbers::of(old, b, c, reduction) != old;
    }
  });
  warp.strong = false;
  warp.fruitless = !changed;
  warp.changed |= changed;
}

// Calls chooser<Numbers>() for the numbers of the type. False: it has no such operation.
template <class Chooser>
bool by_numbers(Type type, Reduction reduction, Chooser chooser) {
  const bool simple =
      reduction == Reduction::add || reduction == Reduction::min || reduction == Reduction::max;
  const bool exchanges = simple || reduction == Reduction::exch || reduction == Reduction::cas;
  switch (type) {
    case Type::u32:
    case Type::b32:
      return chooser.template operator()<Plain<uint32_t>>(), true;
    case Type::s32:
      return chooser.template operator()<Plain<int32_t>>(), true;
    case Type::u64:
    case Type::b64:
      return chooser.template operator()<Plain<uint64_t>>(), true;
    case Type::s64:
      return chooser.template operator()<Plain<int64_t>>(), true;
    case Type::f32:
      return exchanges && (chooser.template operator()<Plain<float>>(), true);
    case Type::f64:
      return exchanges && (chooser.template operator()<Plain<double>>(), true);
    case Type::b16:
      return chooser.template operator()<Plain<uint16_t>>(), true;
    case Type::f16:
      return simple && (chooser.template operator()<Single<Half>>(), true);
    case Type::bf16:
      return simple && (chooser.template operator()<Single<BFloat>>(), true);
    case Type::f16x2:
      return simple && (chooser.template operator()<Pair<Half>>(), true);
    case Type::bf16x2:
      return simple && (chooser.template operator()<Pair<BFloat>>(), true);
    default:
      return false;
  }
}

}  // namespace

Reduction reduction_named(std::string_view name) {
  constexpr std::string_view kNames[] = {"add", "exch", "cas", "min", "max",
                                         "inc", "dec",  "and", "or",  "xor"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  return static_cast<Reduction>(found - std::begin(kNames));
}

bool can_reduce(Type type, Reduction reduction) {
  return by_numbers(type, reduction, []<class Numbers>() {});
}

bool reduce_elements(Type type, Reduction reduction, char* to, const char* from, uint32_t bytes) {
  return by_numbers(type, reduction, [&]<class Numbers>() {
    using Word = typename Numbers::Word;
    for (uint32_t at = 0; at + sizeof(Word) <= bytes; at += sizeof(Word)) {
      Word source = 0;
      std::memcpy(&source, from + at, sizeof source);
      update<Numbers>(to + at, source, Word{0}, reduction);
    }
  });
}

bool decode_atom(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  if (draft.has("async")) return decode_async_store(decoder, draft);
  const Type type = draft.type();
  const bool returns = draft.parts[0] == "atom";
  const size_t at = returns ? 1 : 0;
  Reduction reduction = Reduction::none;
  for (const std::string_view part : draft.parts)
    if (reduction == Reduction::none) reduction = reduction_named(part);
  if (reduction == Reduction::none) return false;
  instruction.variant = static_cast<uint8_t>(reduction);
  instruction.space = space_of(draft);
  instruction.bytes = static_cast<uint8_t>(order_of(draft));
  if (type == Type::b128) return decode_wide_atom(decoder, draft, reduction);
  if (!by_numbers(type, reduction, [&]<class Numbers>() { instruction.run = atomic<Numbers>; })) return false;
  decoder.add_address(draft, draft.arguments.at(at));
  const std::vector<std::string_view> sources = elements_of(draft.arguments.at(at + 1));
  instruction.elements = static_cast<uint8_t>(sources.size());
  if (sources.size() > 1 && (reduction == Reduction::cas || reduction == Reduction::exch)) return false;
  if (returns) {
    instruction.flow = Flow::attempt;
    for (const std::string_view result : elements_of(draft.arguments[0]))
      draft.add(decoder.destination(result));
  } else {
    for (size_t n = 0; n < sources.size(); ++n) draft.add_absent();
  }
  for (const std::string_view source : sources) draft.add(decoder.source(source, type));
  if (reduction == Reduction::cas) {
    draft.add(decoder.source(draft.arguments.at(at + 2), type));
  } else {
    draft.add_absent();  // what follows is a cache policy
  }
  return true;
}

}  // namespace ptx

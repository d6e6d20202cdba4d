// 128-bit values: mov, ld, st, atom.exch and atom.cas of .b128 (PTX ISA 9.7.9.1, 9.7.9.8, 9.7.9.11,
// 9.7.13.5). A register has the lower halves of the lanes, and behind them the upper ones.
#include <atomic>
#include <bit>

#include "instruction_table.h"
#include "lexer.h"
#include "memory.h"
#include "reduction.h"

#if !defined(__x86_64__)
#include <mutex>
#endif

namespace ptx {
namespace {

constexpr int kHalf = 8, kWhole = 16;

__extension__ typedef unsigned __int128 Word;

// Other workers may access the same 16 bytes. Vector loads and stores of aligned 16 bytes are atomic on x86
// with AVX.
#if defined(__x86_64__)
typedef long long Vector __attribute__((vector_size(kWhole)));

Word atomic_load(const char* at) {
  return std::bit_cast<Word>(Vector(*reinterpret_cast<const volatile Vector*>(at)));
}
void atomic_store(char* at, Word value) {
  *reinterpret_cast<volatile Vector*>(at) = std::bit_cast<Vector>(value);
}
[[gnu::target("cx16")]] Word compare_exchange(char* at, Word expected, Word value) {
  return __sync_val_compare_and_swap(reinterpret_cast<volatile Word*>(at), expected, value);
}
#else
std::mutex wide_mutex;

Word atomic_load(const char* at) {
  const std::lock_guard lock(wide_mutex);
  Word value = 0;
  std::memcpy(&value, at, kWhole);
  return value;
}
void atomic_store(char* at, Word value) {
  const std::lock_guard lock(wide_mutex);
  std::memcpy(at, &value, kWhole);
}
Word compare_exchange(char* at, Word expected, Word value) {
  const std::lock_guard lock(wide_mutex);
  Word old = 0;
  std::memcpy(&old, at, kWhole);
  if (old == expected) std::memcpy(at, &value, kWhole);
  return old;
}
#endif

Operand half_of(Operand whole, int half) {
  return {whole.at + half * kHalf * kWarpSize, whole.present() ? kHalf : 0};
}

// Operands `index` and the next are the halves.
Word word_of(const Warp& warp, const Instruction& instruction, int index, int lane) {
  return Word{values<uint64_t>(warp, instruction, index + 1)[lane]} << 64 |
         values<uint64_t>(warp, instruction, index)[lane];
}
void set_word(const Warp& warp, const Instruction& instruction, int index, int lane, Word value) {
  values<uint64_t>(warp, instruction, index)[lane] = static_cast<uint64_t>(value);
  values<uint64_t>(warp, instruction, index + 1)[lane] = static_cast<uint64_t>(value >> 64);
}

void move(Warp& warp, const Instruction& instruction, uint32_t lanes) {  // Operands: two halves, two halves
  for_lanes(lanes,
            [&](int lane) { set_word(warp, instruction, 0, lane, word_of(warp, instruction, 2, lane)); });
}

// Operands: the address, the halves. option2 and variant are as in load_store.cpp.
void load_whole(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  warp.strong = instruction.option2;
  for_lanes(lanes, [&](int lane) {
    const uint64_t address = lane_address(warp, instruction, lane);
    const char* const from = lane_pointer(warp, instruction.space, address, kWhole, Access::read, lane);
    set_word(warp, instruction, 1, lane, atomic_load(from));
    if (instruction.option2) acquire_by(warp, address, static_cast<Order>(instruction.variant));
  });
  warp.strong = false;
  if (instruction.option2) std::atomic_thread_fence(std::memory_order_acquire);
}

void store_whole(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  if (instruction.option2) std::atomic_thread_fence(std::memory_order_release);
  warp.strong = instruction.option2;
  for_lanes(lanes, [&](int lane) {
    const uint64_t address = lane_address(warp, instruction, lane);
    if (instruction.option2) release_by(warp, address, static_cast<Order>(instruction.variant));
    char* const to = lane_pointer(warp, instruction.space, address, kWhole, Access::write, lane);
    atomic_store(to, word_of(warp, instruction, 1, lane));
  });
  warp.strong = false;
}

// Operands: the address, the result, b, and c of cas, in halves. bytes: the order.
template <bool compares>
void exchange(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const Order order = static_cast<Order>(instruction.bytes);
  warp.strong = true;
  for_lanes(lanes, [&](int lane) {
    const uint64_t address = lane_address(warp, instruction, lane);
    acquire_by(warp, address, order);
    release_by(warp, address, order);
    char* const at = lane_pointer(warp, instruction.space, address, kWhole, Access::update, lane);
    const Word b = word_of(warp, instruction, 3, lane);
    Word old = 0;
    if (compares) {
      old = compare_exchange(at, b, word_of(warp, instruction, 5, lane));
    } else {
      for (Word seen = atomic_load(at); (old = compare_exchange(at, seen, b)) != seen;) seen = old;
    }
    set_word(warp, instruction, 1, lane, old);
  });
  warp.strong = false;
}

// False: it is no register of 128 bits.
bool add_register(Decoder& decoder, Draft& draft, std::string_view text) {
  Operand whole;
  if (!decoder.find_register(trim(text), &whole) || whole.bytes != kWhole) return false;
  for (const int half : {0, 1}) draft.add(half_of(whole, half));
  return true;
}

}  // namespace

// mov.b128 d, a; mov.b128 d, {lower, upper}; mov.b128 {lower, upper}, a
bool decode_wide_move(Decoder& decoder, Draft& draft) {
  draft.instruction.run = move;
  for (const int n : {0, 1}) {
    const std::string_view text = draft.arguments.at(static_cast<size_t>(n));
    if (!text.starts_with('{')) {
      if (!add_register(decoder, draft, text)) return false;
      continue;
    }
    for (const std::string_view half : elements_of(text)) {
      draft.add(n == 0 ? decoder.destination(half) : decoder.source(half, kHalf));
      if (draft.operands.back().bytes != kHalf) return false;
    }
  }
  return draft.operands.size() == 4;
}

bool decode_wide_access(Decoder& decoder, Draft& draft, bool is_load) {
  draft.instruction.run = is_load ? load_whole : store_whole;
  return add_register(decoder, draft, draft.arguments.at(is_load ? 0 : 1));
}

bool decode_wide_atom(Decoder& decoder, Draft& draft, Reduction reduction) {
  const bool compares = reduction == Reduction::cas;
  if (draft.parts[0] != "atom" || (!compares && reduction != Reduction::exch)) return false;
  draft.instruction.run = compares ? exchange<true> : exchange<false>;
  decoder.add_address(draft, draft.arguments.at(1));
  return add_register(decoder, draft, draft.arguments.at(0)) &&
         add_register(decoder, draft, draft.arguments.at(2)) &&
         (!compares || add_register(decoder, draft, draft.arguments.at(3)));
}

}  // namespace ptx

// ld, ldu, st (PTX ISA 9.7.9.8 to 9.7.9.11). Operands: the address, then the elements. bytes: of an element;
// option: sign-extended; option2: another thread may see or cause the access (.volatile, .relaxed, .acquire,
// .release).
#include <atomic>

#include "instruction_table.h"
#include "integers.h"
#include "lexer.h"
#include "memory.h"

namespace ptx {
namespace {

template <class T>
T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// What to add to an address to get its state.
uint64_t shadow_of(const Block& block, const Together& together) {
  return reinterpret_cast<uint64_t>(block.shadow.states()) - reinterpret_cast<uint64_t>(block.shared.data()) +
         together.base;
}

// Whether all of the bytes that the lanes read are written.
bool written_together(const Block& block, const Together& together, const Addresses& addresses,
                      uint32_t bytes) {
  const uint64_t shadow = shadow_of(block, together);
  const auto all = [&]<class T>(T ones) {
    for (int lane = 0; lane < kWarpSize; ++lane)
      ones &= read<T>(reinterpret_cast<const char*>(shadow + addresses.of[lane]));
    return ones == static_cast<T>(~T{0});
  };
  switch (bytes) {
    case 1:
      return all(static_cast<uint8_t>(~0));
    case 2:
      return all(static_cast<uint16_t>(~0));
    case 4:
      return all(~uint32_t{0});
    case 8:
      return all(~uint64_t{0});
    default: {
      uint64_t ones = ~uint64_t{0};
      for (int lane = 0; lane < kWarpSize; ++lane)
        for (uint32_t at = 0; at < bytes; at += 8)
          ones &= read<uint64_t>(reinterpret_cast<const char*>(shadow + addresses.of[lane] + at));
      return ones == ~uint64_t{0};
    }
  }
}

template <int bytes>
void mark(uint64_t shadow, const Addresses& addresses) {
  for (int lane = 0; lane < kWarpSize; ++lane)
    std::memset(reinterpret_cast<char*>(shadow + addresses.of[lane]), 0xFF, bytes);
}

void mark_together(Block& block, const Together& together, const Addresses& addresses, uint32_t bytes) {
  const uint64_t shadow = shadow_of(block, together);
  switch (bytes) {
    case 1:
      return mark<1>(shadow, addresses);
    case 2:
      return mark<2>(shadow, addresses);
    case 4:
      return mark<4>(shadow, addresses);
    case 8:
      return mark<8>(shadow, addresses);
    case 16:
      return mark<16>(shadow, addresses);
    default:
      return mark<32>(shadow, addresses);
  }
}

void note_stores(const Warp& warp, Block& block, const Together& together, const Addresses& addresses,
                 uint32_t lanes, uint32_t bytes) {
  if (!block.shadow.has_sources() && !block.shadow.by_thread()) {
    mark_together(block, together, addresses, bytes);
    return;
  }
  for_lanes(lanes, [&](int lane) {
    const uint32_t offset = static_cast<uint32_t>(addresses.of[lane]) & kOffsetMask;
    block.shadow.write(offset, bytes, thread_of(warp, lane), block.rank);
  });
}

template <class Register, class T>
void load_elements(Register* to, const Together& together, const Addresses& addresses, uint32_t lanes,
                   uint64_t offset) {
  for_lanes(lanes, [&](int lane) {
    to[lane] = static_cast<Register>(read<T>(together.pointer(addresses.of[lane] + offset, lane)));
  });
}

// Strong accesses order others. variant: the order.
void acquire_all(Warp& warp, const Instruction& instruction, const Addresses& addresses, uint32_t lanes) {
  if (!warp.block->launch->races) return;
  for_lanes(lanes,
            [&](int lane) { acquire_by(warp, addresses.of[lane], static_cast<Order>(instruction.variant)); });
}
void release_all(Warp& warp, const Instruction& instruction, const Addresses& addresses, uint32_t lanes) {
  if (!warp.block->launch->races) return;
  for_lanes(lanes,
            [&](int lane) { release_by(warp, addresses.of[lane], static_cast<Order>(instruction.variant)); });
}

template <int bytes>
void load(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  using T = typename Integer<bytes>::type;
  using Signed = typename Integer<bytes>::with_sign;
  const uint32_t all_bytes = bytes * instruction.elements;
  const Operand* const to = instruction.operands + 1;
  const bool sign = instruction.option;
  warp.strong = instruction.option2;
  Addresses addresses;
  Together together;
  if (!instruction.operands[0].present() && instruction.space != Space::local && !instruction.option2) {
    // A variable or parameter: the same address in all lanes.
    const uint64_t address = base_address(warp, instruction);
    const char* from = lane_pointer(warp, instruction.space, address, all_bytes, Access::read, 0);
    for (int n = 0; n < instruction.elements; ++n, from += bytes) {
      const uint64_t value = sign ? static_cast<uint64_t>(int64_t{read<Signed>(from)}) : read<T>(from);
      for_lanes(lanes, [&](int lane) { set_value(warp, to[n], lane, value); });
    }
    return;
  }
  lane_addresses(warp, instruction, lanes, &addresses);
  if (accessible_together(warp, instruction.space, addresses, all_bytes, Access::read, &together) &&
      (!together.shared || !together.shared->shadow.enabled() ||
       written_together(*together.shared, together, addresses, all_bytes))) {
    for (int n = 0; n < instruction.elements; ++n) {
      const uint64_t offset = static_cast<uint64_t>(n * bytes);
      if (to[n].bytes == 4) {
        uint32_t* const values = warp.values<uint32_t>(to[n]);
        sign ? load_elements<uint32_t, Signed>(values, together, addresses, lanes, offset)
             : load_elements<uint32_t, T>(values, together, addresses, lanes, offset);
      } else if (to[n].bytes == 8) {
        uint64_t* const values = warp.values<uint64_t>(to[n]);
        sign ? load_elements<uint64_t, Signed>(values, together, addresses, lanes, offset)
             : load_elements<uint64_t, T>(values, together, addresses, lanes, offset);
      } else {
        uint16_t* const values = warp.values<uint16_t>(to[n]);
        sign ? load_elements<uint16_t, Signed>(values, together, addresses, lanes, offset)
             : load_elements<uint16_t, T>(values, together, addresses, lanes, offset);
      }
    }
  } else {
    for_lanes(lanes, [&](int lane) {
      const char* from =
          lane_pointer(warp, instruction.space, addresses.of[lane], all_bytes, Access::read, lane);
      for (int n = 0; n < instruction.elements; ++n, from += bytes)
        set_value(warp, to[n], lane,
                  sign ? static_cast<uint64_t>(int64_t{read<Signed>(from)}) : read<T>(from));
    });
  }
  warp.strong = false;
  if (!instruction.option2) return;
  warp.fruitless = true;
  std::atomic_thread_fence(std::memory_order_acquire);
  acquire_all(warp, instruction, addresses, lanes);
}

template <class Register, class T>
void store_elements(const Register* from, const Together& together, const Addresses& addresses,
                    uint32_t lanes, uint64_t offset) {
  // In the order of the lanes: of several stores to one address, the last stays.
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    const T value = static_cast<T>(from[lane]);
    std::memcpy(together.pointer(addresses.of[lane] + offset, lane), &value, sizeof value);
  }
}

template <int bytes>
void store(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  using T = typename Integer<bytes>::type;
  const uint32_t all_bytes = bytes * instruction.elements;
  const Operand* const from = instruction.operands + 1;
  Addresses addresses;
  Together together;
  lane_addresses(warp, instruction, lanes, &addresses);
  warp.strong = instruction.option2;
  if (instruction.option2) {
    std::atomic_thread_fence(std::memory_order_release);
    release_all(warp, instruction, addresses, lanes);
  }
  if (!warp.watched &&
      accessible_together(warp, instruction.space, addresses, all_bytes, Access::write, &together)) {
    if (together.shared && together.shared->shadow.enabled())
      note_stores(warp, *together.shared, together, addresses, lanes, all_bytes);
    for (int n = 0; n < instruction.elements; ++n) {
      const uint64_t offset = static_cast<uint64_t>(n * bytes);
      switch (from[n].bytes) {
        case 4:
          store_elements<uint32_t, T>(warp.values<uint32_t>(from[n]), together, addresses, lanes, offset);
          break;
        case 8:
          store_elements<uint64_t, T>(warp.values<uint64_t>(from[n]), together, addresses, lanes, offset);
          break;
        default:
          store_elements<uint16_t, T>(warp.values<uint16_t>(from[n]), together, addresses, lanes, offset);
          break;
      }
    }
    return;
  }
  for_lanes(lanes, [&](int lane) {
    char* to = lane_pointer(warp, instruction.space, addresses.of[lane], all_bytes, Access::write, lane);
    for (int n = 0; n < instruction.elements; ++n, to += bytes) {
      const T value = static_cast<T>(value_of(warp, from[n], lane));
      warp.changed |= read<T>(to) != value;
      std::memcpy(to, &value, sizeof value);
    }
  });
  warp.strong = false;
}

Handler load_of(int bytes) {
  return bytes == 1 ? load<1> : bytes == 2 ? load<2> : bytes == 4 ? load<4> : bytes == 8 ? load<8> : nullptr;
}
Handler store_of(int bytes) {
  return bytes == 1   ? store<1>
         : bytes == 2 ? store<2>
         : bytes == 4 ? store<4>
         : bytes == 8 ? store<8>
                      : nullptr;
}

bool decode_access(Decoder& decoder, Draft& draft, bool is_load) {
  Instruction& instruction = draft.instruction;
  const Type type = draft.type();
  const int bytes = type_bytes(type);
  instruction.run = is_load ? load_of(bytes) : store_of(bytes);
  instruction.space = space_of(draft);
  instruction.bytes = static_cast<uint8_t>(bytes);
  instruction.option = is_signed(type);
  for (const std::string_view strong : {"volatile", "relaxed", "acquire", "release", "mmio"})
    instruction.option2 |= draft.has(strong);
  if (is_load && instruction.option2) instruction.flow = Flow::attempt;
  instruction.variant = static_cast<uint8_t>(order_of(draft));
  const int elements = draft.has("v2") ? 2 : draft.has("v4") ? 4 : draft.has("v8") ? 8 : 1;
  instruction.elements = static_cast<uint8_t>(elements);
  const Address address = decoder.add_address(draft, draft.arguments.at(is_load ? 1 : 0));
  if (address.local) instruction.space = Space::local;  // .param of a call
  instruction.loads = is_load && instruction.space != Space::local && instruction.space != Space::parameter &&
                      instruction.space != Space::constant;
  if (type == Type::b128) return elements == 1 && decode_wide_access(decoder, draft, is_load);
  for (const std::string_view element : elements_of(draft.arguments.at(is_load ? 0 : 1)))
    draft.add(is_load ? decoder.destination(element) : decoder.source(element, type));
  return instruction.run && draft.operands.size() == static_cast<size_t>(elements) + 1;
}

}  // namespace

Order order_of(const Draft& draft) {
  if (draft.has("acq_rel")) return Order::both;
  return draft.has("acquire") ? Order::acquire : draft.has("release") ? Order::release : Order::relaxed;
}

Space space_of(const Draft& draft) {
  struct Row {
    std::string_view name;
    Space space;
  };
  constexpr Row kSpaces[] = {{"global", Space::global},
                             {"shared", Space::shared},
                             {"shared::cta", Space::shared},
                             {"shared::cluster", Space::shared_cluster},
                             {"local", Space::local},
                             {"param", Space::parameter},
                             {"param::entry", Space::parameter},
                             {"param::func", Space::parameter},
                             {"const", Space::constant}};
  for (const Row& row : kSpaces)
    if (draft.has(row.name)) return row.space;
  return Space::generic;
}

bool decode_load(Decoder& decoder, Draft& draft) { return decode_access(decoder, draft, true); }
bool decode_store(Decoder& decoder, Draft& draft) {
  return draft.has("async") ? decode_async_store(decoder, draft) : decode_access(decoder, draft, false);
}

}  // namespace ptx

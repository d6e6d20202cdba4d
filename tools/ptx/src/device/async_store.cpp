// st.async and red.async (PTX ISA 9.7.9.12, 9.7.13.8): values for the shared memory of a block of the
// cluster, which complete at an mbarrier there.
#include <array>

#include "bulk_copy.h"
#include "fault.h"
#include "instruction_table.h"
#include "lexer.h"
#include "mbarrier.h"
#include "memory.h"

namespace ptx {
namespace {

constexpr uint32_t kMostBytes = 16;

// Operands: the address, the mbarrier, the elements. bytes: of an element; numbers: the offset of the
// mbarrier's address, the type, and the reduction.
void run(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  const uint32_t bytes = uint32_t{instruction.bytes} * instruction.elements;
  const BulkReduction how{static_cast<Type>(instruction.numbers[1]),
                          static_cast<Reduction>(instruction.numbers[2])};
  for_lanes(lanes, [&](int lane) {
    const uint32_t to = static_cast<uint32_t>(lane_address(warp, instruction, lane));
    const uint32_t barrier = static_cast<uint32_t>(value_of(warp, instruction.operands[1], lane)) +
                             static_cast<uint32_t>(instruction.numbers[0]);
    if (to >> kRankShift != barrier >> kRankShift)
      fail(kLaunchFailure, "an asynchronous store to ", hex(to), " completes at the mbarrier at ",
           hex(barrier), ", which is of another block");
    find_mbarrier(warp, barrier);
    Block* block = nullptr;
    uint32_t offset = 0;
    shared_pointer(*warp.block, to, bytes, bytes, &block, &offset);
    if (how.reduction == Reduction::none) {
      block->shadow.expect_bulk(offset, bytes);
    } else {
      block->shadow.check_read(offset, bytes, block->rank);
    }
    std::array<char, kMostBytes> data{};
    for (int n = 0; n < instruction.elements; ++n) {
      const uint64_t value = value_of(warp, instruction.operands[2 + n], lane);
      std::memcpy(data.data() + n * instruction.bytes, &value, instruction.bytes);
    }
    issue_load(warp, [=] {
      put_bulk(how, shared_pointer(*block, to, bytes, bytes), data.data(), bytes);
      block->shadow.write_bulk(offset, bytes);
      forget_accesses(*block, offset, bytes);
      complete_transactions(*block, barrier & kOffsetMask, bytes);
    });
  });
}

// red.async has fewer operations and types than red.
bool has_reduction(Type type, Reduction reduction) {
  switch (reduction) {
    case Reduction::inc:
    case Reduction::dec:
      return type == Type::u32;
    case Reduction::min:
    case Reduction::max:
      return type == Type::u32 || type == Type::s32;
    case Reduction::add:
      return type == Type::u32 || type == Type::s32 || type == Type::u64;
    case Reduction::and_:
    case Reduction::or_:
    case Reduction::xor_:
      return type == Type::b32;
    default:
      return false;
  }
}

}  // namespace

// st.async.mbarrier::complete_tx::bytes.shared::cluster.v4.b32 [a], {...}, [mbarrier]
// red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.add.u32 [a], b, [mbarrier]
bool decode_async_store(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  const Type type = draft.type();
  if (!draft.has("mbarrier::complete_tx::bytes") || draft.has("global")) return false;
  const int width = type_bytes(type);
  if (width != 4 && width != 8) return false;
  Reduction reduction = Reduction::none;
  if (draft.parts[0] == "red") {
    for (const std::string_view part : draft.parts)
      if (reduction == Reduction::none) reduction = reduction_named(part);
    if (!has_reduction(type, reduction)) return false;
  }
  instruction.run = run;
  instruction.bytes = static_cast<uint8_t>(width);
  decoder.add_address(draft, draft.arguments.at(0));
  const Address barrier = decoder.address(draft.arguments.at(2));
  if (!barrier.base.present()) return false;
  draft.add(barrier.base);
  draft.numbers = {static_cast<int32_t>(barrier.offset), static_cast<int32_t>(type),
                   static_cast<int32_t>(reduction)};
  const std::vector<std::string_view> elements = elements_of(draft.arguments.at(1));
  instruction.elements = static_cast<uint8_t>(elements.size());
  for (const std::string_view element : elements) draft.add(decoder.source(element, type));
  const size_t expected = draft.has("v2") ? 2 : draft.has("v4") ? 4 : 1;
  return elements.size() == expected && static_cast<uint32_t>(width) * expected <= kMostBytes;
}

}  // namespace ptx

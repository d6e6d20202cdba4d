// wgmma (PTX ISA 9.7.15): products of a warpgroup, which are issued, committed and waited for.
// wgmma_operands.h says what the fields of an instruction mean.
#include "wgmma.h"

#include <algorithm>

#include "async.h"
#include "block.h"
#include "fault.h"
#include "instruction_table.h"
#include "lexer.h"
#include "memory.h"
#include "mma_sparse.h"
#include "wgmma_operands.h"

namespace ptx {
namespace {

constexpr size_t kRegisterBytes = 4 * kWarpSize;

// The values of a register of wgmma that the latest fence has seen.
char* fenced_value(Warp& warp, Operand operand) {
  const Code& code = *warp.block->launch->code;
  const int32_t index = code.product_index[static_cast<size_t>(operand.at / kRegisterUnit)];
  return warp.async.fenced_values.data() + static_cast<size_t>(index) * kRegisterBytes;
}

void set_fenced_accumulators(Warp& warp, const Instruction& instruction) {
  if (warp.async.fenced_values.empty()) return;
  for (int n = 0; n < accumulators_of(instruction); ++n)
    std::memcpy(fenced_value(warp, instruction.operands[n]), values<char>(warp, instruction, n),
                kRegisterBytes);
}

// Registers must not have changed since the latest wgmma.fence, and generic writes of operands in shared
// memory need fence.proxy.async.
void check_product(Warp& warp, const PendingProduct& product) {
  const Instruction& instruction = *product.instruction;
  const int accumulators = accumulators_of(instruction);
  const int registers = accumulators + (instruction.elements == 4 ? 4 : 0);
  if (warp.async.fenced_values.empty()) fail(kLaunchFailure, "wgmma without wgmma.fence before it");
  for (int n = 0; n < registers; ++n)
    if (std::memcmp(fenced_value(warp, instruction.operands[n]), values<char>(warp, instruction, n),
                    kRegisterBytes) != 0)
      fail(kLaunchFailure, "wgmma: ", n < accumulators ? "an accumulator" : "a register of A",
           " has changed since the latest wgmma.fence");
  const int t = kUnitWords * elements_in_word(type_of_a(instruction));
  const Block& block = *warp.block;
  const auto check = [&](uint64_t bits, int first, int count, int k_size, bool mn_major) {
    for (int mn = 0; mn < count; mn += mn_major ? t : 1)
      for (int k = 0; k < k_size; k += mn_major ? 1 : t) {
        const uint32_t address = unit_address(Descriptor(bits), first + mn, k, t, mn_major);
        unit_pointer(block, address);
        note_shared_access(warp, *warp.block, address, 16, false, false);
        block.shadow.check_proxy(address, 16, thread_of(warp, 0), block.rank, "wgmma");
      }
  };
  if (instruction.elements == 1)
    check(product.a, warp.index % 4 * kWarpRows, kWarpRows, stored_k_of(instruction),
          instruction.numbers[wgmma_number::transpose_a] != 0);
  check(product.b, 0, columns_of(instruction), k_of(instruction),
        instruction.numbers[wgmma_number::transpose_b] != 0);
  warp.async.unwaited.push_back({&instruction, product.group});
  for (int n = 0; n < accumulators; ++n) {
    const size_t unit = static_cast<size_t>(instruction.operands[n].at / kRegisterUnit);
    warp.async.in_flight[static_cast<size_t>(block.launch->code->product_index[unit])] = 1;
  }
}

void wgmma(Warp& warp, const Instruction& instruction, uint32_t) {
  const int of_a = accumulators_of(instruction), of_b = of_a + instruction.elements;
  PendingProduct product{&instruction, 0, 0, false, warp.async.product_group, {}};
  const auto descriptor = [&](int operand) {
    const uint64_t* bits = values<uint64_t>(warp, instruction, operand);
    for (int lane = 1; lane < kWarpSize; ++lane)
      if (bits[lane] != bits[0])
        fail(kLaunchFailure, "wgmma: the descriptors of lanes 0 and ", lane, " differ");
    if (bits[0] >> 49 & 7)
      fail(kLaunchFailure, "wgmma: a descriptor has the base offset ", bits[0] >> 49 & 7);
    return bits[0];
  };
  if (instruction.elements == 1) product.a = descriptor(of_a);
  product.b = descriptor(of_b);
  const uint32_t scale_d = predicate(warp, instruction, of_b + 1);
  if (scale_d != 0 && scale_d != kAllLanes) fail(kLaunchFailure, "wgmma: scale-d differs between lanes");
  product.add = scale_d != 0;
  if (instruction.option2)
    std::copy_n(values<uint32_t>(warp, instruction, of_b + 2), kWarpSize, product.metadata.begin());
  if (warp.block->launch->launch.checks.proxies) check_product(warp, product);
  if (warp.block->launch->launch.late.products) {
    warp.async.products.push_back(product);
  } else {
    execute_product(warp, product);
  }
}

// The groups that wait_group of this warp has to see complete.
uint64_t awaited(const Warp& warp, const Instruction& instruction) {
  const uint64_t newest = static_cast<uint64_t>(instruction.immediate);
  return warp.async.product_group > newest ? warp.async.product_group - newest : 0;
}

// A product is an operation of four warps: after one of them has waited, the parts of all are complete.
template <class Function>
void for_warpgroup(Warp& warp, Function function) {
  std::vector<Warp>& warps = warp.block->warps;
  const size_t first = static_cast<size_t>(warp.index) / 4 * 4;
  for (size_t n = first; n < first + 4 && n < warps.size(); ++n) function(warps[n]);
}

bool groups_committed(Warp& warp, const Instruction& instruction) {
  const uint64_t target = awaited(warp, instruction);
  bool ready = true;
  for_warpgroup(warp,
                [&](const Warp& other) { ready &= other.live == 0 || other.async.product_group >= target; });
  return ready;
}

// The accumulators of complete products may be used again.
void end_products(Warp& warp, uint64_t target) {
  AsyncState& async = warp.async;
  if (async.unwaited.empty()) return;
  std::erase_if(async.unwaited, [&](const UnwaitedProduct& product) { return product.group < target; });
  std::fill(async.in_flight.begin(), async.in_flight.end(), uint8_t{0});
  for (const UnwaitedProduct& product : async.unwaited)
    for (int n = 0; n < accumulators_of(*product.instruction); ++n) {
      const size_t unit = static_cast<size_t>(product.instruction->operands[n].at / kRegisterUnit);
      async.in_flight[static_cast<size_t>(warp.block->launch->code->product_index[unit])] = 1;
    }
}

void wait_group(Warp& warp, const Instruction& instruction, uint32_t lanes) {
  if (!groups_committed(warp, instruction)) {
    warp.yielded |= lanes;
    return;
  }
  const uint64_t target = awaited(warp, instruction);
  for_warpgroup(warp, [&](Warp& other) {
    std::vector<PendingProduct>& products = other.async.products;
    size_t done = 0;
    while (done < products.size() && products[done].group < target) execute_product(other, products[done++]);
    products.erase(products.begin(), products.begin() + static_cast<std::ptrdiff_t>(done));
  });
  end_products(warp, target);
}

void commit_group(Warp& warp, const Instruction&, uint32_t) { ++warp.async.product_group; }

void fence(Warp& warp, const Instruction&, uint32_t) {
  const Code& code = *warp.block->launch->code;
  AsyncState& async = warp.async;
  if (!warp.block->launch->launch.checks.proxies || code.product_registers.empty()) return;
  async.fenced_values.resize(code.product_registers.size() * kRegisterBytes);
  async.in_flight.resize(code.product_registers.size());
  for (size_t n = 0; n < code.product_registers.size(); ++n)
    if (async.in_flight[n] == 0)
      std::memcpy(&async.fenced_values[n * kRegisterBytes], warp.values<char>(code.product_registers[n]),
                  kRegisterBytes);
}

}  // namespace

void execute_product(Warp& warp, const PendingProduct& product) {
  compute_product(warp, product);
  set_fenced_accumulators(warp, *product.instruction);
}

void check_not_in_flight(const Warp& warp, const Instruction& instruction) {
  if (instruction.run == wgmma) return;
  const Code& code = *warp.block->launch->code;
  if (&instruction == &code.instructions.back()) return;
  for (const Operand* operand = instruction.operands; operand != (&instruction)[1].operands; ++operand) {
    if (!operand->present() || operand->bytes != 4) continue;
    const int32_t index = code.product_index[static_cast<size_t>(operand->at / kRegisterUnit)];
    if (index >= 0 && code.product_registers[static_cast<size_t>(index)].at == operand->at &&
        warp.async.in_flight[static_cast<size_t>(index)] != 0)
      fail(kLaunchFailure, "an accumulator of a wgmma is used before wgmma.wait_group");
  }
}

void perform_next_product(Warp& warp) {
  std::vector<PendingProduct>& products = warp.async.products;
  if (products.empty()) return;
  execute_product(warp, products.front());
  products.erase(products.begin());
}

namespace {

bool has_types(Type d, Type a, Type b) {
  switch (a) {
    case Type::tf32:
    case Type::bf16:
      return d == Type::f32 && b == a;
    case Type::f16:
      return (d == Type::f32 || d == Type::f16) && b == a;
    case Type::e4m3:
    case Type::e5m2:
      return (d == Type::f32 || d == Type::f16) && (b == Type::e4m3 || b == Type::e5m2);
    case Type::s8:
    case Type::u8:
      return d == Type::s32 && (b == Type::s8 || b == Type::u8);
    case Type::b1:
      return d == Type::s32 && b == a;
    default:
      return false;
  }
}

// The metadata and the selector of a sparse product, arguments 3 and 4.
bool add_metadata(Decoder& decoder, Draft& draft) {
  const Type type = type_of_a(draft.instruction);
  if (sparsity_of(type).chunk == 0) return false;
  const Layout layout{kWarpRows, k_of(draft.instruction), elements_in_word(type)};
  const int lanes = lanes_with_metadata(layout, sparsity_of(type));
  uint64_t selector = 0;
  if (!parse_number(draft.arguments.at(4), 4, &selector) || selector >= 4u / static_cast<unsigned>(lanes))
    return false;
  draft.add(decoder.source(draft.arguments.at(3), 4));
  draft.numbers.push_back(static_cast<int32_t>(selector));
  return true;
}

// wgmma.mma_async{.sp}.sync.aligned.m64nNkK{.satfinite}.dtype.atype.btype d, a, b, {sp-meta, sp-sel,}
// scale-d, and for floats scale-a, scale-b, and for 16-bit types the transposes: of A only if it is in shared
// memory. Bits have .and.popc behind the types: their products are those of the numbers 0 and 1.
bool decode_product(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  const bool of_bits = draft.has("popc");
  const size_t count = draft.parts.size() - (of_bits ? 2 : 0), sparse = draft.has("sp") ? 1 : 0;
  if (count < 8 + sparse) return false;
  const Type d = type_named(draft.parts[count - 3]), a_type = type_named(draft.parts[count - 2]);
  const Type b_type = type_named(draft.parts[count - 1]);
  if (of_bits != (a_type == Type::b1) || (of_bits && draft.parts[count] != "and")) return false;
  std::string_view shape = draft.parts[4 + sparse];
  int columns = 0, k = 0;
  if (!has_types(d, a_type, b_type) || !shape.starts_with("m64n")) return false;
  shape.remove_prefix(4);
  take_number(shape, &columns);
  if (!shape.starts_with("k")) return false;
  shape.remove_prefix(1);
  take_number(shape, &k);
  instruction.run = wgmma;
  decoder.uses_async_reads();
  instruction.immediate = static_cast<int64_t>(a_type);
  instruction.variant = static_cast<uint8_t>(b_type);
  instruction.bytes = static_cast<uint8_t>(d);
  instruction.immediate2 = columns;
  instruction.option = draft.has("satfinite");
  instruction.option2 = sparse != 0;
  if (k != k_of(instruction)) return false;
  for (const std::string_view text : elements_of(draft.arguments.at(0))) draft.add(decoder.destination(text));
  if (draft.operands.size() != static_cast<size_t>(accumulators_of(instruction))) return false;
  const std::vector<std::string_view> a = elements_of(draft.arguments.at(1));
  instruction.elements = static_cast<uint8_t>(a.size());
  for (const std::string_view text : a) draft.add(decoder.source(text, a.size() == 1 ? 8 : 4));
  const size_t registers = draft.operands.size() - (a.size() == 1 ? 1 : 0);
  for (size_t n = 0; n < registers; ++n) decoder.add_product_register(draft.operands[n]);
  const size_t scale_d = 3 + 2 * sparse;
  draft.add(decoder.source(draft.arguments.at(2), 8));
  draft.add(decoder.source(draft.arguments.at(scale_d), 0));
  const auto argument = [&](size_t behind, int32_t otherwise) {
    const size_t n = scale_d + behind;
    uint64_t number = 0;
    return n < draft.arguments.size() && parse_number(draft.arguments[n], 4, &number)
               ? static_cast<int32_t>(number)
               : otherwise;
  };
  const bool halves = elements_in_word(a_type) == 2, a_in_memory = a.size() == 1;
  draft.numbers = {argument(1, 1), argument(2, 1), halves && a_in_memory ? argument(3, 0) : 0,
                   halves ? argument(a_in_memory ? 4 : 3, 0) : 0};
  return sparse == 0 || add_metadata(decoder, draft);
}

}  // namespace

bool decode_wgmma(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  converge_all(draft);
  const std::string_view operation = draft.parts[1];
  if (operation == "fence") {
    instruction.run = fence;
    return true;
  }
  if (operation == "commit_group") {
    instruction.run = commit_group;
    return true;
  }
  if (operation == "wait_group") {
    instruction.run = wait_group;
    instruction.flow = Flow::wait;
    return decode_newest_groups(draft);
  }
  return operation == "mma_async" && decode_product(decoder, draft);
}

}  // namespace ptx

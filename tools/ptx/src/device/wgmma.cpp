// wgmma.mma_async (PTX ISA 9.7.15): products of a warpgroup, of which each warp computes 16 rows. Operands:
// d, a (4 registers or a descriptor), b (a descriptor), the predicate scale-d. immediate: the type of A,
// variant: that of B, immediate2: n. elements: registers of A, 1 for a descriptor. bytes: the type of D;
// option: .satfinite.
#include "wgmma.h"

#include <algorithm>
#include <utility>

#include "async.h"
#include "block.h"
#include "fault.h"
#include "float_bits.h"
#include "instruction_table.h"
#include "lexer.h"
#include "memory.h"
#include "tensor_elements.h"
#include "tensor_sums.h"

namespace ptx {
namespace {

enum Number { kScaleA, kScaleB, kTransposeA, kTransposeB };
constexpr int kWarpRows = 16, kMostColumns = 256, kMostK = 32, kUnitWords = 4;
constexpr size_t kRegisterBytes = 4 * kWarpSize;

// A matrix in shared memory by its descriptor (ISA, "Matrix Descriptor Format", "Strides").
struct Descriptor {
  uint32_t start, leading, stride;  // bytes
  int swizzle;                      // 0 none, 1: 128, 2: 64, 3: 32 bytes
  explicit Descriptor(uint64_t bits)
      : start(static_cast<uint32_t>(bits & 0x3FFF) << 4),
        leading(static_cast<uint32_t>(bits >> 16 & 0x3FFF) << 4),
        stride(static_cast<uint32_t>(bits >> 32 & 0x3FFF) << 4),
        swizzle(static_cast<int>(bits >> 62)) {}
  // 16-byte units in a row of the swizzled pattern.
  uint32_t units() const { return swizzle == 0 ? 1 : 16u >> swizzle; }
  uint32_t swizzled(uint32_t address) const {
    return swizzle == 0 ? address : address ^ ((address >> 7 & (units() - 1)) << 4);
  }
};

// The address of the 16 bytes with the element (mn, k), in the canonical layouts: in K-major order ((8, m),
// (t, 2k)), and in MN-major order ((t, units, m), (8, k)), where t elements have 16 bytes.
uint32_t unit_address(const Descriptor& matrix, int mn, int k, int t, bool mn_major) {
  const int units = static_cast<int>(matrix.units());
  const auto u = [](int value) { return static_cast<uint32_t>(value); };
  uint32_t offset = 0;
  if (!mn_major) {
    offset = u(mn % 8 * units * 16) + u(mn / 8) * matrix.stride +
             u(k / t) * (matrix.swizzle == 0 ? matrix.leading : 16);
  } else if (matrix.swizzle == 0) {
    offset = u(mn / t) * matrix.stride + u(k % 8 * 16) + u(k / 8) * matrix.leading;
  } else {
    offset = u(mn / t % units * 16) + u(mn / (t * units)) * matrix.leading + u(k % 8 * units * 16) +
             u(k / 8) * matrix.stride;
  }
  return matrix.swizzled(matrix.start + offset);
}

const char* unit_pointer(const Block& block, uint32_t address) {
  if (address < kSharedBase || address + 16 > block.shared.size())
    fail(kIllegalAddress, "wgmma reads shared memory at ", hex(address), ": the block has ",
         block.shared.size() - kSharedBase, " bytes from ", hex(kSharedBase));
  block.shadow.check_read(address, 16, block.rank);
  return block.shared.data() + address;
}

Type type_of_a(const Instruction& instruction) { return static_cast<Type>(instruction.immediate); }
Type type_of_b(const Instruction& instruction) { return static_cast<Type>(instruction.variant); }
Type type_of_d(const Instruction& instruction) { return static_cast<Type>(instruction.bytes); }
int columns_of(const Instruction& instruction) { return static_cast<int>(instruction.immediate2); }
int accumulators_of(const Instruction& instruction) {  // registers
  return columns_of(instruction) / (type_of_d(instruction) == Type::f16 ? 4 : 2);
}
int k_of(const Instruction& instruction) { return 8 * elements_in_word(type_of_a(instruction)); }

// Calls store(mn, k, value) for `count` rows or columns from `first` on.
template <class Store>
void read_matrix(const Block& block, const Descriptor& matrix, int first, int count, int k_size, Type type,
                 bool mn_major, Store store) {
  const int per = elements_in_word(type), t = kUnitWords * per;
  for (int mn = 0; mn < count; mn += mn_major ? t : 1) {
    for (int k = 0; k < k_size; k += mn_major ? 1 : t) {
      const char* unit = unit_pointer(block, unit_address(matrix, first + mn, k, t, mn_major));
      uint32_t words[kUnitWords];
      std::memcpy(words, unit, sizeof words);
      float elements[16];
      for (int word = 0; word < kUnitWords; ++word) unpack(type, words[word], elements + word * per);
      for (int e = 0; e < t; ++e) mn_major ? store(mn + e, k, elements[e]) : store(mn, k + e, elements[e]);
    }
  }
}

void read_rows_of_a(const Warp& warp, const PendingProduct& product, float (*a)[kMostK]) {
  const Instruction& instruction = *product.instruction;
  const Type type = type_of_a(instruction);
  const float scale = static_cast<float>(instruction.numbers[kScaleA]);
  if (instruction.elements == 1) {
    const bool mn_major = instruction.numbers[kTransposeA] != 0;
    read_matrix(*warp.block, Descriptor(product.a), warp.index % 4 * kWarpRows, kWarpRows, k_of(instruction),
                type, mn_major, [&](int row, int k, float value) { a[row][k] = scale * value; });
    return;
  }
  const int per = elements_in_word(type), first = accumulators_of(instruction);
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int r = 0; r < 4; ++r) {
      float elements[kMostInWord];
      unpack(type, values<uint32_t>(warp, instruction, first + r)[lane], elements);
      for (int e = 0; e < per; ++e)
        a[lane / 4 + (r & 1) * 8][(r >> 1) * 4 * per + lane % 4 * per + e] = scale * elements[e];
    }
  }
}

void read_b(const Warp& warp, const PendingProduct& product, float (*b)[kMostColumns]) {
  const Instruction& instruction = *product.instruction;
  const float scale = static_cast<float>(instruction.numbers[kScaleB]);
  read_matrix(*warp.block, Descriptor(product.b), 0, columns_of(instruction), k_of(instruction),
              type_of_b(instruction), instruction.numbers[kTransposeB] != 0,
              [&](int column, int k, float value) { b[k][column] = scale * value; });
}

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
  const int k_size = k_of(instruction), t = kUnitWords * elements_in_word(type_of_a(instruction));
  const Block& block = *warp.block;
  const auto check = [&](uint64_t bits, int first, int count, bool mn_major) {
    for (int mn = 0; mn < count; mn += mn_major ? t : 1)
      for (int k = 0; k < k_size; k += mn_major ? 1 : t) {
        const uint32_t address = unit_address(Descriptor(bits), first + mn, k, t, mn_major);
        unit_pointer(block, address);
        note_shared_access(warp, *warp.block, address, 16, false, false);
        block.shadow.check_proxy(address, 16, thread_of(warp, 0), block.rank, "wgmma");
      }
  };
  if (instruction.elements == 1)
    check(product.a, warp.index % 4 * kWarpRows, kWarpRows, instruction.numbers[kTransposeA] != 0);
  check(product.b, 0, columns_of(instruction), instruction.numbers[kTransposeB] != 0);
  warp.async.unwaited.push_back({&instruction, product.group});
  for (int n = 0; n < accumulators; ++n) {
    const size_t unit = static_cast<size_t>(instruction.operands[n].at / kRegisterUnit);
    warp.async.in_flight[static_cast<size_t>(block.launch->code->product_index[unit])] = 1;
  }
}

void wgmma(Warp& warp, const Instruction& instruction, uint32_t) {
  const int of_a = accumulators_of(instruction), of_b = of_a + instruction.elements;
  PendingProduct product{&instruction, 0, 0, false, warp.async.product_group};
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

// Eight columns, in vectors that the compiler does not find in loops.
constexpr int kColumns = 8, kRowsAtOnce = 4;
typedef float Floats __attribute__((vector_size(kColumns * sizeof(float))));
typedef double Doubles __attribute__((vector_size(kColumns * sizeof(double))));

// Sets the sums of a row, from `column` on, to `products`, and to what they were before if `add`. Of columns
// 8 j to 8 j + 7, lane 4 (row % 8) + t has 2 t and 2 t + 1, in the elements 4 j + 2 (row / 8) and the next.
void accumulate(const Warp& warp, const Instruction& instruction, bool add, int row, int column,
                const Doubles& products) {
  const int lane = row % 8 * 4, element = column / 8 * 4 + row / 8 * 2;
  const Type type = type_of_d(instruction);
  if (type == Type::f16) {
    uint32_t* pairs = values<uint32_t>(warp, instruction, element / 2) + lane;
    for (int c = 0; c < kColumns; ++c) {
      uint32_t& pair = pairs[c / 2];
      const int shift = 16 * (c % 2);
      const double before = add ? half_to_float(static_cast<uint16_t>(pair >> shift)) : 0.0;
      pair = (pair & ~(0xFFFFu << shift)) | uint32_t{Half::from(before + products[c])} << shift;
    }
    return;
  }
  const TensorSums rounding = warp.block->launch->launch.tensor_sums;
  for (int odd = 0; odd < 2; ++odd) {
    if (type == Type::f32) {
      float* d = values<float>(warp, instruction, element + odd) + lane;
      for (int t = 0; t < kColumns / 2; ++t)
        d[t] = tensor_sum((add ? double{d[t]} : 0.0) + products[2 * t + odd], rounding);
      continue;
    }
    int32_t* d = values<int32_t>(warp, instruction, element + odd) + lane;
    for (int t = 0; t < kColumns / 2; ++t) {
      const int64_t sum = (add ? d[t] : 0) + static_cast<int64_t>(products[2 * t + odd]);
      d[t] = static_cast<int32_t>(instruction.option ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum);
    }
  }
}

// With TensorSums::aligned, for sums of floats: of each row after the other.
void execute_aligned(const Warp& warp, const PendingProduct& product, const float (*a)[kMostK],
                     const float (*b)[kMostColumns]) {
  const Instruction& instruction = *product.instruction;
  const int columns = columns_of(instruction);
  const bool halves = type_of_d(instruction) == Type::f16;
  for (int row = 0; row < kWarpRows; ++row) {
    // The registers are those of accumulate().
    const auto place = [&](int column) {
      return std::pair(column / 8 * 4 + row / 8 * 2 + column % 2, row % 8 * 4 + column % 8 / 2);
    };
    double d[kMostColumns] = {};
    for (int column = 0; product.add && column < columns; ++column) {
      const auto [element, lane] = place(column);
      d[column] = halves ? half_to_float(static_cast<uint16_t>(
                               values<uint32_t>(warp, instruction, element / 2)[lane] >> 16 * (element % 2)))
                         : values<float>(warp, instruction, element)[lane];
    }
    add_aligned_products(a[row], b[0], kMostColumns, k_of(instruction), columns, d);
    for (int column = 0; column < columns; ++column) {
      const auto [element, lane] = place(column);
      if (halves) {
        uint32_t& pair = values<uint32_t>(warp, instruction, element / 2)[lane];
        const int shift = 16 * (element % 2);
        pair = (pair & ~(0xFFFFu << shift)) | uint32_t{Half::from(d[column])} << shift;
      } else {
        values<float>(warp, instruction, element)[lane] = static_cast<float>(d[column]);
      }
    }
  }
}

}  // namespace

void execute_product(Warp& warp, const PendingProduct& product) {
  const Instruction& instruction = *product.instruction;
  const int columns = columns_of(instruction), k_size = k_of(instruction);
  static thread_local float b[kMostK][kMostColumns];
  float a[kWarpRows][kMostK];
  read_b(warp, product, b);
  read_rows_of_a(warp, product, a);
  const bool aligned = warp.block->launch->launch.tensor_sums == TensorSums::aligned;
  if (aligned && type_of_d(instruction) != Type::s32) {
    execute_aligned(warp, product, a, b);
    set_fenced_accumulators(warp, instruction);
    return;
  }
  for (int column = 0; column < columns; column += kColumns)
    for (int row = 0; row < kWarpRows; row += kRowsAtOnce) {
      Doubles sums[kRowsAtOnce] = {};
      for (int k = 0; k < k_size; ++k) {
        Floats of_b;
        std::memcpy(&of_b, &b[k][column], sizeof(of_b));
        const Doubles factors = __builtin_convertvector(of_b, Doubles);
        for (int r = 0; r < kRowsAtOnce; ++r) sums[r] += double{a[row + r][k]} * factors;
      }
      for (int r = 0; r < kRowsAtOnce; ++r)
        accumulate(warp, instruction, product.add, row + r, column, sums[r]);
    }
  set_fenced_accumulators(warp, instruction);
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
    default:
      return false;
  }
}

// wgmma.mma_async.sync.aligned.m64nNkK{.satfinite}.dtype.atype.btype d, a, b, scale-d, and for floats
// scale-a, scale-b, and for 16-bit types the transposes: of A only if it is in shared memory.
bool decode_product(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  const size_t count = draft.parts.size();
  if (count < 8) return false;
  const Type d = type_named(draft.parts[count - 3]), a_type = type_named(draft.parts[count - 2]);
  const Type b_type = draft.type();
  std::string_view shape = draft.parts[4];
  int columns = 0;
  if (!has_types(d, a_type, b_type) || !shape.starts_with("m64n")) return false;
  shape.remove_prefix(4);
  take_number(shape, &columns);
  instruction.run = wgmma;
  decoder.uses_async_reads();
  instruction.immediate = static_cast<int64_t>(a_type);
  instruction.variant = static_cast<uint8_t>(b_type);
  instruction.bytes = static_cast<uint8_t>(d);
  instruction.immediate2 = columns;
  instruction.option = draft.has("satfinite");
  for (const std::string_view text : elements_of(draft.arguments.at(0))) draft.add(decoder.destination(text));
  if (draft.operands.size() != static_cast<size_t>(accumulators_of(instruction))) return false;
  const std::vector<std::string_view> a = elements_of(draft.arguments.at(1));
  instruction.elements = static_cast<uint8_t>(a.size());
  for (const std::string_view text : a) draft.add(decoder.source(text, a.size() == 1 ? 8 : 4));
  const size_t registers = draft.operands.size() - (a.size() == 1 ? 1 : 0);
  for (size_t n = 0; n < registers; ++n) decoder.add_product_register(draft.operands[n]);
  draft.add(decoder.source(draft.arguments.at(2), 8));
  draft.add(decoder.source(draft.arguments.at(3), 0));
  const auto argument = [&](size_t n, int32_t otherwise) {
    uint64_t number = 0;
    return n < draft.arguments.size() && parse_number(draft.arguments[n], 4, &number)
               ? static_cast<int32_t>(number)
               : otherwise;
  };
  const bool halves = elements_in_word(a_type) == 2, a_in_memory = a.size() == 1;
  draft.numbers = {argument(4, 1), argument(5, 1), halves && a_in_memory ? argument(6, 0) : 0,
                   halves ? argument(a_in_memory ? 7 : 6, 0) : 0};
  return true;
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

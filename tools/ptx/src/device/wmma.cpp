// wmma (PTX ISA 9.7.14.3, 9.7.14.4). The ISA does not specify the layout of fragments; here element e of lane
// l is number l n + e of the matrix in row-major order, modulo its size: fragments of f16 hold each element
// twice.
#include <cmath>

#include "block.h"
#include "fault.h"
#include "float_bits.h"
#include "instruction_table.h"
#include "lexer.h"
#include "memory.h"
#include "tensor_sums.h"

namespace ptx {
namespace {

// The numbers of wmma.load and wmma.store.
enum Number { kRows, kColumns, kElements, kElementBytes, kPerRegister };

struct ElementPlace {
  int row, column;
};
ElementPlace place_of(const Instruction& instruction, int lane, int element) {
  const int32_t* n = instruction.numbers;
  const int index = (lane * n[kElements] + element) % (n[kRows] * n[kColumns]);
  return {index / n[kColumns], index % n[kColumns]};
}

// Operands: the address, the stride, the registers. option: the matrix is stored column after column.
uint64_t element_address(const Warp& warp, const Instruction& instruction, int lane, int element) {
  const auto [row, column] = place_of(instruction, lane, element);
  const uint64_t stride = values<uint32_t>(warp, instruction, 1)[lane];
  const uint64_t line = static_cast<uint64_t>(instruction.option ? column : row);
  const uint64_t in_line = static_cast<uint64_t>(instruction.option ? row : column);
  return lane_address(warp, instruction, lane) +
         static_cast<uint64_t>(instruction.numbers[kElementBytes]) * (line * stride + in_line);
}

void load(Warp& warp, const Instruction& instruction, uint32_t) {
  const int per = instruction.numbers[kPerRegister], bytes = instruction.numbers[kElementBytes];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int element = 0; element < instruction.numbers[kElements]; ++element) {
      const uint64_t address = element_address(warp, instruction, lane, element);
      uint64_t value = 0;
      std::memcpy(
          &value,
          lane_pointer(warp, instruction.space, address, static_cast<uint32_t>(bytes), Access::read, lane),
          static_cast<size_t>(bytes));
      const Operand to = instruction.operands[2 + element / per];
      const int shift = 8 * bytes * (element % per);
      const uint64_t before = element % per == 0 ? 0 : value_of(warp, to, lane);
      set_value(warp, to, lane, before | value << shift);
    }
  }
}

void store(Warp& warp, const Instruction& instruction, uint32_t) {
  const int per = instruction.numbers[kPerRegister], bytes = instruction.numbers[kElementBytes];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int element = 0; element < instruction.numbers[kElements]; ++element) {
      const uint64_t address = element_address(warp, instruction, lane, element);
      const uint64_t value =
          value_of(warp, instruction.operands[2 + element / per], lane) >> (8 * bytes * (element % per));
      std::memcpy(
          lane_pointer(warp, instruction.space, address, static_cast<uint32_t>(bytes), Access::write, lane),
          &value, static_cast<size_t>(bytes));
    }
  }
}

// The numbers of wmma.mma: the shape, and the registers of the fragments.
enum ProductNumber { kM, kN, kK, kOfD, kOfA, kOfB };

float element_of(uint32_t word, int e, Type type) {
  switch (type) {
    case Type::f16:
      return half_to_float(static_cast<uint16_t>(word >> 16 * e));
    case Type::bf16:
      return bfloat_to_float(static_cast<uint16_t>(word >> 16 * e));
    case Type::tf32:
      return tf32_operand(word);
    case Type::s8:
      return static_cast<int8_t>(word >> 8 * e);
    default:
      return static_cast<uint8_t>(word >> 8 * e);
  }
}

void read_matrix(const Warp& warp, const Instruction& instruction, int first, int registers, int size,
                 float* matrix) {
  const Type type = static_cast<Type>(instruction.immediate);
  const int per = 4 / type_bytes(type), elements = registers * per;
  for (int lane = 0; lane < kWarpSize; ++lane)
    for (int e = 0; e < elements; ++e)
      matrix[(lane * elements + e) % size] =
          element_of(values<uint32_t>(warp, instruction, first + e / per)[lane], e % per, type);
}

// immediate: the type of A and B, option: D is f16, option2: C is f16.
void multiply(Warp& warp, const Instruction& instruction, uint32_t) {
  const int32_t* n = instruction.numbers;
  float a[512], b[512];
  read_matrix(warp, instruction, n[kOfD], n[kOfA], n[kM] * n[kK], a);
  read_matrix(warp, instruction, n[kOfD] + n[kOfA], n[kOfB], n[kK] * n[kN], b);
  const int of_c = n[kOfD] + n[kOfA] + n[kOfB];
  const int elements = n[kM] * n[kN] / kWarpSize;
  const bool integer = n[kOfD] == 8 && type_bytes(static_cast<Type>(instruction.immediate)) == 1;
  const TensorSums sums = warp.block->launch->launch.tensor_sums;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int e = 0; e < elements; ++e) {
      const int index = lane * elements + e, row = index / n[kN], column = index % n[kN];
      double sum = 0;
      for (int k = 0; k < n[kK]; ++k) sum += double{a[row * n[kK] + k]} * double{b[k * n[kN] + column]};
      if (integer) {
        const int64_t total = static_cast<int64_t>(sum) + values<int32_t>(warp, instruction, of_c + e)[lane];
        values<int32_t>(warp, instruction, e)[lane] = static_cast<int32_t>(total);
        continue;
      }
      const int shift = 16 * (e % 2);
      const double c = instruction.option2
                           ? half_to_float(static_cast<uint16_t>(
                                 values<uint32_t>(warp, instruction, of_c + e / 2)[lane] >> shift))
                           : values<float>(warp, instruction, of_c + e)[lane];
      sum += c;
      if (sums == TensorSums::aligned) {
        sum = c;
        add_aligned_products(a + row * n[kK], b + column, n[kN], n[kK], 1, &sum);
      }
      if (instruction.option) {
        uint32_t& pair = values<uint32_t>(warp, instruction, e / 2)[lane];
        pair = (pair & ~(0xFFFFu << shift)) | uint32_t{Half::from(sum)} << shift;
      } else {
        values<float>(warp, instruction, e)[lane] = tensor_sum(sum, sums);
      }
    }
  }
}

// m8n8k4 of f64: a fused multiply-add for each k.
void multiply_doubles(Warp& warp, const Instruction& instruction, uint32_t) {
  constexpr int kRows = 8, kK = 4, kInLane = 2;
  double a[kRows * kK], b[kK * kRows];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    a[lane] = values<double>(warp, instruction, kInLane)[lane];
    b[lane] = values<double>(warp, instruction, kInLane + 1)[lane];
  }
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int e = 0; e < kInLane; ++e) {
      const int index = lane * kInLane + e, row = index / kRows, column = index % kRows;
      double sum = values<double>(warp, instruction, kInLane + 2 + e)[lane];
      for (int k = 0; k < kK; ++k) sum = std::fma(a[row * kK + k], b[k * kRows + column], sum);
      values<double>(warp, instruction, e)[lane] = sum;
    }
  }
}

bool decode_doubles(Decoder& decoder, Draft& draft) {
  constexpr size_t kRegisters[] = {2, 1, 1, 2};
  draft.instruction.run = multiply_doubles;
  for (size_t n = 0; n < 4; ++n) {
    const std::vector<std::string_view> fragment = elements_of(draft.arguments.at(n));
    if (fragment.size() != kRegisters[n]) return false;
    for (const std::string_view text : fragment)
      draft.add(n == 0 ? decoder.destination(text) : decoder.source(text, 8));
  }
  return true;
}

bool read_shape(const Draft& draft, int (&shape)[3], size_t* part) {
  for (size_t n = 1; n < draft.parts.size(); ++n) {
    std::string_view text = draft.parts[n];
    if (text.size() < 6 || text[0] != 'm' || !is_digit(text[1])) continue;
    for (int& size : shape) {
      text.remove_prefix(1);
      if (!take_number(text, &size)) return false;
    }
    *part = n;
    return true;
  }
  return false;
}

bool decode_fragment(Decoder& decoder, Draft& draft, const int (&shape)[3], bool is_load) {
  Instruction& instruction = draft.instruction;
  const int bytes = type_bytes(draft.type());
  if (bytes <= 0 || bytes > 8) return false;
  const char fragment = draft.parts[2][0];
  const int rows = fragment == 'b' ? shape[2] : shape[0], columns = fragment == 'a' ? shape[2] : shape[1];
  const std::vector<std::string_view> registers = elements_of(draft.arguments.at(is_load ? 0 : 1));
  const int per = bytes > 4 ? 1 : 4 / bytes, elements = static_cast<int>(registers.size()) * per;
  if (elements * kWarpSize % (rows * columns) != 0) return false;
  instruction.run = is_load ? load : store;
  instruction.option = draft.has("col");
  instruction.space = space_of(draft);
  draft.numbers = {rows, columns, elements, bytes, per};
  decoder.add_address(draft, draft.arguments.at(is_load ? 1 : 0));
  draft.add(draft.arguments.size() > 2
                ? decoder.source(draft.arguments[2], 4)
                : decoder.constant(static_cast<uint64_t>(instruction.option ? rows : columns), 4));
  for (const std::string_view text : registers)
    draft.add(is_load ? decoder.destination(text) : decoder.source(text, bytes > 4 ? bytes : 4));
  return true;
}

}  // namespace

bool decode_wmma(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  int shape[3] = {};
  size_t part = 0;
  if (!read_shape(draft, shape, &part)) return false;
  converge_all(draft);
  if (draft.parts[1] == "load") return decode_fragment(decoder, draft, shape, true);
  if (draft.parts[1] == "store") return decode_fragment(decoder, draft, shape, false);
  // wmma.mma.sync.aligned.alayout.blayout.shape.dtype[.atype.btype].ctype
  std::vector<std::string_view> types(draft.parts.begin() + static_cast<std::ptrdiff_t>(part) + 1,
                                      draft.parts.end());
  if (draft.has("f64"))
    return draft.has("m8n8k4") && (!draft.has("rz") && !draft.has("rm") && !draft.has("rp")) &&
           decode_doubles(decoder, draft);
  std::erase(types, "satfinite");
  if (types.size() != 2 && types.size() != 4) return false;
  const Type a = types.size() == 4 ? type_named(types[1]) : Type::f16;
  if (a != Type::f16 && a != Type::bf16 && a != Type::tf32 && a != Type::s8 && a != Type::u8) return false;
  instruction.run = multiply;
  instruction.immediate = static_cast<int64_t>(a);
  instruction.option = types.front() == "f16";
  instruction.option2 = types.back() == "f16";
  draft.numbers = {shape[0], shape[1], shape[2]};
  for (size_t n = 0; n < 4; ++n) {
    const std::vector<std::string_view> fragment = elements_of(draft.arguments.at(n));
    draft.numbers.push_back(static_cast<int32_t>(fragment.size()));
    for (const std::string_view text : fragment)
      draft.add(n == 0 ? decoder.destination(text) : decoder.source(text, 4));
  }
  return true;
}

}  // namespace ptx

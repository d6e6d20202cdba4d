// mma.sync (PTX ISA 9.7.14.5): D = A B + C of a warp, 16x8xk. The elements of a lane are those of the figures
// "fragment layout" of each shape. Operands: d, a, b, c. immediate: the type of A and B, immediate2: k,
// option: D and C are f16; option2: .satfinite; bytes: signedness of A and B.
#include <algorithm>

#include "block.h"
#include "fault.h"
#include "float_bits.h"
#include "instruction_table.h"
#include "lexer.h"
#include "tensor_sums.h"

namespace ptx {
namespace {

constexpr int kRows = 16, kColumns = 8, kMostK = 64;

// Registers of a fragment in turn: `per` elements in each.
struct Layout {
  int k, per;
  int a_registers() const { return kRows * k / kWarpSize / per; }
  int b_registers() const { return kColumns * k / kWarpSize / per; }
  // Row and column of the element `e` of register `r` of A: registers alternate between the upper and lower
  // eight rows, then go on by 4 `per` columns. m16n8k4 and m16n8k8 have fewer of them.
  int a_row(int lane, int r) const { return lane / 4 + (r & 1) * 8; }
  int a_column(int lane, int r, int e) const { return (r >> 1) * 4 * per + lane % 4 * per + e; }
  int b_row(int lane, int r, int e) const { return r * 4 * per + lane % 4 * per + e; }
  int b_column(int lane) const { return lane / 4; }
};

template <class Element, class Read>
void gather(const Warp& warp, const Instruction& instruction, const Layout& layout, int first,
            Element (*a)[kMostK], Element (*b)[kColumns], Read read) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int r = 0; r < layout.a_registers(); ++r)
      for (int e = 0; e < layout.per; ++e)
        a[layout.a_row(lane, r)][layout.a_column(lane, r, e)] =
            read(values<uint32_t>(warp, instruction, first + r)[lane], e, true);
    for (int r = 0; r < layout.b_registers(); ++r)
      for (int e = 0; e < layout.per; ++e)
        b[layout.b_row(lane, r, e)][layout.b_column(lane)] =
            read(values<uint32_t>(warp, instruction, first + layout.a_registers() + r)[lane], e, false);
  }
}

template <class Element, class Sum>
void multiply(const Element (*a)[kMostK], const Element (*b)[kColumns], int k, Sum (*d)[kColumns]) {
  for (int row = 0; row < kRows; ++row)
    for (int q = 0; q < k; ++q)
      for (int column = 0; column < kColumns; ++column)
        d[row][column] += static_cast<Sum>(a[row][q]) * static_cast<Sum>(b[q][column]);
}

// Element r of a lane's D and C.
int d_row(int lane, int r) { return lane / 4 + (r >> 1) * 8; }
int d_column(int lane, int r) { return lane % 4 * 2 + (r & 1); }

void mma_float(Warp& warp, const Instruction& instruction, uint32_t) {
  const Type type = static_cast<Type>(instruction.immediate);
  const Layout layout{static_cast<int>(instruction.immediate2), type == Type::tf32 ? 1 : 2};
  const int of_d = instruction.option ? 2 : 4;
  float a[kRows][kMostK], b[kMostK][kColumns];
  gather(warp, instruction, layout, of_d, a, b, [&](uint32_t word, int e, bool) {
    if (type == Type::tf32) return tf32_operand(word);
    const uint16_t half = static_cast<uint16_t>(word >> (16 * e));
    return type == Type::bf16 ? bfloat_to_float(half) : half_to_float(half);
  });
  double d[kRows][kColumns] = {};
  multiply(a, b, layout.k, d);
  const int of_c = of_d + layout.a_registers() + layout.b_registers();
  const TensorSums sums = warp.block->launch->launch.tensor_sums;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int r = 0; r < 4; ++r) {
      const double product = d[d_row(lane, r)][d_column(lane, r)];
      if (!instruction.option) {
        const double c = values<float>(warp, instruction, of_c + r)[lane];
        values<float>(warp, instruction, r)[lane] = tensor_sum(c + product, sums);
        continue;
      }
      const int shift = 16 * (r & 1);
      const uint32_t pair = values<uint32_t>(warp, instruction, of_c + r / 2)[lane];
      const double c = half_to_float(static_cast<uint16_t>(pair >> shift));
      uint32_t& result = values<uint32_t>(warp, instruction, r / 2)[lane];
      // C and D may be the same registers: each half is read before it is replaced.
      result = (result & ~(0xFFFFu << shift)) | uint32_t{Half::from(c + product)} << shift;
    }
  }
}

// s8 and u8, sums in s32. bytes: bit 0: A is signed, bit 1: B is signed.
void mma_integer(Warp& warp, const Instruction& instruction, uint32_t) {
  const Layout layout{static_cast<int>(instruction.immediate2), 4};
  int32_t a[kRows][kMostK], b[kMostK][kColumns];
  gather(warp, instruction, layout, 4, a, b, [&](uint32_t word, int e, bool of_a) -> int32_t {
    const uint8_t byte = static_cast<uint8_t>(word >> (8 * e));
    return instruction.bytes & (of_a ? 1 : 2) ? static_cast<int8_t>(byte) : byte;
  });
  int64_t d[kRows][kColumns] = {};
  multiply(a, b, layout.k, d);
  const int of_c = 4 + layout.a_registers() + layout.b_registers();
  for (int lane = 0; lane < kWarpSize; ++lane) {
    for (int r = 0; r < 4; ++r) {
      int64_t sum = d[d_row(lane, r)][d_column(lane, r)] + values<int32_t>(warp, instruction, of_c + r)[lane];
      if (instruction.option2) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
      values<int32_t>(warp, instruction, r)[lane] = static_cast<int32_t>(sum);
    }
  }
}

// m8n8k4 with f64: lane l has A[l / 4][l % 4], B[l % 4][l / 4], and two neighbours of row l / 4 of C and D.
void mma_double(Warp& warp, const Instruction& instruction, uint32_t) {
  double a[8][4], b[4][8], c[8][8];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    a[lane / 4][lane % 4] = values<double>(warp, instruction, 2)[lane];
    b[lane % 4][lane / 4] = values<double>(warp, instruction, 3)[lane];
    for (int e = 0; e < 2; ++e)
      c[lane / 4][lane % 4 * 2 + e] = values<double>(warp, instruction, 4 + e)[lane];
  }
  for (auto row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column)
      for (int k = 0; k < 4; ++k) c[row][column] = std::fma(a[row][k], b[k][column], c[row][column]);
  for (int lane = 0; lane < kWarpSize; ++lane)
    for (int e = 0; e < 2; ++e) values<double>(warp, instruction, e)[lane] = c[lane / 4][lane % 4 * 2 + e];
}

bool add_fragments(Decoder& decoder, Draft& draft, size_t expected, int bytes) {
  for (const std::string_view text : elements_of(draft.arguments.at(0))) draft.add(decoder.destination(text));
  for (size_t n = 1; n < 4; ++n)
    for (const std::string_view text : elements_of(draft.arguments.at(n)))
      draft.add(decoder.source(text, bytes));
  return draft.operands.size() == expected;
}

}  // namespace

// mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype
bool decode_mma(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  if (!draft.has("row") || !draft.has("col") || draft.parts.size() < 9) return false;
  converge_all(draft);
  const size_t count = draft.parts.size();
  const std::string_view shape = draft.parts[3];
  const Type d = type_named(draft.parts[count - 4]), a = type_named(draft.parts[count - 3]);
  const Type b = type_named(draft.parts[count - 2]), c = draft.type();
  if (shape == "m8n8k4" && d == Type::f64) {
    instruction.run = mma_double;
    return add_fragments(decoder, draft, 6, 8);
  }
  if (!shape.starts_with("m16n8k")) return false;
  std::string_view digits = shape.substr(6);
  int k = 0;
  take_number(digits, &k);
  instruction.immediate = static_cast<int64_t>(a);
  instruction.immediate2 = k;
  instruction.option = d == Type::f16;
  instruction.option2 = draft.has("satfinite");
  if (d == Type::s32 && (a == Type::s8 || a == Type::u8) && (b == Type::s8 || b == Type::u8) &&
      (k == 16 || k == 32)) {
    instruction.run = mma_integer;
    instruction.bytes = static_cast<uint8_t>((a == Type::s8 ? 1 : 0) | (b == Type::s8 ? 2 : 0));
    return add_fragments(decoder, draft, 8 + static_cast<size_t>(k / 8 + k / 16), 4);
  }
  const bool tf32 = a == Type::tf32;
  if (a != b || c != d || !(tf32 || a == Type::f16 || a == Type::bf16) ||
      !(d == Type::f32 || (d == Type::f16 && a == Type::f16)))
    return false;
  if (!(tf32 ? k == 4 || k == 8 : k == 8 || k == 16)) return false;
  instruction.run = mma_float;
  const Layout layout{k, tf32 ? 1 : 2};
  return add_fragments(
      decoder, draft,
      (instruction.option ? 4u : 8u) + static_cast<size_t>(layout.a_registers() + layout.b_registers()), 4);
}

}  // namespace ptx

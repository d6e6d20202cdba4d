// mma.sync.m8n8k4 of f16 (PTX ISA 9.7.14.5.1): four products, each of two quads of lanes, 4 q to 4 q + 3 and
// those 16 on. Operands: d, a, b, c. option: D is f16, option2: C is f16; variant: bit 0: A is .col, bit 1: B
// is .row.
#include "block.h"
#include "float_bits.h"
#include "instruction_table.h"
#include "lexer.h"
#include "tensor_elements.h"
#include "tensor_sums.h"

namespace ptx {
namespace {

constexpr int kSize = 8, kDepth = 4, kSums = 8;  // of a lane

// Where element i of C and D is.
int row_of(int lane, int i, bool halves) {
  return (halves ? lane % 4 : (lane & 1) + (i & 2)) + lane / 16 * 4;
}
int column_of(int lane, int i, bool halves) { return halves ? i : (i & 4) + (lane & 2) + (i & 1); }

// The four elements of a lane's two registers from operand `first` on.
void read_elements(const Warp& warp, const Instruction& instruction, int first, int lane, float* elements) {
  for (int r = 0; r < 2; ++r)
    unpack(Type::f16, values<uint32_t>(warp, instruction, first + r)[lane], elements + 2 * r);
}

void mma_quads(Warp& warp, const Instruction& instruction, uint32_t) {
  const bool a_by_column = (instruction.variant & 1) != 0, b_by_row = (instruction.variant & 2) != 0;
  const int of_a = instruction.option ? 4 : 8, of_b = of_a + 2, of_c = of_b + 2;
  float a[4][kSize][kDepth], b[4][kDepth][kSize], c[4][kSize][kSize];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const int product = lane / 4 % 4, own = lane % 4, half = lane / 16 * 4;
    float of_lane[4];
    read_elements(warp, instruction, of_a, lane, of_lane);
    for (int i = 0; i < 4; ++i)
      (a_by_column ? a[product][i + half][own] : a[product][own + half][i]) = of_lane[i];
    read_elements(warp, instruction, of_b, lane, of_lane);
    for (int i = 0; i < 4; ++i)
      (b_by_row ? b[product][own][i + half] : b[product][i][own + half]) = of_lane[i];
    for (int i = 0; i < kSums; ++i) {
      float& sum = c[product][row_of(lane, i, instruction.option2)][column_of(lane, i, instruction.option2)];
      if (instruction.option2) {
        const uint32_t pair = values<uint32_t>(warp, instruction, of_c + i / 2)[lane];
        sum = half_to_float(static_cast<uint16_t>(pair >> 16 * (i % 2)));
      } else {
        sum = values<float>(warp, instruction, of_c + i)[lane];
      }
    }
  }
  const TensorSums rounding = warp.block->launch->launch.tensor_sums;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const int product = lane / 4 % 4;
    for (int i = 0; i < kSums; ++i) {
      const int row = row_of(lane, i, instruction.option), column = column_of(lane, i, instruction.option);
      double sum = c[product][row][column];
      if (rounding == TensorSums::aligned)
        add_aligned_products(a[product][row], &b[product][0][column], kSize, kDepth, 1, &sum);
      for (int k = 0; k < kDepth && rounding != TensorSums::aligned; ++k)
        sum += double{a[product][row][k]} * double{b[product][k][column]};
      if (instruction.option) {
        uint32_t& pair = values<uint32_t>(warp, instruction, i / 2)[lane];
        const int shift = 16 * (i % 2);
        pair = (pair & ~(0xFFFFu << shift)) | uint32_t{Half::from(sum)} << shift;
      } else {
        values<float>(warp, instruction, i)[lane] = tensor_sum(sum, rounding);
      }
    }
  }
}

}  // namespace

// mma.sync.aligned.m8n8k4.alayout.blayout.dtype.f16.f16.ctype
bool decode_mma_quads(Decoder& decoder, Draft& draft) {
  Instruction& instruction = draft.instruction;
  if (draft.parts.size() != 10) return false;
  const Type d = type_named(draft.parts[6]), c = draft.type();
  if ((d != Type::f16 && d != Type::f32) || (c != Type::f16 && c != Type::f32)) return false;
  instruction.run = mma_quads;
  instruction.option = d == Type::f16;
  instruction.option2 = c == Type::f16;
  instruction.variant =
      static_cast<uint8_t>((draft.parts[4] == "col" ? 1 : 0) | (draft.parts[5] == "row" ? 2 : 0));
  for (const std::string_view text : elements_of(draft.arguments.at(0))) draft.add(decoder.destination(text));
  for (size_t n = 1; n < 4; ++n)
    for (const std::string_view text : elements_of(draft.arguments.at(n))) draft.add(decoder.source(text, 4));
  return draft.operands.size() == (instruction.option ? 4u : 8u) + 4u + (instruction.option2 ? 4u : 8u);
}

}  // namespace ptx

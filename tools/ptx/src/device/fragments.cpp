// ldmatrix, stmatrix, movmatrix (PTX ISA 9.7.14.5.15 to 9.7.14.5.17): 8x8 matrices of 16-bit elements between
// shared memory and registers. Of matrix m, row r lies at the address of lane 8 m + r; lane l has the
// elements 2 (l % 4) and the next one of row l / 4. elements: matrices; option: .trans
#include "fault.h"
#include "instruction_table.h"
#include "lexer.h"
#include "memory.h"

namespace ptx {
namespace {

struct Matrix {
  uint16_t at[8][8];
  uint32_t fragment(int lane, bool transposed) const {
    const int row = lane / 4, column = lane % 4 * 2;
    return transposed ? at[column][row] | uint32_t{at[column + 1][row]} << 16
                      : at[row][column] | uint32_t{at[row][column + 1]} << 16;
  }
  void set_fragment(int lane, bool transposed, uint32_t pair) {
    const int row = lane / 4, column = lane % 4 * 2;
    (transposed ? at[column][row] : at[row][column]) = static_cast<uint16_t>(pair);
    (transposed ? at[column + 1][row] : at[row][column + 1]) = static_cast<uint16_t>(pair >> 16);
  }
};

char* row_pointer(Warp& warp, const Instruction& instruction, int lane, Access access) {
  return lane_pointer(warp, instruction.space, lane_address(warp, instruction, lane), 16, access, lane);
}

void ldmatrix(Warp& warp, const Instruction& instruction, uint32_t) {
  Matrix matrices[4];
  for (int m = 0; m < instruction.elements; ++m)
    for (int row = 0; row < 8; ++row)
      std::memcpy(matrices[m].at[row], row_pointer(warp, instruction, 8 * m + row, Access::read), 16);
  for (int m = 0; m < instruction.elements; ++m)
    for (int lane = 0; lane < kWarpSize; ++lane)
      values<uint32_t>(warp, instruction, m + 1)[lane] = matrices[m].fragment(lane, instruction.option);
}

void stmatrix(Warp& warp, const Instruction& instruction, uint32_t) {
  for (int m = 0; m < instruction.elements; ++m) {
    Matrix matrix;
    for (int lane = 0; lane < kWarpSize; ++lane)
      matrix.set_fragment(lane, instruction.option, values<uint32_t>(warp, instruction, m + 1)[lane]);
    for (int row = 0; row < 8; ++row)
      std::memcpy(row_pointer(warp, instruction, 8 * m + row, Access::write), matrix.at[row], 16);
  }
}

void movmatrix(Warp& warp, const Instruction& instruction, uint32_t) {
  Matrix matrix;
  for (int lane = 0; lane < kWarpSize; ++lane)
    matrix.set_fragment(lane, false, values<uint32_t>(warp, instruction, 1)[lane]);
  for (int lane = 0; lane < kWarpSize; ++lane)
    values<uint32_t>(warp, instruction, 0)[lane] = matrix.fragment(lane, true);
}

bool decode_matrices(Decoder& decoder, Draft& draft, bool load) {
  Instruction& instruction = draft.instruction;
  if (!draft.has("m8n8") || draft.type() != Type::b16) return false;
  converge_all(draft);
  instruction.run = load ? ldmatrix : stmatrix;
  instruction.space = draft.has_prefix("shared") ? Space::shared : Space::generic;
  instruction.elements = draft.has("x1") ? 1 : draft.has("x2") ? 2 : 4;
  instruction.option = draft.has("trans");
  decoder.add_address(draft, draft.arguments.at(load ? 1 : 0));
  for (const std::string_view fragment : elements_of(draft.arguments.at(load ? 0 : 1)))
    draft.add(load ? decoder.destination(fragment) : decoder.source(fragment, 4));
  return draft.operands.size() == instruction.elements + 1u;
}

}  // namespace

bool decode_ldmatrix(Decoder& decoder, Draft& draft) { return decode_matrices(decoder, draft, true); }
bool decode_stmatrix(Decoder& decoder, Draft& draft) { return decode_matrices(decoder, draft, false); }

bool decode_movmatrix(Decoder& decoder, Draft& draft) {
  converge_all(draft);
  draft.instruction.run = movmatrix;
  add_operands(decoder, draft, 1, Type::b32);
  return true;
}

}  // namespace ptx

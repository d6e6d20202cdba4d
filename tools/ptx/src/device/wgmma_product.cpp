// The values of wgmma.mma_async (PTX ISA 9.7.15.5 and 9.7.15.6): each warp of the four computes 16 rows. The
// metadata of these rows has the layout of mma.sp with 16 rows.
#include <algorithm>
#include <utility>

#include "block.h"
#include "fault.h"
#include "float_bits.h"
#include "mma_sparse.h"
#include "tensor_sums.h"
#include "wgmma_operands.h"

namespace ptx {
namespace {

constexpr int kMostColumns = 256, kMostRowK = 256;

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
      float elements[kUnitWords * kMostInWord];
      for (int word = 0; word < kUnitWords; ++word) unpack(type, words[word], elements + word * per);
      for (int e = 0; e < t; ++e) mn_major ? store(mn + e, k, elements[e]) : store(mn, k + e, elements[e]);
    }
  }
}

void read_rows_of_a(const Warp& warp, const PendingProduct& product, float (*a)[kMostRowK]) {
  const Instruction& instruction = *product.instruction;
  const Type type = type_of_a(instruction);
  const float scale = static_cast<float>(instruction.numbers[wgmma_number::scale_a]);
  if (instruction.elements == 1) {
    const bool mn_major = instruction.numbers[wgmma_number::transpose_a] != 0;
    read_matrix(*warp.block, Descriptor(product.a), warp.index % 4 * kWarpRows, kWarpRows,
                stored_k_of(instruction), type, mn_major,
                [&](int row, int k, float value) { a[row][k] = scale * value; });
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
  const float scale = static_cast<float>(instruction.numbers[wgmma_number::scale_b]);
  read_matrix(*warp.block, Descriptor(product.b), 0, columns_of(instruction), k_of(instruction),
              type_of_b(instruction), instruction.numbers[wgmma_number::transpose_b] != 0,
              [&](int column, int k, float value) { b[k][column] = scale * value; });
}

// Eight columns, in vectors that the compiler does not find in loops.
constexpr int kVector = 8, kRowsAtOnce = 4;
typedef float Floats __attribute__((vector_size(kVector * sizeof(float))));
typedef double Doubles __attribute__((vector_size(kVector * sizeof(double))));

// Sets the sums of a row, from `column` on, to `products`, and to what they were before if `add`. Of columns
// 8 j to 8 j + 7, lane 4 (row % 8) + t has 2 t and 2 t + 1, in the elements 4 j + 2 (row / 8) and the next.
void accumulate(const Warp& warp, const Instruction& instruction, bool add, int row, int column,
                const Doubles& products) {
  const int lane = row % 8 * 4, element = column / 8 * 4 + row / 8 * 2;
  const Type type = type_of_d(instruction);
  if (type == Type::f16) {
    uint32_t* pairs = values<uint32_t>(warp, instruction, element / 2) + lane;
    for (int c = 0; c < kVector; ++c) {
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
      for (int t = 0; t < kVector / 2; ++t)
        d[t] = tensor_sum((add ? double{d[t]} : 0.0) + products[2 * t + odd], rounding);
      continue;
    }
    int32_t* d = values<int32_t>(warp, instruction, element + odd) + lane;
    for (int t = 0; t < kVector / 2; ++t) {
      const int64_t sum = (add ? d[t] : 0) + static_cast<int64_t>(products[2 * t + odd]);
      d[t] = static_cast<int32_t>(instruction.option ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum);
    }
  }
}

// With TensorSums::aligned, for sums of floats: of each row after the other.
void execute_aligned(const Warp& warp, const PendingProduct& product, const float (*a)[kMostRowK],
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

const char* unit_pointer(const Block& block, uint32_t address) {
  if (address < kSharedBase || address + 16 > block.shared.size())
    fail(kIllegalAddress, "wgmma reads shared memory at ", hex(address), ": the block has ",
         block.shared.size() - kSharedBase, " bytes from ", hex(kSharedBase));
  block.shadow.check_read(address, 16, block.rank);
  return block.shared.data() + address;
}

void compute_product(const Warp& warp, const PendingProduct& product) {
  const Instruction& instruction = *product.instruction;
  const int columns = columns_of(instruction), k_size = k_of(instruction);
  static thread_local float b[kMostRowK][kMostColumns];
  float a[kWarpRows][kMostRowK];
  read_b(warp, product, b);
  read_rows_of_a(warp, product, a);
  if (instruction.option2) {
    const Layout layout{kWarpRows, k_size, elements_in_word(type_of_a(instruction)),
                        stored_k_of(instruction)};
    for (int row = 0; row < kWarpRows; ++row)
      spread_row(layout, sparsity_of(type_of_a(instruction)), product.metadata.data(),
                 instruction.numbers[wgmma_number::selector], row, a[row]);
  }
  const bool aligned = warp.block->launch->launch.tensor_sums == TensorSums::aligned;
  if (aligned && type_of_d(instruction) != Type::s32) {
    execute_aligned(warp, product, a, b);
    return;
  }
  for (int column = 0; column < columns; column += kVector)
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
}

}  // namespace ptx

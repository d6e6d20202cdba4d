// Where the elements of wmma's fragments are: those of mma.sync.m16n8k16 and m16n8k8 (tf32), tile by tile.
// Source: PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and "... mma.m16n8k8".
//
// For 8 x 32 results the transposed product is computed, whose results are 32 x 8: b is then the operand with
// the rows of 16, and a the one with the columns of 8.
#pragma once

#include <simt/builtins.h>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace simt {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};

template <int M, int N, int K>
struct WmmaShape {
  static constexpr bool kValid =
      M * N == 256 && (M == 8 || M == 16 || M == 32) && (K == 16 || (K == 8 && M == 16));
  static constexpr bool kTransposed = M == 8;
  static constexpr int kTilesM = (kTransposed ? N : M) / 16;  // of 16 rows
  static constexpr int kTilesN = (kTransposed ? M : N) / 8;   // of 8 columns

  template <class Use>
  static constexpr int elements() {
    if constexpr (std::is_same_v<Use, accumulator>) return M * N / 32;
    return (std::is_same_v<Use, matrix_a> ? M : N) * K / 32;
  }

  // Calls f(element, row, column) for the elements that the calling lane has.
  template <class Use, class F>
  static void for_elements(F f) {
    constexpr bool kLeft = std::is_same_v<Use, matrix_a> != kTransposed;
    for (int element = 0; element < elements<Use>(); ++element) {
      auto [row, column] = std::is_same_v<Use, accumulator> ? of_sum(element)
                           : kLeft                          ? of_left(element)
                                                            : of_right(element);
      if (kTransposed) std::swap(row, column);
      f(element, static_cast<size_t>(row), static_cast<size_t>(column));
    }
  }

 private:
  using Position = std::pair<int, int>;  // row, column
  static constexpr int kPacked = K / 8;  // elements of a register

  static int group() { return lane_id() / 4; }
  static int in_group() { return lane_id() % 4; }

  static Position of_sum(int element) {
    const int tile = element / 4, i = element % 4;
    return {16 * (tile / kTilesN) + group() + i / 2 * 8, 8 * (tile % kTilesN) + 2 * in_group() + i % 2};
  }
  static Position of_left(int element) {
    const int tile = element / (4 * kPacked), i = element % (4 * kPacked);
    const int word = i / kPacked;
    return {16 * tile + group() + word % 2 * 8, kPacked * (in_group() + word / 2 * 4) + i % kPacked};
  }
  static Position of_right(int element) {
    const int tile = element / (2 * kPacked), i = element % (2 * kPacked);
    return {kPacked * (in_group() + i / kPacked * 4) + i % kPacked, 8 * tile + group()};
  }
};

}  // namespace simt

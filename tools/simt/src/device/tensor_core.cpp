// mma.sync, ldmatrix and stmatrix.
// Above 400 lines because the products have paths for vectors and for zeros with the same bits.
#include <simt/alignment.h>
#include <simt/memory_access.h>
#include <simt/narrow_float.h>
#include <simt/settings.h>
#include <simt/tensor_core.h>
#include <simt/warp.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../base/sanitizers.h"
#include "block.h"
#include "tensor_products.h"

namespace simt {
namespace {

constexpr int kLanes = 32;
constexpr int kBlock = kProductBlock;
constexpr int kSignificand = 24;  // bits of an aligned term, the leading one included
constexpr unsigned kWholeWarp = 0xFFFFFFFFu;

void require_whole_warp(const char* instruction, unsigned present) {
  if (present == kWholeWarp) return;
  running_block(instruction).fail(cudaErrorLaunchFailure, [&] {
    return std::string(instruction) + " needs all 32 lanes of a warp, and only " +
           std::to_string(std::popcount(present)) + " take part";
  });
}

// One column of 8 results for each lane of a vector.
template <int N>
struct Columns {
  typedef float Floats __attribute__((vector_size(N * sizeof(float))));
  typedef int32_t Ints __attribute__((vector_size(N * sizeof(int32_t))));
  typedef uint32_t Unsigned __attribute__((vector_size(N * sizeof(uint32_t))));
};

float truncated(double value) {
  float nearest = static_cast<float>(value);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) nearest = std::nextafterf(nearest, 0.0f);
  return std::fabs(value) >= 0x1p128
             ? std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value))
             : nearest;
}

}  // namespace

// For any values.
float add_products(float sum, const float* a, const float* b, int b_step) {
  double terms[kBlock + 1] = {sum};
  double largest = std::fabs(terms[0]), plain = terms[0];
  for (int k = 0; k < kBlock; ++k) {
    terms[k + 1] = static_cast<double>(a[k]) * b[k * b_step];
    plain += terms[k + 1];
    largest = std::fmax(largest, std::fabs(terms[k + 1]));
  }
  if (!std::isfinite(plain) || largest == 0) return static_cast<float>(plain);
  const double unit = std::ldexp(1.0, std::ilogb(largest) - (kSignificand - 1));
  double units = 0;
  for (const double term : terms) units += std::trunc(term / unit);
  return truncated(units * unit);
}

namespace {

using Floats = Columns<kProductWidth>::Floats;
using Ints = Columns<kProductWidth>::Ints;
using Unsigned = Columns<kProductWidth>::Unsigned;  // where values without meaning may overflow

// The same for kProductWidth columns, where every value is a common one: an exponent for which fp32
// represents the units. Returns -1 for the columns where one was not, whose sums have no meaning then;
// otherwise 0.
inline Ints add_common_products(Floats& sum, const float* a, const float* b) {
  constexpr int32_t kMagnitude = 0x7FFFFFFF, kExponent = 0x7F800000;
  const auto bits = [](Floats x) { return std::bit_cast<Ints>(x); };
  Floats terms[kBlock + 1];
  terms[kBlock] = sum;
  Ints largest = bits(sum) & kMagnitude;
  for (int k = 0; k < kBlock; ++k) {
    Floats row;
    std::memcpy(&row, b + k * kProductWidth, sizeof(row));
    terms[k] = a[k] * row;
    const Ints magnitude = bits(terms[k]) & kMagnitude;
    largest = magnitude > largest ? magnitude : largest;
  }
  const Ints exponent = largest & kExponent;
  constexpr int32_t kLeast = (127 - 80) << 23;
  const Ints uncommon = (exponent == kExponent) | ((exponent < kLeast) & (largest != 0));
  // 2^23 / 2^exponent, and 1 where all terms are 0
  constexpr int32_t kShift = kSignificand - 1;
  const Ints common = largest == 0 ? Ints{} + (127 << 23) : exponent;
  const auto wrapping = [](Ints x) { return std::bit_cast<Unsigned>(x); };
  const Floats scale = std::bit_cast<Floats>((uint32_t{2 * 127 + kShift} << 23) - wrapping(common));
  Unsigned sum_of_units{};
  for (const Floats& term : terms) sum_of_units += wrapping(__builtin_convertvector(term * scale, Ints));
  const Ints units = std::bit_cast<Ints>(sum_of_units);
  Floats result = __builtin_convertvector(units, Floats);
  const auto size = [&](Ints x) { return x < 0 ? -wrapping(x) : wrapping(x); };
  const Ints too_large = size(__builtin_convertvector(result, Ints)) > size(units);  // -1 where it is
  result = std::bit_cast<Floats>(wrapping(bits(result)) + wrapping(too_large));
  sum = result * std::bit_cast<Floats>(common - (kShift << 23));
  return uncommon;
}

bool any(const Ints& mask) {
  int32_t bits = 0;
  for (int j = 0; j < kProductWidth; ++j) bits |= mask[j];
  return bits != 0;
}

}  // namespace

void add_product_row(float* sums, const float* a, const float* b) {
  Floats sum;
  std::memcpy(&sum, sums, sizeof(sum));
  if (!any(add_common_products(sum, a, b))) {
    std::memcpy(sums, &sum, sizeof(sum));
  } else {
    for (int j = 0; j < kProductWidth; ++j) sums[j] = add_products(sums[j], a, b + j, kProductWidth);
  }
}

void add_product_rows(int rows, float* sums, const float* a, int a_step, const float* b, int b_step) {
  constexpr int kAtOnce = 16;
  for (int first = 0; first < rows; first += kAtOnce) {
    const int count = rows - first < kAtOnce ? rows - first : kAtOnce;
    float* const to = sums + first * kProductWidth;
    Floats results[kAtOnce];
    Ints uncommon{};
    for (int i = 0; i < count; ++i) {
      std::memcpy(&results[i], to + i * kProductWidth, sizeof(Floats));
      uncommon |= add_common_products(results[i], a + (first + i) * a_step, b + (first + i) * b_step);
    }
    if (!any(uncommon)) {
      std::memcpy(to, results, static_cast<size_t>(count) * sizeof(Floats));
    } else {
      for (int i = 0; i < count; ++i)
        add_product_row(to + i * kProductWidth, a + (first + i) * a_step, b + (first + i) * b_step);
    }
  }
}

namespace {

struct Fragments {
  TensorFormat format;
  TensorOperands operands;
};

const Fragments& of(void* const* records, int lane) { return *static_cast<const Fragments*>(records[lane]); }

// The fragments' layouts are those of the PTX ISA, "Matrix Fragments for mma.m16n8k8" and "mma.m16n8k16".
// With E elements in a register, lane = 4 * g + t and i < E:
//   a0: row g, k = E t + i; a1: row g + 8; a2: row g, k + 4 E; a3: row g + 8, k + 4 E
//   b0: k = E t + i, column g; b1: k + 4 E
//   d0, d1: row g, columns 2 t and 2 t + 1; d2, d3: row g + 8
template <TensorFormat format>
struct FragmentA {
  static constexpr int kElements = format == TensorFormat::tf32 ? 1 : 2, kK = 8 * kElements;
  alignas(64) float row[16][kK];
  BlockKind kind[16][kK / kBlock];

  void load(void* const* records, int i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint32_t* const registers = of(records, lane).operands.a + 4 * i;
      for (int part = 0; part < 4; ++part)
        for (int e = 0; e < kElements; ++e)
          row[lane / 4 + part % 2 * 8][lane % 4 * kElements + e + part / 2 * 4 * kElements] =
              tensor_element<format>(registers[part], e);
    }
    for (int r = 0; r < 16; ++r)
      for (int k = 0; k < kK; k += kBlock) kind[r][k / kBlock] = kind_of(row[r] + k, kBlock);
  }
};

// Fragments j0 to j0 + columns - 1 of B beside each other.
template <TensorFormat format>
struct FragmentsB {
  static constexpr int kElements = FragmentA<format>::kElements, kK = FragmentA<format>::kK;
  alignas(64) float row[kK][kProductWidth] = {};
  BlockKind kind[kK / kBlock];

  void load(void* const* records, int j0, int columns) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint32_t* const registers = of(records, lane).operands.b + 2 * j0;
      for (int j = 0; j < columns; ++j)
        for (int half = 0; half < 2; ++half)
          for (int e = 0; e < kElements; ++e)
            row[lane % 4 * kElements + e + half * 4 * kElements][8 * j + lane / 4] =
                tensor_element<format>(registers[2 * j + half], e);
    }
    for (int k = 0; k < kK; k += kBlock) kind[k / kBlock] = kind_of(row[k], kBlock * kProductWidth);
  }
};

template <TensorFormat format>
bool all_products_are_zero(const FragmentA<format>& a, const FragmentsB<format>& b) {
  for (const auto& row : a.kind)
    for (int k = 0; k < a.kK / kBlock; ++k)
      if (!products_are_zero(row[k], b.kind[k])) return false;
  return true;
}

// The registers of 16 rows and `columns` fragments: registers_of(lane) points to those of a lane, 4 for each
// fragment.
template <class RegistersOf>
void gather_columns(float (&d)[16][kProductWidth], int columns, const RegistersOf& registers_of) {
  std::memset(d, 0, sizeof(d));
  for (int lane = 0; lane < kLanes; ++lane)
    for (int j = 0; j < columns; ++j) {
      const float* const from = registers_of(lane) + 4 * j;
      std::memcpy(&d[lane / 4][8 * j + lane % 4 * 2], from, 8);
      std::memcpy(&d[lane / 4 + 8][8 * j + lane % 4 * 2], from + 2, 8);
    }
}
template <class RegistersOf>
void scatter_columns(const float (&d)[16][kProductWidth], int columns, const RegistersOf& registers_of) {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int j = 0; j < columns; ++j) {
      float* const to = registers_of(lane) + 4 * j;
      std::memcpy(to, &d[lane / 4][8 * j + lane % 4 * 2], 8);
      std::memcpy(to + 2, &d[lane / 4 + 8][8 * j + lane % 4 * 2], 8);
    }
}

// The same for kProductWidth columns, by whole registers of the processor. A pair is two adjacent columns of
// a row. The 4 lanes of a row have, for each fragment, a pair of row g and one of row g + 8.
template <int N>
struct ColumnPairs {
  typedef double Row __attribute__((vector_size(N / 2 * sizeof(double))));
  typedef double Lane __attribute__((vector_size(N / 4 * sizeof(double))));
};

template <int N, class RegistersOf>
void gather_rows(float (&d)[16][N], const RegistersOf& registers_of) {
  using Pairs = typename ColumnPairs<N>::Row;
  using PairsOfLane = typename ColumnPairs<N>::Lane;
  for (int g = 0; g < 8; ++g) {
    PairsOfLane lane[4];
    for (int t = 0; t < 4; ++t) std::memcpy(&lane[t], registers_of(4 * g + t), sizeof(PairsOfLane));
    Pairs upper, lower;
    if constexpr (N == 16) {
      const Pairs first = __builtin_shufflevector(lane[0], lane[1], 0, 1, 2, 3, 4, 5, 6, 7),
                  second = __builtin_shufflevector(lane[2], lane[3], 0, 1, 2, 3, 4, 5, 6, 7);
      upper = __builtin_shufflevector(first, second, 0, 4, 8, 12, 2, 6, 10, 14);
      lower = __builtin_shufflevector(first, second, 1, 5, 9, 13, 3, 7, 11, 15);
    } else {
      const Pairs first = __builtin_shufflevector(lane[0], lane[1], 0, 1, 2, 3),
                  second = __builtin_shufflevector(lane[2], lane[3], 0, 1, 2, 3);
      upper = __builtin_shufflevector(first, second, 0, 2, 4, 6);
      lower = __builtin_shufflevector(first, second, 1, 3, 5, 7);
    }
    std::memcpy(d[g], &upper, sizeof(upper));
    std::memcpy(d[g + 8], &lower, sizeof(lower));
  }
}
template <int N, class RegistersOf>
void scatter_rows(const float (&d)[16][N], const RegistersOf& registers_of) {
  using Pairs = typename ColumnPairs<N>::Row;
  using PairsOfLane = typename ColumnPairs<N>::Lane;
  for (int g = 0; g < 8; ++g) {
    Pairs upper, lower;
    std::memcpy(&upper, d[g], sizeof(upper));
    std::memcpy(&lower, d[g + 8], sizeof(lower));
    PairsOfLane lane[4];
    if constexpr (N == 16) {
      lane[0] = __builtin_shufflevector(upper, lower, 0, 8, 4, 12);
      lane[1] = __builtin_shufflevector(upper, lower, 1, 9, 5, 13);
      lane[2] = __builtin_shufflevector(upper, lower, 2, 10, 6, 14);
      lane[3] = __builtin_shufflevector(upper, lower, 3, 11, 7, 15);
    } else {
      lane[0] = __builtin_shufflevector(upper, lower, 0, 4);
      lane[1] = __builtin_shufflevector(upper, lower, 1, 5);
      lane[2] = __builtin_shufflevector(upper, lower, 2, 6);
      lane[3] = __builtin_shufflevector(upper, lower, 3, 7);
    }
    for (int t = 0; t < 4; ++t) std::memcpy(registers_of(4 * g + t), &lane[t], sizeof(PairsOfLane));
  }
}

template <TensorFormat format>
void run_multiply(void* const* records, unsigned present) {
  require_whole_warp("mma.sync", present);
  constexpr int kWidth = kProductWidth, kK = FragmentA<format>::kK;
  const TensorOperands first = of(records, 0).operands;
#ifdef SIMT_OBSERVE
  detail::observe_tensor_products(format == TensorFormat::tf32, first.m * first.n, 16 * 8 * kK);
#endif
  TsanIgnore ignore;  // the registers of other threads, which wait
  static thread_local std::vector<FragmentA<format>> fragments;
  fragments.resize(static_cast<size_t>(first.m));
  for (int i = 0; i < first.m; ++i) fragments[static_cast<size_t>(i)].load(records, i);
  for (int j0 = 0; j0 < first.n; j0 += kWidth / 8) {
    const int columns = first.n - j0 < kWidth / 8 ? first.n - j0 : kWidth / 8;
    FragmentsB<format> b;
    b.load(records, j0, columns);
    for (int i = 0; i < first.m; ++i) {
      const FragmentA<format>& a = fragments[static_cast<size_t>(i)];
      const auto registers_of = [&](int lane) {
        const TensorOperands& o = of(records, lane).operands;
        return o.d + (i * o.n + j0) * 4;
      };
      if (all_products_are_zero(a, b)) {
        for (int lane = 0; lane < kLanes; ++lane) add_zeros(registers_of(lane), 4 * columns);
        continue;
      }
      alignas(64) float d[16][kWidth];
      if (8 * columns == kWidth)
        gather_rows(d, registers_of);
      else
        gather_columns(d, columns, registers_of);
      for (int k = 0; k < kK; k += kBlock) {
        const BlockKind kind = b.kind[k / kBlock];
        const auto zero = [&](int row) { return products_are_zero(a.kind[row][k / kBlock], kind); };
        bool any_zero = false;
        for (int row = 0; row < 16; ++row) any_zero = any_zero || zero(row);
        if (!any_zero) {
          add_product_rows(16, d[0], a.row[0] + k, kK, b.row[k], 0);
          continue;
        }
        for (int row = 0; row < 16; ++row)
          if (zero(row))
            add_zeros(d[row], kWidth);
          else
            add_product_row(d[row], a.row[row] + k, b.row[k]);
      }
      if (8 * columns == kWidth)
        scatter_rows(d, registers_of);
      else
        scatter_columns(d, columns, registers_of);
    }
  }
}

constexpr WarpOperation kMultiplyTf32 = {"mma.sync tf32", run_multiply<TensorFormat::tf32>};
constexpr WarpOperation kMultiplyBfloat16 = {"mma.sync bf16", run_multiply<TensorFormat::bfloat16>};
constexpr WarpOperation kMultiplyFloat16 = {"mma.sync f16", run_multiply<TensorFormat::float16>};

// One of ldmatrix and stmatrix.
struct MatrixAccess {
  uint32_t* registers;  // read by stmatrix
  void* const* rows;    // read by ldmatrix
  int count, matrices;
  bool transposed;
};

// Element (r, c) of a matrix is half c % 2 of the register of lane 4 * r + c / 2; transposed, (c, r) is.
template <bool load>
void run_access(void* const* records, unsigned present) {
  require_whole_warp(load ? "ldmatrix" : "stmatrix", present);
  const auto access = [&](int lane) -> const MatrixAccess& {
    return *static_cast<const MatrixAccess*>(records[lane]);
  };
  const MatrixAccess all = access(0);
  for (int i = 0; i < all.count; ++i)
    for (int matrix = 0; matrix < all.matrices; ++matrix) {
      const auto register_of = [&](int lane) {
        return reinterpret_cast<char*>(access(lane).registers + i * all.matrices + matrix);
      };
      for (int row = 0; row < 8; ++row) {
        char* const memory = static_cast<char*>(access(8 * matrix + row).rows[i]);
        load ? tsan_read(memory, 16) : tsan_write(memory, 16);
        TsanIgnore ignore;  // the registers of other threads, which wait
        const auto move = [&](char* value, int at, size_t bytes) {
          if (load)
            std::memcpy(value, memory + at, bytes);
          else
            std::memcpy(memory + at, value, bytes);
        };
        if (all.transposed)
          for (int column = 0; column < 8; ++column)
            move(register_of(4 * column + row / 2) + row % 2 * 2, 2 * column, 2);
        else
          for (int pair = 0; pair < 4; ++pair) move(register_of(4 * row + pair), 4 * pair, 4);
      }
    }
}

constexpr WarpOperation kLoad = {"ldmatrix", run_access<true>};
constexpr WarpOperation kStore = {"stmatrix", run_access<false>};

template <bool load>
void check_rows(void* const* rows, int count, int matrices) {
  if (lane_id() >= 8 * matrices) return;
  for (int i = 0; i < count; ++i)
    if (reinterpret_cast<uintptr_t>(rows[i]) % 16 != 0)
      detail::misaligned_access(load ? "ldmatrix" : "stmatrix", rows[i], 16);
}

}  // namespace

void tensor_multiply(TensorFormat format, const TensorOperands& operands, Place place) {
  Fragments fragments{format, operands};
  const WarpOperation& operation = format == TensorFormat::tf32       ? kMultiplyTf32
                                   : format == TensorFormat::bfloat16 ? kMultiplyBfloat16
                                                                      : kMultiplyFloat16;
  warp_collective(kWholeWarp, operation, &fragments, place);
}

void detail::load_matrices(uint32_t* registers, const void* const* rows, int count, int matrices,
                           bool transposed, Place place) {
  void* const* from = const_cast<void* const*>(rows);
  check_rows<true>(from, count, matrices);
  MatrixAccess access{registers, from, count, matrices, transposed};
  warp_collective(kWholeWarp, kLoad, &access, place);
}

void detail::store_matrices(const uint32_t* registers, void* const* rows, int count, int matrices,
                            bool transposed, Place place) {
  check_rows<false>(rows, count, matrices);
  MatrixAccess access{const_cast<uint32_t*>(registers), rows, count, matrices, transposed};
  warp_collective(kWholeWarp, kStore, &access, place);
}

}  // namespace simt

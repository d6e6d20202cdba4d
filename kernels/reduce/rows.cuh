// row_operation(): an operation on each row of a matrix that needs statistics of the row (its largest value,
// sums over it), and then changes each element by them: softmax, layer normalisation and their gradients.
//
// A row is cut into parts of 8192 columns. The lanes of a part (4, 32 or 256 threads, by the number of
// columns) load it once and keep it in registers: they reduce it, and a row of one part is finished from the
// registers. So memory is read once and written once. For longer rows the blocks store what they reduced, a
// second launch combines the parts of each row in order, and a third reads the rows again and writes the
// results. It begins with the rows that were read last, which the cache still has.
//
// The bits: column j of a part belongs to place j % kPlaces, and the values of a place are added in order.
// The sums of the places are then added in a tree of neighbours, (0 + 1) + (2 + 3), .... So the bits depend
// on the number of columns alone: not on the width of an access, the alignment or the device. One thread of
// the CPU executor does the work of all lanes of a part, in the same order.
//
// `Operation` is a functor with
//   Type, kInputs        the type of the elements, and the number of matrices that are read
//   Part, Row            what is known of a part and of a row, both plain structs
//   input(i, row), output(row)    where the rows begin; null: no output is wanted
//   prepare<Access>(in, row, col)    optional; changes Access::kSize elements of the inputs, from column
//                        `col` on, to what part() and apply() need
//   part(team)           reduces a part, by RowTeam::max() and sums()
//   combine(parts, count, row)    combines the parts of a row
//   save(of_row, row)    optional; stores what the caller wants to know of a row
//   apply<Access>(in, of_row, col, reduced)    changes them to their results, in in[0]. `reduced`: they have
//                        gone through part(), which may change them where it adds
#pragma once

#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/reduce/row_team.cuh>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace rondo::rows {

template <class Tile, int kInputs>
struct Shared {
  typename TeamMemory<Tile, kInputs>::Type of_row[Tile::kRowsAtOnce];
};

template <class Operation>
__device__ __forceinline__ void save_row(const Operation& operation, const typename Operation::Row& of_row,
                                         int64_t row) {
  if constexpr (requires { operation.save(of_row, row); }) operation.save(of_row, row);
}

// The fewest blocks of a multiprocessor, for ptxas: 128 registers a thread for two matrices. Without a number
// ptxas 13.0 keeps to 96 for 10.0, and may spill two. 0: no number.
template <class Tile, class Operation>
inline constexpr int kLeastBlocks = Operation::kInputs > 1 ? 512 / Tile::kBlock : 0;

// N: elements of an access. Row `item / parts`, part `item % parts`.
template <class Tile, int N, class Operation>
__global__ void __launch_bounds__(Tile::kBlock, (kLeastBlocks<Tile, Operation>))
    row_kernel(Operation operation, typename Operation::Part* partial, int64_t rows, int cols, int parts) {
  using Team = RowTeam<Tile, N, Operation>;
  for_each_row<Tile>([&](int in_block, int at_once) {
    const int64_t item = static_cast<int64_t>(blockIdx.x) * Tile::kRows + in_block;
    const int64_t row = parts == 1 ? item : item / parts;
    const int first = parts == 1 ? 0 : static_cast<int>(item - row * parts) * Tile::kMost;
    // Also threads without a row take part in the exchange of values.
    const bool active = row < rows;
    if (Tile::kVectors && !active) return;
    Team team(shared_memory<Shared<Tile, Operation::kInputs>>().of_row[at_once], operation, row, first,
              active ? min(cols - first, Tile::kMost) : 0);
    const typename Operation::Part part = operation.part(team);
    if (!active) return;
    if (parts > 1) {
      if (team.is_first()) partial[item] = part;
      return;
    }
    const typename Operation::Row of_row = operation.combine(&part, 1, row);
    if (team.is_first()) save_row(operation, of_row, row);
    auto* const to = operation.output(row);
    if (to == nullptr) return;
    team.for_each_pack([&](auto access, auto& values, int j) {
      operation.template apply<decltype(access)>(values, of_row, j, Team::kKeepsValues);
      access.store(to + j, values[0]);
    });
  });
}

inline constexpr int kCombineThreads = 128;

template <class Operation>
__global__ void __launch_bounds__(kCombineThreads)
    combine_parts_kernel(Operation operation, typename Operation::Row* of_rows,
                         const typename Operation::Part* partial, int64_t rows, int parts) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kCombineThreads + threadIdx.x;
  if (row >= rows) return;
  const typename Operation::Row of_row = operation.combine(partial + row * parts, parts, row);
  of_rows[row] = of_row;
  save_row(operation, of_row, row);
}

// Without a number of blocks, ptxas 13.0 keeps to 40 registers for 9.0 and may spill two.
template <class Tile, int N, class Operation>
__global__ void __launch_bounds__(Tile::kBlock, 4)
    finish_row_kernel(Operation operation, const typename Operation::Row* of_rows, int cols, int parts) {
  const int64_t item = static_cast<int64_t>(gridDim.x) - 1 - blockIdx.x;
  const int64_t row = item / parts;
  const int first = static_cast<int>(item - row * parts) * Tile::kMost;
  if (operation.output(row) == nullptr) return;
  const typename Operation::Row of_row = of_rows[row];
  const typename Operation::Type* from[Operation::kInputs];
  for (int i = 0; i < Operation::kInputs; ++i) from[i] = operation.input(i, row) + first;
  auto* const to = operation.output(row) + first;
  for_each_access<Tile, N>(min(cols - first, Tile::kMost), [&](auto access, int j) {
    using Access = decltype(access);
    typename Access::Pack values[Operation::kInputs];
    for (int i = 0; i < Operation::kInputs; ++i) values[i] = access.load(from[i] + j);
    prepare_values<Access>(operation, values, row, first + j);
    operation.template apply<Access>(values, of_row, first + j, false);
    access.store(to + j, values[0]);
  });
}

// The columns of a part of a row that has several.
inline constexpr int kPartColumns = Tile<256, false>::kMost;

inline int lanes_for(int64_t cols) { return cols <= 128 ? 4 : cols <= 1024 ? 32 : 256; }

inline int64_t parts_of(int64_t cols) { return ceil_div<int64_t>(cols, kPartColumns); }

template <class Operation>
int64_t workspace_bytes(int64_t rows, int64_t cols) {
  const int64_t parts = parts_of(std::max<int64_t>(cols, 0));
  if (rows <= 0 || parts <= 1) return 0;
  constexpr int64_t kPart = sizeof(typename Operation::Part), kRow = sizeof(typename Operation::Row);
  static_assert(kPart % alignof(typename Operation::Row) == 0);
  return saturating_product({rows, parts * kPart + kRow});
}

template <class Tile, int N, class Operation>
Status launch_tile(const char* name, const Operation& operation, int64_t rows, int64_t cols,
                   Workspace workspace, cudaStream_t stream) {
  const int parts = static_cast<int>(parts_of(cols));
  auto* const partial = static_cast<typename Operation::Part*>(workspace.data);
  auto* const of_rows = reinterpret_cast<typename Operation::Row*>(partial + rows * parts);
  LaunchShape shape;
  shape.grid_x = ceil_div<int64_t>(rows * parts, Tile::kRows);
  shape.block_x = Tile::kBlock;
  shape.shared_bytes = sizeof(Shared<Tile, Operation::kInputs>);
  RONDO_RETURN_IF_ERROR(launch(name, shape, stream, row_kernel<Tile, N, Operation>, operation, partial, rows,
                               static_cast<int>(cols), parts));
  if constexpr (Tile::kRows == 1)
    if (parts > 1) {
      RONDO_RETURN_IF_ERROR(launch(name, flat_shape(rows, kCombineThreads), stream,
                                   combine_parts_kernel<Operation>, operation, of_rows, partial, rows,
                                   parts));
      shape.shared_bytes = 0;
      return launch(name, shape, stream, finish_row_kernel<Tile, N, Operation>, operation, of_rows,
                    static_cast<int>(cols), parts);
    }
  return {};
}

template <bool vectors, int N, class Operation>
Status launch_width(const char* name, const Operation& operation, int64_t rows, int64_t cols,
                    Workspace workspace, cudaStream_t stream) {
  const int lanes = lanes_for(cols);
  auto* const launch_of = lanes == 4    ? launch_tile<Tile<4, vectors>, N, Operation>
                          : lanes == 32 ? launch_tile<Tile<32, vectors>, N, Operation>
                                        : launch_tile<Tile<256, vectors>, N, Operation>;
  return launch_of(name, operation, rows, cols, workspace, stream);
}

// `wide`: all rows begin at multiples of 16 bytes, and have a number of columns that fills whole accesses.
template <class Operation>
Status row_operation(const char* name, const Operation& operation, int64_t rows, int64_t cols, bool wide,
                     Workspace workspace, cudaStream_t stream) {
  if (rows == 0 || cols == 0) return {};
  if constexpr (kVectorTiles)
    if (use_vector_threads())
      return launch_width<true, kTileRegisters.lanes>(name, operation, rows, cols, workspace, stream);
  constexpr int kWide = 16 / sizeof(typename Operation::Type);
  return wide ? launch_width<false, kWide>(name, operation, rows, cols, workspace, stream)
              : launch_width<false, 1>(name, operation, rows, cols, workspace, stream);
}

// Whether accesses of 16 bytes are possible: to rows of `views`, all of T, and to `columns` with a constant
// for each column.
template <class T, class... Constants>
bool rows_are_wide(std::initializer_list<MatrixView<const T>> views, const Constants*... columns) {
  constexpr int kWide = 16 / sizeof(T);
  for (const MatrixView<const T>& view : views) {
    const int64_t length = view.rows > 1 ? std::gcd(view.cols, view.stride) : view.cols;
    if (view.data && pack_width<kWide>(length, view.data) != kWide) return false;
  }
  return ((pack_width<kWide>(kWide, columns) == kWide) && ...);
}

}  // namespace rondo::rows

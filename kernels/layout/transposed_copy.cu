// A block transposes a square of a matrix in shared memory, so that the loads and the stores both have
// adjacent addresses in adjacent lanes.
//
// The unit of both is a word of N elements: a warp that moves 2 bytes per lane would fill only half of each
// 128-byte line. A thread writes N words of N elements from the N words that hold the same N x N elements.
//
// A thread of the CPU executor transposes a square alone.
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/layout/transposed_copy.h>
#include <rondo/kernels/core/launch.cuh>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/tile_threads.cuh>
#include <rondo/kernels/core/values.cuh>

namespace rondo {
namespace {

constexpr int kLanes = 32, kRowsAtOnce = 8;

// The words of row N * i + m are words[m][i], so the lanes that read a column are one row of 33 words apart,
// and have different banks.
template <class T, int N>
struct TransposeShared {
  Pack<T, N> words[N][kLanes][kLanes + 1];
};

template <class T, int N>
__global__ __launch_bounds__(kLanes* kRowsAtOnce) void copy_transposed_kernel(MatrixBatchView<T> to,
                                                                              MatrixBatchView<const T> from,
                                                                              unsigned row_squares,
                                                                              unsigned col_squares) {
  constexpr int kSide = kLanes * N, kLoads = kSide / kRowsAtOnce;
  auto& words = shared_memory<TransposeShared<T, N>>().words;
  const unsigned square = blockIdx.x % (row_squares * col_squares),
                 batch = blockIdx.x / (row_squares * col_squares);
  const int64_t i0 = int64_t{square / col_squares} * kSide, j0 = int64_t{square % col_squares} * kSide;
  const int lane = static_cast<int>(threadIdx.x) % kLanes, first = static_cast<int>(threadIdx.x) / kLanes;
  const T* const x = from.data + batch * from.batch_stride;
  T* const y = to.data + batch * to.batch_stride;

  Pack<T, N> loaded[kLoads];  // all loads are in flight before the first store
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int64_t i = i0 + first + k * kRowsAtOnce, j = j0 + lane * N;
    if (i < from.rows && j < from.cols) loaded[k] = load_pack<N>(x + i * from.stride + j);
  }
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int i = first + k * kRowsAtOnce;
    if (i0 + i < from.rows && j0 + lane * N < from.cols) words[i % N][i / N][lane] = loaded[k];
  }
  __syncthreads();
#pragma unroll
  for (int word = first; word < kLanes; word += kRowsAtOnce) {
    const int64_t j = j0 + word * N, i = i0 + lane * N;
    if (i >= from.rows || j >= from.cols) continue;
    Pack<T, N> block[N];
#pragma unroll
    for (int m = 0; m < N; ++m) block[m] = words[m][lane][word];
#pragma unroll
    for (int n = 0; n < N; ++n) {
      Pack<T, N> column;
#pragma unroll
      for (int m = 0; m < N; ++m) column.v[m] = block[m].v[n];
      store_pack(y + (j + n) * to.stride + i, column);
    }
  }
}

// A thread of the executor has a square of kSide x kSide elements; a block has kSquares of them.
template <int kSide, int kSquares, class T>
__global__ void __launch_bounds__(kSquares)
    copy_squares_kernel(MatrixBatchView<T> to, MatrixBatchView<const T> from, int64_t row_squares,
                        int64_t col_squares) {
  int64_t square = static_cast<int64_t>(blockIdx.x) * kSquares + threadIdx.x;
  const int64_t batch = square / (row_squares * col_squares);
  if (batch >= from.batches) return;
  square -= batch * row_squares * col_squares;
  const int64_t i0 = square / col_squares * kSide, j0 = square % col_squares * kSide;
  const int rows = static_cast<int>(min(from.rows - i0, int64_t{kSide}));
  const int cols = static_cast<int>(min(from.cols - j0, int64_t{kSide}));
  const T* const x = from.data + batch * from.batch_stride + i0 * from.stride + j0;
  T* const y = to.data + batch * to.batch_stride + j0 * to.stride + i0;
  if constexpr (sizeof(T) == sizeof(float)) {
    constexpr int kLanes = kTileRegisters.lanes;
    if (rows == kSide && cols == kSide) {
      for (int j = 0; j < kSide; j += kLanes)
        for (int i = 0; i < kSide; i += kLanes) {
          Vec<kLanes> block[kLanes];
          for (int k = 0; k < kLanes; ++k)
            block[k] = Vec<kLanes>::load_unaligned(x + (i + k) * from.stride + j);
          transpose(block);
          for (int k = 0; k < kLanes; ++k) block[k].store_unaligned(y + (j + k) * to.stride + i);
        }
      return;
    }
  }
  T words[kSide][kSide];
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) words[j][i] = x[i * from.stride + j];
  for (int j = 0; j < cols; ++j)
    for (int i = 0; i < rows; ++i) y[j * to.stride + i] = words[j][i];
}

template <class T>
Status launch_squares(const char* name, MatrixBatchView<T> to, MatrixBatchView<const T> from,
                      cudaStream_t stream) {
  constexpr int kSide = 32, kSquares = 16;
  const int64_t row_squares = ceil_div<int64_t>(from.rows, kSide),
                col_squares = ceil_div<int64_t>(from.cols, kSide);
  return launch(name, flat_shape(saturating_product({row_squares, col_squares, from.batches}), kSquares),
                stream, copy_squares_kernel<kSide, kSquares, T>, to, from, row_squares, col_squares);
}

template <int N, class T>
Status launch_copy(const char* name, MatrixBatchView<T> to, MatrixBatchView<const T> from,
                   cudaStream_t stream) {
  const int64_t row_squares = ceil_div<int64_t>(from.rows, kLanes * N),
                col_squares = ceil_div<int64_t>(from.cols, kLanes * N);
  // launch() refuses more than INT32_MAX blocks, so both counts fit in 32 bits in a kernel that runs.
  return launch(name,
                {.grid_x = saturating_product({row_squares, col_squares, from.batches}),
                 .block_x = kLanes * kRowsAtOnce,
                 .shared_bytes = sizeof(TransposeShared<T, N>)},
                stream, copy_transposed_kernel<T, N>, to, from, static_cast<unsigned>(row_squares),
                static_cast<unsigned>(col_squares));
}

template <class T>
bool in_pairs(const MatrixBatchView<const T>& to, const MatrixBatchView<const T>& from) {
  for (const MatrixBatchView<const T>& view : {to, from})
    if (view.stride % 2 != 0 || view.batch_stride % 2 != 0 || pack_width<2>(2, view.data) != 2) return false;
  return from.rows % 2 == 0 && from.cols % 2 == 0;
}

}  // namespace

template <ValueType T>
Status copy_transposed(const char* name, MatrixBatchView<T> to, NonDeduced<MatrixBatchView<const T>> from,
                       cudaStream_t stream) {
  if constexpr (kVectorTiles)
    if (use_vector_threads()) return launch_squares(name, to, from, stream);
  if constexpr (NarrowType<T>)
    if (in_pairs<T>(to, from)) return launch_copy<2>(name, to, from, stream);
  return launch_copy<1>(name, to, from, stream);
}

#define RONDO_COPY_TRANSPOSED(T) \
  template Status copy_transposed<T>(const char*, MatrixBatchView<T>, MatrixBatchView<const T>, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_COPY_TRANSPOSED)

}  // namespace rondo

#include <rondo/kernels/reduce/moments.h>
#include <rondo/kernels/reduce/column_moments.cuh>
#include <rondo/kernels/reduce/column_sums.cuh>

#include <algorithm>

namespace rondo {
namespace {

template <class T>
struct SumsAndSquares {
  using Value = double;
  static constexpr int kSums = 2, kRowThreads = 16, kWidest = kWidestValues<T>;
  const T* x;
  int cols;

  // float for 16-bit values too, so that their sums have the bits of the sums of the same floats. Because the
  // sums have more bits than a float, mean and variance rarely depend on how rows are divided among devices.
  template <int N>
  using Partial = ColumnMoments<float, N>;
  template <int N>
  struct Channel {
    const T* x;
    int cols;
    __device__ __forceinline__ Values<N> load(int64_t row) const { return load_values<N>(x + row * cols); }
    __device__ __forceinline__ void begin(ColumnMoments<float, N>& moments, int64_t row) const {
      moments.begin(load(row));
    }
    __device__ __forceinline__ void add(ColumnMoments<float, N>& moments, int64_t row) const {
      moments.add(load(row));
    }
    __device__ __forceinline__ void add(columns::Sums<double, 2, N>& sums, int64_t row) const {
      const double value = load(row).v[0];
      sums.of[0][0] += value;
      sums.of[1][0] = fma(value, value, sums.of[1][0]);
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {x + col, cols};
  }
};

// The same sums from the moments of parts, in double: mean * rows, and squared deviations + mean^2 * rows.
struct SumsOfParts {
  using Value = double;
  static constexpr int kSums = 2, kRowThreads = 16, kWidest = 1;
  PartialMoments moments;

  template <int N>
  using Partial = columns::Sums<double, 2, N>;
  template <int N>
  struct Channel {
    static_assert(N == 1);
    const PartialMoments& moments;
    int col;
    __device__ __forceinline__ void add(columns::Sums<double, 2, 1>& sums, int64_t part) const {
      const double mean = compensated_value(moments.means(part)[col], moments.mean_rests(part)[col]);
      const double rows = moments.rows[part];
      sums.of[0][0] = fma(mean, rows, sums.of[0][0]);
      sums.of[1][0] += fma(mean * rows, mean, static_cast<double>(moments.squared_deviations(part)[col]));
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {moments, col};
  }
};

// The parts of a workspace: that of column_sums(), then values, then rows.
int64_t values_begin(int64_t parts, int64_t columns) {
  return std::min(moments_workspace_bytes(parts, columns), kMaxBytes) / 16 * 16 + 16;
}
int64_t values_bytes(int64_t parts, int64_t columns) {
  const PartialMoments moments = {nullptr, nullptr, columns};
  return saturating_product({parts, 3, moments.stride(), sizeof(float)});
}

}  // namespace

int64_t moments_workspace_bytes(int64_t rows, int64_t columns) {
  return columns::workspace_bytes<double, 2>(rows, columns);
}

template <class T>
Status add_moments(const char* name, double* sums, const T* x, int64_t rows, int64_t columns,
                   Workspace workspace, cudaStream_t stream) {
  return columns::column_sums(name, sums, SumsAndSquares<T>{x, static_cast<int>(columns)}, rows, columns,
                              values_width<T>(columns, x), workspace, stream);
}
template <class T>
Status add_moments_of_blocks(const char* name, double* sums, const T* x, int64_t rows, int64_t columns,
                             int64_t rows_per_block, cudaStream_t stream) {
  return columns::block_sums(name, sums, SumsAndSquares<T>{x, static_cast<int>(columns)}, rows, columns,
                             values_width<T>(columns, x), rows_per_block, stream);
}
#define RONDO_ADD_MOMENTS(T)                                                                              \
  template Status add_moments(const char*, double*, const T*, int64_t, int64_t, Workspace, cudaStream_t); \
  template Status add_moments_of_blocks(const char*, double*, const T*, int64_t, int64_t, int64_t,        \
                                        cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_ADD_MOMENTS)
#undef RONDO_ADD_MOMENTS

int64_t partial_moments_bytes(int64_t parts, int64_t columns) {
  const int64_t values = std::min(values_bytes(parts, columns), kMaxBytes);
  return values_begin(parts, columns) + values + parts * static_cast<int64_t>(sizeof(int));
}

PartialMoments partial_moments(Workspace workspace, int64_t parts, int64_t columns) {
  auto* const values = static_cast<std::byte*>(workspace.data) + values_begin(parts, columns);
  return {reinterpret_cast<float*>(values), reinterpret_cast<int*>(values + values_bytes(parts, columns)),
          columns};
}

Status add_partial_moments(const char* name, double* sums, const PartialMoments& moments, int64_t parts,
                           Workspace workspace, cudaStream_t stream) {
  return columns::column_sums(name, sums, SumsOfParts{moments}, parts, moments.columns, 1, workspace, stream);
}

}  // namespace rondo

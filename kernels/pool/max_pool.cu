// Forward keeps the largest element and, if asked for, its index.
//
// Backward has no atomics. Windows of 2 x 2 with stride 2 don't overlap: a thread finds the maximum of its
// window again, and writes all four elements. Other windows may overlap: there each element checks, for each
// window that contains it, whether it is the window's first maximum. It first compares itself with the
// window's y; only an element that is equal reads the elements before it. A thread with vector registers has
// a tile of elements instead, and adds the gradients of all windows that reach into it, in the same order.
// from_indices.cu has the backward pass from indices.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/pool/adaptive_pool.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/core/shared.cuh>
#include <rondo/kernels/core/tile_threads.cuh>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/pool/geometry.cuh>
#include <rondo/kernels/pool/indices.cuh>

#include <type_traits>

namespace rondo {
namespace {

using namespace pool;

// Returns whether `candidate` replaces `best`. A NaN beats every number, nothing beats a NaN, and of equal
// values the earlier one stays. The comparisons are joined without branches: with branches the compiler would
// store the results as single elements.
__device__ __forceinline__ bool beats(float candidate, float best) {
  return !(candidate <= best) & !isnan(best);
}

// With kIndexed, `indices` gets the index of each maximum, unless it is null.
template <bool kIndexed, class T, int N, class G>
__global__ void __launch_bounds__(kThreads, 6)
    max_pool_kernel(T* __restrict__ y, int32_t* __restrict__ indices, const T* __restrict__ x, G g) {
  const int row = row_of_thread(), col = col_of_thread();
  if (col >= g.cols.windows) return;
  const Range h = g.rows.elements(row), w = g.cols.elements(col);
  for_each_pack<N>(g, [&]<int M>(PackWidth<M>, int64_t n, int c) {
    auto best = load_channels<M>(x + g.x_offset(n, h.first, w.first, c));
    Indices<M> index;  // of the maxima
    if constexpr (kIndexed) index = Indices<M>::all(h.first * g.cols.size + w.first);
    for (int i = h.first; i < h.last; i += g.rows.step)
      for (int j = w.first; j < w.last; j += g.cols.step) {
        const auto element = load_channels<M>(x + g.x_offset(n, i, j, c));
        RONDO_SIMD
        for (int k = 0; k < M; ++k) {
          const bool better = beats(element.v[k], best.v[k]);
          best.v[k] = better ? element.v[k] : best.v[k];
          if constexpr (kIndexed) index.v[k] = better ? i * g.cols.size + j : index.v[k];
        }
      }
    const int64_t window = g.y_offset(n, row, col, c);
    store_channels<M>(y + window, best);
    if constexpr (kIndexed)
      if (indices != nullptr) store_indices(indices + window, index);
  });
}

// Thread (p, q) writes the four elements of window (p, q). Where a side is odd, the last elements are in no
// window, and the last threads of that side write their zeros.
template <class T, int N>
__global__ void __launch_bounds__(kThreads, N > 4 ? 4 : 6)  // 8 sums need more registers
    max_pool_backward_kernel(T* __restrict__ dx, const T* __restrict__ dy, const T* __restrict__ x,
                             Geometry<PairSide> g) {
  const int p = row_of_thread(), q = col_of_thread();
  if (2 * q >= g.cols.size) return;
  const bool two_rows = 2 * p + 1 < g.rows.size, two_cols = 2 * q + 1 < g.cols.size;
  const int below = g.cols.size * g.channels;
  for_each_pack<N>(g, [&]<int M>(PackWidth<M>, int64_t n, int c) {
    const int64_t offset = g.x_offset(n, 2 * p, 2 * q, c);
    if (!two_rows || !two_cols) {
      const Values<M> zero = {};
      store_channels<M>(dx + offset, zero);
      if (two_rows) store_channels<M>(dx + offset + below, zero);
      if (two_cols) store_channels<M>(dx + offset + g.channels, zero);
      return;
    }
    const auto gradient = load_channels<M>(dy + g.y_offset(n, p, q, c));
    auto best = load_channels<M>(x + offset);
    int index[M] = {};  // of the maximum
    const int offsets[] = {0, g.channels, below, below + g.channels};
    RONDO_UNROLL
    for (int i = 1; i < 4; ++i) {
      const auto element = load_channels<M>(x + offset + offsets[i]);
      RONDO_SIMD
      for (int k = 0; k < M; ++k) {
        const bool better = beats(element.v[k], best.v[k]);
        best.v[k] = better ? element.v[k] : best.v[k];
        index[k] = better ? i : index[k];
      }
    }
    RONDO_UNROLL
    for (int i = 0; i < 4; ++i) {
      Values<M> sum;  // of one gradient and 0, so that -0 becomes 0, as in other windows
      RONDO_SIMD
      for (int k = 0; k < M; ++k) sum.v[k] = 0.0f + (index[k] == i ? gradient.v[k] : 0.0f);
      store_channels<M>(dx + offset + offsets[i], sum);
    }
  });
}

// Bit k: x[k] is the maximum of its window, y[k]: equal, or both NaN.
template <int N>
__device__ __forceinline__ unsigned equal_lanes(const Values<N>& x, const Values<N>& y) {
  unsigned lanes = 0;
  RONDO_UNROLL
  for (int k = 0; k < N; ++k) {
    const bool equal = (x.v[k] == y.v[k]) | (isnan(x.v[k]) & isnan(y.v[k]));
    lanes |= static_cast<unsigned>(equal) << k;
  }
  return lanes;
}

template <class T, int N, class G>
__global__ void __launch_bounds__(kThreads, N > 4 ? 4 : 6)
    max_pool_backward_gather_kernel(T* __restrict__ dx, const T* __restrict__ dy, const T* __restrict__ y,
                                    const T* __restrict__ x, G g) {
  const int row = row_of_thread(), col = col_of_thread();
  if (col >= g.cols.size) return;
  const Range p = g.rows.windows_of(row), q = g.cols.windows_of(col);
  for_each_pack<N>(g, [&]<int M>(PackWidth<M>, int64_t n, int c) {
    const T* const image = x + g.x_offset(n, 0, 0, c);
    const int64_t offset = g.x_offset(n, row, col, c);
    const auto own = load_channels<M>(x + offset);
    Values<M> sum = {};
    for_each_window(g, p, q, [&](int i, int j) {
      const Range h = g.rows.elements(i), w = g.cols.elements(j);
      const int64_t window = g.y_offset(n, i, j, c);
      const auto maximum = load_channels<M>(y + window);
      const auto gradient = load_channels<M>(dy + window);
      // The lanes whose element is the first maximum, as far as the window has been read.
      unsigned first = equal_lanes<M>(own, maximum);
      for (int r = h.first; r <= row && first != 0; r += g.rows.step)
        for (int s = w.first; s < (r == row ? col : w.last); s += g.cols.step)
          first &= ~equal_lanes<M>(load_channels<M>(image + (r * g.cols.size + s) * g.channels), maximum);
      RONDO_UNROLL
      for (int k = 0; k < M; ++k) sum.v[k] += (first >> k & 1) != 0 ? gradient.v[k] : 0.0f;
    });
    store_channels<M>(dx + offset, sum);
  });
}

// The elements of a tile along a side, and its packs of channels.
constexpr int kTileSide = 8, kTilePacks = 4;

template <int N>
struct TileSums {
  float of[kTileSide][kTileSide][kTilePacks * N];
};

// The part of a tile along one side: its elements, and the windows that reach into it.
struct TilePart {
  Range elements, windows;

  __device__ TilePart(const FixedSide& side, int tile)
      : elements{tile * kTileSide, min((tile + 1) * kTileSide, side.size)},
        windows{side.windows_of(elements.first).first, side.windows_of(elements.last - 1).last} {}
};

// Block (x, y, z) is one thread, which has tile (y, x) of every gridDim.z-th image.
template <class T, int N, class G>
__global__ void __launch_bounds__(1)
    max_pool_backward_tile_kernel(T* __restrict__ dx, const T* __restrict__ dy, const T* __restrict__ y,
                                  const T* __restrict__ x, G g) {
  auto& sums = shared_memory<TileSums<N>>().of;
  const TilePart rows(g.rows, static_cast<int>(blockIdx.y)), cols(g.cols, static_cast<int>(blockIdx.x));
  const auto sums_of = [&](int i, int j) { return sums[i - rows.elements.first][j - cols.elements.first]; };
  // Adds the gradients of window (p, q) for `packs` packs of M channels, from channel c on.
  const auto add_window = [&]<int M>(PackWidth<M>, int64_t n, int p, int q, int c, int packs) {
    const Range h = g.rows.elements(p), w = g.cols.elements(q);
    const int64_t window = g.y_offset(n, p, q, c);
    Values<M> maximum[kTilePacks], left[kTilePacks];  // the gradient until the first maximum, then 0
    for (int pack = 0; pack < packs; ++pack) {
      maximum[pack] = load_channels<M>(y + window + pack * M);
      left[pack] = load_channels<M>(dy + window + pack * M);
    }
    for (int i = h.first; i < min(h.last, rows.elements.last); i += g.rows.step)
      for (int j = w.first; j < w.last; j += g.cols.step) {
        const T* const elements = x + g.x_offset(n, i, j, c);
        float* const to = rows.elements.has(i) && cols.elements.has(j) ? sums_of(i, j) : nullptr;
        for (int pack = 0; pack < packs; ++pack) {
          const auto element = load_channels<M>(elements + pack * M);
          float added[M];
          RONDO_SIMD
          for (int k = 0; k < M; ++k) {
            const float value = element.v[k], most = maximum[pack].v[k];
            const bool equal = (value == most) | (isnan(value) & isnan(most));
            added[k] = equal ? left[pack].v[k] : 0.0f;
            left[pack].v[k] = equal ? 0.0f : left[pack].v[k];
          }
          if (to == nullptr) continue;
          RONDO_SIMD
          for (int k = 0; k < M; ++k) to[pack * M + k] += added[k];
        }
      }
  };
  const auto add_channels = [&]<int M>(PackWidth<M> width, int64_t n, int c, int packs) {
    for (auto& of_row : sums)
      for (auto& of_element : of_row)
        for (int k = 0; k < packs * M; ++k) of_element[k] = 0;
    for (int p = rows.windows.first; p < rows.windows.last; ++p)
      for (int q = cols.windows.first; q < cols.windows.last; ++q) add_window(width, n, p, q, c, packs);
    for (int i = rows.elements.first; i < rows.elements.last; ++i)
      for (int j = cols.elements.first; j < cols.elements.last; ++j)
        for (int k = 0; k < packs * M; ++k) dx[g.x_offset(n, i, j, c + k)] = static_cast<T>(sums_of(i, j)[k]);
  };
  for (int64_t n = blockIdx.z; n < g.images; n += gridDim.z) {
    int c = 0;
    for (; c + N <= g.channels; c += kTilePacks * N)
      add_channels(PackWidth<N>(), n, c, min((g.channels - c) / N, kTilePacks));
    if (g.channels > N && g.channels % N != 0) add_channels(PackWidth<N>(), n, g.channels - N, 1);
    for (c = 0; c < g.channels && g.channels < N; c += kTilePacks)
      add_channels(PackWidth<1>(), n, c, min(g.channels - c, kTilePacks));
  }
}

// The less common windows have one kernel, with and without indices.
template <class T, int N, class Side>
auto forward_kernel(const Geometry<Side>&, bool indexed) {
  if constexpr (std::is_same_v<Side, PairSide> || std::is_same_v<Side, FixedSide>)
    if (!indexed) return max_pool_kernel<false, T, N, Geometry<Side>>;
  return max_pool_kernel<true, T, N, Geometry<Side>>;
}

// `indices` may be empty.
template <class T, class Side>
Status launch_forward(const char* operation, ImageView<T> y, ImageView<int32_t> indices, ImageView<const T> x,
                      const Geometry<Side>& any, cudaStream_t stream) {
  return with_geometry(any, [&](auto geometry) {
    return with_packs<T>(values_width<T>(x.channels, y.data, indices.data, x.data), [&](auto n) {
      return launch(operation, shape_over(y, n), stream,
                    forward_kernel<T, n>(geometry, indices.data != nullptr), y.data, indices.data, x.data,
                    geometry);
    });
  });
}

}  // namespace

template <ValueType T>
Status max_pool(ImageView<T> y, NonDeduced<ImageView<const T>> x, const PoolWindow& window,
                cudaStream_t stream) {
  ArgumentCheck check("max_pool");
  check.output("y", y);
  check.input("x", x);
  RONDO_RETURN_IF_ERROR(check.status());
  Geometry<DilatedSide> any;
  RONDO_RETURN_IF_ERROR(check_geometry("max_pool", untyped(x), untyped(y), window, &any));
  return launch_forward("max_pool", y, {}, x, any, stream);
}

template <ValueType T>
Status max_pool_with_indices(ImageView<T> y, ImageView<int32_t> indices, NonDeduced<ImageView<const T>> x,
                             const PoolWindow& window, cudaStream_t stream) {
  ArgumentCheck check("max_pool_with_indices");
  check.output("y", y);
  check.output("indices", indices);
  check.input("x", x);
  check.same_shape("indices", indices, "y", y);
  RONDO_RETURN_IF_ERROR(check.status());
  Geometry<DilatedSide> any;
  RONDO_RETURN_IF_ERROR(check_geometry("max_pool_with_indices", untyped(x), untyped(y), window, &any));
  return launch_forward("max_pool_with_indices", y, indices, x, any, stream);
}

template <ValueType T>
Status adaptive_max_pool(ImageView<T> y, ImageView<int32_t> indices, NonDeduced<ImageView<const T>> x,
                         cudaStream_t stream) {
  ArgumentCheck check("adaptive_max_pool");
  check.output("y", y);
  check.optional_output("indices", indices);
  check.input("x", x);
  if (indices.data != nullptr) check.same_shape("indices", indices, "y", y);
  RONDO_RETURN_IF_ERROR(check.status());
  Geometry<AdaptiveSide> any;
  RONDO_RETURN_IF_ERROR(check_geometry("adaptive_max_pool", untyped(x), untyped(y), &any));
  return launch_forward("adaptive_max_pool", y, indices, x, any, stream);
}

template <ValueType T>
Status max_pool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy, NonDeduced<ImageView<const T>> y,
                         NonDeduced<ImageView<const T>> x, const PoolWindow& window, cudaStream_t stream) {
  ArgumentCheck check("max_pool_backward");
  check.output("dx", dx);
  check.input("dy", dy);
  check.input("y", y);
  check.input("x", x);
  check.same_shape("x", x, "dx", dx);
  check.same_shape("y", y, "dy", dy);
  RONDO_RETURN_IF_ERROR(check.status());
  Geometry<DilatedSide> any;
  RONDO_RETURN_IF_ERROR(check_geometry("max_pool_backward", untyped(dx), untyped(dy), window, &any));
  return with_packs<T>(values_width<T>(dx.channels, dx.data, dy.data, y.data, x.data), [&](auto n) {
    return with_geometry(any, [&](auto geometry) {
      if constexpr (std::is_same_v<decltype(geometry), Geometry<PairSide>>) {
        ImageView<T> windows = dx;  // one thread per window, the incomplete ones at odd sides included
        windows.height = ceil_div<int64_t>(dx.height, 2);
        windows.width = ceil_div<int64_t>(dx.width, 2);
        return launch("max_pool_backward", shape_over(windows, n), stream, max_pool_backward_kernel<T, n>,
                      dx.data, dy.data, x.data, geometry);
      } else {
        if constexpr (kVectorTiles)
          if (use_vector_threads()) {
            LaunchShape shape = shape_over(dx, n);
            shape.grid_x = ceil_div<int64_t>(dx.width, kTileSide);
            shape.grid_y = ceil_div<int64_t>(dx.height, kTileSide);
            shape.block_y = 1;
            shape.shared_bytes = sizeof(TileSums<n>);
            return launch("max_pool_backward", shape, stream,
                          max_pool_backward_tile_kernel<T, n, decltype(geometry)>, dx.data, dy.data, y.data,
                          x.data, geometry);
          }
        return launch("max_pool_backward", shape_over(dx, n), stream,
                      max_pool_backward_gather_kernel<T, n, decltype(geometry)>, dx.data, dy.data, y.data,
                      x.data, geometry);
      }
    });
  });
}

#define RONDO_MAX_POOL(T)                                                                                   \
  template Status max_pool<T>(ImageView<T>, ImageView<const T>, const PoolWindow&, cudaStream_t);           \
  template Status max_pool_with_indices<T>(ImageView<T>, ImageView<int32_t>, ImageView<const T>,            \
                                           const PoolWindow&, cudaStream_t);                                \
  template Status adaptive_max_pool<T>(ImageView<T>, ImageView<int32_t>, ImageView<const T>, cudaStream_t); \
  template Status max_pool_backward<T>(ImageView<T>, ImageView<const T>, ImageView<const T>,                \
                                       ImageView<const T>, const PoolWindow&, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_MAX_POOL)

}  // namespace rondo

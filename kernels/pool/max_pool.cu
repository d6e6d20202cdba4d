// Backward is a gather: for each window that contains it, an element checks whether it is the window's first
// maximum. It first compares itself with the window's y; for most elements this one comparison is enough.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/pool/geometry.cuh>

namespace rondo {
namespace {

using namespace pool;

// Returns whether `candidate` replaces `best`. A NaN beats every number, nothing beats a NaN, and of equal
// values the earlier one stays.
__device__ bool beats(float candidate, float best) {
  return candidate > best || (isnan(candidate) && !isnan(best));
}

template <class T, int N, class G>
__global__ void __launch_bounds__(kThreads, 6)
    max_pool_kernel(T* __restrict__ y, const T* __restrict__ x, G g) {
  const int row = row_of_thread(), col = col_of_thread();
  if (col >= g.cols) return;
  const Range h = elements_of_window(row, g.window_h, g.stride_h, g.pad_h, g.height);
  const Range w = elements_of_window(col, g.window_w, g.stride_w, g.pad_w, g.width);
  for_each_pack<N>(g, [&](int64_t n, int c) {
    auto best = load_values<N>(x + g.x_offset(n, h.first, w.first, c));
    for (int i = h.first; i < h.last; ++i)
      for (int j = w.first; j < w.last; ++j) {
        const auto element = load_values<N>(x + g.x_offset(n, i, j, c));
        for (int k = 0; k < N; ++k)
          if (beats(element.v[k], best.v[k])) best.v[k] = element.v[k];
      }
    store_values<N>(y + g.y_offset(n, row, col, c), best);
  });
}

// True if x is the maximum y of its window: equal, or both NaN.
__device__ bool is_maximum(float x, float y) { return x == y || (isnan(x) && isnan(y)); }

// True if an earlier element of the window than (row, col), in row-major order, also has the value `maximum`.
template <class T, class G>
__device__ bool maximum_before(const T* __restrict__ x, const G& g, int64_t n, Range h, Range w, int row,
                               int col, int c, float maximum) {
  for (int i = h.first; i <= row; ++i)
    for (int j = w.first; j < (i == row ? col : w.last); ++j)
      if (is_maximum(static_cast<float>(x[g.x_offset(n, i, j, c)]), maximum)) return true;
  return false;
}

template <class T, int N, class G>
__global__ void __launch_bounds__(kThreads, N > 4 ? 4 : 6)  // 8 sums need more registers
    max_pool_backward_kernel(T* __restrict__ dx, const T* __restrict__ dy, const T* __restrict__ y,
                             const T* __restrict__ x, G g) {
  const int row = row_of_thread(), col = col_of_thread();
  if (col >= g.width) return;
  const Range p = windows_of_element(row, g.window_h, g.stride_h, g.pad_h, g.rows);
  const Range q = windows_of_element(col, g.window_w, g.stride_w, g.pad_w, g.cols);
  for_each_pack<N>(g, [&](int64_t n, int c) {
    const int64_t offset = g.x_offset(n, row, col, c);
    const auto own = load_values<N>(x + offset);
    Values<N> sum = {};
    for (int i = p.first; i < p.last; ++i)
      for (int j = q.first; j < q.last; ++j) {
        const Range h = elements_of_window(i, g.window_h, g.stride_h, g.pad_h, g.height);
        const Range w = elements_of_window(j, g.window_w, g.stride_w, g.pad_w, g.width);
        const int64_t window = g.y_offset(n, i, j, c);
        const auto maximum = load_values<N>(y + window);
        const auto gradient = load_values<N>(dy + window);
        for (int k = 0; k < N; ++k)
          if (is_maximum(own.v[k], maximum.v[k]) &&
              !maximum_before(x, g, n, h, w, row, col, c + k, maximum.v[k]))
            sum.v[k] += gradient.v[k];
      }
    store_values<N>(dx + offset, sum);
  });
}

template <class T>
Status launch_max_pool(ImageView<T> y, ImageView<const T> x, const PoolWindow& window, cudaStream_t stream) {
  ArgumentCheck check("max_pool");
  check.output("y", y);
  check.input("x", x);
  RONDO_RETURN_IF_ERROR(check.status());
  Geometry<AnyWindow> any;
  RONDO_RETURN_IF_ERROR(check_geometry("max_pool", x, y, window, &any));
  return with_geometry(any, [&](auto geometry) {
    return with_pack_width<T>(pool_width(x.channels, y.data, x.data), [&](auto n) {
      return launch("max_pool", shape_over(y, n), stream, max_pool_kernel<T, n, decltype(geometry)>, y.data,
                    x.data, geometry);
    });
  });
}

template <class T>
Status launch_max_pool_backward(ImageView<T> dx, ImageView<const T> dy, ImageView<const T> y,
                                ImageView<const T> x, const PoolWindow& window, cudaStream_t stream) {
  ArgumentCheck check("max_pool_backward");
  check.output("dx", dx);
  check.input("dy", dy);
  check.input("y", y);
  check.input("x", x);
  check.same_shape("x", x, "dx", dx);
  check.same_shape("y", y, "dy", dy);
  RONDO_RETURN_IF_ERROR(check.status());
  Geometry<AnyWindow> any;
  RONDO_RETURN_IF_ERROR(check_geometry("max_pool_backward", dx, dy, window, &any));
  return with_geometry(any, [&](auto geometry) {
    return with_pack_width<T>(pool_width(dx.channels, dx.data, dy.data, y.data, x.data), [&](auto n) {
      return launch("max_pool_backward", shape_over(dx, n), stream,
                    max_pool_backward_kernel<T, n, decltype(geometry)>, dx.data, dy.data, y.data, x.data,
                    geometry);
    });
  });
}

}  // namespace

#define RONDO_MAX_POOL(T)                                                                                \
  Status max_pool(ImageView<T> y, ImageView<const T> x, const PoolWindow& window, cudaStream_t stream) { \
    return launch_max_pool(y, x, window, stream);                                                        \
  }                                                                                                      \
  Status max_pool_backward(ImageView<T> dx, ImageView<const T> dy, ImageView<const T> y,                 \
                           ImageView<const T> x, const PoolWindow& window, cudaStream_t stream) {        \
    return launch_max_pool_backward(dx, dy, y, x, window, stream);                                       \
  }
RONDO_FOR_VALUE_TYPES(RONDO_MAX_POOL)

}  // namespace rondo

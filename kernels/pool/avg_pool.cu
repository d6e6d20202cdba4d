// Backward is a gather: each element of dx finds the windows that contain it. It needs no atomics, and the
// order of the sum is fixed.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/pool/geometry.cuh>

namespace rondo {
namespace {

using namespace pool;

// 1 / (size of window (p, q)). `over_window` is the result for a window inside the padded image if padding
// counts.
template <AverageOver Over, class G>
__device__ float share_of_element(const G& g, float over_window, int p, int q) {
  if constexpr (G::inside) {
    return over_window;
  } else if constexpr (Over == AverageOver::image) {
    return 1.0f / static_cast<float>(g.rows_of_window(p).size() * g.cols_of_window(q).size());
  } else {
    const int top = p * g.stride_h - g.pad_h, left = q * g.stride_w - g.pad_w;
    const int rows = min(g.window_h, g.height + g.pad_bottom - top);
    const int cols = min(g.window_w, g.width + g.pad_right - left);
    if (rows == g.window_h && cols == g.window_w) return over_window;
    return 1.0f / static_cast<float>(rows * cols);
  }
}

template <class T, int N, AverageOver Over, class G>
__global__ void __launch_bounds__(kThreads, 6)
    avg_pool_kernel(T* __restrict__ y, const T* __restrict__ x, G g, float over_window) {
  const int row = row_of_thread(), col = col_of_thread();
  if (col >= g.cols) return;
  const Range h = g.rows_of_window(row);
  const Range w = g.cols_of_window(col);
  const float share = share_of_element<Over>(g, over_window, row, col);
  for_each_pack<N>(g, [&](int64_t n, int c) {
    Values<N> sum = {};
    for (int i = h.first; i < h.last; ++i)
      for (int j = w.first; j < w.last; ++j) {
        const auto element = load_values<N>(x + g.x_offset(n, i, j, c));
        for (int k = 0; k < N; ++k) sum.v[k] += element.v[k];
      }
    for (int k = 0; k < N; ++k) sum.v[k] *= share;
    store_values<N>(y + g.y_offset(n, row, col, c), sum);
  });
}

// `relu` is null, or the output of the ReLU whose gradient is fused into this pass.
template <class T, int N, AverageOver Over, class G>
__global__ void __launch_bounds__(kThreads, 6)
    avg_pool_backward_kernel(T* __restrict__ dx, const T* __restrict__ dy, const T* __restrict__ relu, G g,
                             float over_window) {
  const int row = row_of_thread(), col = col_of_thread();
  if (col >= g.width) return;
  const Range p = windows_of_element(row, g.window_h, g.stride_h, g.pad_h, g.rows);
  const Range q = windows_of_element(col, g.window_w, g.stride_w, g.pad_w, g.cols);
  for_each_pack<N>(g, [&](int64_t n, int c) {
    Values<N> sum = {};
    for (int i = p.first; i < p.last; ++i)
      for (int j = q.first; j < q.last; ++j) {
        const auto gradient = load_values<N>(dy + g.y_offset(n, i, j, c));
        const float share = share_of_element<Over>(g, over_window, i, j);
        for (int k = 0; k < N; ++k) sum.v[k] = fmaf(gradient.v[k], share, sum.v[k]);
      }
    const int64_t offset = g.x_offset(n, row, col, c);
    if (relu != nullptr) {
      const auto active = load_values<N>(relu + offset);
      for (int k = 0; k < N; ++k) sum.v[k] = active.v[k] > 0 ? sum.v[k] : 0.0f;
    }
    store_values<N>(dx + offset, sum);
  });
}

template <class Start>
Status with_average(AverageOver over, Start start) {
  if (over == AverageOver::image) return start(std::integral_constant<AverageOver, AverageOver::image>());
  return start(std::integral_constant<AverageOver, AverageOver::window>());
}

float share_of_window(const PoolWindow& window) {
  return 1.0f / static_cast<float>(window.height * window.width);
}

constexpr AverageOver kLastAverage = AverageOver::image;

// `x` is null, or the output of the ReLU whose gradient is fused into this pass. `name` is that of `dx`.
template <class T>
Status launch_avg_pool_backward(const char* operation, const char* name, ImageView<T> dx,
                                ImageView<const T> dy, const ImageView<const T>* x, const PoolWindow& window,
                                AverageOver over, cudaStream_t stream) {
  ArgumentCheck check(operation);
  check.output(name, dx);
  check.input("dy", dy);
  if (x) check.input("x", *x);
  check.enumerator("over", over, kLastAverage);
  if (x) check.same_shape("x", *x, name, dx);
  RONDO_RETURN_IF_ERROR(check.status());
  const T* relu = x ? x->data : nullptr;
  Geometry<AnyWindow> any;
  RONDO_RETURN_IF_ERROR(check_geometry(operation, dx, dy, window, &any));
  return with_average(over, [&](auto average) {
    return with_geometry(any, [&](auto geometry) {
      return with_pack_width<T>(pool_width(dx.channels, dx.data, dy.data, relu), [&](auto n) {
        return launch(operation, shape_over(dx, n), stream,
                      avg_pool_backward_kernel<T, n, average, decltype(geometry)>, dx.data, dy.data, relu,
                      geometry, share_of_window(window));
      });
    });
  });
}

}  // namespace

template <ValueType T>
Status avg_pool(ImageView<T> y, NonDeduced<ImageView<const T>> x, const PoolWindow& window, AverageOver over,
                cudaStream_t stream) {
  ArgumentCheck check("avg_pool");
  check.output("y", y);
  check.input("x", x);
  check.enumerator("over", over, kLastAverage);
  RONDO_RETURN_IF_ERROR(check.status());
  Geometry<AnyWindow> any;
  RONDO_RETURN_IF_ERROR(check_geometry("avg_pool", x, y, window, &any));
  return with_average(over, [&](auto average) {
    return with_geometry(any, [&](auto geometry) {
      return with_pack_width<T>(pool_width(x.channels, y.data, x.data), [&](auto n) {
        return launch("avg_pool", shape_over(y, n), stream,
                      avg_pool_kernel<T, n, average, decltype(geometry)>, y.data, x.data, geometry,
                      share_of_window(window));
      });
    });
  });
}

template <ValueType T>
Status avg_pool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy, const PoolWindow& window,
                         AverageOver over, cudaStream_t stream) {
  return launch_avg_pool_backward<T>("avg_pool_backward", "dx", dx, dy, nullptr, window, over, stream);
}

template <ValueType T>
Status avg_pool_relu_backward(ImageView<T> dz, NonDeduced<ImageView<const T>> dy,
                              NonDeduced<ImageView<const T>> x, const PoolWindow& window, AverageOver over,
                              cudaStream_t stream) {
  return launch_avg_pool_backward("avg_pool_relu_backward", "dz", dz, dy, &x, window, over, stream);
}

#define RONDO_AVG_POOL(T)                                                                                \
  template Status avg_pool<T>(ImageView<T>, ImageView<const T>, const PoolWindow&, AverageOver,          \
                              cudaStream_t);                                                             \
  template Status avg_pool_backward<T>(ImageView<T>, ImageView<const T>, const PoolWindow&, AverageOver, \
                                       cudaStream_t);                                                    \
  template Status avg_pool_relu_backward<T>(ImageView<T>, ImageView<const T>, ImageView<const T>,        \
                                            const PoolWindow&, AverageOver, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_AVG_POOL)

}  // namespace rondo

// Backward is a gather: each element of dx finds the windows that contain it. It needs no atomics, and the
// order of the sum is fixed. Adaptive averages are the same kernels with other windows.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/pool/adaptive_pool.h>
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
    return 1.0f / static_cast<float>(g.rows.elements(p).size() * g.cols.elements(q).size());
  } else {
    const int rows = g.rows.padded(p), cols = g.cols.padded(q);
    if (rows == g.rows.window && cols == g.cols.window) return over_window;
    return 1.0f / static_cast<float>(rows * cols);
  }
}

template <class T, int N, AverageOver Over, class G>
__global__ void __launch_bounds__(kThreads, 6)
    avg_pool_kernel(T* __restrict__ y, const T* __restrict__ x, G g, float over_window) {
  const int row = row_of_thread(), col = col_of_thread();
  if (col >= g.cols.windows) return;
  const Range h = g.rows.elements(row), w = g.cols.elements(col);
  const float share = share_of_element<Over>(g, over_window, row, col);
  constexpr int kJoined = G::disjoint ? 1 : 4;  // of a large window: neighbouring channels are read together
  for_each_pack<N, kJoined>(g, [&]<int M>(PackWidth<M>, int64_t n, int c) {
    Values<M> sum = {};
    for (int i = h.first; i < h.last; ++i)
      for (int j = w.first; j < w.last; ++j) {
        const auto element = load_channels<M>(x + g.x_offset(n, i, j, c));
        RONDO_SIMD
        for (int k = 0; k < M; ++k) sum.v[k] += element.v[k];
      }
    RONDO_SIMD
    for (int k = 0; k < M; ++k) sum.v[k] *= share;
    store_channels<M>(y + g.y_offset(n, row, col, c), sum);
  });
}

// `relu` is null, or the output of the ReLU whose gradient is fused into this pass.
template <class T, int N, AverageOver Over, class G>
__global__ void __launch_bounds__(kThreads, 6)
    avg_pool_backward_kernel(T* __restrict__ dx, const T* __restrict__ dy, const T* __restrict__ relu, G g,
                             float over_window) {
  const int row = row_of_thread(), col = col_of_thread();
  if (col >= g.cols.size) return;
  const Range p = g.rows.windows_of(row), q = g.cols.windows_of(col);
  for_each_pack<N>(g, [&]<int M>(PackWidth<M>, int64_t n, int c) {
    Values<M> sum = {};
    for_each_window(g, p, q, [&](int i, int j) {
      const auto gradient = load_channels<M>(dy + g.y_offset(n, i, j, c));
      const float share = share_of_element<Over>(g, over_window, i, j);
      RONDO_SIMD
      for (int k = 0; k < M; ++k) sum.v[k] = fmaf(gradient.v[k], share, sum.v[k]);
    });
    const int64_t offset = g.x_offset(n, row, col, c);
    if (relu != nullptr) {
      const auto active = load_channels<M>(relu + offset);
      RONDO_SIMD
      for (int k = 0; k < M; ++k) sum.v[k] = active.v[k] > 0 ? sum.v[k] : 0.0f;
    }
    store_channels<M>(dx + offset, sum);
  });
}

template <AverageOver kOver>
using Constant = std::integral_constant<AverageOver, kOver>;

// Calls start(geometry, over, share of an element of a window inside the padded image). `over` is a Constant.
template <class Start>
Status with_average(const Geometry<FixedSide>& fixed, AverageOver over, Start start) {
  const float share = 1.0f / static_cast<float>(fixed.rows.window * fixed.cols.window);
  return with_geometry(fixed, [&](auto geometry) {
    if constexpr (!geometry.inside)
      if (over == AverageOver::image) return start(geometry, Constant<AverageOver::image>(), share);
    return start(geometry, Constant<AverageOver::window>(), share);
  });
}
template <class Start>
Status with_average(const Geometry<AdaptiveSide>& adaptive, Start start) {
  if (const auto fixed = even_windows(adaptive)) return with_average(*fixed, AverageOver::window, start);
  return start(adaptive, Constant<AverageOver::image>(), 0.0f);
}

Status check_average(const char* operation, ImageView<const void> image, ImageView<const void> pooled,
                     const PoolWindow& window, Geometry<FixedSide>* fixed) {
  Geometry<DilatedSide> any;
  RONDO_RETURN_IF_ERROR(check_geometry(operation, image, pooled, window, &any));
  if (window.dilation_h != 1 || window.dilation_w != 1)
    return bad_argument(operation, ": the dilation is ", window.dilation_h, " x ", window.dilation_w,
                        ", must be 1 x 1: only max pooling has dilation");
  *fixed = without_dilation(any);
  return {};
}

// What with_average() calls.
template <class T>
auto forward(const char* operation, ImageView<T> y, ImageView<const T> x, cudaStream_t stream) {
  return [=](auto geometry, auto over, float share) {
    return with_packs<T>(values_width<T>(x.channels, y.data, x.data), [&](auto n) {
      return launch(operation, shape_over(y, n), stream, avg_pool_kernel<T, n, over, decltype(geometry)>,
                    y.data, x.data, geometry, share);
    });
  };
}
template <class T>
auto backward(const char* operation, ImageView<T> dx, ImageView<const T> dy, const T* relu,
              cudaStream_t stream) {
  return [=](auto geometry, auto over, float share) {
    return with_packs<T>(values_width<T>(dx.channels, dx.data, dy.data, relu), [&](auto n) {
      return launch(operation, shape_over(dx, n), stream,
                    avg_pool_backward_kernel<T, n, over, decltype(geometry)>, dx.data, dy.data, relu,
                    geometry, share);
    });
  };
}

constexpr AverageOver kLastAverage = AverageOver::image;

// `x` is null, or the output of the ReLU whose gradient is fused into this pass. `name` is that of `dx`.
template <class T>
Status checked_backward(const char* operation, const char* name, ImageView<T> dx, ImageView<const T> dy,
                        const ImageView<const T>* x, const PoolWindow& window, AverageOver over,
                        cudaStream_t stream) {
  ArgumentCheck check(operation);
  check.output(name, dx);
  check.input("dy", dy);
  if (x) check.input("x", *x);
  check.enumerator("over", over, kLastAverage);
  if (x) check.same_shape("x", *x, name, dx);
  RONDO_RETURN_IF_ERROR(check.status());
  Geometry<FixedSide> fixed;
  RONDO_RETURN_IF_ERROR(check_average(operation, untyped(dx), untyped(dy), window, &fixed));
  return with_average(fixed, over, backward(operation, dx, dy, x ? x->data : nullptr, stream));
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
  Geometry<FixedSide> fixed;
  RONDO_RETURN_IF_ERROR(check_average("avg_pool", untyped(x), untyped(y), window, &fixed));
  return with_average(fixed, over, forward("avg_pool", y, x, stream));
}

template <ValueType T>
Status avg_pool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy, const PoolWindow& window,
                         AverageOver over, cudaStream_t stream) {
  return checked_backward<T>("avg_pool_backward", "dx", dx, dy, nullptr, window, over, stream);
}

template <ValueType T>
Status avg_pool_relu_backward(ImageView<T> dz, NonDeduced<ImageView<const T>> dy,
                              NonDeduced<ImageView<const T>> x, const PoolWindow& window, AverageOver over,
                              cudaStream_t stream) {
  return checked_backward("avg_pool_relu_backward", "dz", dz, dy, &x, window, over, stream);
}

template <ValueType T>
Status adaptive_avg_pool(ImageView<T> y, NonDeduced<ImageView<const T>> x, cudaStream_t stream) {
  ArgumentCheck check("adaptive_avg_pool");
  check.output("y", y);
  check.input("x", x);
  RONDO_RETURN_IF_ERROR(check.status());
  Geometry<AdaptiveSide> adaptive;
  RONDO_RETURN_IF_ERROR(check_geometry("adaptive_avg_pool", untyped(x), untyped(y), &adaptive));
  return with_average(adaptive, forward("adaptive_avg_pool", y, x, stream));
}

template <ValueType T>
Status adaptive_avg_pool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy, cudaStream_t stream) {
  ArgumentCheck check("adaptive_avg_pool_backward");
  check.output("dx", dx);
  check.input("dy", dy);
  RONDO_RETURN_IF_ERROR(check.status());
  Geometry<AdaptiveSide> adaptive;
  RONDO_RETURN_IF_ERROR(check_geometry("adaptive_avg_pool_backward", untyped(dx), untyped(dy), &adaptive));
  const T* const no_relu = nullptr;
  return with_average(adaptive, backward("adaptive_avg_pool_backward", dx, dy, no_relu, stream));
}

#define RONDO_AVG_POOL(T)                                                                                \
  template Status avg_pool<T>(ImageView<T>, ImageView<const T>, const PoolWindow&, AverageOver,          \
                              cudaStream_t);                                                             \
  template Status avg_pool_backward<T>(ImageView<T>, ImageView<const T>, const PoolWindow&, AverageOver, \
                                       cudaStream_t);                                                    \
  template Status avg_pool_relu_backward<T>(ImageView<T>, ImageView<const T>, ImageView<const T>,        \
                                            const PoolWindow&, AverageOver, cudaStream_t);               \
  template Status adaptive_avg_pool<T>(ImageView<T>, ImageView<const T>, cudaStream_t);                  \
  template Status adaptive_avg_pool_backward<T>(ImageView<T>, ImageView<const T>, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_AVG_POOL)

}  // namespace rondo

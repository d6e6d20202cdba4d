// What reads the indices of maxima: the backward pass of max pooling, and max unpooling.
//
// All of it gathers. An element of the image compares its own index with those of the windows that contain
// it. So an index is never used as an address, and each result has one writer.

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/pool/adaptive_pool.h>
#include <rondo/kernels/pool/max_unpool.h>
#include <rondo/kernels/pool/pool.h>
#include <rondo/kernels/core/values.cuh>
#include <rondo/kernels/pool/geometry.cuh>
#include <rondo/kernels/pool/indices.cuh>

namespace rondo {
namespace {

using namespace pool;

// image[h, w] is made of the values pooled[p, q] of the windows with the index of (h, w): their sum, or
// the last of them.
template <class T, int N, class G>
__global__ void __launch_bounds__(kThreads, N > 4 ? 4 : 6)
    put_back_kernel(T* __restrict__ image, const T* __restrict__ pooled, const int32_t* __restrict__ indices,
                    G g, bool sum) {
  const int row = row_of_thread(), col = col_of_thread();
  if (col >= g.cols.size) return;
  const Range p = g.rows.windows_of(row), q = g.cols.windows_of(col);
  const int element = row * g.cols.size + col;
  for_each_pack<N>(g, [&]<int M>(PackWidth<M>, int64_t n, int c) {
    Values<M> result = {};
    for_each_window(g, p, q, [&](int i, int j) {
      const int64_t window = g.y_offset(n, i, j, c);
      const auto index = load_indices<M>(indices + window);
      const auto value = load_channels<M>(pooled + window);
      RONDO_SIMD
      for (int k = 0; k < M; ++k) {
        const float added = sum ? result.v[k] + value.v[k] : value.v[k];
        result.v[k] = index.v[k] == element ? added : result.v[k];
      }
    });
    store_channels<M>(image + g.x_offset(n, row, col, c), result);
  });
}

// Thread (p, q) finds the element with the index of window (p, q) among the elements of the window, unless
// a later window took it.
template <class T, int N, class G>
__global__ void __launch_bounds__(kThreads, N > 4 ? 4 : 6)
    max_unpool_backward_kernel(T* __restrict__ dx, const T* __restrict__ dy,
                               const int32_t* __restrict__ indices, G g) {
  const int row = row_of_thread(), col = col_of_thread();
  if (col >= g.cols.windows) return;
  const Range h = g.rows.elements(row), w = g.cols.elements(col);
  for_each_pack<N>(g, [&]<int M>(PackWidth<M>, int64_t n, int c) {
    const int64_t window = g.y_offset(n, row, col, c);
    const auto index = load_indices<M>(indices + window);
    Values<M> result = {};
    for (int i = h.first; i < h.last; i += g.rows.step)
      for (int j = w.first; j < w.last; j += g.cols.step) {
        const int element = i * g.cols.size + j;
        unsigned lanes = index.lanes_of(element);
        if constexpr (!G::disjoint) {
          if (lanes == 0) continue;
          const Range p = g.rows.windows_of(i), q = g.cols.windows_of(j);
          for (int r = row; r < p.last; r += g.rows.window_step)
            for (int s = r == row ? col + g.cols.window_step : q.first; s < q.last; s += g.cols.window_step)
              lanes &= ~load_indices<M>(indices + g.y_offset(n, r, s, c)).lanes_of(element);
        }
        const auto gradient = load_channels<M>(dy + g.x_offset(n, i, j, c));
        RONDO_UNROLL
        for (int k = 0; k < M; ++k) result.v[k] = (lanes >> k & 1) != 0 ? gradient.v[k] : result.v[k];
      }
    store_channels<M>(dx + window, result);
  });
}

// Calls start(geometry). There is no kernel for fixed sides without dilation: an element is in few windows,
// and loops over them gain little from a step that is known at compile time.
template <class Start>
Status with_few_types(const Geometry<DilatedSide>& any, Start start) {
  const auto pairs = pairs_of(without_dilation(any));
  return pairs ? start(*pairs) : start(any);
}
template <class Start>
Status with_few_types(const Geometry<AdaptiveSide>& any, Start start) {
  const auto fixed = even_windows(any);
  const auto pairs = fixed ? pairs_of(*fixed) : std::nullopt;
  return pairs ? start(*pairs) : start(any);
}

template <class T, class Side>
Status launch_put_back(const char* operation, ImageView<T> image, ImageView<const T> pooled,
                       ImageView<const int32_t> indices, const Geometry<Side>& any, bool sum,
                       cudaStream_t stream) {
  return with_few_types(any, [&](auto geometry) {
    return with_packs<T>(values_width<T>(image.channels, image.data, pooled.data, indices.data), [&](auto n) {
      return launch(operation, shape_over(image, n), stream, put_back_kernel<T, n, decltype(geometry)>,
                    image.data, pooled.data, indices.data, geometry, sum);
    });
  });
}

// Names and views. `pooled`, one of the other two, has the shape of `indices`.
template <class Written, class Read, class Pooled>
Status check_operands(const char* operation, const char* written, const Written& output, const char* read,
                      const Read& input, ImageView<const int32_t> indices, const char* pooled_name,
                      const Pooled& pooled) {
  ArgumentCheck check(operation);
  check.output(written, output);
  check.input(read, input);
  check.input("indices", indices);
  check.same_shape("indices", indices, pooled_name, pooled);
  return check.status();
}

}  // namespace

template <ValueType T>
Status max_pool_with_indices_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy,
                                      ImageView<const int32_t> indices, const PoolWindow& window,
                                      cudaStream_t stream) {
  const char* const operation = "max_pool_with_indices_backward";
  RONDO_RETURN_IF_ERROR(check_operands(operation, "dx", dx, "dy", dy, indices, "dy", dy));
  Geometry<DilatedSide> any;
  RONDO_RETURN_IF_ERROR(check_geometry(operation, untyped(dx), untyped(dy), window, &any));
  return launch_put_back(operation, dx, dy, indices, any, true, stream);
}

template <ValueType T>
Status adaptive_max_pool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy,
                                  ImageView<const int32_t> indices, cudaStream_t stream) {
  const char* const operation = "adaptive_max_pool_backward";
  RONDO_RETURN_IF_ERROR(check_operands(operation, "dx", dx, "dy", dy, indices, "dy", dy));
  Geometry<AdaptiveSide> any;
  RONDO_RETURN_IF_ERROR(check_geometry(operation, untyped(dx), untyped(dy), &any));
  return launch_put_back(operation, dx, dy, indices, any, true, stream);
}

template <ValueType T>
Status max_unpool(ImageView<T> y, NonDeduced<ImageView<const T>> x, ImageView<const int32_t> indices,
                  const PoolWindow& window, cudaStream_t stream) {
  RONDO_RETURN_IF_ERROR(check_operands("max_unpool", "y", y, "x", x, indices, "x", x));
  Geometry<DilatedSide> any;
  RONDO_RETURN_IF_ERROR(check_geometry("max_unpool", untyped(y), untyped(x), window, &any));
  return launch_put_back("max_unpool", y, x, indices, any, false, stream);
}

template <ValueType T>
Status max_unpool_backward(ImageView<T> dx, NonDeduced<ImageView<const T>> dy,
                           ImageView<const int32_t> indices, const PoolWindow& window, cudaStream_t stream) {
  const char* const operation = "max_unpool_backward";
  RONDO_RETURN_IF_ERROR(check_operands(operation, "dx", dx, "dy", dy, indices, "dx", dx));
  Geometry<DilatedSide> any;
  RONDO_RETURN_IF_ERROR(check_geometry(operation, untyped(dy), untyped(dx), window, &any));
  return with_few_types(any, [&](auto geometry) {
    return with_packs<T>(values_width<T>(dx.channels, dx.data, dy.data, indices.data), [&](auto n) {
      return launch(operation, shape_over(dx, n), stream,
                    max_unpool_backward_kernel<T, n, decltype(geometry)>, dx.data, dy.data, indices.data,
                    geometry);
    });
  });
}

#define RONDO_FROM_INDICES(T)                                                                               \
  template Status max_pool_with_indices_backward<T>(                                                        \
      ImageView<T>, ImageView<const T>, ImageView<const int32_t>, const PoolWindow&, cudaStream_t);         \
  template Status adaptive_max_pool_backward<T>(ImageView<T>, ImageView<const T>, ImageView<const int32_t>, \
                                                cudaStream_t);                                              \
  template Status max_unpool<T>(ImageView<T>, ImageView<const T>, ImageView<const int32_t>,                 \
                                const PoolWindow&, cudaStream_t);                                           \
  template Status max_unpool_backward<T>(ImageView<T>, ImageView<const T>, ImageView<const int32_t>,        \
                                         const PoolWindow&, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_FROM_INDICES)

}  // namespace rondo

// Pooling. The windows are 2 x 2 with stride 2 unless a name says otherwise.

#include <rondo/bench/memory_bound/memory_bound.h>
#include <rondo/kernels/pool/adaptive_pool.h>
#include <rondo/kernels/pool/max_unpool.h>
#include <rondo/kernels/pool/pool.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace rondo::bench {
namespace {

constexpr double kIndex = sizeof(int32_t);

// The four elements of x in the window of y(n = 0, p = 0, q = 0, c), for a window of 2 x 2.
std::array<float, 4> first_window(const std::vector<float>& x, const Images& images, int64_t c) {
  const auto row = static_cast<size_t>(images.side * images.channels), at = static_cast<size_t>(c);
  const auto pixel = static_cast<size_t>(images.channels);
  return {x[at], x[at + pixel], x[at + row], x[at + row + pixel]};
}

enum class Pool { average, maximum };

void pool_of(benchmark::State& state, Pool kind, Images in) {
  const Images out = {in.count, in.side / 2, in.channels};
  Buffer<float> x = normal_buffer(in.size(), 1), y(out.size());
  const std::vector<float> x_host = x.download();
  std::vector<double> expected;
  for (int64_t c = 0; c < in.channels; ++c) {
    const std::array<float, 4> window = first_window(x_host, in, c);
    expected.push_back(kind == Pool::average ? std::accumulate(window.begin(), window.end(), 0.0) / 4
                                             : *std::max_element(window.begin(), window.end()));
  }
  time_checked(
      state, kFloat * static_cast<double>(in.size() + out.size()),
      [&](cudaStream_t stream) {
        if (kind == Pool::maximum) return max_pool(out.view(y.data()), in.view(x.data()), {}, stream);
        return avg_pool(out.view(y.data()), in.view(x.data()), {}, AverageOver::window, stream);
      },
      y, expected);
}
BENCHMARK_CAPTURE(pool_of, average / lenet_first, Pool::average, kLenetFirst)->UseManualTime();
BENCHMARK_CAPTURE(pool_of, average / lenet_second, Pool::average, kLenetSecond)->UseManualTime();
BENCHMARK_CAPTURE(pool_of, average / large, Pool::average, kLarge)->UseManualTime();
BENCHMARK_CAPTURE(pool_of, maximum / lenet_first, Pool::maximum, kLenetFirst)->UseManualTime();
BENCHMARK_CAPTURE(pool_of, maximum / large, Pool::maximum, kLarge)->UseManualTime();

void avg_pool_relu_backward_of(benchmark::State& state, Images in) {
  const Images out = {in.count, in.side / 2, in.channels};
  Buffer<float> x = normal_buffer(in.size(), 1), dy = normal_buffer(out.size(), 2), dz(in.size());
  const std::vector<float> x_host = x.download(), dy_host = dy.download();
  std::vector<double> expected;
  for (size_t c = 0; c < static_cast<size_t>(in.channels); ++c)
    expected.push_back(x_host[c] > 0 ? dy_host[c] / 4 : 0);
  time_checked(
      state, kFloat * static_cast<double>(2 * in.size() + out.size()),
      [&](cudaStream_t stream) {
        return avg_pool_relu_backward(in.view(dz.data()), out.view(dy.data()), in.view(x.data()), {},
                                      AverageOver::window, stream);
      },
      dz, expected);
}
BENCHMARK_CAPTURE(avg_pool_relu_backward_of, lenet_first, kLenetFirst)->UseManualTime();
BENCHMARK_CAPTURE(avg_pool_relu_backward_of, lenet_second, kLenetSecond)->UseManualTime();
BENCHMARK_CAPTURE(avg_pool_relu_backward_of, large, kLarge)->UseManualTime();

void max_pool_backward_of(benchmark::State& state, Images in) {
  const Images out = {in.count, in.side / 2, in.channels};
  Buffer<float> x = normal_buffer(in.size(), 1), dy = normal_buffer(out.size(), 2), y(out.size()),
                dx(in.size());
  run_once([&](cudaStream_t s) { return max_pool(out.view(y.data()), in.view(x.data()), {}, s); });
  const std::vector<float> x_host = x.download(), dy_host = dy.download();
  std::vector<double> expected;
  for (int64_t c = 0; c < in.channels; ++c) {
    const std::array<float, 4> window = first_window(x_host, in, c);
    const bool first_is_maximum = window[0] == *std::max_element(window.begin(), window.end());
    expected.push_back(first_is_maximum ? dy_host[static_cast<size_t>(c)] : 0);
  }
  time_checked(
      state, kFloat * static_cast<double>(2 * in.size() + 2 * out.size()),
      [&](cudaStream_t s) {
        return max_pool_backward(in.view(dx.data()), out.view(dy.data()), out.view(y.data()),
                                 in.view(x.data()), {}, s);
      },
      dx, expected);
}
BENCHMARK_CAPTURE(max_pool_backward_of, lenet_first, kLenetFirst)->UseManualTime();
BENCHMARK_CAPTURE(max_pool_backward_of, large, kLarge)->UseManualTime();

// Max pooling with indices, and what reads them.
struct IndexedPool {
  IndexedPool(Images images, const PoolWindow& of)
      : in(images),
        out{images.count, pooled_height(images.side, of), images.channels},
        window(of),
        x(normal_buffer(in.size(), 1)),
        y(out.size()),
        dx(in.size()),
        indices(out.size()) {}
  Status forward(cudaStream_t stream) {
    return max_pool_with_indices(out.view(y.data()), out.view(indices.data()), in.view(x.data()), window,
                                 stream);
  }

  Images in, out;
  PoolWindow window;
  Buffer<float> x, y, dx;
  Buffer<int32_t> indices;
};

constexpr PoolWindow kPairs = {}, kStem = {3, 3, 2, 2, 1, 1};  // kStem: ResNet's first

void max_pool_with_indices_of(benchmark::State& state, Images in, PoolWindow window) {
  IndexedPool pool(in, window);
  const std::vector<float> x = pool.x.download();
  std::vector<double> expected;  // both windows have four elements inside the image
  for (int64_t c = 0; c < in.channels; ++c) {
    const std::array<float, 4> first = first_window(x, in, c);
    expected.push_back(*std::max_element(first.begin(), first.end()));
  }
  time_checked(
      state,
      kFloat * static_cast<double>(in.size()) + (kFloat + kIndex) * static_cast<double>(pool.out.size()),
      [&](cudaStream_t stream) { return pool.forward(stream); }, pool.y, expected);
}
BENCHMARK_CAPTURE(max_pool_with_indices_of, lenet_first, kLenetFirst, kPairs)->UseManualTime();
BENCHMARK_CAPTURE(max_pool_with_indices_of, large, kLarge, kPairs)->UseManualTime();
BENCHMARK_CAPTURE(max_pool_with_indices_of, large_3x3, kLarge, kStem)->UseManualTime();

// The backward pass and unpooling move the same bytes: dy or x to the elements with the indices. The first
// element of an image is in one window.
enum class Indexed { backward, unpool };

void from_indices_of(benchmark::State& state, Indexed kind, Images in, PoolWindow window) {
  IndexedPool pool(in, window);
  run_once([&](cudaStream_t stream) { return pool.forward(stream); });
  const Buffer<float> values = normal_buffer(pool.out.size(), 2);
  const std::vector<float> from = values.download();
  const std::vector<int32_t> indices = pool.indices.download();
  std::vector<double> expected;
  for (size_t c = 0; c < static_cast<size_t>(in.channels); ++c)
    expected.push_back(indices[c] == 0 ? from[c] : 0);
  time_checked(
      state,
      kFloat * static_cast<double>(in.size()) + (kFloat + kIndex) * static_cast<double>(pool.out.size()),
      [&](cudaStream_t stream) {
        const auto to = in.view(pool.dx.data());
        const auto small = pool.out.view(values.data());
        const auto of = pool.out.view(pool.indices.data());
        return kind == Indexed::backward ? max_pool_with_indices_backward(to, small, of, window, stream)
                                         : max_unpool(to, small, of, window, stream);
      },
      pool.dx, expected);
}
BENCHMARK_CAPTURE(from_indices_of, backward / lenet_first, Indexed::backward, kLenetFirst, kPairs)
    ->UseManualTime();
BENCHMARK_CAPTURE(from_indices_of, backward / large, Indexed::backward, kLarge, kPairs)->UseManualTime();
BENCHMARK_CAPTURE(from_indices_of, backward / large_3x3, Indexed::backward, kLarge, kStem)->UseManualTime();
BENCHMARK_CAPTURE(from_indices_of, unpool / lenet_first, Indexed::unpool, kLenetFirst, kPairs)
    ->UseManualTime();
BENCHMARK_CAPTURE(from_indices_of, unpool / large, Indexed::unpool, kLarge, kPairs)->UseManualTime();

// The bound counts all of dy: of 8 neighbouring channels, which are one sector, few have no maximum in a
// pixel.
void max_unpool_backward_of(benchmark::State& state, Images in) {
  IndexedPool pool(in, kPairs);
  run_once([&](cudaStream_t stream) { return pool.forward(stream); });
  const std::vector<float> maxima = pool.y.download();  // the values of x at the indices
  time_checked(
      state,
      kFloat * static_cast<double>(in.size()) + (kFloat + kIndex) * static_cast<double>(pool.out.size()),
      [&](cudaStream_t stream) {
        return max_unpool_backward(pool.out.view(pool.y.data()), in.view(pool.x.data()),
                                   pool.out.view(pool.indices.data()), kPairs, stream);
      },
      pool.y, {maxima.begin(), maxima.begin() + in.channels});
}
BENCHMARK_CAPTURE(max_unpool_backward_of, lenet_first, kLenetFirst)->UseManualTime();
BENCHMARK_CAPTURE(max_unpool_backward_of, large, kLarge)->UseManualTime();

// The first window has ceil(side / windows) rows and columns.
std::vector<float> first_adaptive_window(const std::vector<float>& x, const Images& images, int64_t windows,
                                         int64_t c) {
  std::vector<float> values;
  const int64_t last = (images.side + windows - 1) / windows;
  for (int64_t h = 0; h < last; ++h)
    for (int64_t w = 0; w < last; ++w)
      values.push_back(x[static_cast<size_t>((h * images.side + w) * images.channels + c)]);
  return values;
}

void adaptive_pool_of(benchmark::State& state, Pool kind, Images in, int64_t windows) {
  const Images out = {in.count, windows, in.channels};
  Buffer<float> x = normal_buffer(in.size(), 1), y(out.size());
  Buffer<int32_t> indices(out.size());
  const std::vector<float> x_host = x.download();
  std::vector<double> expected;
  for (int64_t c = 0; c < in.channels; ++c) {
    const std::vector<float> window = first_adaptive_window(x_host, in, windows, c);
    const double sum = std::accumulate(window.begin(), window.end(), 0.0);
    expected.push_back(kind == Pool::average ? sum / static_cast<double>(window.size())
                                             : *std::max_element(window.begin(), window.end()));
  }
  const double of_indices = kind == Pool::maximum ? kIndex * static_cast<double>(out.size()) : 0;
  time_checked(
      state, kFloat * static_cast<double>(in.size() + out.size()) + of_indices,
      [&](cudaStream_t stream) {
        const auto of_x = in.view(x.data());
        if (kind == Pool::average) return adaptive_avg_pool(out.view(y.data()), of_x, stream);
        return adaptive_max_pool(out.view(y.data()), out.view(indices.data()), of_x, stream);
      },
      y, expected);
}
BENCHMARK_CAPTURE(adaptive_pool_of, average / lenet_first_to_7, Pool::average, kLenetFirst, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(adaptive_pool_of, average / large_to_13, Pool::average, kLarge, 13)->UseManualTime();
BENCHMARK_CAPTURE(adaptive_pool_of, maximum / lenet_first_to_7, Pool::maximum, kLenetFirst, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(adaptive_pool_of, maximum / large_to_13, Pool::maximum, kLarge, 13)->UseManualTime();

void adaptive_pool_backward_of(benchmark::State& state, Pool kind, Images in, int64_t windows) {
  const Images out = {in.count, windows, in.channels};
  Buffer<float> x = normal_buffer(in.size(), 1), dy = normal_buffer(out.size(), 2), y(out.size()),
                dx(in.size());
  Buffer<int32_t> indices(out.size());
  run_once([&](cudaStream_t stream) {
    return adaptive_max_pool(out.view(y.data()), out.view(indices.data()), in.view(x.data()), stream);
  });
  const std::vector<float> gradient = dy.download();
  const std::vector<int32_t> of = indices.download();
  const auto first = static_cast<double>((in.side + windows - 1) / windows);
  std::vector<double> expected;
  for (size_t c = 0; c < static_cast<size_t>(in.channels); ++c)
    expected.push_back(kind == Pool::average ? gradient[c] / (first * first) : of[c] == 0 ? gradient[c] : 0);
  const double of_indices = kind == Pool::maximum ? kIndex * static_cast<double>(out.size()) : 0;
  time_checked(
      state, kFloat * static_cast<double>(in.size() + out.size()) + of_indices,
      [&](cudaStream_t stream) {
        const auto of_dx = in.view(dx.data());
        const auto of_dy = out.view(dy.data());
        if (kind == Pool::average) return adaptive_avg_pool_backward(of_dx, of_dy, stream);
        return adaptive_max_pool_backward(of_dx, of_dy, out.view(indices.data()), stream);
      },
      dx, expected);
}
BENCHMARK_CAPTURE(adaptive_pool_backward_of, average / lenet_first_to_7, Pool::average, kLenetFirst, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(adaptive_pool_backward_of, average / large_to_13, Pool::average, kLarge, 13)
    ->UseManualTime();
BENCHMARK_CAPTURE(adaptive_pool_backward_of, maximum / lenet_first_to_7, Pool::maximum, kLenetFirst, 7)
    ->UseManualTime();
BENCHMARK_CAPTURE(adaptive_pool_backward_of, maximum / large_to_13, Pool::maximum, kLarge, 13)
    ->UseManualTime();

}  // namespace
}  // namespace rondo::bench

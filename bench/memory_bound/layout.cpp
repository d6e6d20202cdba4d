// Layouts of images.

#include <rondo/bench/memory_bound/memory_bound.h>
#include <rondo/kernels/layout/transpose.h>

namespace rondo::bench {
namespace {

template <class T>
void nchw_to_nhwc_of(benchmark::State& state, T, Images images) {
  const int64_t pixels = images.side * images.side;
  const Buffer<float> values = normal_buffer(images.size(), 1);
  std::vector<T> host;
  for (const float value : values.download()) host.push_back(T(value));
  const Buffer<T> x(host);
  Buffer<T> y(images.size());
  const auto work = [&](cudaStream_t stream) {
    return nchw_to_nhwc<T>(images.view(y.data()), {x.data(), images.size()}, stream);
  };
  run_once(work);
  const std::vector<T> found = y.download();
  for (int64_t pixel = 0; pixel < pixels; ++pixel)
    for (int64_t c = 0; c < images.channels; ++c)
      if (static_cast<float>(found[static_cast<size_t>(pixel * images.channels + c)]) !=
          static_cast<float>(host[static_cast<size_t>(c * pixels + pixel)]))
        return state.SkipWithError("the result is wrong");
  time_device_work(state, Cache::hot, {.bytes = 2.0 * sizeof(T) * static_cast<double>(images.size())}, work);
}
BENCHMARK_CAPTURE(nchw_to_nhwc_of, large, float{}, kLarge)->UseManualTime();
BENCHMARK_CAPTURE(nchw_to_nhwc_of, large_bfloat16, __nv_bfloat16{}, kLarge)->UseManualTime();

}  // namespace
}  // namespace rondo::bench

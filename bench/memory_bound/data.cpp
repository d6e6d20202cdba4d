// Batches, permutations and random numbers.

#include <rondo/bench/memory_bound/memory_bound.h>
#include <rondo/kernels/data/augmented_batch.h>
#include <rondo/kernels/data/batch.h>
#include <rondo/kernels/data/image_draw.h>
#include <rondo/kernels/random/random.h>

#include <algorithm>
#include <cmath>

namespace rondo::bench {
namespace {

// A data set like Fashion-MNIST, stored as S, in a random order. `augmented`: with crop, flip and erasing.
template <class S>
void gather_stored(benchmark::State& state, int64_t batch, bool augmented) {
  constexpr int64_t kSamples = 60'000, kSide = 28;
  const Augmentation augmentation = {.padding = 4, .flip = 0.5f, .erase = 0.5f};
  std::vector<S> values(static_cast<size_t>(kSamples * kSide * kSide));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 2654435761u >> 24);
  Buffer<S> images(values);
  Buffer<uint8_t> image_labels(std::vector<uint8_t>(kSamples, 3));
  Buffer<int32_t> order(kSamples), labels(batch);
  Buffer<int64_t> epoch(std::vector<int64_t>{0});
  Buffer<float> x(batch * kSide * kSide), scale(std::vector<float>{1 / 255.0f}), shift(std::vector<float>{0});
  run_once([&](cudaStream_t s) { return shuffle({order.data(), kSamples}, 1, epoch.data(), s); });
  const int64_t first = order.download()[0];
  const ImageDraw draw = augmented ? ImageDraws(augmentation, kSide, kSide, 1)(first, 0) : ImageDraw();
  std::vector<double> expected;
  for (int32_t i = 0; i < static_cast<int32_t>(kChecked); ++i) {
    const int32_t row = i / kSide, column = i % kSide;
    const int32_t from_row = draw.top + row,
                  from_column = draw.left + (draw.flip ? kSide - 1 - column : column);
    const bool inside = from_row >= 0 && from_row < kSide && from_column >= 0 && from_column < kSide;
    expected.push_back(!inside || draw.erases(row, column)
                           ? 0
                           : values[static_cast<size_t>((first * kSide + from_row) * kSide + from_column)] /
                                 255.0);
  }
  const ImageView<float> to = {x.data(), batch, kSide, kSide, 1};
  const ImageView<const S> from = {images.data(), kSamples, kSide, kSide, 1};
  const BatchPosition position = {epoch.data(), batch, 0};
  time_checked(
      state, (sizeof(S) + kFloat) * static_cast<double>(x.size()),
      [&](cudaStream_t s) {
        if (augmented)
          return gather_augmented_batch(to, {labels.data(), batch}, from, {image_labels.data(), kSamples},
                                        {order.data(), kSamples}, position, {scale.data(), 1},
                                        {shift.data(), 1}, augmentation, {1, epoch.data()}, s);
        return gather_batch(to, {labels.data(), batch}, from, {image_labels.data(), kSamples},
                            {order.data(), kSamples}, position, 1 / 255.0f, 0, s);
      },
      x, expected);
}
void gather_batch_of(benchmark::State& state, int64_t batch, bool augmented) {
  gather_stored<uint8_t>(state, batch, augmented);
}
void gather_floats_of(benchmark::State& state, int64_t batch, bool augmented) {
  gather_stored<float>(state, batch, augmented);
}
BENCHMARK_CAPTURE(gather_batch_of, lenet, 256, false)->UseManualTime();
BENCHMARK_CAPTURE(gather_batch_of, large, 60'000, false)->UseManualTime();
BENCHMARK_CAPTURE(gather_batch_of, lenet / augmented, 256, true)->UseManualTime();
BENCHMARK_CAPTURE(gather_batch_of, large / augmented, 60'000, true)->UseManualTime();
BENCHMARK_CAPTURE(gather_floats_of, large, 60'000, false)->UseManualTime();
BENCHMARK_CAPTURE(gather_floats_of, large / augmented, 60'000, true)->UseManualTime();

void shuffle_of(benchmark::State& state, int64_t size) {
  Buffer<int32_t> order(size);
  Buffer<int64_t> epoch(std::vector<int64_t>{0});
  const auto work = [&](cudaStream_t stream) {
    return shuffle({order.data(), size}, 1, epoch.data(), stream);
  };
  run_once(work);
  std::vector<int32_t> found = order.download();
  std::sort(found.begin(), found.end());
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] != static_cast<int32_t>(i)) return state.SkipWithError("not a permutation");
  time_device_work(state, Cache::hot, {.bytes = kFloat * static_cast<double>(size)}, work);
}
BENCHMARK_CAPTURE(shuffle_of, lenet, 60'000)->UseManualTime();

void fill_normal_of(benchmark::State& state, int64_t size) {
  Buffer<float> x(size);
  const auto work = [&](cudaStream_t stream) { return fill_normal({x.data(), size}, 0, 1, {}, stream); };
  run_once(work);
  double squares = 0;
  for (const float value : x.download()) squares += static_cast<double>(value) * value;
  if (!(std::abs(squares / static_cast<double>(size) - 1) < 0.05))
    return state.SkipWithError("the variance is not 1");
  time_device_work(state, Cache::hot, {.bytes = kFloat * static_cast<double>(size)}, work);
}
BENCHMARK_CAPTURE(fill_normal_of, lenet, 129'068)->UseManualTime();
BENCHMARK_CAPTURE(fill_normal_of, large, 32 << 20)->UseManualTime();

}  // namespace
}  // namespace rondo::bench

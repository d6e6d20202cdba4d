// What the benchmarks of memory-bound operators have in common: the comparison of a result, and sizes.
#pragma once

#include <rondo/bench/support/bench.h>
#include <rondo/kernels/core/view.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace rondo::bench {

inline constexpr double kFloat = sizeof(float);
inline constexpr size_t kChecked = 100;  // number of elements that an elementwise check compares

// Runs `work` once and compares the first elements of `result` with `expected`. NaN fails.
inline bool right(const EnqueueFunction& work, const Buffer<float>& result,
                  const std::vector<double>& expected) {
  run_once(work);
  std::vector<float> found(expected.size());
  RONDO_CUDA_THROW(
      cudaMemcpy(found.data(), result.data(), found.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(found[i] - expected[i]) <= 1e-4 * (1 + std::abs(expected[i])))) return false;
  return true;
}

inline void time_checked(benchmark::State& state, double bytes, const EnqueueFunction& work,
                         const Buffer<float>& result, const std::vector<double>& expected) {
  if (!right(work, result, expected)) return state.SkipWithError("the result is wrong");
  time_device_work(state, Cache::hot, {.bytes = bytes}, work);
}

struct Images {
  int64_t count, side, channels;
  int64_t size() const { return count * side * side * channels; }
  template <class T>
  ImageView<T> view(T* data) const {
    return {data, count, side, side, channels};
  }
};

inline constexpr Images kLenetFirst = {256, 26, 20}, kLenetSecond = {256, 8, 50}, kLarge = {256, 56, 64};

}  // namespace rondo::bench

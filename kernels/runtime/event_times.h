// event_times(): computes when events happened, in double precision.
//
// cudaEventElapsedTime() returns a float in milliseconds. At 100 s its resolution is 8 microseconds, which is
// longer than many kernels. Each event is therefore measured against an event shortly before it, so that only
// the accumulated time is large.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace rondo {

// The times of events 0 .. count-1 of one device, in microseconds since its event `zero`, which precedes all
// of them. since_zero(i) and between(i, j), from i to j, return float milliseconds as CUDA does. For two
// events with no gap of more than 100 ms between them, the difference has an error of at most 0.02 us per 100
// ms.
template <class SinceZero, class Between>
std::vector<double> event_times(size_t count, SinceZero since_zero, Between between) {
  constexpr double kFarMilliseconds = 100;
  std::vector<float> coarse(count);
  for (size_t i = 0; i < count; ++i) coarse[i] = since_zero(i);
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return coarse[a] < coarse[b]; });

  std::vector<double> times(count);
  size_t anchor = 0;  // index into `order`
  for (size_t at = 0; at < count; ++at) {
    const size_t event = order[at];
    const double milliseconds = at == 0 ? coarse[event] : static_cast<double>(between(order[anchor], event));
    times[event] = 1e3 * milliseconds + (at == 0 ? 0 : times[order[anchor]]);
    if (at > 0 && milliseconds > kFarMilliseconds) anchor = at;
  }
  return times;
}

}  // namespace rondo

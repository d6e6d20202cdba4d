#include <rondo/bench/timing/percentiles.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace rondo::bench {

double percentile(const std::vector<double>& ascending, double part) {
  const double position = part * static_cast<double>(ascending.size() - 1);
  const size_t below = static_cast<size_t>(position), above = std::min(below + 1, ascending.size() - 1);
  return std::lerp(ascending[below], ascending[above], position - static_cast<double>(below));
}

Percentiles percentiles_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {percentile(samples, 0.05), percentile(samples, 0.5), percentile(samples, 0.95),
          percentile(samples, 0.99)};
}

double median_of(std::vector<double> samples) { return percentiles_of(std::move(samples)).median; }

}  // namespace rondo::bench

// The median and other percentiles of samples.
#pragma once

#include <vector>

namespace rondo::bench {

// The value below which the fraction `part` of the samples is, interpolated linearly between the two nearest
// samples: of n ascending samples that at the position part * (n - 1). `ascending` is sorted and not empty.
double percentile(const std::vector<double>& ascending, double part);

struct Percentiles {
  double p5 = 0, median = 0, p95 = 0, p99 = 0;
};
// Zeros without samples.
Percentiles percentiles_of(std::vector<double> samples);

double median_of(std::vector<double> samples);

}  // namespace rondo::bench

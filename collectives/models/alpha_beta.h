// The straight line behind measurements of a link: t(S) = alpha + S / beta. alpha is what no bytes cost, beta
// the bandwidth that large sizes approach; S = alpha * beta needs twice the time of its bytes alone.
#pragma once

#include <rondo/kernels/core/status.h>

#include <span>

namespace rondo {

struct TimedSize {
  double bytes = 0;
  double seconds = 0;
};

struct AlphaBetaFit {
  double alpha = 0;     // seconds
  double beta = 0;      // bytes per second; infinite where the time does not grow with the size
  double residual = 0;  // root mean square of (fitted - measured) / measured

  double seconds(double bytes) const { return alpha + bytes / beta; }
};

// Least squares with relative weights: each sample's miss is taken as a part of its own time, so that a
// microsecond counts for the small sizes what a millisecond counts for the large ones. Neither alpha nor
// 1 / beta comes out negative: where the line would cross zero, the best one that does not is taken.
// Needs two different sizes at least; bytes not negative, seconds above 0, all finite.
Status fit(std::span<const TimedSize> samples, AlphaBetaFit& result);

}  // namespace rondo

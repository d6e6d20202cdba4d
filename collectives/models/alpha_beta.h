// Fits a straight line to measurements of a link: t(S) = alpha + S / beta. alpha is the time of 0 bytes, beta
// the bandwidth that large sizes approach. S = alpha * beta bytes take twice the time S / beta.
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
  double beta = 0;      // bytes per second; infinite if the time does not grow with the size
  double residual = 0;  // root mean square of (fitted - measured) / measured

  double seconds(double bytes) const { return alpha + bytes / beta; }
};

// Least squares of the relative errors: each sample's error is divided by its own time, so that small and
// large sizes count equally. alpha and 1 / beta are never negative: if one would be, the best line with 0
// instead is returned. Requires at least two different sizes; all values finite, bytes not negative, seconds
// above 0.
Status fit(std::span<const TimedSize> samples, AlphaBetaFit& result);

}  // namespace rondo

#include <rondo/collectives/models/alpha_beta.h>
#include <rondo/kernels/core/counted.h>

#include <cmath>
#include <limits>

namespace rondo {

namespace {

Status check_samples(std::span<const TimedSize> samples) {
  bool sizes_differ = false;
  for (size_t i = 0; i < samples.size(); ++i) {
    const TimedSize& sample = samples[i];
    if (!std::isfinite(sample.bytes) || sample.bytes < 0)
      return bad_argument("fit: samples[", i, "].bytes is ", sample.bytes,
                          ", must be finite and not negative");
    if (!std::isfinite(sample.seconds) || sample.seconds <= 0)
      return bad_argument("fit: samples[", i, "].seconds is ", sample.seconds,
                          ", must be finite and above 0");
    sizes_differ |= sample.bytes != samples[0].bytes;
  }
  if (sizes_differ) return {};
  return bad_argument("fit: ", there_are(samples.size(), "sample"), " of ", samples.empty() ? 0 : 1,
                      " different sizes, must be at least two sizes");
}

double weight(const TimedSize& sample) { return 1 / (sample.seconds * sample.seconds); }

// alpha + slope * bytes
struct Line {
  double alpha = 0, slope = 0;
};

// Computed around the weighted means, so that sizes from bytes to gigabytes do not cancel.
Line best_line(std::span<const TimedSize> samples) {
  double weights = 0, bytes = 0, seconds = 0;
  for (const TimedSize& sample : samples) {
    weights += weight(sample);
    bytes += weight(sample) * sample.bytes;
    seconds += weight(sample) * sample.seconds;
  }
  const double mean_bytes = bytes / weights, mean_seconds = seconds / weights;
  double covariance = 0, variance = 0;
  for (const TimedSize& sample : samples) {
    const double offset = sample.bytes - mean_bytes;
    covariance += weight(sample) * offset * (sample.seconds - mean_seconds);
    variance += weight(sample) * offset * offset;
  }
  const double slope = covariance / variance;
  if (slope < 0) return {mean_seconds, 0};
  const double alpha = mean_seconds - slope * mean_bytes;
  if (alpha >= 0) return {alpha, slope};
  double products = 0, squares = 0;  // the best line through the origin
  for (const TimedSize& sample : samples) {
    products += weight(sample) * sample.bytes * sample.seconds;
    squares += weight(sample) * sample.bytes * sample.bytes;
  }
  return {0, products / squares};
}

}  // namespace

Status fit(std::span<const TimedSize> samples, AlphaBetaFit& result) {
  RONDO_RETURN_IF_ERROR(check_samples(samples));
  const Line line = best_line(samples);
  double squares = 0;
  for (const TimedSize& sample : samples) {
    const double miss = (line.alpha + line.slope * sample.bytes) / sample.seconds - 1;
    squares += miss * miss;
  }
  result.alpha = line.alpha;
  result.beta = line.slope > 0 ? 1 / line.slope : std::numeric_limits<double>::infinity();
  result.residual = std::sqrt(squares / static_cast<double>(samples.size()));
  return {};
}

}  // namespace rondo

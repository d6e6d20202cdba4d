#include <rondo/tools/rondo/train/loss_curve.h>

#include <algorithm>
#include <cmath>

namespace rondo::program {
namespace {

// NaN if either is not finite, so that a point does not hide a loss that is not finite.
LossPoint joined(const LossPoint& a, const LossPoint& b) {
  LossPoint both = {b.step, a.parts + b.parts, a.samples + b.samples};
  const auto weight = [&](const LossPoint& p) {
    return static_cast<double>(p.samples) / static_cast<double>(both.samples);
  };
  both.loss = weight(a) * a.loss + weight(b) * b.loss;
  both.least = std::isfinite(both.loss) ? std::min(a.least, b.least) : both.loss;
  both.most = std::isfinite(both.loss) ? std::max(a.most, b.most) : both.loss;
  return both;
}

}  // namespace

void LossCurve::add(const TrainingProgress& progress) {
  const int64_t before = progress.epoch == epoch_ ? samples_done_ : 0;
  epoch_ = progress.epoch;
  samples_done_ = progress.samples_done;
  add((progress.epoch - 1) * steps_per_epoch_ + progress.step, progress.samples_done - before,
      progress.recent_loss);
}

void LossCurve::add(int64_t step, int64_t samples, double loss) {
  if (samples <= 0) return;  // a step in which this process had no sample
  const LossPoint point = {step, 1, samples, loss, loss, loss};
  if (!points_.empty() && points_.back().parts < parts_) {
    points_.back() = joined(points_.back(), point);
    return;
  }
  if (points_.size() == kMostPoints) {
    for (size_t i = 0; i < kMostPoints / 2; ++i) points_[i] = joined(points_[2 * i], points_[2 * i + 1]);
    points_.resize(kMostPoints / 2);
    parts_ *= 2;
  }
  points_.push_back(point);
}

}  // namespace rondo::program

// LossCurve: the training loss step by step, thinned so that the page of a long run stays small.
#pragma once

#include <rondo/nn/train/training_report.h>

#include <cstdint>
#include <vector>

namespace rondo::program {

struct LossPoint {
  int64_t step = 0;  // the last step of the point, from 1 over all epochs
  int64_t parts = 0, samples = 0;
  double loss = 0;             // mean over the samples
  double least = 0, most = 0;  // of the parts
};

class LossCurve {
 public:
  static constexpr size_t kMostPoints = 2048;

  explicit LossCurve(int64_t steps_per_epoch = 0) : steps_per_epoch_(steps_per_epoch) {}

  // Adds what happened since the previous progress of the epoch. Beyond kMostPoints, neighbouring points are
  // joined in pairs.
  void add(const TrainingProgress& progress);
  // A step with this loss.
  void add(int64_t step, int64_t samples, double loss);

  const std::vector<LossPoint>& points() const { return points_; }
  // Progress reports in each point; the last one may have fewer.
  int64_t parts() const { return parts_; }

 private:
  int64_t steps_per_epoch_;
  int64_t parts_ = 1;
  int64_t epoch_ = 0, samples_done_ = 0;  // of the previous progress
  std::vector<LossPoint> points_;
};

}  // namespace rondo::program

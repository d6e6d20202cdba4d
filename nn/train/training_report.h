// Progress and epoch reports of a training run, for any network.
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/nn/train/phase_timer.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace rondo {

struct TrainingProgress {
  int64_t epoch = 0;         // from 1
  int64_t samples_done = 0;  // with several processes: an estimate that assumes equal progress
  int64_t samples = 0;
  double loss = 0;         // mean over this process's samples so far in this epoch
  double seconds = 0;      // since the beginning of the epoch
  int64_t step = 0;        // of the epoch, from 1: the last step that is done
  double recent_loss = 0;  // as `loss`, over the steps since the previous progress of the epoch
};

// The mean loss of the samples that `now` has and `before` does not have. NaN if there are none, or if the
// rounding of the sum hides it: after a loss of 1e20 the sum does not change by a loss of 1.
inline double mean_loss_since(const LossStats& before, const LossStats& now) {
  const double loss = now.loss - before.loss, rounding = now.loss * std::numeric_limits<double>::epsilon();
  const auto rows = static_cast<double>(now.rows - before.rows);
  const bool hidden = rounding > 1e-6 * rows && rounding > 1e-3 * std::abs(loss);
  return rows > 0 && !hidden ? loss / rows : std::numeric_limits<double>::quiet_NaN();
}

struct EpochReport {
  int64_t epoch = 0;  // from 1
  double train_loss = 0;
  double test_accuracy = 0;
  double seconds = 0;       // training only, without evaluation
  PhaseSeconds phases;      // `seconds`, split in the proportions of the epoch's last full batch
  float learning_rate = 0;  // of the epoch's last step
};

}  // namespace rondo

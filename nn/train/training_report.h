// Progress and epoch reports of a training run, for any network.
#pragma once

#include <rondo/nn/train/phase_timer.h>

#include <cstdint>

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

struct EpochReport {
  int64_t epoch = 0;  // from 1
  double train_loss = 0;
  double test_accuracy = 0;
  double seconds = 0;       // training only, without evaluation
  PhaseSeconds phases;      // `seconds`, split in the proportions of the epoch's last full batch
  float learning_rate = 0;  // of the epoch's last step
};

}  // namespace rondo

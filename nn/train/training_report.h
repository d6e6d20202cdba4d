// What a training run tells of itself, whichever network it trains.
#pragma once

#include <rondo/nn/train/phase_timer.h>

#include <cstdint>

namespace rondo {

struct TrainingProgress {
  int64_t epoch = 0;         // from 1
  int64_t samples_done = 0;  // of several processes: as if the others were as far as this one
  int64_t samples = 0;
  double loss = 0;     // mean over the samples that this process has done in this epoch
  double seconds = 0;  // since the epoch began
};

struct EpochReport {
  int64_t epoch = 0;  // from 1
  double train_loss = 0;
  double test_accuracy = 0;
  double seconds = 0;   // training only, without the evaluation
  PhaseSeconds phases;  // `seconds`, split as the epoch's last whole batch was
};

}  // namespace rondo

// Two trainings in different states, the same in every process. checkpoint_writer saves them in turn;
// checkpoint_kill_test.cpp loads the result.
#pragma once

#include <rondo/nn/checkpoint/checkpoint.h>
#include <rondo/nn/layers/linear.h>
#include <rondo/nn/layers/simple.h>

#include <vector>

namespace rondo::test {

struct TwoTrainings {
  struct Training {
    explicit Training(float value, int64_t epoch) : sgd(model), state{epoch, 0, 0, 4} {
      const std::vector<float> x(4 * 256, value);
      model.train_step(x, std::vector<int32_t>{0, 1, 2, 3}, sgd);
    }
    nn::DataParallel model{
        nn::Sequential{nn::Linear(512), nn::ReLU(), nn::Linear(8)}, {1, 1, 256}, {.batch = 4}};
    nn::Sgd sgd;
    nn::TrainingState state;
  };
  Training one{0.5f, 1}, two{-2, 2};
};

}  // namespace rondo::test

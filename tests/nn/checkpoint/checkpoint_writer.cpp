// checkpoint_writer PATH: saves two trainings in turn until it is killed. Prints a line after the first time.
#include <rondo/tests/nn/train/two_trainings.h>

#include <cstdio>

int main(int, char** arguments) {
  rondo::test::TwoTrainings trainings;
  for (bool first = true;; first = false) {
    for (auto* training : {&trainings.one, &trainings.two})
      rondo::nn::save_checkpoint(arguments[1], training->model, training->sgd, training->state);
    if (first) std::puts("saved"), std::fflush(stdout);
  }
}

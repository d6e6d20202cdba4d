// Checkpoints: a training that is written to a file and goes on from there as if it had not stopped, bit for bit; and files of
// the parameters alone, for inference. docs/checkpoints.md says what is in them; the format is nn/io/safetensors.h.
#pragma once

#include <rondo/nn/train/data_parallel.h>
#include <rondo/nn/optim/optimizers.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace rondo::nn {

// Where in the data set a training stands; the order of an epoch's samples is a pure function of seed and epoch.
struct TrainingState {
  int64_t epoch = 0;
  int64_t step = 0;   // how many of the epoch's steps are taken
  uint64_t seed = 0;  // of the order
  int64_t batch = 0;  // samples of a step
  // Further settings that must be equal on resuming, by names that the caller chooses. Stored unchanged.
  std::map<std::string, std::string> recipe = {};
  bool operator==(const TrainingState&) const = default;
};

// Waits for the steps that were enqueued, and replaces the file: after any failure, and also when the process is killed
// meanwhile, it is what it was. Throws rondo::Error: bad_argument for a place that is none, an optimizer of another model, a
// model that has lost a gradient or a step (DataParallel::check_sound()), replicas that differ though they should not; what
// write_safetensors() throws; device_failed.
void save_checkpoint(const std::string& path, DataParallel& model, Optimizer& optimizer,
                     const TrainingState& place);

// The model and the optimizer become what they were when the file was written, the learning rate included, on any number of
// devices; with the same number and the same options the following steps give the same bits. Waits for the steps that were
// enqueued before. Throws rondo::Error: bad_argument for a file of another network, optimizer or seed, with counters below 0 or
// above 2^62, with tensors too many or too few, or damaged, and for running statistics of each replica that are not as many as the replicas: then nothing has
// changed. After device_failed neither may be used. `accept` sees the place before anything is compared, and
// may throw a bad_argument Error to refuse it.
TrainingState load_checkpoint(const std::string& path, DataParallel& model, Optimizer& optimizer,
                              const std::function<void(const TrainingState&)>& accept = {});

// Parameters and lasting states of the layers, without what only training needs. load_parameters() reads checkpoints too. It asks for
// the same tensors, and not for the same seed or input. Errors as above.
void save_parameters(const std::string& path, DataParallel& model);
void load_parameters(const std::string& path, DataParallel& model);

}  // namespace rondo::nn

// Checkpoints: save a training to a file and resume it with the same bits as without the interruption. Also
// files with only the parameters, for inference. docs/checkpoints.md describes the contents;
// nn/io/safetensors.h is the format.
#pragma once

#include <rondo/nn/io/safetensors.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/nn/train/data_parallel.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace rondo::nn {

// Position of a training in the data set. The sample order of an epoch depends only on seed and epoch.
struct TrainingState {
  int64_t epoch = 0;
  int64_t step = 0;   // steps taken in this epoch
  uint64_t seed = 0;  // of the sample order
  int64_t batch = 0;  // samples per step
  // Further settings that must be equal on resuming, under names chosen by the caller. Stored unchanged.
  std::map<std::string, std::string> recipe = {};
  bool operator==(const TrainingState&) const = default;
};

// Waits for enqueued steps and replaces the file. After any failure, and if the process is killed meanwhile,
// the file is unchanged. Throws rondo::Error: bad_argument for an invalid position, an optimizer of another
// model, a model with a non-finite gradient or a failed step (DataParallel::throw_if_failed()), or replicas
// that differ although they should be equal; the errors of write_safetensors(); device_failed.
void save_checkpoint(const std::string& path, DataParallel& model, Optimizer& optimizer,
                     const TrainingState& state);

// Restores the model and the optimizer, including the learning rate, on any number of devices. With the same
// number of devices and the same options, the following steps give the same bits. Waits for enqueued steps.
// Throws rondo::Error: bad_argument for a file of another network, optimizer or seed; for counters below 0 or
// above 2^62; for missing or extra tensors; for a damaged file; and for per-replica running statistics of
// another number of replicas. After these errors nothing has changed. After device_failed neither the model
// nor the optimizer may be used. `accept` is called with the training state before any comparison and may
// throw a bad_argument Error to refuse it.
TrainingState load_checkpoint(const std::string& path, DataParallel& model, Optimizer& optimizer,
                              const std::function<void(const TrainingState&)>& accept = {});

// The training state of a checkpoint, or none for a file of parameters. Throws a bad_argument Error for a
// file that cannot be read or is damaged.
std::optional<TrainingState> read_training_state(const std::string& path);

// Saves or loads the parameters and the persistent layer states, without the data that only training needs.
// load_parameters() also reads checkpoints. It requires the same tensors, but not the same seed or input.
// Errors as above.
void save_parameters(const std::string& path, DataParallel& model);
void load_parameters(const std::string& path, DataParallel& model);

// load_parameters() of a file that has been read.
void load_parameters(const Safetensors& file, DataParallel& model);
// Whether a file claims to be one of Rondo's formats.
bool has_rondo_format(const Safetensors& file);

}  // namespace rondo::nn

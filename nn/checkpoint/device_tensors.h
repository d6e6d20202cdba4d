// DeviceTensors: reads and writes the named tensors of a model and its optimizer in device memory.
#pragma once

#include <rondo/kernels/core/status.h>
#include <rondo/nn/io/safetensors.h>
#include <rondo/nn/train/data_parallel.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace rondo::nn {

// A tensor that is stored once in a file. All its places must have the same contents.
struct DeviceTensor {
  struct Place {
    int device;
    void* data;
  };
  std::string name;
  StoredType type;
  std::vector<int64_t> shape;
  std::vector<Place> places;  // usually one per replica
};

// "0.weight", ...
std::vector<DeviceTensor> parameter_tensors(DataParallel& model);
// The persistent layer states: one tensor for all replicas ("1.running_mean"), or one per replica
// ("replica.0.1.running_mean").
std::vector<DeviceTensor> state_tensors(DataParallel& model, bool one_for_each);
// "training.steps", "optimizer.momentum.0.weight", "optimizer.steps", ...
std::vector<DeviceTensor> training_tensors(DataParallel& model, Optimizer& optimizer);

// The type of a parameter or a state in a file.
StoredType stored_type(const Parameter& parameter);

// Tensor contents in host memory.
struct HostTensors {
  std::vector<StoredTensor> tensors;
  std::vector<std::unique_ptr<std::byte[]>> memory;
};

// The caller must wait for all enqueued work first. Throws Error: bad_argument if the places of a tensor
// differ; CUDA errors.
HostTensors download(const std::vector<DeviceTensor>& tensors);
// True if all places of each tensor are equal bit for bit.
bool places_agree(const std::vector<DeviceTensor>& tensors);

// Returns the file's tensors in the order of `tensors`. Throws a bad_argument Error that names the first
// tensor that is missing, has another type or shape, or is unexpected. Names that begin with one of `besides`
// are allowed.
std::vector<const StoredTensor*> matching(const Safetensors& file, const std::vector<DeviceTensor>& tensors,
                                          const std::set<std::string>& besides = {});

// Throws a bad_argument Error unless `count`, of steps, epochs, batches or samples, is in [0, 2^62], so that
// increments do not overflow.
void check_count(const std::string& name, int64_t count);
// The same for all counters among the tensors.
void check_counters(const std::vector<const StoredTensor*>& tensors);

// The caller must first wait for all enqueued work. Returns when the copies are complete. Throws CUDA errors.
void upload(const std::vector<DeviceTensor>& tensors, const std::vector<const StoredTensor*>& contents);

}  // namespace rondo::nn

// DeviceTensors: the named tensors of a model and its optimizer in the memory of the devices, to and from a file.
#pragma once

#include <rondo/nn/train/data_parallel.h>
#include <rondo/nn/io/safetensors.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace rondo::nn {

// A tensor that a file has once. Every place is to have the same contents.
struct DeviceTensor {
  struct Place {
    int device;
    void* data;
  };
  std::string name;
  StoredType type;
  std::vector<int64_t> shape;
  std::vector<Place> places;  // usually one for each replica
};

// "0.weight", ...
std::vector<DeviceTensor> parameter_tensors(DataParallel& model);
// The lasting states of the layers, one tensor for all replicas: "1.running_mean"; or one for each: "replica.0.1.running_mean".
std::vector<DeviceTensor> state_tensors(DataParallel& model, bool one_for_each);
// "training.steps", "optimizer.momentum.0.weight", "optimizer.steps", ...
std::vector<DeviceTensor> training_tensors(DataParallel& model, Optimizer& optimizer);

// Contents on the host, and the tensors that they are of.
struct HostTensors {
  std::vector<StoredTensor> tensors;
  std::vector<std::unique_ptr<std::byte[]>> memory;
};

// Nothing may be in flight. Throws Error: bad_argument for a tensor whose places differ; from CUDA.
HostTensors download(const std::vector<DeviceTensor>& tensors);
// Whether all places of each tensor are equal, bit for bit.
bool places_agree(const std::vector<DeviceTensor>& tensors);

// The file's tensors in the order of `tensors`. Throws a bad_argument Error that names the first one that is not there or has
// another type or shape, or that is there and should not be, unless its name begins with one of `besides`.
std::vector<const StoredTensor*> matching(const Safetensors& file, const std::vector<DeviceTensor>& tensors,
                                          const std::set<std::string>& besides = {});

// Nothing may be in flight. Returns when the contents are there. Throws Error from CUDA.
void upload(const std::vector<DeviceTensor>& tensors, const std::vector<const StoredTensor*>& contents);

}  // namespace rondo::nn

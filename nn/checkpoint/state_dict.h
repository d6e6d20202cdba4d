// Parameters in the layouts and under the names of PyTorch: a state dict, in a safetensors file.
//
//   nn::load_state_dict("torch.safetensors", model);  // safetensors.torch.save_file(...)
//   nn::save_state_dict("rondo.safetensors", model);   // module.load_state_dict(load_file(...))
//
// A Sequential has the same names in both. For another module, names[path of a module here] = its path there:
//
//   {{"0", "conv1"}, {"1", "bn1"}, {"3.0.body.0", "layer1.0.conv1"}}
#pragma once

#include <rondo/nn/train/data_parallel.h>

#include <map>
#include <string>

namespace rondo::nn {

// From the path of a module in a Rondo network ("3.0.body", "" for the whole) to its path in the PyTorch
// module. The longest path that a tensor's name begins with is replaced.
struct StateDictNames : std::map<std::string, std::string> {
  using map::map;
  std::string file = {};  // that they were read from, for messages; empty: none
};

// Reads StateDictNames from a JSON object of strings. Throws a bad_argument Error.
StateDictNames read_state_dict_names(const std::string& path);

// Replaces all parameters and running statistics. Limit: behind Flatten only the next linear layer has the
// order of NCHW converted, not a layer with a value for each element of the image. The layouts of PyTorch are
// converted: filters OIHW (ConvTranspose2d: [in, out / groups, h, w]), linear weights [outputs, inputs],
// inputs of a linear layer behind Flatten in the order of NCHW. The file's tensors are F32, F16 or BF16,
// which are exact as floats, or F64, which is rounded to nearest; num_batches_tracked is I64, and used by
// BatchNorm2d without a momentum only. Tensors of integers or BOOL that the model does not have are left out:
// they are masks, positions and counters. Waits for enqueued steps. Throws rondo::Error: bad_argument for a
// file that cannot be read, for tensors that are missing, of another shape or type, or of real numbers and
// unexpected (the message lists them; sides of 1 do not count), for an F64 beyond float32, for processes with
// different files, and for `names` that no tensor begins with. After these errors nothing has changed. The
// errors of the copies.
void load_state_dict(const std::string& path, DataParallel& model, const StateDictNames& names = {});

// Writes all parameters and running statistics, as F32, and numbers of batches as I64. Waits for enqueued
// steps. Values that were loaded as F32 keep their bits. Throws rondo::Error: bad_argument for a model that
// save_parameters() refuses, for replicas with running statistics of their own that differ, and for `names`
// as above; the errors of write_safetensors().
void save_state_dict(const std::string& path, DataParallel& model, const StateDictNames& names = {});

// load_parameters() for a file of Rondo, otherwise load_state_dict().
void load_weights(const std::string& path, DataParallel& model, const StateDictNames& names = {});

}  // namespace rondo::nn

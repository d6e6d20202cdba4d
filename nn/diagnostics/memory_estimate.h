// MemoryEstimate: the device memory of one replica's training, by purpose, computed before any allocation.
#pragma once

#include <rondo/nn/graph/replica.h>
#include <rondo/nn/optim/optimizers.h>
#include <rondo/nn/train/data_parallel_options.h>

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::nn {

struct MemoryPart {
  std::string name;  // "activations and their gradients"
  int64_t bytes = 0;
};

struct MemoryEstimate {
  std::vector<MemoryPart> parts;  // none is negative
  int64_t total() const;          // INT64_MAX if it is larger
};

// The exact number of bytes requested from the allocator for one replica of a DataParallel with these
// options: the replica with its loss (labels and targets in device memory), its optimizer (Sgd::size(),
// Adam::kSize) and its part of the communicators. A batch from the host and images on the devices are
// not included. A GPU uses more, for the CUDA context and the allocator's rounding. The devices need
// not exist. Throws a bad_argument Error.
MemoryEstimate estimate_memory(const Graph& graph, const DataParallelOptions& options,
                               OptimizerSize optimizer);

// Returns ok if this much memory is free on the device now. Otherwise out_of_resources with the table:
// "training needs 10791.5 MiB, and cuda:0 has 8000.0 MiB free: parameters 1444.2 MiB, ...".
Status check_fits(const MemoryEstimate& estimate, int device);

}  // namespace rondo::nn

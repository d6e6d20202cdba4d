// MemoryEstimate: the device memory of one replica's training, by purpose, computed before any allocation.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/nn/graph/replica.h>
#include <rondo/nn/optim/optimizers.h>

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

struct EstimateOptions {
  int64_t batch = 256;  // maximum number of samples in one pass of this replica
  PlanOptions plan;
  bool accumulates = false;      // gradient accumulation over several passes: one more gradient arena
  OptimizerSize optimizer = {};  // Sgd::size() or Adam::kSize; default: no optimizer
  int ranks = 1;                 // in each of `communicators`
  std::vector<CommunicatorOptions> communicators = {};
};

// The exact number of bytes requested from the allocator for one replica with its loss (labels and targets in
// device memory), its optimizer and its part of the communicators. A GPU uses more: the CUDA context, and the
// allocator's rounding. Throws a bad_argument Error for a negative size.
MemoryEstimate estimate_training(const Graph& graph, const EstimateOptions& options);

// Returns ok if this much memory is free on the device now. Otherwise out_of_resources with the table:
// "training needs 10791.5 MiB, and cuda:0 has 8000.0 MiB free: parameters 1444.2 MiB, ...".
Status check_fits(const MemoryEstimate& estimate, int device);

}  // namespace rondo::nn

// MemoryEstimate: the device memory that a replica's training takes, part by part, before any of it is allocated.
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
  std::vector<MemoryPart> parts;
  int64_t total() const;
};

struct EstimateOptions {
  int64_t batch = 256;  // the most samples of one pass of this replica
  PlanOptions plan;
  bool accumulates = false;      // gradients, over several passes: one more arena of them
  OptimizerSize optimizer = {};  // Sgd::size(), Adam::kSize; else none
  int ranks = 1;                 // of these communicators
  std::vector<CommunicatorOptions> communicators = {};
};

// Exactly what is asked of the allocator for one replica with its loss (labels and targets in device memory), its optimizer
// and its part in the communicators. A GPU takes more: the context, and what its allocator rounds up.
// Throws a bad_argument Error for a negative size.
MemoryEstimate estimate_training(const Graph& graph, const EstimateOptions& options);

// Whether so much is free on the device now; out_of_resources else, with the table: "training wants 10791.5 MiB, and cuda:0
// has 8000.0 MiB free: parameters 1444.2 MiB, ...".
Status check_fits(const MemoryEstimate& estimate, int device);

}  // namespace rondo::nn

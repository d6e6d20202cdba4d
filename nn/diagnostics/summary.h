// What a network consists of, and what it costs: a row for each operation.
#pragma once

#include <rondo/nn/graph/graph.h>
#include <rondo/nn/diagnostics/memory_estimate.h>

#include <string>
#include <vector>

namespace rondo::nn {

struct SummaryRow {
  std::string name;   // "3.0.body.1": the module's place
  std::string layer;  // "conv 64 @ 3x3"
  Shape output;
  int64_t parameters = 0;
  double flops = 0;  // of forward, for one sample
};

struct Summary {
  std::vector<SummaryRow> rows;
  int64_t parameters = 0;
  double flops = 0;  // of forward, for one sample; backward takes about twice as many
  // Bytes on one device for a batch of so many samples.
  int64_t batch = 0;
  int64_t parameter_bytes = 0;  // and as many for the gradients
  int64_t training_bytes = 0;   // activations and their gradients, memory reused
  MemoryEstimate training;      // everything, with Adam
  int64_t training_bytes_without_reuse = 0;
  int64_t evaluation_bytes = 0;  // activations
};

// With the schedule that PlanOptions::checkpoint_layers asks for.
Summary summarise(const Graph& graph, int64_t batch, int checkpoint_layers = 0);

}  // namespace rondo::nn

// Summary: the operations of a network and their cost, one row per operation.
#pragma once

#include <rondo/nn/diagnostics/memory_estimate.h>
#include <rondo/nn/graph/graph.h>

#include <string>
#include <vector>

namespace rondo::nn {

struct SummaryRow {
  std::string name;   // "3.0.body.1": path of the module
  std::string layer;  // "conv 64 @ 3x3"
  Shape output;
  DType type = DType::float32;  // of the output
  int64_t parameters = 0;
  double flops = 0;  // forward, per sample
};

struct Summary {
  std::vector<SummaryRow> rows;
  int64_t parameters = 0;
  double flops = 0;  // forward, per sample; backward takes about twice as many
  // Bytes on one device for `batch` samples.
  int64_t batch = 0;
  int64_t parameter_bytes = 0;  // the gradients take the same amount
  int64_t training_bytes = 0;   // activations and their gradients, with memory reuse
  MemoryEstimate training;      // everything, with Adam
  int64_t training_bytes_without_reuse = 0;
  int64_t evaluation_bytes = 0;  // activations
};

// Uses the schedule of PlanOptions::checkpoint_layers.
Summary summarise(const Graph& graph, int64_t batch, int64_t checkpoint_layers = 0);

}  // namespace rondo::nn

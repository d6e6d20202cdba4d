#include <rondo/nn/diagnostics/memory_estimate.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/runtime/platform.h>
#include <rondo/nn/graph/loss.h>
#include <rondo/nn/train/gradient_exchange.h>

#include <algorithm>
#include <limits>

namespace rondo::nn {

namespace {

// INT64_MAX if it is larger.
int64_t optimizer_bytes(const OptimizerSize& size, int64_t arena_bytes) {
  const int64_t arenas = saturating_product({size.arenas, arena_bytes});
  return arenas + std::min(size.bytes, std::numeric_limits<int64_t>::max() - arenas);
}

std::string mebibytes(int64_t bytes) {
  return rounded_text(static_cast<double>(bytes) / (1 << 20), std::chars_format::fixed, 1) + " MiB";
}

}  // namespace

int64_t MemoryEstimate::total() const {
  int64_t sum = 0;
  for (const MemoryPart& part : parts)
    if (__builtin_add_overflow(sum, part.bytes, &sum)) return std::numeric_limits<int64_t>::max();
  return sum;
}

MemoryEstimate estimate_memory(const Graph& graph, const DataParallelOptions& wanted,
                               OptimizerSize optimizer) {
  const DataParallelOptions options = checked(wanted);
  if (optimizer.arenas < 0 || optimizer.bytes < 0 || optimizer.bytes > kMaxBytes)
    throw Error(bad_argument("memory estimate: the optimizer has ", counted(optimizer.arenas, "arena"),
                             " and ", counted(optimizer.bytes, "byte"),
                             " beside them, must be at least 0, and the bytes at most ", kMaxBytes));
  const int64_t samples = samples_per_replica(options);
  const MemoryPlan plan = plan_training(graph, samples, {.checkpoint_layers = options.checkpoint_layers});
  const ReplicaMemory replica = Replica::memory(graph, plan, samples);
  int64_t exchange = 0;
  for (const auto& communicator : {gradient_exchange(options, graph), statistics_exchange(options)})
    if (communicator)
      exchange += Communicator::bytes_per_rank(static_cast<int>(options.devices.size()), *communicator);
  MemoryEstimate estimate = {{
      {"parameters", replica.parameters},
      {"parameters in bfloat16", replica.rounded_parameters},
      {"gradients", (options.micro_batches > 1 ? 2 : 1) * replica.gradients},
      {"optimizer", optimizer_bytes(optimizer, replica.parameters)},
      {"layers' states", replica.states},
      {"activations and their gradients", replica.arena},
      {"statistics, step counter", replica.statistics},
      {"workspace", replica.workspace},
      {"labels, targets, loss", LossHead::bytes(samples, graph.output().shape.size())},
      {"all-reduce", exchange},
  }};
  if (const int64_t rounded = rounded_bucket_size(options, graph))
    estimate.parts.push_back({"gradients in bfloat16", rounded * size_of(DType::bfloat16)});
  if (options.keep_finite)
    estimate.parts.push_back({"NaN check of the gradients", sizeof(unsigned long long)});
  return estimate;
}

Status check_fits(const MemoryEstimate& estimate, int device) {
  size_t free = 0, total = 0;
  {
    const DeviceScope scope(device);
    RONDO_CUDA(cudaMemGetInfo(&free, &total));
  }
  if (estimate.total() <= static_cast<int64_t>(free)) return {};
  std::string parts;
  for (const MemoryPart& part : estimate.parts)
    if (part.bytes > 0) parts += (parts.empty() ? "" : ", ") + part.name + " " + mebibytes(part.bytes);
  return Status(StatusCode::out_of_resources,
                concat("training needs ", mebibytes(estimate.total()), ", and ", device_label(device),
                       " has ", mebibytes(static_cast<int64_t>(free)), " free: ", parts));
}

}  // namespace rondo::nn

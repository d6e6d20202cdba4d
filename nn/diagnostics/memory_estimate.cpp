#include <rondo/nn/diagnostics/memory_estimate.h>

#include <rondo/kernels/core/counted.h>
#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/text.h>
#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/loss/squared_error.h>
#include <rondo/kernels/runtime/platform.h>

#include <algorithm>
#include <limits>

namespace rondo::nn {

namespace {

int64_t loss_bytes(int64_t batch, int64_t outputs) {
  const int64_t labels = batch * static_cast<int64_t>(sizeof(int32_t));
  const int64_t targets = batch * outputs * static_cast<int64_t>(sizeof(float));
  const int64_t workspace = std::max(softmax_cross_entropy_workspace_bytes(batch, outputs),
                                     squared_error_workspace_bytes(batch, outputs));
  return labels + targets + static_cast<int64_t>(sizeof(LossStats)) + workspace;
}

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

MemoryEstimate estimate_training(const Graph& graph, const EstimateOptions& options) {
  if (options.batch < 0 || options.optimizer.arenas < 0 || options.optimizer.bytes < 0 || options.ranks < 1)
    throw Error(bad_argument("memory estimate: a batch of ", options.batch, ", ",
                             counted(options.optimizer.arenas, "optimizer arena"), " and ",
                             counted(options.optimizer.bytes, "byte"), " beside them, ",
                             counted(options.ranks, "rank"),
                             ": none may be negative, and the ranks must be at least 1"));
  constexpr int64_t kMostSamples = int64_t{1} << 31;
  if (options.batch > kMostSamples)
    throw Error(
        bad_argument("memory estimate: a batch of ", options.batch, ", must be at most ", kMostSamples));
  if (options.optimizer.bytes > kMaxBytes)
    throw Error(bad_argument("memory estimate: the optimizer has ", counted(options.optimizer.bytes, "byte"),
                             " beside its arenas, must be at most ", kMaxBytes));
  const MemoryPlan plan = plan_training(graph, options.batch, options.plan);
  const ReplicaMemory replica = Replica::memory(graph, plan, options.batch);
  int64_t exchange = 0;
  for (const CommunicatorOptions& communicator : options.communicators)
    exchange += Communicator::bytes_per_rank(options.ranks, communicator);
  return {{
      {"parameters", replica.parameters},
      {"parameters in bfloat16", replica.rounded_parameters},
      {"gradients", (options.accumulates ? 2 : 1) * replica.gradients},
      {"optimizer", optimizer_bytes(options.optimizer, replica.parameters)},
      {"layers' states", replica.states},
      {"activations and their gradients", replica.arena},
      {"statistics, step counter", replica.statistics},
      {"workspace", replica.workspace},
      {"labels, targets, loss", loss_bytes(options.batch, graph.output().shape.size())},
      {"all-reduce", exchange},
  }};
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

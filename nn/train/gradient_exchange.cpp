#include <rondo/nn/train/gradient_exchange.h>

#include <rondo/collectives/collectives.h>
#include <rondo/kernels/activation/add.h>
#include <rondo/kernels/activation/cast.h>

#include <algorithm>
#include <limits>

namespace rondo::nn {

namespace {

std::vector<Event> event_on_each(const std::vector<int>& devices) {
  std::vector<Event> events;
  for (int device : devices) {
    const DeviceScope scope(device);
    events.emplace_back();
  }
  return events;
}

}  // namespace

// The arena holds parameters in order of creation, which is nearly the order of the nodes. Backward completes
// nodes from the last to the first, so a bucket is complete after the first node with a parameter in it, and
// after the buckets before it.
std::vector<GradientBucket> gradient_buckets(const Graph& graph, int64_t bytes) {
  std::vector<int> node_of(graph.parameters().size(), 0);
  for (size_t node = 0; node < graph.nodes().size(); ++node)
    for (int parameter : graph.nodes()[node].parameters)
      node_of[static_cast<size_t>(parameter)] = static_cast<int>(node);
  std::vector<GradientBucket> buckets;
  int64_t end = graph.parameter_arena_size();
  int node = std::numeric_limits<int>::max();
  for (size_t i = graph.parameters().size(); i-- > 0;) {
    const int64_t begin = graph.parameters()[i].offset;
    node = std::min(node, node_of[i]);
    if ((end - begin) * static_cast<int64_t>(sizeof(float)) < bytes && i > 0) continue;
    buckets.push_back({node, begin, end - begin});
    end = begin;
  }
  return buckets;
}

int64_t rounded_bucket_size(const DataParallelOptions& options, const Graph& graph) {
  if (options.reduce_dtype == DType::float32 || !gradient_exchange(options, graph)) return 0;
  int64_t largest = 0;
  for (const GradientBucket& bucket : gradient_buckets(graph, options.bucket_bytes))
    largest = std::max(largest, bucket.size);
  return largest;
}

GradientExchange::GradientExchange(ReplicaGroup& group)
    : group_(group),
      options_(group.options()),
      streams_(options_.devices),
      buckets_(gradient_buckets(group.graph(), options_.bucket_bytes)),
      ready_(event_on_each(options_.devices)),
      reduced_(event_on_each(options_.devices)) {
  if (const auto exchange = gradient_exchange(options_, group.graph()))
    communicator_ = std::make_unique<Communicator>(options_.devices, *exchange);
  const int64_t bucket = rounded_bucket_size(options_, group.graph());
  group.on_each([&](Replica& replica, size_t) {
    if (bucket > 0) rounded_.emplace_back(bucket);
    if (options_.micro_batches > 1) accumulated_.emplace_back(replica.gradients().size);
  });
}

void GradientExchange::accumulate(int64_t micro_batch) {
  group_.on_each([&](Replica& replica, size_t rank) {
    const VectorView<float> sum = {accumulated_[rank].data(), accumulated_[rank].size()};
    const VectorView<float> gradients = replica.gradients();
    if (micro_batch == 0)
      RONDO_CUDA_THROW(cudaMemcpyAsync(sum.data, gradients.data,
                                       static_cast<size_t>(sum.size) * sizeof(float),
                                       cudaMemcpyDeviceToDevice, replica.stream()));
    else
      throw_if_error(add(sum, sum, gradients, false, replica.stream()));
  });
}

void GradientExchange::reduce(const GradientBucket& bucket) {
  std::vector<DataView> parts;
  group_.on_each([&](Replica& replica, size_t rank) {
    const VectorView<float> part = bucket.of(replica.gradients());
    if (options_.micro_batches > 1)
      throw_if_error(
          add(part, {accumulated_[rank].data() + bucket.begin, bucket.size}, part, false, replica.stream()));
    if (!communicator_) return;
    RONDO_CUDA_THROW(cudaEventRecord(ready_[rank], replica.stream()));
    RONDO_CUDA_THROW(cudaStreamWaitEvent(streams_.stream(static_cast<int>(rank)), ready_[rank], 0));
    parts.push_back(rounded_.empty() ? DataView(part) : round(part, rank));
  });
  if (!communicator_) return;
  throw_if_error(all_reduce(parts, {.algorithm = options_.algorithm, .order = options_.order}, *communicator_,
                            streams_.streams()));
  if (!rounded_.empty())
    group_.on_each([&](Replica& replica, size_t rank) { widen(bucket.of(replica.gradients()), rank); });
}

void GradientExchange::wait(size_t rank) {
  if (!communicator_) return;
  RONDO_CUDA_THROW(cudaEventRecord(reduced_[rank], streams_.stream(static_cast<int>(rank))));
  RONDO_CUDA_THROW(cudaStreamWaitEvent(group_.replicas()[rank].stream(), reduced_[rank], 0));
}

// Rounds a bucket's gradients to bfloat16. On the same stream widen() has read the bucket before, so its
// memory is free.
DataView GradientExchange::round(VectorView<const float> gradients, size_t rank) {
  const cudaStream_t stream = streams_.stream(static_cast<int>(rank));
  const VectorView<__nv_bfloat16> bucket = {rounded_[rank].data(), gradients.size};
  const Trace::Scope span =
      trace_span(trace_, static_cast<int>(rank), "kernel", "sums", stream, "round to bfloat16");
  throw_if_error(cast(bucket, gradients, stream));
  return bucket;
}

// Writes the reduced bucket to the gradients, on the same stream.
void GradientExchange::widen(VectorView<float> gradients, size_t rank) {
  const cudaStream_t stream = streams_.stream(static_cast<int>(rank));
  const Trace::Scope span =
      trace_span(trace_, static_cast<int>(rank), "kernel", "sums", stream, "widen to float32");
  throw_if_error(cast(gradients, {rounded_[rank].data(), gradients.size}, stream));
}

void GradientExchange::set_trace(Trace* trace) {
  trace_ = trace;
  if (communicator_) communicator_->set_trace(trace);
}

}  // namespace rondo::nn

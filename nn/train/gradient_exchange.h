// GradientExchange: all-reduces the gradients of the replicas, bucket by bucket, on streams of its own, so
// that it runs beside backward.
//
// With DataParallelOptions::reduce_dtype a bucket is rounded before and widened after its all-reduce, on the
// same streams. With micro-batches it also keeps the sum of the gradients so far.
#pragma once

#include <rondo/kernels/runtime/trace.h>
#include <rondo/nn/train/replica_group.h>

#include <memory>
#include <vector>

namespace rondo::nn {

// A part of the gradient arena, in floats, that is complete after the backward of `node`.
struct GradientBucket {
  int node;
  int64_t begin, size;

  // The bucket's part of an arena.
  VectorView<float> of(VectorView<float> gradients) const { return {gradients.data + begin, size}; }
};

// Buckets of at least `bytes` (the last may be smaller), from the end of the arena to its beginning, in the
// order in which they become complete.
std::vector<GradientBucket> gradient_buckets(const Graph& graph, int64_t bytes);

// Elements of the buffer in which a replica rounds a gradient bucket; 0 if it rounds none.
int64_t rounded_bucket_size(const DataParallelOptions& options, const Graph& graph);

class GradientExchange {
 public:
  // The group must outlive this. Throws rondo::Error.
  explicit GradientExchange(ReplicaGroup& group);
  // Waits: after a failure, the streams of the replicas may not wait for those of the exchange.
  ~GradientExchange() { streams_.drain(); }
  GradientExchange(const GradientExchange&) = delete;
  GradientExchange& operator=(const GradientExchange&) = delete;

  // In the order in which backward completes them.
  const std::vector<GradientBucket>& buckets() const { return buckets_; }
  // Adds the gradients of a micro-batch, but not of the last one, to the sum of those before it: the next
  // backward pass overwrites them.
  void accumulate(int64_t micro_batch);
  // Call during backward of the last micro-batch, when the bucket is complete. Adds the earlier micro-batches
  // to it and all-reduces it over the replicas.
  void reduce(const GradientBucket& bucket);
  // Makes the replica's stream wait for the buckets reduced so far.
  void wait(size_t rank);

  void set_trace(Trace* trace);

 private:
  DataView round(VectorView<const float> gradients, size_t rank);
  void widen(VectorView<float> gradients, size_t rank);

  ReplicaGroup& group_;
  const DataParallelOptions& options_;
  StreamGroup streams_;
  std::vector<GradientBucket> buckets_;
  std::vector<Event> ready_, reduced_;  // of each replica: a bucket is complete; all buckets are reduced
  std::unique_ptr<Communicator> communicator_;  // null where nothing is exchanged
  std::vector<Buffer<__nv_bfloat16>> rounded_;  // of each replica: the bucket in exchange, if in bfloat16
  std::vector<Buffer<float>> accumulated_;  // gradients of the micro-batches so far, where there are several
  Trace* trace_ = nullptr;
};

}  // namespace rondo::nn

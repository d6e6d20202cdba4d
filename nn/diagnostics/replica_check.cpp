#include <rondo/nn/diagnostics/replica_check.h>

#include <rondo/collectives/collectives.h>
#include <rondo/collectives/ring_schedule.h>
#include <rondo/kernels/reduce/count_differences.h>

namespace rondo {

ReplicaCheck::ReplicaCheck(StreamGroup& group, std::vector<VectorView<const float>> replicas,
                           ProcessGroup* processes)
    : group_(group), replicas_(std::move(replicas)) {
  DeviceScope scope(group_.device(0));
  copy_ = Buffer<float>(replicas_[0].size);
  count_ = Buffer<unsigned long long>(1);
  count_.fill_bytes(0);
  if (!processes) return;
  CommunicatorOptions options{.slot_bytes = copy_.bytes() / ring::kSlots + ring::kChunkAlignment,
                              .bucket_bytes = 0};
  options.processes = processes;
  across_.emplace(std::vector<int>{group_.device(0)}, options);
}

// Reduces the bits, as integers, to their minimum. If all replicas are equal, each equals the minimum. If two
// differ, at least one differs from the minimum.
void ReplicaCheck::compare_with_other_processes() {
  const cudaStream_t stream = group_.stream(0);
  RONDO_CUDA_THROW(cudaMemcpyAsync(copy_.data(), replicas_[0].data, static_cast<size_t>(copy_.bytes()),
                                   cudaMemcpyDefault, stream));
  const DataView bits[] = {{copy_.data(), copy_.size(), DType::int32}};
  throw_if_error(all_reduce(bits, {.reduction = Reduction::min}, *across_, {&stream, 1}));
  throw_if_error(count_differences({count_.data(), 1}, replicas_[0], {copy_.data(), copy_.size()}, stream));
}

void ReplicaCheck::enqueue() {
  group_.join();
  DeviceScope scope(group_.device(0));
  const cudaStream_t stream = group_.stream(0);
  for (size_t rank = 1; rank < replicas_.size(); ++rank) {
    RONDO_CUDA_THROW(cudaMemcpyAsync(copy_.data(), replicas_[rank].data, static_cast<size_t>(copy_.bytes()),
                                     cudaMemcpyDefault, stream));
    throw_if_error(count_differences({count_.data(), 1}, replicas_[0], {copy_.data(), copy_.size()}, stream));
  }
  if (across_) compare_with_other_processes();
  group_.fork();
}

int64_t ReplicaCheck::differences() const {
  group_.synchronize();
  return static_cast<int64_t>(count_.download()[0]);
}

}  // namespace rondo

// One call of an operation: the processes agree on it, and its work is enqueued as a whole.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/collectives/operation_builder.h>
#include <rondo/collectives/types.h>

#include <functional>
#include <mutex>
#include <span>

namespace rondo {

// A call that several processes make together. Nothing starts before all agree, and the processes' operations
// stay in the same order.
class SerializedCall {
 public:
  explicit SerializedCall(Communicator& communicator);

  // `checked`: the result of this process's own argument checks. `vectors`: those of its rank 0.
  Status agree(const char* operation, const Status& checked, std::span<const DataView> vectors,
               Reduction reduction);

 private:
  Exchange* exchange_;
  std::unique_lock<std::mutex> lock_;
};

// Enqueues the work of an operation. A failure halfway leaves the ranks out of step, so it aborts the
// communicator. The callers' streams then wait for what was enqueued: their owner can free memory when they
// are idle. If a captured operation fails, nothing has run and the ranks stay in step.
Status enqueue(const char* operation, Communicator& communicator, RankStreams streams,
               const std::function<Status(OperationBuilder&)>& work);

}  // namespace rondo

// The processes agree on their next collective call before anything starts.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/collectives/reduction.h>
#include <rondo/kernels/core/dtype.h>

namespace rondo {

// One collective call; it must be the same in every process.
struct Call {
  char operation[24] = {};
  int64_t communicator = 0;  // number of the communicator; the same in all processes
  int64_t size = 0;          // total over all vectors
  int64_t vectors = 1;
  uint64_t shape = 0;  // a hash of the vectors' sizes and types
  DType dtype = DType::float32;
  Reduction reduction = Reduction::sum;
  bool refused = false;  // by the argument checks of the process
};

// Blocks until all processes have called it. Returns ok if all make the same call. Otherwise it
// returns bad_argument in every process, and the message names a process that differs. A process whose own
// `checked` is an error returns that error. The caller holds group.call_mutex().
Status agree(ProcessGroup& group, const char* operation, Call call, const Status& checked);

// The options of a communicator that must be the same in all processes.
struct Layout {
  int64_t ranks = 0;  // of each process
  int64_t slot_bytes = 0;
  int64_t bucket_bytes = 0;
};

// The same for the construction of a communicator, which all processes do at the same time.
Status agree(ProcessGroup& group, Layout layout);

}  // namespace rondo

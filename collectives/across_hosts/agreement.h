// The processes agree on what they are about to do together, before anything starts.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/collectives/reduction.h>
#include <rondo/kernels/core/dtype.h>

namespace rondo {

// One collective call, as every process must make it.
struct Call {
  char operation[24] = {};
  int64_t communicator = 0;  // which of those that the group's processes made, from 0
  int64_t size = 0;          // of all vectors together
  int64_t vectors = 1;
  uint64_t shape = 0;  // a hash of the vectors' sizes and types
  DType dtype = DType::float32;
  Reduction reduction = Reduction::sum;
  bool refused = false;  // by a check inside the process
};

// ok when all processes make the same call; blocks until all have come. Otherwise a bad_argument, in every process,
// which names one that differs; `checked` itself where this process has refused. Under group.turn().
Status agree(ProcessGroup& group, const char* operation, Call call, const Status& checked);

// How the ranks of a communicator lie on the processes.
struct Layout {
  int64_t ranks = 0;  // of each process
  int64_t slot_bytes = 0;
  int64_t bucket_bytes = 0;
};

// The same for the communicators that all processes make at the same time.
Status agree(ProcessGroup& group, Layout layout);

}  // namespace rondo

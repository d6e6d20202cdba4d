// Row: many repetitions of a call, captured once and launched as one CUDA graph, so that the time does not
// depend on the host's speed.
#pragma once

#include <rondo/bench/timing/device_time.h>

namespace rondo::bench {

class Row {
 public:
  Row(cudaStream_t stream, const EnqueueFunction& enqueue, int count);
  ~Row() { static_cast<void>(cudaGraphExecDestroy(row_)); }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  void launch(cudaStream_t stream) { RONDO_CUDA_THROW(cudaGraphLaunch(row_, stream)); }

 private:
  cudaGraphExec_t row_ = nullptr;
};

}  // namespace rondo::bench

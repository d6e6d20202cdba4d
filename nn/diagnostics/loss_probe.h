// LossProbe: reports the progress of an epoch while the devices work on later steps.
//
// After each step the host enqueues a copy of the ranks' LossStats into pinned host memory, followed by an
// event. It waits for the event of an older copy: the devices have other steps to do, and never wait for the
// host.
#pragma once

#include <rondo/kernels/loss/cross_entropy.h>
#include <rondo/kernels/reduce/first_nonfinite.h>
#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/runtime/pinned_memory.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo {

class LossProbe {
 public:
  // `loss_stats[rank]` points to a rank's statistics in device memory. `first_nonfinite` is the result
  // of first_nonfinite() for the gradients, or null. `capacity`: maximum number of copies in flight.
  LossProbe(int device, cudaStream_t stream, std::vector<const LossStats*> loss_stats,
            const unsigned long long* first_nonfinite, int capacity);
  ~LossProbe();
  LossProbe(const LossProbe&) = delete;
  LossProbe& operator=(const LossProbe&) = delete;

  struct Copy {
    LossStats losses;                                 // the sum over the ranks
    unsigned long long first_nonfinite = kAllFinite;  // kAllFinite without one
  };

  // Enqueues a copy of the statistics, after all work enqueued so far on the stream. Returns false if
  // `capacity` copies are in flight already.
  bool enqueue_copy();

  // Waits for the oldest copy in flight, of which there must be one.
  Copy wait_for_oldest();

  bool in_flight() const { return oldest_ < newest_; }

 private:
  int device_;
  cudaStream_t stream_;
  std::vector<const LossStats*> loss_stats_;
  const unsigned long long* first_nonfinite_;
  int64_t capacity_;
  // [capacity] times: [ranks] LossStats, then first_nonfinite.
  size_t slot_bytes_;
  PinnedMemory pinned_;
  std::vector<Event> events_;
  int64_t oldest_ = 0;  // copies are numbered; copy i uses slot i % capacity
  int64_t newest_ = 0;
};

}  // namespace rondo

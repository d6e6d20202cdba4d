// LossProbe: how far an epoch is, without waiting for it.
//
// While the host queues an epoch's steps, it also queues, now and then, a copy of the ranks' loss_stats into
// pinned host memory, with an event behind it. The host looks whether the next event has happened; the
// devices never wait for anybody.
#pragma once

#include <rondo/kernels/runtime/buffer.h>
#include <rondo/kernels/loss/cross_entropy.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace rondo {

class LossProbe {
 public:
  // `loss_stats[rank]` are the device loss_stats to watch. At most `capacity` probes are in flight.
  LossProbe(int device, cudaStream_t stream, std::vector<const LossStats*> loss_stats, int capacity);
  ~LossProbe();
  LossProbe(const LossProbe&) = delete;
  LossProbe& operator=(const LossProbe&) = delete;

  // Queues a look at the loss_stats, behind what the stream has been given so far. False when `capacity` looks
  // are in flight already.
  bool look();

  // The sum of the ranks' loss_stats as the oldest look saw them, if that has happened. Never waits.
  std::optional<LossStats> poll();

  // Queues a look and waits for it: the loss_stats as they are now, in the order of the ranks.
  std::vector<LossStats> wait_for_each();
  // Their sum.
  LossStats wait();

  bool in_flight() const { return oldest_ < newest_; }

 private:
  const LossStats* tallies_of(int64_t look) const {
    return pinned_ + static_cast<size_t>(look % capacity_) * tallies_.size();
  }
  LossStats sum(int64_t look) const;

  int device_;
  cudaStream_t stream_;
  std::vector<const LossStats*> tallies_;
  int64_t capacity_;
  LossStats* pinned_ = nullptr;  // [capacity][ranks]
  std::vector<Event> events_;
  int64_t oldest_ = 0;  // looks are numbered; look i uses slot i % capacity
  int64_t newest_ = 0;
};

}  // namespace rondo

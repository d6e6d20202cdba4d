// ReplicaCheck: checks that all replicas are equal bit for bit. It counts differences on the device, so that
// the check does not stop the training.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/kernels/core/view.h>
#include <rondo/nn/train/stream_group.h>

#include <optional>
#include <vector>

namespace rondo {

class ReplicaCheck {
 public:
  // replicas[rank] is in the memory of the group's device for that rank. All have the same size. With
  // `processes`, each process makes its own ReplicaCheck, and the replicas of all processes are compared.
  ReplicaCheck(StreamGroup& group, std::vector<VectorView<const float>> replicas,
               ProcessGroup* processes = nullptr);

  // Enqueues a comparison of every replica with that of rank 0, after all work enqueued so far on the group's
  // streams. Later work on them waits for it. Can be captured in a graph.
  void enqueue();

  // Number of values that differed in any bit, over all comparisons so far: between this process's replicas
  // and its rank 0, and between that replica and the minimum over all processes, by bits. Waits for the
  // group's streams.
  int64_t differences() const;

 private:
  void compare_with_other_processes();

  StreamGroup& group_;
  std::vector<VectorView<const float>> replicas_;
  Buffer<float> copy_;                  // copy of one replica, on rank 0's device
  std::optional<Communicator> across_;  // between rank 0 of all processes
  Buffer<unsigned long long> count_;
};

}  // namespace rondo

// ReplicaCheck: are all replicas still equal, bit for bit? Counted on the device, step after step, so that
// asking does not stop the training.
#pragma once

#include <rondo/collectives/communicator.h>
#include <rondo/kernels/core/view.h>
#include <rondo/nn/train/stream_group.h>

#include <optional>
#include <vector>

namespace rondo {

class ReplicaCheck {
 public:
  // replicas[rank] lies on the group's device of that rank; all have the same size.
  // With `processes`, each of which makes its own, the replicas of all of them are compared.
  ReplicaCheck(StreamGroup& group, std::vector<VectorView<const float>> replicas,
               ProcessGroup* processes = nullptr);

  // Queues a comparison of every replica with rank 0's, after all that the group's streams hold so far; what
  // they are given afterwards waits for it. Can be recorded into a graph.
  void enqueue();

  // How many values differed in any bit, over all comparisons so far: of this process's replicas from rank 0's, and of
  // that one from the least, by its bits, of all processes. Waits for the group's streams.
  int64_t differences() const;

 private:
  void compare_with_other_processes();

  StreamGroup& group_;
  std::vector<VectorView<const float>> replicas_;
  Buffer<float> copy_;                  // of one replica, beside rank 0's
  std::optional<Communicator> across_;  // of rank 0 of every process
  Buffer<unsigned long long> count_;
};

}  // namespace rondo

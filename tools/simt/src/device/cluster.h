// The blocks of a cluster, as their threads see them: ranks, and the barrier of the cluster. The blocks of a
// cooperative launch are one, whose barrier is that of the grid.
#pragma once

#include <simt/barrier.h>

#include <vector>

#include "fiber.h"

namespace simt {

class Block;
class Observer;

class Cluster {
 public:
  // The blocks in the order of their ranks.
  void start(std::vector<Block*> blocks);
  void restart() { arrived_ = phase_ = 0; }  // with the same blocks
  unsigned size() const { return static_cast<unsigned>(blocks_.size()); }

  // Block `rank`, to be reached by `instruction` of the running block. Raises a fault if the cluster does not
  // have it, or if it has ended.
  Block& reached(unsigned rank, const char* instruction, const Place& place) const;

  // The calling thread at the barrier.
  void arrive(Block& self, const Place& place);
  void wait(Block& self, const Place& place);
  // A thread exits: the others do not wait for it.
  void exits(const Fiber& fiber) {
    // A thread that exits between arriving and waiting is no longer one of those that must arrive.
    if (fiber.cluster_arrived && fiber.cluster_phase == phase_) --arrived_;
    if (arrived_ != 0) complete_if_all_arrived();
  }

  Observer* observer = nullptr;  // of all its blocks; set when the first one begins

 private:
  void complete_if_all_arrived();

  std::vector<Block*> blocks_;
  unsigned arrived_ = 0;  // threads, in the current phase
  unsigned phase_ = 0;
};

}  // namespace simt

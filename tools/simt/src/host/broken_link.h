// Simulated faults of the links between devices: set_peer_access() and set_peer_copies() in simt/faults.h.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "memory.h"
#include "task.h"

namespace simt {

// Private memory that replaces the allocations behind a broken link in one launch. A kernel that reads wrong
// but writes right gets a damaged copy, and what it has changed there is written to the real memory.
class StandIns {
 public:
  // Redirects the arguments of a kernel on `device` that point across a broken link.
  StandIns(Memory& memory, int device, const std::vector<Argument>& arguments, uint64_t pieces);
  ~StandIns();
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

  bool empty() const { return all_.empty(); }

  // Around each piece of the launch.
  class Use {
   public:
    explicit Use(StandIns& stand_ins) : stand_ins_(stand_ins) { stand_ins_.begin_piece(); }
    ~Use() { stand_ins_.end_piece(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    StandIns& stand_ins_;
  };

 private:
  struct StandIn {
    char* data = nullptr;
    char* real = nullptr;  // null: what is written is lost
    size_t bytes = 0;
    std::vector<char> before;  // the damaged copy
  };
  void begin_piece();
  void end_piece();

  Memory& memory_;
  const uint64_t pieces_;
  std::vector<StandIn> all_;
  std::mutex mutex_;  // protects the rest
  uint64_t begun_ = 0, ended_ = 0;
};

// Changes what a copy between devices does if the link between them loses or corrupts copies.
void damage_copy(const Memory& memory, Operation& operation);

}  // namespace simt

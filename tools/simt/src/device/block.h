// The execution of one block on one worker: the scheduler of its CUDA threads.
#pragma once

#include <simt/barrier.h>
#include <simt/kernel.h>
#include <simt/shared.h>
#include <simt/warp.h>

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "../base/observer.h"
#include "async_state.h"
#include "cluster.h"
#include "fiber.h"
#include "stack_guard.h"
#include "sync_objects.h"

namespace simt {

// A small random number generator (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t state) : state_(state) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next() % i]);
  }

 private:
  uint64_t state_;
};

// The lanes of a warp that wait for each other in one operation.
struct WarpGroup {
  unsigned mask;
  unsigned arrived;
  const WarpOperation* operation;
  const void* sync;  // for the thread sanitizer; null if the operation orders no memory
};

struct Warp {
  unsigned alive = 0;  // lanes that have not exited
  int group_count = 0;
  WarpGroup groups[32];  // at most 32, because a lane waits in at most one
  // The record and the fiber of each waiting lane.
  void* records[32];
  Fiber* fibers[32];
};

// The block's shared memory: a heap allocation of exactly its size, so that the address sanitizer detects
// overruns. The dynamic part is at its begin, and the room for variables (simt/shared.h) behind it.
class SharedMemory {
 public:
  explicit SharedMemory(size_t dynamic_bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  void select() const;  // as that of the running block
  char* data() const { return static_cast<char*>(memory_); }
  // The storage of a variable; null: the block has more static shared memory than CUDA allows.
  void* variable(const detail::SharedVariable& variable);
  bool has(size_t offset, size_t bytes) const;
  std::string describe(size_t offset) const;

 private:
  static constexpr std::align_val_t kAlignment{1024};
  struct Placed {
    const detail::SharedVariable* variable;
    size_t offset;
  };
  size_t dynamic_bytes_, bytes_;
  void* memory_;
  std::vector<Placed> variables_;
  size_t static_bytes_ = 0;
};

struct PlaceInCluster {
  Cluster* cluster;
  unsigned rank;
};

// A worker reuses it for all blocks, so that stacks and buffers are allocated once.
class Block {
 public:
  Block() : pool_(fiber_main) { alone_.start({this}); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Runs a block that is a cluster of its own.
  Fault run(const Kernel& kernel, uint64_t number);

  // For the blocks of a larger cluster, which run in turns. begin() returns whether the observer wants the
  // block; resume() runs it until none of its threads can go on, and returns whether any of them did.
  bool begin(const Kernel& kernel, uint64_t number, PlaceInCluster place);
  bool resume();
  void end();
  const Fault& fault() const { return fault_; }
  bool ended() const { return alive_ == 0; }
  unsigned alive() const { return alive_; }
  std::string waiting_of_cluster();  // "block (1, 0, 0): ..."

  const PlaceInCluster& place_in_cluster() const { return place_in_cluster_; }
  char* shared_memory() const { return shared_->data(); }
  void* shared_variable(const detail::SharedVariable& variable);
  // Whether the dynamic shared memory or a variable has these bytes, and what is near them.
  bool has_shared(size_t offset, size_t bytes) const { return shared_->has(offset, bytes); }
  std::string describe_shared(size_t offset) const { return shared_->describe(offset); }
  const Kernel& kernel() const { return *kernel_; }
  // The accesses that follow are to the shared memory of this block, by a thread of another one or its own.
  void select_shared_memory() const { shared_->select(); }

  // Called by the running CUDA thread.
  void barrier(Place place);
  int vote(BlockVote vote, int predicate, Place place);
  void collective(unsigned mask, const WarpOperation& operation, void* record, Place place);
  void wait_for(void* mbarrier, Place place);  // until its current phase completes; in mbarrier.cpp
  // Waits for the 128 threads of the warpgroup; the last one calls run(). In wgmma.cpp.
  void warpgroup_rendezvous(const char* instruction, const void* record, Place place,
                            void (*run)(AsyncState&, Warpgroup&, const void*, const Place&));
  void wait_for_cluster(Place place);  // at its barrier
  void yield();                        // until every other thread of the block waits, yields or has exited
  void end_cluster_barrier() { wake(at_cluster_barrier_); }
  void wake(FiberQueue& fibers);
  Fiber& current() { return *current_; }
  AsyncState& async() { return async_; }

  // Ends the block with an error; `describe` returns the message. No thread of the block runs again, so the
  // abandoned stack must not contain objects that own memory.
  template <class Describe>
  [[noreturn]] void fail(cudaError_t error, const Describe& describe) {
    {
      TsanIgnore ignore;
      record(error, describe());
    }
    abandon();
  }

 private:
  static void fiber_main(Fiber& fiber);
  std::string where() const;  // "kernel gemm, block (1, 0, 0), thread (3, 0, 0)"
  void record(cudaError_t error, const std::string& what);
  [[noreturn]] void abandon();
  void start(const Kernel& kernel, uint64_t number);
  void enter();
  void run_threads(Fiber& fiber);
  void start_thread(Fiber& fiber);
  void thread_exits(Fiber& fiber);
  void end_stores(Fiber& fiber);                 // in bulk_copy.cpp
  void check_no_pending_products(Fiber& fiber);  // in wgmma.cpp
  void end_barrier();
  void end_group(Warp& warp, int index);
  void wait(Fiber& fiber);
  void switch_to(Fiber& from, Fiber& to);
  Fiber& next_fiber();
  std::string waiting_threads() const;

  const Kernel* kernel_ = nullptr;
  uint3 index_ = {0, 0, 0};  // blockIdx
  std::optional<SharedMemory> shared_;
  Observer* observer_ = nullptr;
  PlaceInCluster place_in_cluster_ = {};
  Cluster alone_;  // of a block that is in no larger cluster
  unsigned threads_ = 0;
  unsigned started_ = 0;
  unsigned alive_ = 0;
  Fiber worker_;  // the worker's own stack
  Fiber* current_ = nullptr;
  StackGuard guard_;
  FiberPool pool_;
  FiberQueue ready_;
  FiberQueue yielding_;

  FiberQueue at_cluster_barrier_;
  FiberQueue at_barrier_;
  unsigned at_barrier_count_ = 0;
  int yes_votes_ = 0;
  // The votes and threads of the last barrier. All threads read them before the next barrier can end.
  int counted_votes_ = 0;
  int counted_threads_ = 0;
  std::vector<Warp> warps_;
  AsyncState async_;

  std::optional<Random> random_;  // set with a seed: draws the order of threads
  std::vector<unsigned> order_;   // of the threads' starts, with a seed

  std::unique_ptr<SyncObjects> sync_;
  Fault fault_;
  Fiber* failed_ = nullptr;
};

// The block that this OS thread runs. `what` names the calling device function in the error outside of a
// kernel.
Block& running_block(const char* what);
bool in_block();  // whether it runs one

// In this scope the running thread accesses the shared memory of another block of its cluster.
class OtherSharedMemory {
 public:
  OtherSharedMemory(const Block& self, const Block& other) : self_(self) { other.select_shared_memory(); }
  ~OtherSharedMemory() { self_.select_shared_memory(); }
  OtherSharedMemory(const OtherSharedMemory&) = delete;
  OtherSharedMemory& operator=(const OtherSharedMemory&) = delete;

 private:
  const Block& self_;
};

}  // namespace simt

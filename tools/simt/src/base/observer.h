// Observer: what the executor tells about the running blocks in a build that observes kernels.
//
// One observer at a time is active in the process: it counts (observe/profile.cpp) or detects races
// (observe/race_check.cpp). All calls come from the thread that runs the block; different blocks run on
// different threads at once.
#pragma once

#include <simt/kernel.h>
#include <simt/observe.h>

#include <atomic>
#include <cstdint>

#include "transfer.h"

namespace simt {

struct IssuedOperation;
struct Runtime;

#ifdef SIMT_OBSERVE
inline constexpr bool kObserve = true;
#else
inline constexpr bool kObserve = false;
#endif

// One access of a CUDA thread to shared or global memory.
struct Access {
  const void* place;  // return address of the instruction
  uintptr_t address;
  uint32_t bytes;
  AccessKind kind;
  AccessSpace space;
  bool atomic = false;  // an atomic load or store, or AccessKind::atomic
};

// The bulk copy that an access belongs to.
struct BulkCopy {
  unsigned thread;  // that issued it
  const void* mbarrier;
  unsigned bytes;  // of this part in global memory
};

class Observer {
 public:
  virtual ~Observer() = default;

  // The threads of block `number`, which is block `rank` of its cluster, are about to start. Returns whether
  // the block is observed, and end_block() follows. Otherwise it runs only if another block of its cluster is
  // observed.
  virtual bool begin_block(const Kernel& kernel, uint64_t number, unsigned rank) = 0;
  virtual void end_block() = 0;
  // The calls that follow are about block `rank` of the running cluster, until the next call. begin_block()
  // selects its block.
  virtual void select_block(unsigned rank) = 0;

  // Actions of thread `thread` of the current block (its linear index).
  virtual void access(unsigned thread, const Access& access) = 0;
  // The thread executes the instruction, and accesses nothing.
  virtual void skips(unsigned /*thread*/, const Access& /*access*/) {}
  virtual void multiply_adds(unsigned thread, int count) = 0;
  // An access of a bulk copy, as if `thread` made it.
  virtual void bulk_access(unsigned thread, const Access& access, const BulkCopy& copy) = 0;
  // Products of the thread's warp by tensor cores, with `multiply_adds` each.
  virtual void tensor_products(unsigned /*thread*/, bool /*tf32*/, int /*products*/, int /*multiply_adds*/) {}
  virtual void arrives_at_barrier(unsigned thread) = 0;
  virtual void exits(unsigned thread) = 0;

  // All threads of the block that have not exited are at the barrier.
  virtual void barrier_ends() = 0;
  // The lanes of `lanes` of warp `warp` have met in a warp operation.
  virtual void warp_meets(unsigned warp, unsigned lanes) = 0;

  // Whether it reports accesses that nothing orders. The executor then leaves these to it.
  virtual bool checks_order() const { return false; }

  // What only the race detector needs.
  // Whether an address is in the shared memory of the cluster, and accesses to it there are wanted.
  virtual bool has_shared_memory(uintptr_t /*address*/) const { return false; }
  virtual void warp_synchronizes(unsigned /*warp*/, unsigned /*lanes*/) {}  // __syncwarp
  virtual void fence(unsigned /*thread*/, bool /*for_all_blocks*/) {}
  virtual void proxy_fence(unsigned /*thread*/) {}  // fence.proxy.async; fence() follows
  virtual void async_commit(unsigned /*thread*/) {}
  virtual void async_wait(unsigned /*thread*/, int /*groups*/) {}
  virtual void mbarrier_access(unsigned /*thread*/, const Access& /*access*/) {}  // to the mbarrier itself
  virtual void mbarrier_inits(const void* /*mbarrier*/) {}
  virtual void mbarrier_arrives(unsigned /*thread*/, const void* /*mbarrier*/, bool /*relaxed*/) {}
  virtual void mbarrier_completes(const void* /*mbarrier*/) {}
  // A thread of the mbarrier's block, which may not be the selected one.
  virtual void mbarrier_waited(unsigned /*thread*/, const void* /*mbarrier*/) {}
  // The barrier of the cluster: a thread arrives, all that have not exited have arrived, a thread has waited.
  virtual void cluster_arrives(unsigned /*thread*/) {}
  virtual void cluster_completes() {}
  virtual void cluster_waited(unsigned /*thread*/) {}
  // wgmma of the warpgroup that begins with thread `leader`: a read of an operand; of each thread: its
  // accumulators, commit, wait.
  virtual void product_reads(unsigned /*leader*/, const Access& /*access*/) {}
  virtual void product_updates(unsigned /*thread*/, const Access& /*access*/, size_t /*bytes*/) {}
  virtual void product_commit(unsigned /*thread*/) {}
  virtual void product_wait(unsigned /*thread*/, int /*groups*/) {}
  // An access to a local variable, while detail::local_accesses_are_observed.
  virtual void local_access(unsigned /*thread*/, const Access& /*access*/) {}
  virtual void allow_unwritten(uintptr_t /*begin*/, size_t /*bytes*/) {}  // simt/unwritten.h
  // Outside of blocks: the running operation is a copy or a fill; memory of a device (or Memory::kHost) is
  // new, or about to be freed.
  virtual void transfer(const Transfer&) {}
  virtual void allocated(uintptr_t /*begin*/, size_t /*bytes*/, int /*device*/) {}
  virtual void freed(uintptr_t /*begin*/) {}
};

// The active observer. Blocks that have begun keep the one that they began with.
inline std::atomic<Observer*> active_observer{nullptr};

namespace detail {
// The observer of the block that this OS thread runs, and the stack of the running CUDA thread, whose
// accesses are not memory accesses of a GPU: local variables are registers there. The observer sets
// local_accesses_are_observed while registers may belong to an unfinished product.
inline thread_local constinit Observer* observer = nullptr;
inline thread_local constinit uintptr_t stack_begin = 0;
inline thread_local constinit size_t stack_bytes = 0;
inline thread_local constinit bool local_accesses_are_observed = false;
// The operation that this OS thread runs, if the race detector is on.
inline thread_local constinit const IssuedOperation* running_operation = nullptr;

inline bool order_is_checked() { return kObserve && observer && observer->checks_order(); }

// Calls f(observer) if the running block has one.
template <class F>
void tell_observer(F f) {
  if (kObserve && observer) f(*observer);
}
}  // namespace detail

// Sets the operation that the scheduler runs in this scope.
class RunningOperation {
 public:
  explicit RunningOperation(const IssuedOperation* operation) {
    if (kObserve) detail::running_operation = operation;
  }
  ~RunningOperation() {
    if (kObserve) detail::running_operation = nullptr;
  }
  RunningOperation(const RunningOperation&) = delete;
  RunningOperation& operator=(const RunningOperation&) = delete;
};

// Called by a worker before each block: the memory map may have changed.
void refresh_global_memory();
// Starts what the settings ask for (SIMT_CHECK, SIMT_BOUNDS, SIMT_COUNT). Called once, before the first CUDA
// call of the program continues.
void observe_whole_program(Runtime& runtime);

}  // namespace simt

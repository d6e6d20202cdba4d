// Fibers: stacks that can be suspended in the middle of a function and resumed later.
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <vector>

#include "../base/sanitizers.h"
#include "context.h"

namespace simt {

// The size of the inaccessible memory below every stack: a stack overflow faults there instead of writing to
// another stack. It is larger than a large frame could step over, and makes a stack with its guard an odd
// number of pages: with a multiple of 16 all stacks would compete for a few entries of the processor's TLB.
inline constexpr size_t kGuardBytes = (256 + 4) << 10;

// A cp.async that was issued and is not complete (late mode).
struct LateCopy {
  void* to;
  const void* from;
  size_t bytes;
  bool valid;
};

// A bulk copy from shared to global memory that is not complete, or has not been waited for.
struct BulkStore {
  const void* shared;
  unsigned size;
  void* global;  // null: a box of a tensor, described by `box`
  alignas(8) unsigned char box[160];
  std::source_location place;
  std::vector<unsigned char> bytes;  // of shared memory, at the issue
  unsigned group = 0;
  bool read = false, waited = false, written = false;
};

// Four registers that a wgmma of the thread read as fragments of a, and their values at the last wgmma.fence,
// or at the first product if that came later.
struct FencedRegisters {
  const uint32_t* registers;
  uint32_t values[4];
};

// A stack and the state of the CUDA thread that runs on it. CUDA threads that never wait share one fiber, one
// after another; a thread that waits keeps its fiber until it exits.
struct Fiber {
  Context context = nullptr;  // where it resumes
  void (*main)(Fiber& self) = nullptr;
  Fiber* next = nullptr;  // in its list: free, ready, or waiting at the barrier

  bool in_use = false;  // not in the pool

  unsigned rank = 0;  // of the CUDA thread
  uint3 thread = {0, 0, 0};
  std::source_location place;       // where it waits
  std::vector<LateCopy> copies;     // oldest first
  std::vector<size_t> group_sizes;  // of the committed groups; the remaining copies are not committed
  std::vector<BulkStore> stores;    // oldest first
  unsigned store_groups = 0;        // committed
  unsigned wgmma_groups = 0;        // committed
  bool wgmma_used = false, wgmma_fenced = false;
  std::vector<FencedRegisters> wgmma_a;
  bool cluster_arrived = false;  // and has not waited since
  unsigned cluster_phase = 0;    // in which it arrived

  char* stack_begin = nullptr;  // the lowest usable address
  size_t stack_bytes = 0;
  void* address_sanitizer = nullptr;  // its "fake stack" while it is suspended
  void* thread_sanitizer = nullptr;   // its sanitizer context
};

namespace detail {

inline thread_local constinit Fiber* leaving = nullptr;
inline thread_local constinit Fiber* arriving = nullptr;

// Must be called first on a resumed stack.
inline void arrived(Fiber& self) {
  if (!kAddressSanitizer) return;
  const void* stack = leaving->stack_begin;
  asan_arrive(self.address_sanitizer, &stack, &leaving->stack_bytes);
  leaving->stack_begin = static_cast<char*>(const_cast<void*>(stack));
}

}  // namespace detail

// Suspends `from`, which is running, and resumes `to`. Returns when another fiber switches to `from`.
inline void switch_fiber(Fiber& from, Fiber& to) {
  if (kAddressSanitizer) detail::leaving = &from;
  detail::arriving = &to;
  asan_leave(&from.address_sanitizer, to.stack_begin, to.stack_bytes);
  tsan_switch(to.thread_sanitizer);
  switch_context(from.context, to.context);
  detail::arrived(from);
}

// A FIFO queue, linked through the fibers.
class FiberQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  Fiber* head() const { return head_; }
  void clear() { head_ = tail_ = nullptr; }
  void push(Fiber& fiber) {
    fiber.next = nullptr;
    (head_ ? tail_->next : head_) = &fiber;
    tail_ = &fiber;
  }
  void push_front(Fiber& fiber) {
    fiber.next = head_;
    if (!head_) tail_ = &fiber;
    head_ = &fiber;
  }
  Fiber& pop() {
    Fiber& fiber = *head_;
    head_ = fiber.next;
    return fiber;
  }
  // Appends all fibers of `other` and empties it.
  void splice(FiberQueue& other) {
    if (other.empty()) return;
    (head_ ? tail_->next : head_) = other.head_;
    tail_ = other.tail_;
    other.clear();
  }

 private:
  Fiber* head_ = nullptr;
  Fiber* tail_ = nullptr;
};

// The fibers of one worker. They are created on demand and live as long as the worker. Each runs `main`,
// which never returns; a fiber in the pool is suspended inside it.
class FiberPool {
 public:
  using Main = void (*)(Fiber& self);

  explicit FiberPool(Main main) : main_(main) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  Fiber& take() {
    Fiber& fiber = free_.empty() ? make() : free_.pop();
    fiber.in_use = true;
    return fiber;
  }
  void give_back(Fiber& fiber);

  // Creates fibers until there are `needed`, and up to `wanted` while the thread sanitizer allows more.
  void reserve(size_t needed, size_t wanted);

  // After a fault: resets the fibers in use, and the one that failed, to start with `main` again.
  void abandon(Fiber& failed);
  void abandon_all();

 private:
  Fiber& make();
  void prepare(Fiber& fiber, size_t colour);

  Main main_;
  std::vector<Fiber*> fibers_;
  FiberQueue free_;
};

}  // namespace simt

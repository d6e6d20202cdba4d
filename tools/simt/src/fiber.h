// Fibers: stacks that can be left in the middle of a function and gone on with later, on Boost.Context.
#pragma once

#include <vector_types.h>

#include <cstddef>
#include <source_location>
#include <vector>

#include "context.h"
#include "sanitizers.h"

namespace simt {

// Below every stack lies memory that may not be touched: a stack that is too deep faults there instead of
// writing into another. More than a large frame may step over; and with the stack an odd number of pages,
// since a multiple of 16 would let all stacks compete for a few entries of the processor's address cache.
inline constexpr size_t kGuardBytes = (256 + 4) << 10;

// One cp.async that was issued and not yet done (late mode).
struct LateCopy {
  void* to;
  const void* from;
  size_t bytes;
  bool valid;
};

// A stack, and what must be kept of the CUDA thread whose call frames lie on it. CUDA threads that never wait
// share one fiber, one after the other; a thread that waits keeps the fiber until it exits.
struct Fiber {
  Context context = nullptr;  // where it goes on
  void (*main)(Fiber& self) = nullptr;
  Fiber* next = nullptr;  // of the list it is in: free, ready, or waiting at the barrier

  bool in_use = false;  // not in the pool's hands

  unsigned rank = 0;  // of the CUDA thread
  uint3 thread = {0, 0, 0};
  std::source_location place;       // where it waits
  std::vector<LateCopy> copies;     // oldest first
  std::vector<size_t> group_sizes;  // of the groups that were committed; the other copies belong to none yet

  char* stack_begin = nullptr;  // the lowest usable address
  size_t stack_bytes = 0;
  void* address_sanitizer = nullptr;  // its "fake stack" while it does not run
  void* thread_sanitizer = nullptr;   // its own context there
};

namespace detail {

inline thread_local constinit Fiber* leaving = nullptr;
inline thread_local constinit Fiber* arriving = nullptr;

// The first thing to do on a stack that goes on.
inline void arrived(Fiber& self) {
  if (!kAddressSanitizer) return;
  const void* stack = leaving->stack_begin;
  asan_arrive(self.address_sanitizer, &stack, &leaving->stack_bytes);
  leaving->stack_begin = static_cast<char*>(const_cast<void*>(stack));
}

}  // namespace detail

// Leaves `from`, which is running, and goes on in `to`. Returns when somebody switches to `from` again.
inline void switch_fiber(Fiber& from, Fiber& to) {
  if (kAddressSanitizer) detail::leaving = &from;
  detail::arriving = &to;
  asan_leave(&from.address_sanitizer, to.stack_begin, to.stack_bytes);
  tsan_switch(to.thread_sanitizer);
  switch_context(from.context, to.context);
  detail::arrived(from);
}

// First in, first out; the links are the fibers' own.
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
  // Appends all of `other`, which is empty afterwards.
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

// The fibers of one worker. They are made when needed and live as long as the worker; each runs `main`, which
// never returns, and is in the middle of it when it is given back.
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

  // Makes fibers until there are `needed`, and up to `wanted` while the thread sanitizer has room for more.
  void reserve(size_t needed, size_t wanted);

  // After a fault: makes the fibers in use, and the one that failed, free to start with `main` anew.
  void abandon(Fiber& failed);

 private:
  Fiber& make();
  void prepare(Fiber& fiber, size_t colour);

  Main main_;
  std::vector<Fiber*> fibers_;
  FiberQueue free_;
};

}  // namespace simt

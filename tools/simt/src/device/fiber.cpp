#include "fiber.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

#include "../base/sanitizers.h"

namespace simt {

namespace {

constexpr size_t kStackBytes = kAddressSanitizer || kThreadSanitizer ? 256 << 10 : 64 << 10;

// The tops of page-aligned stacks would compete for the same few cache lines; these offsets spread them.
constexpr size_t kColours = 32;
constexpr size_t kColourBytes = 4096 / kColours;

// GCC's thread sanitizer ends the program if more than 8128 fibers exist at once.
constexpr size_t kRoomyFibers = 4000;
std::atomic<size_t> fibers_of_process{0};

void enter() {
  Fiber& self = *detail::arriving;
  detail::arrived(self);
  self.main(self);
}

}  // namespace

FiberPool::~FiberPool() {
  TsanIgnore ignore;
  fibers_of_process -= fibers_.size();
  for (Fiber* fiber : fibers_) {
    tsan_destroy_fiber(fiber->thread_sanitizer);
    asan_unpoison(fiber->stack_begin, fiber->stack_bytes);
    munmap(fiber->stack_begin - kGuardBytes, kGuardBytes + fiber->stack_bytes);
    delete fiber;
  }
}

void FiberPool::give_back(Fiber& fiber) {
  fiber.in_use = false;
  // Reuses the last fiber first, because its stack is likely in the cache. With the thread sanitizer it is
  // reused last: reusing a fiber that a thread of an earlier block just used would order the two.
  if (kThreadSanitizer)
    free_.push(fiber);
  else
    free_.push_front(fiber);
}

void FiberPool::reserve(size_t needed, size_t wanted) {
  TsanIgnore ignore;
  while (fibers_.size() < needed || (fibers_.size() < wanted && fibers_of_process < kRoomyFibers))
    free_.push(make());
}

void FiberPool::abandon(Fiber& failed) {
  failed.in_use = true;  // it may have given itself back before it found no other fiber to run
  abandon_all();
}

void FiberPool::abandon_all() {
  TsanIgnore ignore;
  free_.clear();
  for (size_t i = 0; i < fibers_.size(); ++i) {
    Fiber& fiber = *fibers_[i];
    if (fiber.in_use) {
      asan_unpoison(fiber.stack_begin, fiber.stack_bytes);
      // The fiber has ended for this thread, which knows all that it did.
      void* const self = tsan_this_fiber();
      tsan_switch(fiber.thread_sanitizer);
      tsan_release(&fiber);
      tsan_switch(self);
      tsan_acquire(&fiber);
      tsan_destroy_fiber(fiber.thread_sanitizer);
      prepare(fiber, i);
    }
    free_.push(fiber);
  }
}

Fiber& FiberPool::make() {
  void* memory = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mprotect(memory, kGuardBytes, PROT_NONE);
  ++fibers_of_process;
  Fiber& fiber = *new Fiber;
  fiber.stack_begin = static_cast<char*>(memory) + kGuardBytes;
  fiber.stack_bytes = kStackBytes;
  prepare(fiber, fibers_.size());
  fibers_.push_back(&fiber);
  return fiber;
}

void FiberPool::prepare(Fiber& fiber, size_t colour) {
  fiber.in_use = false;
  fiber.copies.clear();
  fiber.group_sizes.clear();
  fiber.stores.clear();
  fiber.store_groups = 0;
  fiber.wgmma_groups = 0;
  fiber.wgmma_used = fiber.wgmma_fenced = false;
  fiber.wgmma_a.clear();
  fiber.cluster_arrived = false;
  fiber.address_sanitizer = nullptr;
  fiber.thread_sanitizer = tsan_make_fiber();
  char* top = fiber.stack_begin + fiber.stack_bytes - colour % kColours * kColourBytes;
  fiber.main = main_;
  fiber.context = make_context(top, static_cast<size_t>(top - fiber.stack_begin), enter);
}

}  // namespace simt

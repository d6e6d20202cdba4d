// Blocks and their threads: starting, waiting, barriers, collectives of warps, faults.
// Above 400 lines because these change one state, the queues of fibers.
#include "block.h"

#include <simt/device.h>
#include <simt/settings.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "../base/observer.h"
#include "../base/sanitizers.h"
#include "report.h"
#include "variables.h"

namespace simt {

namespace {

thread_local constinit Block* running = nullptr;

bool same_place(const Place& a, const Place& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

// The observer of a block that begins; null: it is not observed. `wanted` becomes false if it need not run.
Observer* observer_of(const Kernel& kernel, uint64_t number, const PlaceInCluster& place, bool& wanted) {
  wanted = true;
  if (!kObserve) return nullptr;
  refresh_global_memory();  // first, because it starts the runtime, which may start the race detector
  Observer*& observer = place.cluster->observer;
  if (place.rank == 0) observer = active_observer;
  if (!observer) return nullptr;
  wanted = observer->begin_block(kernel, number, place.rank);
  refresh_global_memory();  // again: begin_block() may have waited
  return wanted ? observer : nullptr;
}

void set_observed_stack(const Fiber& fiber) {
  detail::stack_begin = reinterpret_cast<uintptr_t>(fiber.stack_begin);
  detail::stack_bytes = fiber.stack_bytes;
}

}  // namespace

Block& running_block(const char* what) {
  if (running) return *running;
  std::fprintf(stderr, "%s was called outside a kernel\n", what);
  std::abort();
}

bool in_block() { return running != nullptr; }

Fault Block::run(const Kernel& kernel, uint64_t number) {
  alone_.restart();
  try {
    if (begin(kernel, number, {&alone_, 0})) {
      enter();
      switch_to(worker_, next_fiber());
    }
  } catch (...) {  // no memory for a stack
    end();
    throw;
  }
  end();
  return std::exchange(fault_, {});
}

bool Block::begin(const Kernel& kernel, uint64_t number, PlaceInCluster place) {
  place_in_cluster_ = place;
  fault_ = {};
  shared_.emplace(kernel.shared_bytes);
  bool wanted = true;
  observer_ = observer_of(kernel, number, place, wanted);
  if (wanted || place.cluster->size() > 1) start(kernel, number);
  return wanted;
}

void Block::end() {
  running = nullptr;
  if (fault_.error != cudaSuccess) tsan_acquire(&fault_);
  if (failed_)
    pool_.abandon(*std::exchange(failed_, nullptr));
  else if (alive_ != 0)
    pool_.abandon_all();
  alive_ = 0;
  if (kObserve && observer_) {
    select_shared_memory();
    observer_->select_block(place_in_cluster_.rank);
    observer_->end_block();
    detail::observer = observer_ = nullptr;
  }
  shared_.reset();
}

// What this thread of the operating system knows of its running block.
void Block::enter() {
  running = this;
  use_variables_of(kernel_->device);
  gridDim = kernel_->grid;
  blockDim = kernel_->block;
  blockIdx = index_;
  detail::late_copies = async_.late();
  select_shared_memory();
  if (kObserve) detail::observer = observer_;
  detail::tell_observer([&](Observer& observer) { observer.select_block(place_in_cluster_.rank); });
}

bool Block::resume() {
  if (alive_ == 0 || (ready_.empty() && yielding_.empty() && started_ == threads_)) return false;
  enter();
  switch_to(worker_, next_fiber());
  return true;
}

std::string Block::waiting_of_cluster() {
  enter();
  return "Block " + text(index_) + ": " + waiting_threads();
}

void Block::start(const Kernel& kernel, uint64_t number) {
  kernel_ = &kernel;
  index_.x = static_cast<unsigned>(number % kernel.grid.x);
  index_.y = static_cast<unsigned>(number / kernel.grid.x % kernel.grid.y);
  index_.z = static_cast<unsigned>(number / kernel.grid.x / kernel.grid.y);

  threads_ = alive_ = kernel.block.x * kernel.block.y * kernel.block.z;
  started_ = 0;
  ready_.clear();
  yielding_.clear();
  at_barrier_.clear();
  at_barrier_count_ = 0;
  at_cluster_barrier_.clear();
  yes_votes_ = 0;
  async_.start(settings().late_copies);
  warps_.resize((threads_ + 31) / 32);
  for (size_t w = 0; w < warps_.size(); ++w) {
    const unsigned lanes = threads_ - static_cast<unsigned>(w) * 32;
    warps_[w].alive = lanes >= 32 ? 0xFFFFFFFFu : (1u << lanes) - 1;
    warps_[w].group_count = 0;
  }

  random_.reset();
  if (settings().seed) {
    random_.emplace(Random(*settings().seed ^ Random(kernel.sequence).next()).next() + number);
    order_.resize(threads_);
    for (unsigned i = 0; i < threads_; ++i) order_[i] = i;
    random_->shuffle(order_);
  }

  if (kThreadSanitizer) {
    worker_.thread_sanitizer = tsan_this_fiber();
    pool_.reserve(threads_, 2 * size_t{threads_});  // twice as many: see FiberPool::give_back
    sync_ = std::make_unique<SyncObjects>(warps_.size());
    tsan_release(sync_->start());
  }
}

void Block::fiber_main(Fiber& fiber) {
  for (;;) {  // a switch to a free fiber starts the next thread
    Block& block = *running;
    block.run_threads(fiber);
    block.pool_.give_back(fiber);
    Fiber& next = block.next_fiber();
    if (&next != &fiber) block.switch_to(fiber, next);
  }
}

// Starts threads on `fiber` until a waiting thread can continue, or none is left.
void Block::run_threads(Fiber& fiber) {
  try {
    do {
      start_thread(fiber);
      kernel_->body(kernel_->storage);
      thread_exits(fiber);
    } while (!kThreadSanitizer && ready_.empty() && started_ < threads_);
    return;
  } catch (const std::bad_alloc&) {
    record(cudaErrorLaunchFailure, "no host memory");  // needs no allocation
  } catch (const std::exception& error) {
    record(cudaErrorLaunchFailure, std::string("an exception left the kernel: ") + error.what());
  } catch (...) {
    record(cudaErrorLaunchFailure, "an exception left the kernel; it is not a std::exception");
  }
  abandon();
}

void Block::start_thread(Fiber& fiber) {
  const unsigned rank = random_ ? order_[started_] : started_;
  ++started_;
  thread_rank = fiber.rank = rank;
  unsigned x = rank, y = 0, z = 0;
  if (kernel_->block.x != threads_) {
    const unsigned row = rank / kernel_->block.x;
    x = rank % kernel_->block.x;
    y = row % kernel_->block.y;
    z = row / kernel_->block.y;
  }
  // Both from registers: reading back what was just stored in parts would stall on the stores.
  fiber.thread = {x, y, z};
  threadIdx = {x, y, z};
  if (kObserve) set_observed_stack(fiber);
  if (kThreadSanitizer) tsan_acquire(sync_->start());
}

void Block::thread_exits(Fiber& fiber) {
  if (kThreadSanitizer) tsan_release(kernel_);
  if (kObserve && detail::observer) detail::observer->exits(fiber.rank);
  fiber.copies.clear();
  fiber.group_sizes.clear();
  if (fiber.store_groups != 0 || !fiber.stores.empty()) end_stores(fiber);
  if (fiber.wgmma_used) check_no_pending_products(fiber);
  fiber.wgmma_groups = 0;
  fiber.wgmma_fenced = fiber.wgmma_used = false;
  --alive_;
  place_in_cluster_.cluster->exits(fiber);
  fiber.cluster_arrived = false;
  if (at_barrier_count_ != 0 && at_barrier_count_ == alive_) end_barrier();
  Warp& warp = warps_[fiber.rank / 32];
  warp.alive &= ~(1u << fiber.rank % 32);
  for (int i = 0; i < warp.group_count;) {
    const WarpGroup& group = warp.groups[i];
    if ((group.mask & warp.alive & ~group.arrived) == 0)
      end_group(warp, i);
    else
      ++i;
  }
}

Fiber& Block::next_fiber() {
  if (!ready_.empty()) return ready_.pop();
  if (started_ < threads_) return pool_.take();
  if (!yielding_.empty()) {
    ready_.splice(yielding_);
    return ready_.pop();
  }
  if (alive_ != 0 && place_in_cluster_.cluster->size() > 1) return worker_;  // another block may go on
  if (alive_ != 0)
    fail(cudaErrorLaunchFailure, [&] { return "deadlock: no thread can go on. " + waiting_threads(); });
  if (const BulkLoad* load = async_.unfinished_load())
    fail(cudaErrorLaunchFailure,
         [&] { return "the block ends, and nothing waited for the bulk copy at " + text(load->place); });
  return worker_;
}

void Block::switch_to(Fiber& from, Fiber& to) {
  current_ = &to;
  switch_fiber(from, to);
  threadIdx = from.thread;
  thread_rank = from.rank;
  if (kObserve) set_observed_stack(from);
}

void Block::wait(Fiber& fiber) {
  Fiber& next = next_fiber();
  if (&next != &fiber) switch_to(fiber, next);
}

void Block::wake(FiberQueue& fibers) {
  if (random_) {
    std::vector<Fiber*> all;
    for (Fiber* fiber = fibers.head(); fiber; fiber = fiber->next) all.push_back(fiber);
    random_->shuffle(all);
    fibers.clear();
    for (Fiber* fiber : all) fibers.push(*fiber);
  }
  ready_.splice(fibers);
}

void Block::barrier(Place place) {
  Fiber& self = *current_;
  self.place = place;
  if (at_barrier_count_ != 0 && !same_place(at_barrier_.head()->place, place))
    fail(cudaErrorLaunchFailure, [&] {
      return "divergent barrier: this thread is at " + text(place) + " while others wait elsewhere. " +
             waiting_threads();
    });
  const void* sync = kThreadSanitizer ? sync_->barrier() : nullptr;
  tsan_release(sync);
  if (kObserve && detail::observer) detail::observer->arrives_at_barrier(self.rank);
  at_barrier_count_ += 1;
  const bool last = at_barrier_count_ == alive_;
  if (!last || random_) at_barrier_.push(self);  // with a seed the last thread need not continue first
  if (last) end_barrier();
  if (!last || random_) wait(self);
  tsan_acquire(sync);
}

void Block::wait_for_cluster(Place place) {
  Fiber& self = *current_;
  self.place = place;
  at_cluster_barrier_.push(self);
  wait(self);
}

void Block::yield() {
  Fiber& self = *current_;
  yielding_.push(self);
  wait(self);
}

int Block::vote(BlockVote vote, int predicate, Place place) {
  yes_votes_ += predicate != 0;
  barrier(place);
  switch (vote) {
    case BlockVote::count:
      return counted_votes_;
    case BlockVote::all:
      return counted_votes_ == counted_threads_;
    case BlockVote::any:
      return counted_votes_ != 0;
  }
  return 0;
}

void Block::end_barrier() {
  counted_votes_ = std::exchange(yes_votes_, 0);
  counted_threads_ = static_cast<int>(std::exchange(at_barrier_count_, 0));
  if (kThreadSanitizer) sync_->next_barrier();
  if (kObserve && detail::observer) detail::observer->barrier_ends();
  wake(at_barrier_);
}

void Block::collective(unsigned mask, const WarpOperation& operation, void* record, Place place) {
  Fiber& self = *current_;
  self.place = place;
  Warp& warp = warps_[self.rank / 32];
  const unsigned lane = self.rank % 32;
  if (!(mask >> lane & 1))
    fail(cudaErrorLaunchFailure, [&] {
      return std::string(operation.name) + " at " + text(place) + ": lane " + std::to_string(lane) +
             " is not in its own mask " + hexadecimal(mask);
    });
  int index = 0;
  for (; index < warp.group_count; ++index) {
    const WarpGroup& group = warp.groups[index];
    if (group.mask == mask && group.operation == &operation) break;
    // Lanes of this mask already wait for this lane in another operation, and would wait forever.
    if ((group.mask >> lane & 1) && (group.arrived & mask))
      fail(cudaErrorLaunchFailure, [&] {
        return std::string(operation.name) + " with mask " + hexadecimal(mask) + " at " + text(place) +
               " meets lanes of its mask in another operation. " + waiting_threads();
      });
  }
  if (index == warp.group_count) {
    // Only __syncwarp orders memory; other operations order only their own operands.
    const bool orders = kThreadSanitizer && &operation == &detail::kSync;
    warp.groups[warp.group_count++] = {mask, 0, &operation,
                                       orders ? sync_->next_of_warp(self.rank / 32) : nullptr};
  }
  WarpGroup& group = warp.groups[index];
  const void* sync = group.sync;
  if (kThreadSanitizer && sync) tsan_release(sync);
  group.arrived |= 1u << lane;
  warp.records[lane] = record;
  const bool last = (mask & warp.alive & ~group.arrived) == 0;
  const bool waits = !last || random_;
  warp.fibers[lane] = waits ? &self : nullptr;
  if (last) end_group(warp, index);
  if (waits) wait(self);
  if (kThreadSanitizer && sync) tsan_acquire(sync);
}

void Block::end_group(Warp& warp, int index) {
  const WarpGroup group = warp.groups[index];
  warp.groups[index] = warp.groups[--warp.group_count];
  group.operation->run(warp.records, group.arrived);
  if (kObserve && detail::observer) {
    const auto number = static_cast<unsigned>(&warp - warps_.data());
    detail::observer->warp_meets(number, group.arrived);
    if (group.operation == &detail::kSync) detail::observer->warp_synchronizes(number, group.arrived);
  }
  FiberQueue fibers;
  for (unsigned rest = group.arrived; rest != 0; rest &= rest - 1)
    if (Fiber* fiber = warp.fibers[std::countr_zero(rest)]) fibers.push(*fiber);
  wake(fibers);
}

void Block::record(cudaError_t error, const std::string& what) { fault_ = {error, where() + ": " + what}; }

void Block::abandon() {
  TsanIgnore::end_all();
  tsan_release(&fault_);
  failed_ = current_;
  switch_to(*current_, worker_);
  std::abort();  // unreachable: an abandoned fiber is never resumed
}

std::string Block::where() const {
  return "kernel " + kernel_->name + ", block " + text(blockIdx) + ", thread " + text(threadIdx);
}

std::string Block::waiting_threads() const {
  WaitReport report;
  for (const Fiber* fiber = at_barrier_.head(); fiber; fiber = fiber->next)
    report.add(fiber->rank, "at the barrier " + text(fiber->place));
  for (const Fiber* fiber = at_cluster_barrier_.head(); fiber; fiber = fiber->next)
    report.add(fiber->rank, std::string("at the barrier of the ") +
                                (kernel_->cooperative ? "grid, " : "cluster, ") + text(fiber->place));
  for (size_t w = 0; w < warps_.size(); ++w)
    for (int i = 0; i < warps_[w].group_count; ++i) {
      const WarpGroup& group = warps_[w].groups[i];
      for (unsigned rest = group.arrived; rest != 0; rest &= rest - 1) {
        const Fiber* fiber = warps_[w].fibers[std::countr_zero(rest)];
        report.add(fiber->rank, std::string("in ") + group.operation->name + " of lanes " +
                                    hexadecimal(group.mask) + ", " + text(fiber->place));
      }
    }
  async_.add_waiting(report);
  return report.text(threads_, threads_ - alive_, threads_ - started_);
}

// The functions called by device code.

Fault run_block(const Kernel& kernel, uint64_t number) {
  static thread_local Block block;
  return block.run(kernel, number);
}

void join_blocks(const Kernel& kernel) { tsan_acquire(&kernel); }

void block_barrier(Place place) { running_block("__syncthreads").barrier(place); }

int block_vote(BlockVote vote, int predicate, Place place) {
  return running_block("__syncthreads").vote(vote, predicate, place);
}

void warp_collective(unsigned mask, const WarpOperation& operation, void* record, Place place) {
  running_block(operation.name).collective(mask, operation, record, place);
}

void trap(Place place) {
  running_block("__trap").fail(cudaErrorIllegalInstruction, [&] { return "__trap() at " + text(place); });
}

void memory_fence(bool for_all_blocks) {
  // The pattern "write, fence, atomic" against "atomic, fence, read" orders its two sides, so all fences
  // synchronise here.
  static constexpr char fences = 0;
  tsan_acquire(&fences);
  tsan_release(&fences);
  if (kObserve && detail::observer) detail::observer->fence(thread_rank, for_all_blocks);
}

namespace detail {

void shared_too_small(size_t wanted) {
  running_block("shared_memory").fail(cudaErrorIllegalAddress, [&] {
    return "the kernel uses " + std::to_string(wanted) + " bytes of shared memory and was launched with " +
           std::to_string(dynamic_bytes);
  });
}

}  // namespace detail
}  // namespace simt

// Called by assert() on failure. In a kernel it raises the kernel's error, as on a GPU; elsewhere it ends the
// program, as usual.
extern "C" void __assert_fail(const char* expression, const char* file, unsigned line,
                              const char* function) noexcept {
  const auto what = [&] {
    return std::string(file) + ":" + std::to_string(line) + ": " + (function ? function : "?") +
           ": assertion failed: " + expression;
  };
  if (simt::running) simt::running->fail(cudaErrorAssert, what);
  std::fprintf(stderr, "%s\n", what().c_str());
  std::abort();
}

#include "mbarrier.h"

#include <simt/cluster.h>
#include <simt/mbarrier.h>

#include <cstring>
#include <string>

#include "../base/observer.h"
#include "../base/sanitizers.h"
#include "../base/text.h"
#include "block.h"

namespace simt {
namespace {

MbarrierState load_state(const void* barrier) {
  MbarrierState state;
  std::memcpy(&state, barrier, sizeof(state));
  return state;
}
void store_state(void* barrier, const MbarrierState& state) { std::memcpy(barrier, &state, sizeof(state)); }

int64_t total_bytes(const std::vector<BulkLoad>& loads) {
  int64_t bytes = 0;
  for (const BulkLoad& load : loads) bytes += load.bytes;
  return bytes;
}

// "parity 0, 1 of 2 arrivals and 512 bytes are missing"
std::string described(const MbarrierState& state, const std::vector<BulkLoad>& loads) {
  const int64_t tx = state.tx - total_bytes(loads);
  std::string all = "parity " + std::to_string(state.parity) + ", " + std::to_string(state.pending) + " of " +
                    std::to_string(state.count) + " arrivals";
  if (tx >= 0) return all + " and " + counted(tx, "byte") + " are missing";
  return all + " are missing and " + counted(-tx, "byte") + " more than expected " +
         (tx == -1 ? "was copied" : "were copied");
}

// `what` returns the end of the message: the stack that is abandoned must not own memory.
template <class What>
[[noreturn]] void fail(const char* instruction, const void* barrier, const Place& place, const What& what) {
  running_block(instruction).fail(cudaErrorLaunchFailure, [&] {
    return std::string(instruction) + " at " + text(place) + ": the mbarrier at " + shared_text(barrier) +
           " " + what();
  });
}

bool is_valid(const MbarrierState& state) {
  return state.initialized == MbarrierState::kInitialized && state.count != 0 && state.pending <= state.count;
}

MbarrierState checked_state(const char* instruction, const void* barrier, const Place& place) {
  check_shared(instruction, barrier, sizeof(MbarrierState), sizeof(MbarrierState), place);
  const MbarrierState state = load_state(barrier);
  if (!is_valid(state))
    fail(instruction, barrier, place, [] { return "is not initialized, or its memory was overwritten"; });
  return state;
}

void check_tx(const char* instruction, const void* barrier, const Place& place, int64_t tx) {
  if (tx > MbarrierState::kMostCount || tx < -MbarrierState::kMostCount)
    fail(instruction, barrier, place,
         [&] { return "would have a tx-count of " + std::to_string(tx) + ", beyond 2^20 - 1"; });
}

#define SIMT_PLACE __builtin_extract_return_addr(__builtin_return_address(0))

// The race detector sees an mbarrier as a word that its initialization writes and that all else updates.
void observe_word(const void* instruction, const void* barrier, AccessKind kind) {
  detail::tell_observer([&](Observer& observer) {
    observer.mbarrier_access(thread_rank,
                             {instruction, reinterpret_cast<uintptr_t>(barrier), sizeof(MbarrierState), kind,
                              AccessSpace::shared, kind == AccessKind::atomic});
  });
}

// Completes the current phase if nothing is missing. Late copies need a thread that waits.
void complete_phase(Block& block, MbarrierUse& use) {
  TsanIgnore ignore;
  MbarrierState state = load_state(use.address);
  if (state.pending != 0 || state.tx != total_bytes(use.loads)) return;
  if (!use.loads.empty()) {
    if (use.waiting.empty()) return;
    tsan_acquire(use.address);
    for (const BulkLoad& load : use.loads) load.copy(block.async(), load.arguments);
    tsan_release(use.address);
    use.loads.clear();
  }
  state.pending = state.count;
  state.tx = 0;
  state.parity ^= 1;
  store_state(use.address, state);
  detail::tell_observer([&](Observer& observer) {
    observer.mbarrier_completes(use.address);
    for (const Fiber* fiber = use.waiting.head(); fiber; fiber = fiber->next)
      observer.mbarrier_waited(fiber->rank, use.address);
  });
  block.wake(use.waiting);
}

void arrive(const char* name, Block& block, void* barrier, unsigned bytes, const Place& place,
            const void* instruction, bool relaxed = false) {
  TsanIgnore ignore;
  MbarrierState state = checked_state(name, barrier, place);
  observe_word(instruction, barrier, AccessKind::atomic);
  MbarrierUse& use = block.async().use_of(barrier);
  // All arrivals are there, but not all bytes: on a GPU this arrival would belong to either phase.
  if (state.pending == 0)
    fail(name, barrier, place, [&] {
      return "has all arrivals of its phase, and nothing has waited for its bytes (" + described(state, {}) +
             ")";
    });
  check_tx(name, barrier, place, state.tx + int64_t{bytes});
  state.tx += bytes;
  --state.pending;
  store_state(barrier, state);
  tsan_release(barrier);
  detail::tell_observer(
      [&](Observer& observer) { observer.mbarrier_arrives(thread_rank, barrier, relaxed); });
  complete_phase(block, use);
}

}  // namespace

void issue_load(Block& block, void* barrier, const BulkLoad& load, const char* instruction) {
  TsanIgnore ignore;
  MbarrierState state = checked_state(instruction, barrier, load.place);
  MbarrierUse& use = block.async().use_of(barrier);
  if (block.async().late()) {
    use.loads.push_back(load);
    tsan_release(barrier);
  } else {
    check_tx(instruction, barrier, load.place, state.tx - int64_t{load.bytes});
    load.copy(block.async(), load.arguments);
    state.tx -= load.bytes;
    store_state(barrier, state);
    tsan_release(barrier);
  }
  complete_phase(block, use);
}

void AsyncState::add_waiting(WaitReport& report) const {
  add_waiting_warpgroups(report);
  for (const MbarrierUse& use : uses_)
    for (const Fiber* fiber = use.waiting.head(); fiber; fiber = fiber->next)
      report.add(fiber->rank, "for the mbarrier at " + shared_text(use.address) + " (" +
                                  described(load_state(use.address), use.loads) + ") at " +
                                  text(fiber->place));
}

void mbarrier_init(void* barrier, unsigned count, Place place) {
  TsanIgnore ignore;
  constexpr const char* kName = "mbarrier.init";
  check_shared(kName, barrier, sizeof(MbarrierState), sizeof(MbarrierState), place);
  if (count == 0 || count > MbarrierState::kMostCount)
    fail(kName, barrier, place,
         [&] { return "cannot have a count of " + std::to_string(count) + "; 1 to 2^20 - 1 are valid"; });
  const MbarrierUse& use = running_block(kName).async().use_of(barrier);
  if (!use.waiting.empty() || !use.loads.empty() || is_valid(load_state(barrier)))
    fail(kName, barrier, place, [&] {
      return "is initialized already and not invalidated (" + described(load_state(barrier), use.loads) + ")";
    });
  MbarrierState state = {};
  state.count = state.pending = count;
  state.initialized = MbarrierState::kInitialized;
  store_state(barrier, state);
  observe_word(SIMT_PLACE, barrier, AccessKind::store);
  detail::tell_observer([&](Observer& observer) { observer.mbarrier_inits(barrier); });
}

void mbarrier_invalidate(void* barrier, Place place) {
  constexpr const char* kName = "mbarrier.inval";
  const MbarrierState state = checked_state(kName, barrier, place);
  const MbarrierUse& use = running_block(kName).async().use_of(barrier);
  if (!use.waiting.empty() || !use.loads.empty() || state.pending != state.count || state.tx != 0)
    fail(kName, barrier, place,
         [&] { return "is in the middle of a phase (" + described(state, use.loads) + ")"; });
  TsanIgnore ignore;
  std::memset(barrier, 0xFF, sizeof(state));
  observe_word(SIMT_PLACE, barrier, AccessKind::store);
}

void mbarrier_arrive(void* barrier, Place place) {
  constexpr const char* kName = "mbarrier.arrive";
  arrive(kName, running_block(kName), barrier, 0, place, SIMT_PLACE);
}

void mbarrier_arrive_expect_tx(void* barrier, unsigned bytes, Place place) {
  constexpr const char* kName = "mbarrier.arrive.expect_tx";
  arrive(kName, running_block(kName), barrier, bytes, place, SIMT_PLACE);
}

namespace {

void arrive_at(void* barrier, unsigned rank, const Place& place, const void* instruction, bool relaxed) {
  constexpr const char* kName = "mbarrier.arrive.shared::cluster";
  const Block& self = running_block(kName);
  void* const there = cluster_map(barrier, rank, place);
  Block& other = self.place_in_cluster().cluster->reached(rank, kName, place);
  const OtherSharedMemory scope(self, other);
  arrive(kName, other, there, 0, place, instruction, relaxed);
}

}  // namespace

void cluster_arrive_at(void* barrier, unsigned rank, Place place) {
  arrive_at(barrier, rank, place, SIMT_PLACE, /*relaxed=*/false);
}
void cluster_arrive_at_relaxed(void* barrier, unsigned rank, Place place) {
  arrive_at(barrier, rank, place, SIMT_PLACE, /*relaxed=*/true);
}

unsigned mbarrier_parity(void* barrier, Place place) {
  return static_cast<unsigned>(checked_state("mbarrier.arrive", barrier, place).parity);
}

void mbarrier_wait(void* barrier, unsigned parity, Place place) {
  constexpr const char* kName = "mbarrier.try_wait.parity";
  Block& block = running_block(kName);
  const MbarrierState state = checked_state(kName, barrier, place);
  if (parity > 1)
    fail(kName, barrier, place, [&] { return "has no phase of parity " + std::to_string(parity); });
  observe_word(SIMT_PLACE, barrier, AccessKind::atomic);
  if (state.parity == parity)
    block.wait_for(barrier, place);
  else
    detail::tell_observer([&](Observer& observer) { observer.mbarrier_waited(thread_rank, barrier); });
  tsan_acquire(barrier);
}

void Block::wait_for(void* barrier, Place place) {
  Fiber& self = *current_;
  self.place = place;
  MbarrierUse& use = async_.use_of(barrier);
  use.waiting.push(self);
  complete_phase(*this, use);  // late copies happen now
  wait(self);
}

void mbarrier_init_fence() { memory_fence(); }

void async_proxy_fence() {
  running_block("fence.proxy.async").async().fence();
  detail::tell_observer([](Observer& observer) { observer.proxy_fence(thread_rank); });
  memory_fence(false);
}

}  // namespace simt

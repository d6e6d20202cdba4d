// RaceCheck: the observer that finds accesses that nothing orders, and reads of unwritten memory.
//
// Clusters run one at a time while it is active; a block that is in no larger one is a cluster of its own.
// That hides nothing, because whether two accesses are ordered is decided by clocks, and it makes reports
// reproducible.
#pragma once

#include <array>
#include <map>
#include <mutex>

#include "../base/observer.h"
#include "../host/memory.h"
#include "../host/order.h"
#include "fence_order.h"
#include "findings.h"
#include "global_shadow.h"
#include "shared_shadow.h"
#include "thread_order.h"

namespace simt {

class RaceCheck final : public Observer {
 public:
  RaceCheck(OperationOrder& order, const Memory& memory, bool print);

  bool begin_block(const Kernel& kernel, uint64_t number, unsigned rank) override;
  void select_block(unsigned rank) override { first_thread_ = rank * ThreadOrder::kBlock; }
  void end_block() override;
  void access(unsigned thread, const Access& access) override;
  void bulk_access(unsigned thread, const Access& access, const BulkCopy& copy) override;
  bool checks_order() const override { return true; }
  void multiply_adds(unsigned, int) override {}
  void arrives_at_barrier(unsigned thread) override { threads_.arrive(in_cluster(thread)); }
  void exits(unsigned) override { --alive_; }
  void barrier_ends() override { threads_.end_barrier(ThreadOrder::rank_of(first_thread_)); }
  void cluster_arrives(unsigned thread) override { threads_.arrive_at_cluster_barrier(in_cluster(thread)); }
  void cluster_completes() override { threads_.complete_cluster_barrier(); }
  void cluster_waited(unsigned thread) override { threads_.waited_for_cluster(in_cluster(thread)); }
  void warp_meets(unsigned, unsigned) override {}
  void warp_synchronizes(unsigned warp, unsigned lanes) override {
    threads_.synchronize(first_thread_ / 32 + warp, lanes);
  }
  void fence(unsigned thread, bool for_all_blocks) override;
  void proxy_fence(unsigned thread) override { threads_.proxy_fence(in_cluster(thread)); }
  void async_commit(unsigned thread) override { threads_.copies(in_cluster(thread)).commit(); }
  void async_wait(unsigned thread, int groups) override {
    threads_.copies(in_cluster(thread)).wait(groups, threads_.now(in_cluster(thread)));
  }
  void mbarrier_access(unsigned thread, const Access& access) override;
  void mbarrier_inits(const void* mbarrier) override { threads_.init_mbarrier(mbarrier); }
  void mbarrier_arrives(unsigned thread, const void* mbarrier, bool relaxed) override;
  void mbarrier_completes(const void* mbarrier) override { threads_.complete(mbarrier); }
  void mbarrier_waited(unsigned thread, const void* mbarrier) override;
  void product_reads(unsigned leader, const Access& access) override;
  void product_updates(unsigned thread, const Access& access, size_t bytes) override;
  void local_access(unsigned thread, const Access& access) override;
  void product_commit(unsigned thread) override { threads_.products(in_cluster(thread)).commit(); }
  void product_wait(unsigned thread, int groups) override;
  void allow_unwritten(uintptr_t begin, size_t bytes) override;
  bool has_shared_memory(uintptr_t address) const override {
    return shared_.rank_of(address) < shared_.blocks();
  }
  void transfer(const Transfer& transfer) override;
  void allocated(uintptr_t begin, size_t bytes, int device) override;
  void freed(uintptr_t begin) override;

  std::vector<Finding> findings();

 private:
  struct Launch {
    uint64_t clusters_left = 0;
    FenceOrder fences;
    std::unordered_map<uintptr_t, uint64_t> passed;  // by address: the last fence that an atomic passed on
  };
  struct Accumulators {  // of a product
    Cell product;
    uintptr_t begin;
    size_t bytes;
  };
  struct Run {  // of bytes that all have a value, or all have none
    size_t bytes;
    bool defined;
  };

  struct Location {
    AccessSpace space;
    uintptr_t address;
  };
  // A unit of memory that is accessed.
  struct Target : Location {
    Page& page;
    uint32_t index;
    Unit& unit;
  };
  // An access to the shared memory of another block of the cluster: the last one of a thread; of an mbarrier,
  // the last one by a copy and the last arrival of each thread.
  struct Remote {
    Cell cell;
    Location location;
    uint32_t mbarrier, phase;  // that it belongs to; phase 0: to none
  };
  using RemoteKey = std::array<uint32_t, 3>;  // block, thread, mbarrier

  unsigned in_cluster(unsigned thread) const { return first_thread_ + thread; }
  void begin_operation(const IssuedOperation& operation);
  void begin_cluster(const Kernel& kernel, uint64_t number);
  void end_cluster();
  // Calls f(target) for the units of a range, which in shared memory is of block `rank`.
  template <class F>
  void visit_shared(unsigned rank, uintptr_t begin, size_t bytes, F f);
  template <class F>
  bool visit_global(uintptr_t begin, size_t bytes, F f);
  bool is_poison(const Target& target) const;
  Cell cell(unsigned thread, const Access& access) const;
  void access_shared(const Access& access, const Cell& me, const void* mbarrier = nullptr);
  void reach(unsigned rank, uintptr_t address, const Cell& me, const void* mbarrier);
  bool ends_before(const Remote& access, unsigned rank) const;
  void access(const Target& target, const Cell& me);
  void read(const Target& target, const Cell& me);
  void update(const Target& target, const Cell& me);  // atomic
  void write(const Target& target, const Cell& me, bool defined = true);
  template <class F>
  void for_reads(const Target& target, F f);
  void remember(const Target& target, const Cell& me);
  bool compare(const Cell& first, const Target& target, const Cell& me);
  bool finished(const Cell& async, unsigned thread) const;
  bool ordered(const Cell& first, const Cell& me) const;
  bool ordered_in_cluster(const Cell& first, unsigned second) const;
  bool visible_to_product(const Cell& first, const Cell& me) const;
  bool ordered_by_fence(const Cell& first, ThreadOrder::Time time, const Cell& me) const;
  void found(Problem problem, const Cell* first, const Target& target, const Cell& me);
  void found(Problem problem, const Location& location, const Cell& me);  // of one access
  Finding describe(Problem problem, const Cell* first, const Location& location, const Cell& me);
  CheckedAccess describe(const Cell& cell) const;
  const void* place_of(const Cell& cell);
  std::vector<Run> read_range(uintptr_t begin, size_t bytes, const Cell& me);
  void write_range(uintptr_t begin, size_t bytes, bool defined, const Cell& me);

  OperationOrder& order_;
  std::mutex mutex_;  // held while a cluster runs
  GlobalShadow global_;
  Findings findings_;
  SameLines same_lines_;
  std::unordered_map<uint32_t, Launch> launches_;  // that have begun
  uint64_t fences_ = 0;

  // The running operation.
  std::shared_ptr<const IssuedOperation> alone_;
  const IssuedOperation* operation_ = nullptr;
  mutable uint32_t asked_ = 0;  // the last operation that was compared with it, and the answer
  mutable bool answer_ = false;

  // The running cluster.
  Launch* launch_ = nullptr;
  uint32_t cluster_ = 0;       // the number of its first block
  unsigned running_ = 0;       // blocks
  unsigned alive_ = 0;         // threads
  unsigned first_thread_ = 0;  // of the selected block
  unsigned block_threads_ = 0;
  bool in_kernel_ = false;
  ThreadOrder threads_;
  SharedShadow shared_;
  std::map<RemoteKey, Remote> remote_;
  std::unordered_map<unsigned, std::vector<Accumulators>> accumulators_;  // by thread: of unfinished products
  std::unordered_map<uintptr_t, uint64_t> passed_in_shared_;              // as Launch::passed
};

}  // namespace simt

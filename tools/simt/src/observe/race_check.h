// RaceCheck: the observer that finds accesses that nothing orders, and reads of unwritten memory.
//
// Blocks run one at a time while it is active. That hides nothing, because whether two accesses are ordered
// is decided by clocks, and it makes reports reproducible.
#pragma once

#include <deque>
#include <mutex>

#include "block_order.h"
#include "fence_order.h"
#include "findings.h"
#include "global_shadow.h"
#include "observer.h"

namespace simt {

class RaceCheck final : public Observer {
 public:
  RaceCheck(OperationOrder& order, const Memory& memory, bool print);

  BlockUse begin_block(const Kernel& kernel, uint64_t number) override;
  void end_block() override;
  void access(unsigned thread, const Access& access) override;
  void bulk_access(unsigned thread, const Access& access, const BulkCopy& copy) override;
  bool checks_order() const override { return true; }
  void multiply_adds(unsigned, int) override {}
  void arrives_at_barrier(unsigned thread) override { threads_.arrive(thread); }
  void exits(unsigned) override {}
  void barrier_ends() override { threads_.end_barrier(); }
  void warp_meets(unsigned, unsigned) override {}
  void warp_synchronizes(unsigned warp, unsigned lanes) override { threads_.synchronize(warp, lanes); }
  void fence(unsigned thread, bool for_all_blocks) override;
  void proxy_fence(unsigned thread) override { threads_.proxy_fence(thread); }
  void async_commit(unsigned thread) override { threads_.copies(thread).commit(); }
  void async_wait(unsigned thread, int groups) override {
    threads_.copies(thread).wait(groups, threads_.now(thread));
  }
  void mbarrier_access(unsigned thread, const Access& access) override { this->access(thread, access); }
  void mbarrier_inits(const void* mbarrier) override { threads_.init_mbarrier(mbarrier); }
  void mbarrier_arrives(unsigned thread, const void* mbarrier) override { threads_.arrive(mbarrier, thread); }
  void mbarrier_completes(const void* mbarrier) override { threads_.complete(mbarrier); }
  void mbarrier_waited(unsigned thread, const void* mbarrier) override { threads_.waited(mbarrier, thread); }
  void product_reads(unsigned leader, const Access& access) override;
  void product_updates(unsigned thread, const Access& access, size_t bytes) override;
  void local_access(unsigned thread, const Access& access) override;
  void product_commit(unsigned thread) override { threads_.products(thread).commit(); }
  void product_wait(unsigned thread, int groups) override;
  void allow_unwritten(uintptr_t begin, size_t bytes) override;
  void transfer(const Transfer& transfer) override;
  void allocated(uintptr_t begin, size_t bytes, int device) override;
  void freed(uintptr_t begin) override;

  std::vector<Finding> findings();

 private:
  struct Launch {
    uint64_t blocks_left = 0;
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

  // A unit of memory that is accessed.
  struct Target {
    Page& page;
    uint32_t index;
    Unit& unit;
    AccessSpace space;
    uintptr_t address;  // or the offset in shared memory
  };

  void begin_operation(const IssuedOperation& operation);
  // Calls f(target) for the units of a range.
  template <class F>
  void visit_shared(size_t begin, size_t bytes, F f);
  template <class F>
  bool visit_global(uintptr_t begin, size_t bytes, F f);
  bool is_poison(const Target& target) const;
  Cell cell(unsigned thread, const Access& access) const;
  void access(const Target& target, const Cell& me);
  void read(const Target& target, const Cell& me);
  void update(const Target& target, const Cell& me);  // atomic
  void write(const Target& target, const Cell& me, bool defined = true);
  template <class F>
  void for_reads(const Target& target, F f);
  void remember(const Target& target, const Cell& me);
  void compare(const Cell& first, const Target& target, const Cell& me);
  bool finished(const Cell& async, unsigned thread) const;
  bool ordered(const Cell& first, const Cell& me) const;
  bool ordered_in_block(const Cell& first, unsigned second) const;
  bool visible_to_product(const Cell& first, const Cell& me) const;
  bool ordered_by_fence(const Cell& first, BlockOrder::Time time, const Cell& me) const;
  void found(Problem problem, const Cell* first, const Target& target, const Cell& me);
  Finding describe(Problem problem, const Cell* first, const Target& target, const Cell& me);
  CheckedAccess describe(const Cell& cell) const;
  const void* place_of(const Cell& cell);
  std::vector<Run> read_range(uintptr_t begin, size_t bytes, const Cell& me);
  void write_range(uintptr_t begin, size_t bytes, bool defined, const Cell& me);

  OperationOrder& order_;
  std::mutex mutex_;  // held while a block runs
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

  // The running block.
  Launch* launch_ = nullptr;
  uint32_t block_ = 0;
  bool in_kernel_ = false;
  BlockOrder threads_;
  std::unordered_map<unsigned, std::vector<Accumulators>> accumulators_;  // by thread: of unfinished products
  uintptr_t shared_begin_ = 0;
  std::vector<std::unique_ptr<Page>> shared_pages_;
  std::unordered_map<uintptr_t, uint64_t> passed_in_shared_;  // Launch::passed, by offset in shared memory
};

}  // namespace simt

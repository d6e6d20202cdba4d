// The race detector: clocks of threads, and the last accesses of each piece of memory.
// Above 400 lines because each kind of ordering changes the same clocks.
#include "race_check.h"

#include <simt/shared.h>

#include <algorithm>

#include "../base/text.h"
#include "../device/report.h"
#include "source_lines.h"

namespace simt {
namespace {

static_assert(static_cast<int>(AccessKind::product_load) < 8);  // Cell::kind has 3 bits

// A cell has room for half of an address: the distance of the instruction from this code, which is in
// the same program. 0: too far away.
const auto anchor = reinterpret_cast<intptr_t>(&start_check);

uint32_t packed(const void* place) {
  const intptr_t distance = reinterpret_cast<intptr_t>(place) - anchor;
  return distance == static_cast<int32_t>(distance) ? static_cast<uint32_t>(distance) : 0;
}
const void* unpacked(uint32_t place) {
  return place == 0 ? nullptr : reinterpret_cast<const void*>(anchor + static_cast<int32_t>(place));
}

bool is_read(AccessKind kind) {
  return kind == AccessKind::load || kind == AccessKind::async_copy_load ||
         kind == AccessKind::bulk_copy_load || kind == AccessKind::product_load;
}

// Whether f(thread) holds for the first lane of each warp of the warpgroup that begins with thread `leader`.
template <class F>
bool in_each_warp(unsigned leader, F f) {
  for (unsigned thread = leader; thread < leader + 128; thread += 32)
    if (!f(thread)) return false;
  return true;
}

unsigned size_of(const dim3& size) { return size.x * size.y * size.z; }

uint3 coordinates(uint64_t number, dim3 size) {
  return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
          static_cast<unsigned>(number / size.x / size.y)};
}

// Block `rank` of a cluster that begins with block `cluster`.
uint3 block_of(uint32_t cluster, unsigned rank, const OperationOrder::Description& operation) {
  const uint3 first = coordinates(cluster, operation.grid), place = coordinates(rank, operation.cluster);
  return {first.x + place.x, first.y + place.y, first.z + place.z};
}

std::string text(StreamName stream) {
  if (stream.number == 0) return "the default stream of device " + std::to_string(stream.device);
  return "stream " + std::to_string(stream.number) + " of device " + std::to_string(stream.device);
}

}  // namespace

RaceCheck::RaceCheck(OperationOrder& order, const Memory& memory, bool print)
    : order_(order), global_(memory), findings_(print) {}

void RaceCheck::begin_operation(const IssuedOperation& operation) {
  operation_ = &operation;
  asked_ = 0;
}

bool RaceCheck::begin_block(const Kernel& kernel, uint64_t number, unsigned rank) {
  if (rank == 0) begin_cluster(kernel, number);
  select_block(rank);
  shared_.add(reinterpret_cast<uintptr_t>(detail::shared_begin));
  ++running_;
  return true;
}

void RaceCheck::begin_cluster(const Kernel& kernel, uint64_t number) {
  mutex_.lock();
  if (detail::running_operation) {
    begin_operation(*detail::running_operation);
  } else {
    alone_ = order_.issue_alone(kernel);
    begin_operation(*alone_);
  }
  in_kernel_ = true;
  cluster_ = static_cast<uint32_t>(number);
  const unsigned blocks = size_of(kernel.together());
  const auto [launch, fresh] = launches_.try_emplace(operation_->number);
  if (fresh) {
    launch->second.clusters_left =
        alone_ ? 1 : uint64_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z / blocks;
    shared_.forget();
  }
  launch_ = &launch->second;
  block_threads_ = size_of(kernel.block);
  alive_ = blocks * block_threads_;
  shared_.start(detail::shared_bytes);  // with the room for variables
  passed_in_shared_.clear();
  threads_.start(blocks, block_threads_);
  remote_.clear();
  accumulators_.clear();
  detail::local_accesses_are_observed = false;
}

void RaceCheck::end_block() {
  if (--running_ == 0) end_cluster();
}

void RaceCheck::end_cluster() {
  // After a fault threads are left that would have waited.
  for (const auto& [key, last] : remote_)
    if (alive_ == 0 && !ends_before(last, key[0])) found(Problem::ended_block, last.location, last.cell);
  findings_.publish_unwritten(AccessSpace::shared);
  if (--launch_->clusters_left == 0) {
    findings_.publish_unwritten(AccessSpace::global);
    launches_.erase(operation_->number);
  }
  in_kernel_ = false;
  alone_ = nullptr;
  mutex_.unlock();
}

void RaceCheck::fence(unsigned thread, bool for_all_blocks) {
  thread = in_cluster(thread);
  launch_->fences.add(++fences_, cluster_, thread, threads_, for_all_blocks);
  threads_.fence(thread, fences_);
}

Cell RaceCheck::cell(unsigned thread, const Access& access) const {
  const ThreadOrder::Time now = threads_.now(thread);
  Cell current;
  current.operation = operation_->number;
  current.cluster = cluster_;
  current.barrier = now.barrier;
  current.step = now.step;
  current.place = packed(access.place);
  current.thread = static_cast<uint16_t>(thread);
  current.bytes = static_cast<uint8_t>(access.bytes);
  current.kind = static_cast<uint8_t>(access.kind);
  if (access.atomic) current.flags = Cell::kAtomic;
  return current;
}

void RaceCheck::access(unsigned thread, const Access& access) {
  thread = in_cluster(thread);
  if (access.atomic && launch_->fences.any()) {
    uint64_t& passed =
        (access.space == AccessSpace::shared ? passed_in_shared_ : launch_->passed)[access.address];
    passed =
        threads_.atomic(thread, passed, access.kind != AccessKind::store, access.kind != AccessKind::load);
  }
  Cell current = cell(thread, access);
  if (access.space == AccessSpace::global) {
    visit_global(access.address, access.bytes, [&](const Target& target) { this->access(target, current); });
    return;
  }
  if (access.kind == AccessKind::async_copy_store) {
    current.flags = Cell::kAsync;
    current.barrier = threads_.copies(thread).open();
  }
  access_shared(access, current);
}

void RaceCheck::mbarrier_access(unsigned thread, const Access& access) {
  access_shared(access, cell(in_cluster(thread), access), reinterpret_cast<const void*>(access.address));
}

void RaceCheck::mbarrier_arrives(unsigned thread, const void* mbarrier, bool relaxed) {
  if (relaxed)
    threads_.arrive_relaxed(mbarrier, in_cluster(thread));
  else
    threads_.arrive(mbarrier, in_cluster(thread));
}

// Only threads of the mbarrier's own block wait for it; the selected block may be the one that completes it.
void RaceCheck::mbarrier_waited(unsigned thread, const void* mbarrier) {
  const unsigned rank = shared_.rank_of(reinterpret_cast<uintptr_t>(mbarrier));
  threads_.waited(mbarrier, rank * ThreadOrder::kBlock + thread);
}

void RaceCheck::bulk_access(unsigned, const Access& access, const BulkCopy& copy) {
  Cell current = cell(in_cluster(copy.thread), access);
  if (access.space == AccessSpace::global) {
    current.kind = static_cast<uint8_t>(AccessKind::bulk_copy_load);
    visit_global(access.address, copy.bytes, [&](const Target& target) { this->access(target, current); });
    return;
  }
  current.kind = static_cast<uint8_t>(AccessKind::bulk_copy_store);
  if (!threads_.mbarriers().has(copy.mbarrier)) return;  // not initialized: a fault follows
  current.flags = Cell::kAsync;
  current.barrier = threads_.mbarriers().index_of(copy.mbarrier);
  current.step = threads_.mbarriers().phase(current.barrier);
  access_shared(access, current, copy.mbarrier);
}

void RaceCheck::product_reads(unsigned leader, const Access& access) {
  leader = in_cluster(leader);
  Cell current = cell(leader, access);
  current.flags = Cell::kAsync;
  current.barrier = threads_.products(leader).open();
  access_shared(access, current);
}

// `mbarrier`: which the access updates, or completes on.
void RaceCheck::access_shared(const Access& access, const Cell& current, const void* mbarrier) {
  const unsigned rank = shared_.rank_of(access.address);
  if (rank != ThreadOrder::rank_of(current.thread)) reach(rank, access.address, current, mbarrier);
  visit_shared(rank, access.address, access.bytes,
               [&](const Target& target) { this->access(target, current); });
}

// An access to the shared memory of another block: the block must have started, and must not end before.
void RaceCheck::reach(unsigned rank, uintptr_t address, const Cell& current, const void* mbarrier) {
  const MbarrierOrder& mbarriers = threads_.mbarriers();
  Remote access{current, {AccessSpace::shared, address}, 0, 0};
  if (mbarrier && mbarriers.has(mbarrier)) {
    access.mbarrier = mbarriers.index_of(mbarrier);
    access.phase = mbarriers.phase(access.mbarrier);
  }
  const uint32_t thread = current.flags & Cell::kAsync ? ~0u : current.thread;
  const RemoteKey key = {rank, thread, access.phase == 0 ? ~0u : access.mbarrier};
  const bool fresh = remote_.insert_or_assign(key, access).second;
  if ((fresh || access.phase != 0) && !threads_.knows_start(current.thread, rank))
    found(Problem::unstarted_block, access.location, current);
}

// Whether some thread of the block knows of the access when it exits, so that the block does not end before.
bool RaceCheck::ends_before(const Remote& access, unsigned rank) const {
  for (unsigned thread = rank * ThreadOrder::kBlock; thread < rank * ThreadOrder::kBlock + block_threads_;
       ++thread) {
    const Cell& cell = access.cell;
    const ThreadOrder::Time time = {cell.barrier, cell.step};
    if (!(cell.flags & Cell::kAsync) &&
        (threads_.ordered(cell.thread, time, thread) ||
         launch_->fences.ordered(cluster_, cell.thread, time, threads_.last_fence(thread),
                                 ThreadOrder::rank_of(cell.thread) == rank)))
      return true;
    if (access.phase != 0 && threads_.mbarriers().knows_phase(thread, access.mbarrier, access.phase))
      return true;
  }
  return false;
}

void RaceCheck::product_updates(unsigned thread, const Access& access, size_t bytes) {
  thread = in_cluster(thread);
  Cell product = cell(thread, access);  // its kind has no room for product_update
  product.barrier = threads_.products(thread).open();
  accumulators_[thread].push_back({product, access.address, bytes});
  detail::local_accesses_are_observed = true;
}

void RaceCheck::local_access(unsigned thread, const Access& access) {
  thread = in_cluster(thread);
  const auto own = accumulators_.find(thread);
  if (own == accumulators_.end()) return;
  for (const Accumulators& a : own->second) {
    if (access.address + access.bytes <= a.begin || a.begin + a.bytes <= access.address) continue;
    const Cell current = cell(thread, access);
    const Findings::Key key = {Problem::unfinished_copy, AccessSpace::registers, place_of(a.product),
                               place_of(current)};
    return findings_.add(key, [&] {
      Finding finding;
      finding.problem = key.problem;
      finding.space = key.space;
      finding.offset = (std::max(access.address, a.begin) - a.begin) / sizeof(float);
      finding.earlier = describe(a.product);
      finding.earlier->kind = AccessKind::product_update;
      finding.access = describe(current);
      finding.text =
          simt::text(finding, "accumulator register " + std::to_string(finding.offset), Relation::same_warp);
      return finding;
    });
  }
}

void RaceCheck::product_wait(unsigned thread, int groups) {
  thread = in_cluster(thread);
  threads_.products(thread).wait(groups, threads_.now(thread));
  const auto own = accumulators_.find(thread);
  if (own == accumulators_.end()) return;
  std::erase_if(own->second,
                [&](const Accumulators& a) { return threads_.products(thread).finished(a.product.barrier); });
  if (!own->second.empty()) return;
  accumulators_.erase(own);
  detail::local_accesses_are_observed = !accumulators_.empty();
}

template <class F>
bool RaceCheck::visit_global(uintptr_t begin, size_t bytes, F f) {
  uintptr_t at = begin;
  return global_.visit(begin, bytes, [&](Page& page, uint32_t offset, uint32_t piece) {
    page.visit(offset, piece, [&](Unit& unit, uint32_t index, uint32_t from) {
      f(Target{{AccessSpace::global, at + from - offset}, page, index, unit});
    });
    at += piece;
  });
}

template <class F>
void RaceCheck::visit_shared(unsigned rank, uintptr_t begin, size_t bytes, F f) {
  uintptr_t at = begin;
  shared_.visit(rank, begin, bytes, [&](Page& page, uint32_t offset, uint32_t piece) {
    page.visit(offset, piece, [&](Unit& unit, uint32_t index, uint32_t from) {
      if (unit.write.operation != operation_->number || unit.write.cluster != cluster_) {
        unit = {};  // it was of an earlier cluster
        unit.write.operation = operation_->number;
        unit.write.cluster = cluster_;
      }
      f(Target{{AccessSpace::shared, at + from - offset}, page, index, unit});
    });
    at += piece;
  });
}

void RaceCheck::allow_unwritten(uintptr_t begin, size_t bytes) {
  const auto define = [](const Target& target) { target.unit.write.flags |= Cell::kDefined; };
  if (has_shared_memory(begin))
    visit_shared(shared_.rank_of(begin), begin, bytes, define);
  else
    visit_global(begin, bytes, define);
}

// Whether the memory still has the value of fresh memory. Otherwise something has written it that is not
// observed, such as memcpy() in a kernel.
bool RaceCheck::is_poison(const Target& target) const {
  const auto* byte = reinterpret_cast<const unsigned char*>(target.address);
  const uint32_t bytes = target.page.unit_bytes(target.index);
  return std::all_of(byte, byte + bytes, [](unsigned char value) { return value == 0xFF; });
}

void RaceCheck::access(const Target& target, const Cell& current) {
  const auto kind = static_cast<AccessKind>(current.kind);
  const bool defined = (target.unit.write.flags & Cell::kDefined) != 0;
  const bool reads = is_read(kind) || kind == AccessKind::atomic;
  if (reads && !defined && is_poison(target)) found(Problem::unwritten_read, nullptr, target, current);
  if (current.flags & Cell::kAtomic)
    update(target, current);
  else if (reads)
    read(target, current);
  else
    write(target, current);
}

void RaceCheck::read(const Target& target, const Cell& current) {
  if (target.unit.write.flags & Cell::kWriter) compare(target.unit.write, target, current);
  for_reads(target, [&](const Cell& read) {
    if (read.flags & Cell::kAtomic) compare(read, target, current);
  });
  remember(target, current);
}

void RaceCheck::update(const Target& target, const Cell& current) {
  if (target.unit.write.flags & Cell::kWriter) compare(target.unit.write, target, current);
  for_reads(target, [&](const Cell& read) { compare(read, target, current); });
  remember(target, current);
  if (static_cast<AccessKind>(current.kind) != AccessKind::load) target.unit.write.flags |= Cell::kDefined;
}

void RaceCheck::write(const Target& target, const Cell& current, bool defined) {
  Unit& unit = target.unit;
  bool after_read = false;  // and so after the write before it, which the read was compared with
  for_reads(target, [&](const Cell& read) { after_read |= compare(read, target, current); });
  if (unit.write.flags & Cell::kWriter && !after_read) compare(unit.write, target, current);
  for (Cell& read : unit.reads) read.operation = 0;
  unit.write = current;
  unit.write.flags = current.flags | Cell::kWriter;
  if (defined) unit.write.flags |= Cell::kDefined;
}

template <class F>
void RaceCheck::for_reads(const Target& target, F f) {
  for (const Cell& read : target.unit.reads)
    if (read.operation != 0) f(read);
  if (target.unit.write.flags & Cell::kMoreReads)
    for (const Cell& read : target.page.more_reads[target.index]) f(read);
}

// Keeps a read, or an atomic, for later writes. It replaces a read that happens before it. Of reads of one
// operation that nothing orders two are enough, the first and the newest, because a barrier orders all
// threads of a block. An mbarrier or the barrier of a cluster orders those that arrive, so with them all
// reads are kept. An atomic replaces any other one, because atomics on one address have an order; so the
// thread of the newest may access the address plainly, as the last block does that resets the counter of
// blocks.
void RaceCheck::remember(const Target& target, const Cell& current) {
  const int atomic = current.flags & Cell::kAtomic;
  // Where the order of two threads does not follow from barriers alone, each read needs its own comparison.
  const bool two_are_enough = !(target.space == AccessSpace::shared && threads_.mbarriers().any()) &&
                              !(in_kernel_ && (shared_.blocks() > 1 || launch_->fences.any()));
  const auto plain = [](const Cell& read) { return !(read.flags & Cell::kAtomic); };
  const auto replaced = [&](const Cell& read) {
    if (read.operation == 0) return true;
    if ((read.flags & Cell::kAtomic) != atomic) return false;
    const bool same_warpgroup = read.kind == static_cast<uint8_t>(AccessKind::product_load) &&
                                read.kind == current.kind &&
                                read.thread == current.thread;  // ends before `current`
    return atomic || same_warpgroup || ordered(read, current);
  };
  auto& [first, second] = target.unit.reads;
  const bool replaces_first = replaced(first), replaces_second = replaced(second);
  std::vector<Cell>* more = nullptr;
  if (target.unit.write.flags & Cell::kMoreReads) {
    more = &target.page.more_reads[target.index];
    std::erase_if(*more, replaced);
  }
  if (replaces_first) {
    first = current;
    if (replaces_second) second.operation = 0;
  } else if (replaces_second || (two_are_enough && !atomic && plain(second) &&
                                 (second.operation == current.operation ||
                                  (plain(first) && second.operation == first.operation)))) {
    second = current;
  } else if (two_are_enough && !atomic && plain(first) && first.operation == current.operation) {
    first = current;
  } else {
    if (!more) {
      more = &target.page.more_reads[target.index];
      more->clear();
      target.unit.write.flags |= Cell::kMoreReads;
    }
    if (two_are_enough)
      std::erase_if(*more, [&](const Cell& read) {
        return plain(read) && !atomic && read.operation == current.operation;
      });
    more->push_back(current);
  }
}

// `first` and `current` access the same memory, and one of them writes. Returns whether they are ordered.
bool RaceCheck::compare(const Cell& first, const Target& target, const Cell& current) {
  if (!(first.flags & Cell::kAsync) && first.flags & current.flags & Cell::kAtomic) return false;
  const bool running = first.flags & Cell::kAsync && !finished(first, current.thread);
  if (running || !ordered(first, current)) {
    found(running ? Problem::unfinished_copy : Problem::race, &first, target, current);
    return false;
  }
  if (static_cast<AccessKind>(current.kind) == AccessKind::product_load &&
      !visible_to_product(first, current))
    found(Problem::missing_proxy_fence, &first, target, current);
  return true;
}

// Whether a fence.proxy.async is between a write and the product that reads it. Bulk copies need none.
bool RaceCheck::visible_to_product(const Cell& first, const Cell& current) const {
  const auto kind = static_cast<AccessKind>(first.kind);
  if (is_read(kind) || kind == AccessKind::bulk_copy_store) return true;  // atomic loads are compared, too
  ThreadOrder::Time time = {first.barrier, first.step};
  if (kind == AccessKind::async_copy_store) time = threads_.copies(first.thread).time_of_wait(first.barrier);
  return in_each_warp(current.thread, [&](unsigned thread) {
    return threads_.proxy_fence_between(first.thread, time, thread);
  });
}

bool RaceCheck::ordered(const Cell& first, const Cell& current) const {
  if (first.operation != current.operation) {
    if (first.operation != asked_) {
      asked_ = first.operation;
      answer_ = order_.happens_before(first.operation, operation_->before);
    }
    return answer_;
  }
  if (!in_kernel_) return true;
  ThreadOrder::Time time = {first.barrier, first.step};
  if (first.cluster != current.cluster) return ordered_by_fence(first, time, current);
  const bool copied = static_cast<AccessKind>(first.kind) == AccessKind::async_copy_store;
  if (copied) {
    if (!finished(first, current.thread)) return false;
    time = threads_.copies(first.thread).time_of_wait(first.barrier);
  }
  if ((copied || !(first.flags & Cell::kAsync)) && ordered_by_fence(first, time, current)) return true;
  if (static_cast<AccessKind>(current.kind) != AccessKind::product_load)
    return ordered_in_cluster(first, current.thread);
  return in_each_warp(current.thread, [&](unsigned thread) { return ordered_in_cluster(first, thread); });
}

// Whether an asynchronous access has finished. An unfinished one is reported as such; a finished one is then
// tested for order. For a product only threads of its own warpgroup can wait, so for all others it counts as
// finished.
bool RaceCheck::finished(const Cell& async, unsigned thread) const {
  switch (static_cast<AccessKind>(async.kind)) {
    case AccessKind::product_load:
      return thread / 128 != async.thread / 128u || threads_.product_finished(thread / 32, async.barrier);
    case AccessKind::bulk_copy_store:
      return threads_.mbarriers().has_completed(async.barrier, async.step);
    default:
      return threads_.copies(async.thread).finished(async.barrier);
  }
}

// Whether `first`, of the running cluster, happens before what `second` does now; an asynchronous one that
// has not finished does not.
bool RaceCheck::ordered_in_cluster(const Cell& first, unsigned second) const {
  if (!(first.flags & Cell::kAsync))
    return threads_.ordered(first.thread, {first.barrier, first.step}, second);
  switch (static_cast<AccessKind>(first.kind)) {
    case AccessKind::product_load:
      return threads_.product_ordered(first.thread, first.barrier, second);
    case AccessKind::bulk_copy_store:
      return threads_.mbarriers().knows_phase(second, first.barrier, first.step);
    default:
      return finished(first, second) &&
             threads_.ordered(first.thread, threads_.copies(first.thread).time_of_wait(first.barrier),
                              second);
  }
}

bool RaceCheck::ordered_by_fence(const Cell& first, ThreadOrder::Time time, const Cell& current) const {
  if (!launch_->fences.any()) return false;
  const bool same_block = first.cluster == current.cluster &&
                          ThreadOrder::rank_of(first.thread) == ThreadOrder::rank_of(current.thread);
  return launch_->fences.ordered(first.cluster, first.thread, time, threads_.last_fence(current.thread),
                                 same_block);
}

void RaceCheck::transfer(const Transfer& transfer) {
  if (!detail::running_operation) return;
  std::lock_guard lock(mutex_);
  begin_operation(*detail::running_operation);
  Cell current;
  current.operation = operation_->number;
  for (size_t row = 0; row < transfer.rows(); ++row) {
    uintptr_t to = reinterpret_cast<uintptr_t>(transfer.to_row(row));
    std::vector<Run> runs = {{transfer.width, true}};
    if (transfer.from) {
      current.kind = static_cast<uint8_t>(AccessKind::load);
      runs = read_range(reinterpret_cast<uintptr_t>(transfer.from_row(row)), transfer.width, current);
    }
    current.kind = static_cast<uint8_t>(AccessKind::store);
    for (const Run& run : runs) {
      write_range(to, run.bytes, run.defined, current);
      to += run.bytes;
    }
  }
}

// Memory that is not of a device, nor pinned, counts as defined.
std::vector<RaceCheck::Run> RaceCheck::read_range(uintptr_t begin, size_t bytes, const Cell& current) {
  std::vector<Run> runs;
  const bool known = visit_global(begin, bytes, [&](const Target& target) {
    const bool defined = (target.unit.write.flags & Cell::kDefined) != 0;
    if (runs.empty() || runs.back().defined != defined) runs.push_back({0, defined});
    runs.back().bytes += target.page.unit_bytes(target.index);
    read(target, current);
  });
  if (!known) runs = {{bytes, true}};
  return runs;
}

void RaceCheck::write_range(uintptr_t begin, size_t bytes, bool defined, const Cell& current) {
  visit_global(begin, bytes, [&](const Target& target) { write(target, current, defined); });
}

void RaceCheck::allocated(uintptr_t begin, size_t bytes, int device) {
  std::lock_guard lock(mutex_);
  global_.allocated(begin, bytes, device);
}

void RaceCheck::freed(uintptr_t begin) {
  std::lock_guard lock(mutex_);
  global_.freed(begin);
}

CheckedAccess RaceCheck::describe(const Cell& cell) const {
  const OperationOrder::Description operation = order_.description(cell.operation);
  CheckedAccess access;
  access.kind = static_cast<AccessKind>(cell.kind);
  access.atomic = (cell.flags & Cell::kAtomic) != 0;
  access.bytes = cell.bytes;
  access.operation = *operation.name;
  access.stream = text(operation.stream);
  access.in_kernel = operation.is_kernel;
  if (!operation.is_kernel) return access;
  access.block = block_of(cell.cluster, ThreadOrder::rank_of(cell.thread), operation);
  access.thread = coordinates(cell.thread % ThreadOrder::kBlock, operation.block);
  if (cell.place != 0) access.inlined = source_lines(unpacked(cell.place));
  return access;
}

const void* RaceCheck::place_of(const Cell& cell) {
  if (cell.place == 0) return order_.description(cell.operation).name;
  return same_lines_.first_place(unpacked(cell.place));
}

void RaceCheck::found(Problem problem, const Cell* first, const Target& target, const Cell& current) {
  if (problem == Problem::race && !(target.unit.write.flags & Cell::kDefined))
    findings_.comes_too_early(target.space, place_of(*first));
  Findings::Key key = {problem, target.space, first ? place_of(*first) : nullptr, place_of(current)};
  if (first && key.second < key.first) std::swap(key.first, key.second);
  findings_.add(key, [&] { return describe(problem, first, target, current); });
}

void RaceCheck::found(Problem problem, const Location& location, const Cell& current) {
  findings_.add({problem, location.space, nullptr, place_of(current)},
                [&] { return describe(problem, nullptr, location, current); });
}

Finding RaceCheck::describe(Problem problem, const Cell* first, const Location& location,
                            const Cell& current) {
  Finding finding;
  finding.problem = problem;
  finding.space = location.space;
  finding.access = describe(current);
  TextStream memory;
  if (location.space == AccessSpace::shared) {
    const unsigned rank = shared_.rank_of(location.address);
    finding.offset = shared_.offset_of(location.address, rank);
    memory << "byte " << finding.offset << " of ";
    if (shared_.blocks() == 1)
      memory << "shared memory";
    else
      memory << "the shared memory of block "
             << simt::text(block_of(current.cluster, rank, order_.description(current.operation)));
  } else {
    const GlobalShadow::Allocation& allocation = *global_.find(location.address);
    finding.offset = location.address - allocation.begin;
    memory << "byte " << finding.offset << " of the " << allocation.bytes << " of an allocation of ";
    if (allocation.device == Memory::kHost)
      memory << "pinned host memory";
    else
      memory << "device " << allocation.device;
  }
  Relation relation = Relation::other_operation;
  if (first) {
    finding.earlier = describe(*first);
    if (first->operation == current.operation)
      relation = first->cluster != current.cluster           ? Relation::other_block
                 : first->thread / 32 == current.thread / 32 ? Relation::same_warp
                 : ThreadOrder::rank_of(first->thread) == ThreadOrder::rank_of(current.thread)
                     ? Relation::same_block
                     : Relation::same_cluster;
  }
  finding.text = simt::text(finding, memory.str(), relation);
  return finding;
}

std::vector<Finding> RaceCheck::findings() {
  std::lock_guard lock(mutex_);
  findings_.publish_unwritten(AccessSpace::shared);
  findings_.publish_unwritten(AccessSpace::global);
  return findings_.all();
}

}  // namespace simt

// The check: clocks of threads, and the last accesses of each piece of memory.
// Above 400 lines because each kind of ordering changes the same clocks.
#include "race_check.h"

#include <simt/shared.h>

#include <algorithm>
#include <sstream>

#include "source_lines.h"

namespace simt {
namespace {

static_assert(static_cast<int>(AccessKind::product_load) < 8);  // Cell::kind has 3 bits

// A cell has room for half of an address: the distance of the instruction from the check itself, which is in
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

uint3 coordinates(uint64_t number, dim3 size) {
  return {static_cast<unsigned>(number % size.x), static_cast<unsigned>(number / size.x % size.y),
          static_cast<unsigned>(number / size.x / size.y)};
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

BlockUse RaceCheck::begin_block(const Kernel& kernel, uint64_t number) {
  const bool in_cluster = kernel.cluster.x * kernel.cluster.y * kernel.cluster.z > 1;
  if (in_cluster) return BlockUse::run;  // the clocks do not know the barrier of the cluster
  mutex_.lock();
  if (detail::running_operation) {
    begin_operation(*detail::running_operation);
  } else {
    alone_ = order_.issue_alone(kernel.name, kernel.grid, kernel.block);
    begin_operation(*alone_);
  }
  in_kernel_ = true;
  block_ = static_cast<uint32_t>(number);
  const auto [launch, fresh] = launches_.try_emplace(operation_->number);
  if (fresh) {
    launch->second.blocks_left = alone_ ? 1 : uint64_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z;
    shared_pages_.clear();
  }
  launch_ = &launch->second;
  shared_begin_ = reinterpret_cast<uintptr_t>(detail::shared_begin);
  shared_pages_.resize((kernel.shared_bytes + Page::kBytes - 1) / Page::kBytes);
  passed_in_shared_.clear();
  threads_.start(kernel.block.x * kernel.block.y * kernel.block.z);
  accumulators_.clear();
  detail::local_accesses_are_observed = false;
  return BlockUse::observe;
}

void RaceCheck::end_block() {
  findings_.publish_unwritten(AccessSpace::shared);
  if (--launch_->blocks_left == 0) {
    findings_.publish_unwritten(AccessSpace::global);
    launches_.erase(operation_->number);
  }
  in_kernel_ = false;
  alone_ = nullptr;
  mutex_.unlock();
}

void RaceCheck::fence(unsigned thread, bool for_all_blocks) {
  launch_->fences.add(++fences_, block_, thread, threads_.now(thread), threads_.known(thread),
                      for_all_blocks);
  threads_.fence(thread, fences_);
}

Cell RaceCheck::cell(unsigned thread, const Access& access) const {
  const BlockOrder::Time now = threads_.now(thread);
  Cell current;
  current.operation = operation_->number;
  current.block = block_;
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
  if (access.atomic && launch_->fences.any()) {
    const bool shared = access.space == AccessSpace::shared;
    uint64_t& passed =
        shared ? passed_in_shared_[access.address - shared_begin_] : launch_->passed[access.address];
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
  visit_shared(access.address - shared_begin_, access.bytes,
               [&](const Target& target) { this->access(target, current); });
}

void RaceCheck::bulk_access(unsigned, const Access& access, const BulkCopy& copy) {
  Cell current = cell(copy.thread, access);
  if (access.space == AccessSpace::global) {
    current.kind = static_cast<uint8_t>(AccessKind::bulk_copy_load);
    visit_global(access.address, copy.bytes, [&](const Target& target) { this->access(target, current); });
    return;
  }
  current.kind = static_cast<uint8_t>(AccessKind::bulk_copy_store);
  if (!threads_.mbarriers().has(copy.mbarrier)) return;  // not initialized: a fault follows
  current.flags = Cell::kAsync;
  current.barrier = threads_.mbarriers().index_of(copy.mbarrier);
  current.step = threads_.mbarriers().phase_of_copy(current.barrier);
  visit_shared(access.address - shared_begin_, access.bytes,
               [&](const Target& target) { this->access(target, current); });
}

void RaceCheck::product_reads(unsigned leader, const Access& access) {
  Cell current = cell(leader, access);
  current.flags = Cell::kAsync;
  current.barrier = threads_.products(leader).open();
  visit_shared(access.address - shared_begin_, access.bytes,
               [&](const Target& target) { this->access(target, current); });
}

void RaceCheck::product_updates(unsigned thread, const Access& access, size_t bytes) {
  Cell product = cell(thread, access);  // its kind has no room for product_update
  product.barrier = threads_.products(thread).open();
  accumulators_[thread].push_back({product, access.address, bytes});
  detail::local_accesses_are_observed = true;
}

void RaceCheck::local_access(unsigned thread, const Access& access) {
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
      f(Target{page, index, unit, AccessSpace::global, at + from - offset});
    });
    at += piece;
  });
}

// Pages are whole, also the last one: blocks of other launches, with more shared memory, may come in between.
template <class F>
void RaceCheck::visit_shared(size_t begin, size_t bytes, F f) {
  for (size_t at = begin, end = std::min(begin + bytes, detail::shared_bytes); at < end;) {
    const uint32_t offset = static_cast<uint32_t>(at % Page::kBytes);
    const size_t page_begin = at - offset;
    std::unique_ptr<Page>& page = shared_pages_[at / Page::kBytes];
    if (!page) page = std::make_unique<Page>(Page::kBytes, /*defined=*/false);
    const uint32_t piece = static_cast<uint32_t>(std::min<size_t>(end - at, Page::kBytes - offset));
    page->visit(offset, piece, [&](Unit& unit, uint32_t index, uint32_t from) {
      if (unit.write.operation != operation_->number || unit.write.block != block_) {  // of an earlier block
        unit = {};
        unit.write.operation = operation_->number;
        unit.write.block = block_;
      }
      f(Target{*page, index, unit, AccessSpace::shared, page_begin + from});
    });
    at += piece;
  }
}

void RaceCheck::allow_unwritten(uintptr_t begin, size_t bytes) {
  const auto define = [](const Target& target) { target.unit.write.flags |= Cell::kDefined; };
  if (begin - shared_begin_ < detail::shared_bytes)
    visit_shared(begin - shared_begin_, bytes, define);
  else
    visit_global(begin, bytes, define);
}

// Whether the memory still has the value of fresh memory. Otherwise something has written it that is not
// observed, such as memcpy() in a kernel.
bool RaceCheck::is_poison(const Target& target) const {
  const auto* byte = reinterpret_cast<const unsigned char*>(
      target.space == AccessSpace::shared ? shared_begin_ + target.address : target.address);
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
  if (unit.write.flags & Cell::kWriter) compare(unit.write, target, current);
  for_reads(target, [&](const Cell& read) { compare(read, target, current); });
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
// threads of a block. An mbarrier orders those that arrive, so in a block with mbarriers all reads are kept.
// An atomic replaces any other one, because atomics on one address have an order; so the thread of the newest
// may access the address plainly, as the last block does that resets the counter of blocks.
void RaceCheck::remember(const Target& target, const Cell& current) {
  const int atomic = current.flags & Cell::kAtomic;
  // Where the order of two threads does not follow from barriers alone, each read needs its own comparison.
  const bool two_are_enough = !(target.space == AccessSpace::shared && threads_.mbarriers().any()) &&
                              !(in_kernel_ && launch_->fences.any());
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

// `first` and `current` access the same memory, and one of them writes.
void RaceCheck::compare(const Cell& first, const Target& target, const Cell& current) {
  if (first.flags & Cell::kAsync) {
    if (!finished(first, current.thread)) return found(Problem::unfinished_copy, &first, target, current);
  } else if (first.flags & current.flags & Cell::kAtomic) {
    return;
  }
  if (!ordered(first, current)) return found(Problem::race, &first, target, current);
  if (static_cast<AccessKind>(current.kind) == AccessKind::product_load &&
      !visible_to_product(first, current))
    found(Problem::missing_proxy_fence, &first, target, current);
}

// Whether a fence.proxy.async is between a write and the product that reads it. Bulk copies need none.
bool RaceCheck::visible_to_product(const Cell& first, const Cell& current) const {
  const auto kind = static_cast<AccessKind>(first.kind);
  if (is_read(kind) || kind == AccessKind::bulk_copy_store) return true;  // atomic loads are compared, too
  BlockOrder::Time time = {first.barrier, first.step};
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
  BlockOrder::Time time = {first.barrier, first.step};
  if (first.block != current.block) return ordered_by_fence(first, time, current);
  const bool copied = static_cast<AccessKind>(first.kind) == AccessKind::async_copy_store;
  if (copied) {
    if (!finished(first, current.thread)) return false;
    time = threads_.copies(first.thread).time_of_wait(first.barrier);
  }
  if ((copied || !(first.flags & Cell::kAsync)) && ordered_by_fence(first, time, current)) return true;
  if (static_cast<AccessKind>(current.kind) != AccessKind::product_load)
    return ordered_in_block(first, current.thread);
  return in_each_warp(current.thread, [&](unsigned thread) { return ordered_in_block(first, thread); });
}

// Whether an asynchronous access has finished. An unfinished one is reported as such; a finished one is then
// tested for order. For a product only threads of its own warpgroup can wait, so for all others it counts as
// finished.
bool RaceCheck::finished(const Cell& async, unsigned thread) const {
  switch (static_cast<AccessKind>(async.kind)) {
    case AccessKind::product_load:
      return thread / 128 != async.thread / 128u || threads_.product_finished(thread / 32, async.barrier);
    case AccessKind::bulk_copy_store:
      return threads_.mbarriers().copy_finished(async.barrier, async.step);
    default:
      return threads_.copies(async.thread).finished(async.barrier);
  }
}

// Whether `first`, of the running block, happens before what `second` does now; an asynchronous one that has
// not finished does not.
bool RaceCheck::ordered_in_block(const Cell& first, unsigned second) const {
  if (!(first.flags & Cell::kAsync))
    return threads_.ordered(first.thread, {first.barrier, first.step}, second);
  switch (static_cast<AccessKind>(first.kind)) {
    case AccessKind::product_load:
      return threads_.product_ordered(first.thread, first.barrier, second);
    case AccessKind::bulk_copy_store:
      return threads_.mbarriers().knows_copy(second, first.barrier, first.step);
    default:
      return finished(first, second) &&
             threads_.ordered(first.thread, threads_.copies(first.thread).time_of_wait(first.barrier),
                              second);
  }
}

bool RaceCheck::ordered_by_fence(const Cell& first, BlockOrder::Time time, const Cell& current) const {
  return launch_->fences.any() &&
         launch_->fences.ordered(first.block, first.thread, time, threads_.last_fence(current.thread),
                                 first.block == current.block);
}

void RaceCheck::transfer(const Transfer& transfer) {
  if (!detail::running_operation) return;
  std::lock_guard lock(mutex_);
  begin_operation(*detail::running_operation);
  Cell current;
  current.operation = operation_->number;
  for (size_t row = 0; row < transfer.height; ++row) {
    uintptr_t to = reinterpret_cast<uintptr_t>(transfer.to) + row * transfer.to_pitch;
    std::vector<Run> runs = {{transfer.width, true}};
    if (transfer.from) {
      current.kind = static_cast<uint8_t>(AccessKind::load);
      runs = read_range(reinterpret_cast<uintptr_t>(transfer.from) + row * transfer.from_pitch,
                        transfer.width, current);
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
  access.block = coordinates(cell.block, operation.grid);
  access.thread = coordinates(cell.thread, operation.block);
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

Finding RaceCheck::describe(Problem problem, const Cell* first, const Target& target, const Cell& current) {
  Finding finding;
  finding.problem = problem;
  finding.space = target.space;
  finding.access = describe(current);
  std::ostringstream memory;
  if (target.space == AccessSpace::shared) {
    finding.offset = target.address;
    memory << "byte " << finding.offset << " of shared memory";
  } else {
    const GlobalShadow::Allocation& allocation = *global_.find(target.address);
    finding.offset = target.address - allocation.begin;
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
      relation = first->block != current.block               ? Relation::other_block
                 : first->thread / 32 == current.thread / 32 ? Relation::same_warp
                                                             : Relation::same_block;
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

// The observer that counts: profiles of kernels.
// Above 400 lines because every kind of access is counted into the same records.
#include <simt/builtins.h>
#include <simt/shared.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "../device/block.h"
#include "../host/runtime.h"
#include "operation_log.h"
#include "profile_key.h"
#include "sector_set.h"
#include "source_lines.h"
#include "warp_log.h"
#include "whole_program.h"

namespace simt {

uint64_t LaunchSectors::count(bool written) const {
  uint64_t sectors = 0;
  for (const auto& [number, page] : pages_)
    for (const std::atomic<uint64_t>& word : written ? page->written : page->read)
      sectors += static_cast<uint64_t>(std::popcount(word.load(std::memory_order_relaxed)));
  return sectors;
}

template <class Work>
void LaunchSectors::for_each(Work work) const {
  for (const auto& [number, page] : pages_)
    for (uint64_t word = 0; word < 32; ++word) {
      const uint64_t read = page->read[word].load(std::memory_order_relaxed),
                     written = page->written[word].load(std::memory_order_relaxed);
      for (uint64_t rest = read | written; rest != 0; rest &= rest - 1) {
        const int bit = std::countr_zero(rest);
        work(number << 11 | word << 6 | static_cast<uint64_t>(bit), read >> bit & 1, written >> bit & 1);
      }
    }
}

namespace {

struct InstructionHash {
  size_t operator()(Instruction instruction) const { return instruction.key() * 0x9E3779B97F4A7C15u >> 20; }
};
struct InstructionCounts : AccessCounts {
  int excess = -1;  // of the worst request: sectors or wavefronts over the least
};
using CountsByInstruction = std::unordered_map<Instruction, InstructionCounts, InstructionHash>;

void keep_worst(InstructionCounts& counts, const WarpAccess& request, int excess) {
  if (excess <= counts.excess) return;
  counts.worst = request;
  counts.excess = excess;
}

void add(InstructionCounts& sum, const InstructionCounts& counts) {
  sum += counts;
  keep_worst(sum, counts.worst, counts.excess);
}

void count(InstructionCounts& counts, Instruction instruction, const WarpAccess& request) {
  counts.requests += 1;
  counts.lanes += static_cast<uint64_t>(std::popcount(request.active));
  if (instruction.space() == AccessSpace::global) {
    const int sectors = global_sectors(request), least = least_global_sectors(request);
    counts.sectors += static_cast<uint64_t>(sectors);
    counts.least_sectors += static_cast<uint64_t>(least);
    keep_worst(counts, request, sectors - least);
  } else {
    const bool store =
        instruction.kind() == AccessKind::store || instruction.kind() == AccessKind::async_copy_store;
    const SharedCost cost = store ? shared_store(request) : shared_load(request);
    counts.wavefronts += static_cast<uint64_t>(cost.wavefronts);
    counts.least_wavefronts += static_cast<uint64_t>(cost.least);
    keep_worst(counts, request, cost.conflicts());
  }
  if (instruction.kind() == AccessKind::atomic) {
    std::array<uint64_t, 32> addresses;
    size_t lanes = 0;
    for (unsigned rest = request.active; rest != 0; rest &= rest - 1)
      addresses[lanes++] = request.address[static_cast<size_t>(std::countr_zero(rest))];
    std::sort(addresses.begin(), addresses.begin() + static_cast<ptrdiff_t>(lanes));
    const auto distinct = std::unique(addresses.begin(), addresses.begin() + static_cast<ptrdiff_t>(lanes));
    counts.same_address += lanes - static_cast<uint64_t>(distinct - addresses.begin());
  }
}

// A profile in the making: all launches with one key.
struct Entry {
  size_t place = 0;  // in the list
  KernelProfile profile;
  CountsByInstruction counts;
};

// A launch that has begun.
struct Running {
  Entry* entry = nullptr;
  std::optional<size_t> operation;  // its place among the operations, if it is counted
  bool observed = false;
  uint64_t blocks_left = 0;
  LaunchSectors sectors;
  std::map<uintptr_t, size_t> allocations;  // that were touched: bytes by address; guarded by `sectors`
};

// The counts of the block that a worker runs.
struct BlockCounts {
  Running* launch = nullptr;
  CountsByInstruction counts;
  uint64_t multiply_adds = 0, warp_multiply_adds = 0;
  uint64_t tf32_multiply_adds = 0, narrow_multiply_adds = 0, tensor_products = 0;
  uint64_t barriers = 0, warp_operations = 0;
  uint64_t instructions = 0, waited = 0;
  BlockSectors sectors;
  LaunchSectors::Page* page = nullptr;  // the page used last
  uint64_t page_number = 0;

  struct Warp {
    unsigned alive = 0;
    unsigned at_barrier = 0;
    uint64_t instructions = 0;  // since the last barrier
    std::unique_ptr<WarpLog> log;
  };
  std::vector<Warp> warps;
  std::vector<std::unique_ptr<WarpLog>> free_logs;

  WarpLog& log_of(Warp& warp) {
    if (!warp.log) {
      if (free_logs.empty()) free_logs.push_back(std::make_unique<WarpLog>());
      warp.log = std::move(free_logs.back());
      free_logs.pop_back();
    }
    return *warp.log;
  }
};

// Of the current block; set by begin_block(), so that the hot functions need no check for initialisation.
thread_local constinit BlockCounts* block = nullptr;

// Of the blocks of the worker's cluster.
thread_local std::deque<BlockCounts> counts_of_worker;

class Profiler final : public Observer {
 public:
  Profiler(const ProfileOptions& options, const OperationOrder& order)
      : options_(options), operations_(order) {}

  void select_block(unsigned rank) override {
    while (counts_of_worker.size() <= rank) counts_of_worker.emplace_back();
    block = &counts_of_worker[rank];
  }

  bool begin_block(const Kernel& kernel, uint64_t number, unsigned rank) override {
    std::lock_guard lock(mutex_);
    select_block(rank);
    Running& launch = running_of(kernel);
    const bool runs = launch.observed && chosen(number, blocks_of(kernel));
    if (!runs) {
      finish_block(kernel, launch);
      return false;
    }
    ++launch.entry->profile.observed_blocks;
    block->launch = &launch;
    kernel_ = &kernel;
    block->sectors.clear();
    block->page = nullptr;
    const unsigned threads = kernel.block.x * kernel.block.y * kernel.block.z;
    block->warps.resize((threads + 31) / 32);
    for (size_t w = 0; w < block->warps.size(); ++w) {
      const unsigned lanes = threads - static_cast<unsigned>(w) * 32;
      block->warps[w].alive = lanes >= 32 ? 0xFFFFFFFFu : (1u << lanes) - 1;
      block->warps[w].at_barrier = 0;
      block->warps[w].instructions = 0;
    }
    return true;
  }

  void end_block() override {
    wait_for_slowest();
    std::lock_guard lock(mutex_);
    Entry& entry = *block->launch->entry;
    // Keeps the instructions for the next block, which probably has the same ones.
    for (auto& [instruction, counts] : block->counts) {
      if (counts.requests == 0) continue;
      add(entry.counts[instruction], counts);
      counts = {};
    }
    KernelProfile& profile = entry.profile;
    profile.multiply_adds += std::exchange(block->multiply_adds, 0);
    profile.warp_multiply_adds += std::exchange(block->warp_multiply_adds, 0);
    profile.tf32_multiply_adds += std::exchange(block->tf32_multiply_adds, 0);
    profile.narrow_multiply_adds += std::exchange(block->narrow_multiply_adds, 0);
    profile.tensor_products += std::exchange(block->tensor_products, 0);
    profile.barriers += std::exchange(block->barriers, 0);
    profile.warp_operations += std::exchange(block->warp_operations, 0);
    profile.instructions += std::exchange(block->instructions, 0);
    profile.waited += std::exchange(block->waited, 0);
    profile.block_bytes += block->sectors.size() * kSectorBytes;
    finish_block(*kernel_, *block->launch);
  }

  void access(unsigned thread, const Access& access) override {
    BlockCounts::Warp& warp = block->warps[thread / 32];
    Access recorded = access;
    if (access.space == AccessSpace::shared)
      recorded.address -= reinterpret_cast<uintptr_t>(detail::shared_begin);
    block->log_of(warp).add(thread % 32, recorded);
  }

  void skips(unsigned thread, const Access& access) override {
    block->log_of(block->warps[thread / 32]).skip(thread % 32, access);
  }

  void bulk_access(unsigned thread, const Access& at, const BulkCopy&) override { access(thread, at); }

  void multiply_adds(unsigned thread, int count) override {
    block->log_of(block->warps[thread / 32]).add_multiply_adds(thread % 32, count);
  }

  void tensor_products(unsigned thread, bool tf32, int products, int multiply_adds) override {
    const auto count = static_cast<uint64_t>(products);
    (tf32 ? block->tf32_multiply_adds : block->narrow_multiply_adds) +=
        count * static_cast<uint64_t>(multiply_adds);
    block->tensor_products += count;
    block->instructions += count;
    block->warps[thread / 32].instructions += count;
  }

  void arrives_at_barrier(unsigned thread) override {
    BlockCounts::Warp& warp = block->warps[thread / 32];
    warp.at_barrier |= 1u << thread % 32;
    if (warp.at_barrier == warp.alive) flush(warp);
  }

  void exits(unsigned thread) override {
    BlockCounts::Warp& warp = block->warps[thread / 32];
    warp.alive &= ~(1u << thread % 32);
    if (warp.at_barrier == warp.alive) flush(warp);
  }

  void barrier_ends() override {
    ++block->barriers;
    for (BlockCounts::Warp& warp : block->warps) warp.at_barrier = 0;
    wait_for_slowest();
  }

  void warp_meets(unsigned index, unsigned lanes) override {
    BlockCounts::Warp& warp = block->warps[index];
    ++block->warp_operations;
    ++warp.instructions;
    if (lanes == warp.alive) flush(warp);
  }

  void transfer(const Transfer& transfer) override {
    if (transfer.frees) return;  // it moves no bytes
    std::lock_guard lock(mutex_);
    operations_.add(transfer);
  }

  ProgramProfile program() {
    ProgramProfile profile;
    profile.kernels = result();
    std::lock_guard lock(mutex_);
    operations_.copy_to(profile);
    return profile;
  }

  std::vector<KernelProfile> result() {
    std::lock_guard lock(mutex_);
    std::vector<KernelProfile> profiles;
    for (const std::unique_ptr<Entry>& entry : entries_) {
      KernelProfile& profile = profiles.emplace_back(entry->profile);
      for (const auto& [instruction, counts] : entry->counts) {
        AccessCounts& sum = profile.accesses.emplace_back(counts);
        sum.kind = instruction.kind();
        sum.space = instruction.space();
        sum.bytes = instruction.bytes();
        sum.inlined = source_lines(instruction.place());
      }
      std::sort(profile.accesses.begin(), profile.accesses.end(), [](const auto& a, const auto& b) {
        const auto place = [](const AccessCounts& counts) {
          const SourceLine outermost = counts.inlined.empty() ? SourceLine{} : counts.inlined.back();
          const SourceLine innermost = counts.inlined.empty() ? SourceLine{} : counts.inlined.front();
          return std::tuple(outermost.file, outermost.line, innermost.file, innermost.line, counts.kind,
                            counts.space, counts.bytes, counts.requests);
        };
        return place(a) < place(b);
      });
    }
    return profiles;
  }

 private:
  static uint64_t blocks_of(const Kernel& kernel) {
    return uint64_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z;
  }
  // One block of each of options_.blocks equal parts, at a place that looks random: at equal distances, all
  // of them might be in one row or column of the grid.
  bool chosen(uint64_t number, uint64_t blocks) const {
    const uint64_t parts = options_.blocks;
    if (parts == 0 || blocks <= parts) return true;
    const auto begin_of = [&](uint64_t part) {
      return static_cast<uint64_t>((static_cast<unsigned __int128>(part) * blocks + parts - 1) / parts);
    };
    const uint64_t part = static_cast<uint64_t>(static_cast<unsigned __int128>(number) * parts / blocks);
    const uint64_t begin = begin_of(part), end = begin_of(part + 1);
    return number == begin + Random(part).next() % (end - begin);
  }

  Running& running_of(const Kernel& kernel) {
    auto& launch = running_[&kernel];
    if (launch) return *launch;
    launch = std::make_unique<Running>();
    launch->blocks_left = blocks_of(kernel);
    const auto [found, fresh] = by_key_.try_emplace(profile_key(kernel, options_.first_of_equal_launches));
    if (fresh) {
      entries_.push_back(std::make_unique<Entry>());
      entries_.back()->place = entries_.size() - 1;
      found->second = entries_.back().get();
      KernelProfile& profile = found->second->profile;
      profile.name = kernel.name;
      profile.grid = kernel.grid;
      profile.block = kernel.block;
      profile.shared_bytes = kernel.shared_bytes;
    }
    launch->entry = found->second;
    launch->operation = operations_.add_launch(launch->entry->place, kernel.device);
    KernelProfile& profile = launch->entry->profile;
    ++profile.launches;
    launch->observed = !options_.first_of_equal_launches || profile.launches == 1;
    if (launch->observed) {
      ++profile.observed_launches;
      profile.blocks += blocks_of(kernel);
    }
    return *launch;
  }

  void finish_block(const Kernel& kernel, Running& launch) {
    if (--launch.blocks_left != 0) return;
    launch.entry->profile.launch_bytes_read += launch.sectors.count(false) * kSectorBytes;
    launch.entry->profile.launch_bytes_written += launch.sectors.count(true) * kSectorBytes;
    for (const auto& [begin, bytes] : launch.allocations) launch.entry->profile.allocated_bytes += bytes;
    count_links(kernel, launch);
    running_.erase(&kernel);
  }

  // What the launch has moved between its device and others, or the host. Managed memory counts as the
  // device's.
  void count_links(const Kernel& kernel, const Running& launch) {
    LinkBytes host, peer;
    Memory::Range range;
    launch.sectors.for_each([&](uint64_t sector, bool read, bool written) {
      const uint64_t address = sector * kSectorBytes;
      if (address - range.begin >= range.bytes)
        range =
            Runtime::get()
                .memory.find(reinterpret_cast<const void*>(address))
                .value_or(Memory::Range{.begin = address, .bytes = kSectorBytes, .device = kernel.device});
      if (range.managed || range.device == kernel.device) return;
      LinkBytes& link = range.device == Memory::kHost ? host : peer;
      if (read) link.read += kSectorBytes;
      if (written) link.written += kSectorBytes;
    });
    operations_.add_links(launch.operation, host, peer);
  }

  void flush(BlockCounts::Warp& warp) {
    if (!warp.log) return;
    uint64_t most = 0;
    for (const uint64_t count : warp.log->multiply_adds()) {
      block->multiply_adds += count;
      most = std::max(most, count);
    }
    block->warp_multiply_adds += most;
    warp.instructions += most;
    warp.log->flush([&](Instruction instruction, const WarpAccess& request) {
      ++warp.instructions;
      count(block->counts[instruction], instruction, request);
      if (instruction.space() == AccessSpace::global) touch(instruction, request);
    });
    block->free_logs.push_back(std::move(warp.log));
  }

  void touch(Instruction instruction, const WarpAccess& request) {
    const bool writes = instruction.kind() == AccessKind::store || instruction.kind() == AccessKind::atomic;
    const bool reads = instruction.kind() != AccessKind::store;
    uint64_t last = ~uint64_t{0};
    for (unsigned rest = request.active; rest != 0; rest &= rest - 1) {
      const uint64_t begin = request.address[static_cast<size_t>(std::countr_zero(rest))];
      const uint64_t end = (begin + static_cast<uint64_t>(request.bytes) - 1) / kSectorBytes;
      for (uint64_t sector = begin / kSectorBytes; sector <= end; ++sector) {
        if (sector == last) continue;
        last = sector;
        block->sectors.insert(sector);
        if (!block->page || block->page_number != LaunchSectors::page_number(sector)) {
          block->page_number = LaunchSectors::page_number(sector);
          Running& launch = *block->launch;
          block->page = &launch.sectors.page(block->page_number, [&] {
            const auto range =
                Runtime::get().memory.find(reinterpret_cast<const void*>(sector * kSectorBytes));
            if (range) launch.allocations[range->begin] = range->bytes;
          });
        }
        if (reads) block->page->insert(sector, false);
        if (writes) block->page->insert(sector, true);
      }
    }
  }

  // At a barrier, or at the end of the block, all warps wait for the one with the most instructions.
  void wait_for_slowest() {
    uint64_t most = 0;
    for (const BlockCounts::Warp& warp : block->warps) most = std::max(most, warp.instructions);
    for (BlockCounts::Warp& warp : block->warps) {
      block->instructions += warp.instructions;
      block->waited += most - warp.instructions;
      warp.instructions = 0;
    }
  }

  const ProfileOptions options_;
  std::mutex mutex_;
  std::map<ProfileKey, Entry*> by_key_;
  std::vector<std::unique_ptr<Entry>> entries_;  // in the order of their first launches
  OperationLog operations_;
  std::unordered_map<const Kernel*, std::unique_ptr<Running>> running_;
  static thread_local constinit const Kernel* kernel_;  // of the current block
};

thread_local constinit const Kernel* Profiler::kernel_ = nullptr;

std::mutex profile_mutex;
// Not destroyed: blocks may still hold a pointer to one that has been stopped, and the counts of a whole
// program are written when it exits.
constinit Profiler* profiler = nullptr;

void start_counting(Runtime& runtime, const ProfileOptions& options) {
  profiler = new Profiler(options, runtime.order);
  runtime.order.start();
  active_observer = profiler;
}

// Stops the profiler, and returns what `get` reads from it.
template <class Get>
auto stop(Get get) {
  std::lock_guard lock(profile_mutex);
  if (!profiler) return decltype(get(*profiler))();
  Runtime& runtime = Runtime::get();
  runtime.scheduler.wait_all();
  active_observer = nullptr;
  runtime.order.stop();
  return get(*std::exchange(profiler, nullptr));
}

}  // namespace

bool can_observe() { return kObserve; }

cudaError_t start_profile(const ProfileOptions& options) {
  if (!kObserve) return cudaErrorNotSupported;
  std::lock_guard lock(profile_mutex);
  return answer([&](Runtime& runtime) {
    if (profiler || active_observer) return cudaErrorInvalidValue;
    runtime.scheduler.wait_all();
    start_counting(runtime, options);
    return cudaSuccess;
  });
}

void count_whole_program(Runtime& runtime) { start_counting(runtime, {}); }

// Empty if the program has stopped the profile itself.
ProgramProfile counts_of_whole_program() { return profiler ? profiler->program() : ProgramProfile(); }

std::vector<KernelProfile> stop_profile() {
  return stop([](Profiler& running) { return running.result(); });
}

ProgramProfile stop_program_profile() {
  return stop([](Profiler& running) { return running.program(); });
}

}  // namespace simt

#include "bounds.h"

#include <link.h>
#include <simt/shared.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "../base/text.h"
#include "../device/block.h"
#include "../device/kernel_heap.h"
#include "../host/runtime.h"
#include "findings.h"
#include "source_lines.h"
#include "whole_program.h"

namespace simt {
namespace {

struct Interval {
  uintptr_t begin, end;
  bool contains(uintptr_t address) const { return begin <= address && address < end; }
};

// Constants, variables and the thread-local variables of the program and its libraries, for the calling
// thread.
std::vector<Interval> memory_of_program() {
  std::vector<Interval> intervals;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        auto& found = *static_cast<std::vector<Interval>*>(to);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          if (header.p_type == PT_LOAD) found.push_back({begin, begin + header.p_memsz});
          if (header.p_type != PT_TLS || !info->dlpi_tls_data) continue;
          const auto local = reinterpret_cast<uintptr_t>(info->dlpi_tls_data);
          found.push_back({local, local + header.p_memsz});
        }
        return 0;
      },
      &intervals);
  return intervals;
}

bool is_of_program(uintptr_t address) {
  static thread_local const std::vector<Interval> intervals = memory_of_program();
  return std::any_of(intervals.begin(), intervals.end(),
                     [&](const Interval& interval) { return interval.contains(address); });
}

std::string verb_of(AccessKind kind, size_t bytes) {
  const char* const what = kind == AccessKind::load || kind == AccessKind::async_copy_load ? "reads "
                           : kind == AccessKind::atomic                                    ? "updates "
                                                                                           : "writes ";
  return what + counted(static_cast<long>(bytes), "byte");
}

// "byte 4000 of an allocation of 4000 bytes on device 0"
std::string description_of(const GuardedArena::Allocation& allocation, uintptr_t address) {
  const std::string owner = allocation.device == Memory::kHost
                                ? " of pinned host memory"
                                : " on device " + std::to_string(allocation.device);
  std::string at;
  if (address < allocation.begin)
    at = counted(static_cast<long>(allocation.begin - address), "byte") + " before";
  else
    at = "byte " + std::to_string(address - allocation.begin) + " of";
  return at + " an allocation of " + counted(static_cast<long>(allocation.bytes), "byte") + owner +
         (allocation.freed ? ", which was freed" : "");
}

// Why a kernel may not access `bytes` at `address`; empty: it may.
std::string refusal(const Kernel& kernel, uintptr_t address, size_t bytes) {
  constexpr uintptr_t kNullPage = 65536;
  if (address < kNullPage) return "a null pointer (address " + std::to_string(address) + ")";
  const Memory& memory = Runtime::of_workers().memory;
  const auto range = memory.find(reinterpret_cast<const void*>(address));
  if (range && address - range->begin < range->bytes) {
    if (!memory.may_access(kernel.device, *range))
      return "the address " + Memory::refusal(kernel.device, *range);
    if (range->begin + range->bytes - address >= bytes) return "";
    address += bytes - 1;  // it begins inside and ends behind
  }
  if (const auto allocation = memory.arena().nearest(address)) return description_of(*allocation, address);
  if (address - reinterpret_cast<uintptr_t>(kernel.storage) < kernel.storage_bytes) return "";
  if (address - reinterpret_cast<uintptr_t>(&kernel) < sizeof(Kernel)) return "";
  if (is_of_program(address) || in_kernel_heap(address)) return "";
  const auto near_shared = address - reinterpret_cast<uintptr_t>(detail::shared_begin);
  if (detail::dynamic_bytes != 0 && near_shared < detail::dynamic_bytes + 65536)
    return "byte " + std::to_string(near_shared) + " of " +
           counted(static_cast<long>(detail::dynamic_bytes), "byte") + " of shared memory";
  return "memory of the host, which is neither pinned nor managed";
}

std::atomic<size_t> host_findings{0};

}  // namespace

void start_bounds(Runtime&) { bounds_are_checked = true; }

size_t bounds_findings() { return host_findings; }

void check_bounds_of_kernel(const void* place, uintptr_t address, size_t bytes, AccessKind kind) {
  if (!in_block()) return;
  Block& block = running_block("a memory access");
  const std::string why = refusal(block.kernel(), address, bytes);
  if (why.empty()) return;
  block.fail(cudaErrorIllegalAddress,
             [&] { return verb_of(kind, bytes) + " at " + text_of(source_lines(place)) + ": " + why; });
}

void check_bounds_of_shared(const void* place, uintptr_t address, size_t bytes, AccessKind kind) {
  if (!in_block()) return;
  Block& block = running_block("a memory access");
  const size_t offset = address - reinterpret_cast<uintptr_t>(detail::shared_begin);
  if (block.has_shared(offset, bytes)) return;
  block.fail(cudaErrorIllegalAddress, [&] {
    return verb_of(kind, bytes) + " at " + text_of(source_lines(place)) + ": " +
           block.describe_shared(offset);
  });
}

void check_bounds_of_host(const void* place, uintptr_t address, size_t bytes, AccessKind kind) {
  if (!Runtime::started() || in_block()) return;
  const Memory& memory = Runtime::of_workers().memory;
  if (!memory.arena().contains(address)) return;
  const auto range = memory.find(reinterpret_cast<const void*>(address));
  const bool inside = range && address - range->begin < range->bytes;
  if (inside && (range->device == Memory::kHost || range->managed)) return;
  static std::mutex mutex;
  static auto& places =
      *new std::set<const void*>;  // the host may access memory until the end of the process
  {
    const std::lock_guard lock(mutex);
    if (!places.insert(place).second) return;
  }
  ++host_findings;
  const auto allocation = memory.arena().nearest(address);
  std::fprintf(stderr, "simt: the host %s at %s: %s%s\n", verb_of(kind, bytes).c_str(),
               text_of(source_lines(place)).c_str(),
               allocation ? description_of(*allocation, address).c_str() : "unknown memory",
               inside ? "; cudaMemcpy() copies it to the host" : "");
}

}  // namespace simt

// The functions that instrumented kernels call. g++ -fsanitize=thread emits a call for every load, store and
// atomic that may be seen by another thread; linked with these functions instead of the thread sanitizer's
// library, they report to the observer. This file itself is not instrumented.
//
// The names are those of GCC's interface (gcc/sanitizer.def).
#include <simt/alignment.h>
#include <simt/builtins.h>
#include <simt/memory_access.h>
#include <simt/observe_async.h>
#include <simt/settings.h>
#include <simt/shared.h>
#include <simt/unwritten.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "../base/observer.h"
#include "../device/block.h"
#include "../host/runtime.h"
#include "bounds.h"
#include "findings.h"
#include "source_lines.h"

namespace simt {
namespace {

// Whether an address lies in memory that cudaMalloc or cudaHostAlloc returned. Keeps the last ranges, because
// a kernel uses few.
class GlobalMemory {
 public:
  bool contains(uintptr_t address) {
    for (const Memory::Range& range : ranges_)
      if (address - range.begin < range.bytes) return true;
    if (address == not_global_) return false;
    return look_up(address);
  }
  // Whether all bytes lie in such memory, and the device of the running block may access it. For
  // SIMT_BOUNDS=1.
  bool allows(uintptr_t address, size_t bytes) {
    const int device = running_block("a memory access").kernel().device;
    if (std::exchange(device_, device) != device) forget();
    if (!contains(address)) return false;
    for (const Memory::Range& range : ranges_)
      if (address - range.begin < range.bytes)
        return range.bytes - (address - range.begin) >= bytes &&
               Runtime::get().memory.may_access(device, range);
    return false;
  }
  // Whether the access comes from here. The inline functions of the standard library that are used here may
  // be those of an instrumented file, because the linker keeps one of each.
  bool is_busy() const { return busy_; }
  // Before each block, because memory may have been freed.
  void refresh(uint64_t generation) {
    if (generation == generation_) return;
    generation_ = generation;
    forget();
  }

 private:
  struct Busy {
    explicit Busy(bool& of) : flag(of) { flag = true; }
    ~Busy() { flag = false; }
    bool& flag;
  };

  void forget() {
    const Busy busy(busy_);
    ranges_ = {};
    not_global_ = 0;
  }
  bool look_up(uintptr_t address) {
    const Busy busy(busy_);
    const auto range = Runtime::get().memory.find(reinterpret_cast<const void*>(address));
    if (!range || address - range->begin >= range->bytes) {
      not_global_ = address;
      return false;
    }
    ranges_[next_] = *range;
    next_ = (next_ + 1) % ranges_.size();
    return true;
  }

  uint64_t generation_ = 0;
  std::array<Memory::Range, 8> ranges_ = {};
  size_t next_ = 0;
  uintptr_t not_global_ = 0;
  int device_ = 0;
  bool busy_ = false;
};

thread_local GlobalMemory global_memory;

// threadIdx and the like are variables of the OS thread; a GPU has them in registers.
bool is_builtin(uintptr_t address) { return address - reinterpret_cast<uintptr_t>(&threadIdx) + 256 < 512; }

bool is_local(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - detail::stack_begin < detail::stack_bytes;
}

bool in_shared_memory(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(detail::shared_begin) <
         detail::shared_bytes;
}

[[gnu::always_inline]] inline void report(const void* place, const void* pointer, size_t bytes,
                                          AccessKind kind, bool atomic = false) {
  Observer* const observer = detail::observer;
  if (!observer && !bounds_are_checked) return;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!detail::shared_begin) {
    check_bounds_of_host(place, address, bytes, kind);
    return;
  }
  if (address - detail::stack_begin < detail::stack_bytes) {
    if (observer && detail::local_accesses_are_observed)
      observer->local_access(
          thread_rank, {place, address, static_cast<uint32_t>(bytes), kind, AccessSpace::registers, atomic});
    return;
  }
  if (is_builtin(address) || global_memory.is_busy()) return;
  AccessSpace space = in_shared_memory(pointer) ? AccessSpace::shared : AccessSpace::global;
  if (bounds_are_checked && in_block()) {
    if (space == AccessSpace::shared)
      check_bounds_of_shared(place, address, bytes, kind);
    else if (!global_memory.allows(address, bytes) && !(observer && observer->has_shared_memory(address)))
      check_bounds_of_kernel(place, address, bytes, kind);
  }
  if (space == AccessSpace::global && !global_memory.contains(address)) {
    if (!observer || !observer->has_shared_memory(address)) return;
    space = AccessSpace::shared;  // of another block
  }
  if (!observer) return;
  // A GPU has instructions for 1, 2, 4, 8 and 16 bytes.
  for (uintptr_t begin = address, end = address + bytes; begin < end;) {
    uint32_t piece = 16;
    while (piece > end - begin) piece /= 2;
    observer->access(thread_rank, {place, begin, piece, kind, space, atomic});
    begin += piece;
  }
}

}  // namespace

namespace {
// Raises the fault of a GPU. Code of the host is not checked.
[[gnu::noinline, gnu::cold]] void misaligned(const void* place, const void* p, size_t bytes,
                                             AccessKind kind) {
  if (!in_block()) return;
  std::string what = kind == AccessKind::load    ? "a load"
                     : kind == AccessKind::store ? "a store"
                                                 : "an atomic";
  what += " at " + text_of(source_lines(place));
  detail::misaligned_access(what.c_str(), p, bytes);
}
// For the accesses of which the compiler assumes that the address is a multiple of the size. It reports
// others, such as those to members of packed structs, by other functions.
[[gnu::always_inline]] inline void require_aligned(const void* place, const void* p, size_t bytes,
                                                   AccessKind kind) {
  if (reinterpret_cast<uintptr_t>(p) % bytes != 0) [[unlikely]]
    misaligned(place, p, bytes, kind);
}
}  // namespace

void refresh_global_memory() { global_memory.refresh(Runtime::get().memory.generation()); }

namespace detail {

#define SIMT_PLACE __builtin_extract_return_addr(__builtin_return_address(0))

// Each is one instruction, whose address is a multiple of its size. Local variables are registers.
void observe_load(const void* from, size_t bytes) {
  if (!is_local(from)) require_aligned(SIMT_PLACE, from, bytes, AccessKind::load);
  report(SIMT_PLACE, from, bytes, AccessKind::load);
}
void observe_store(void* to, size_t bytes) {
  if (!is_local(to)) require_aligned(SIMT_PLACE, to, bytes, AccessKind::store);
  report(SIMT_PLACE, to, bytes, AccessKind::store);
}
void observe_atomic(void* address, size_t bytes) {
  report(SIMT_PLACE, address, bytes, AccessKind::atomic, /*atomic=*/true);
}
void observe_async_copy(void* to, const void* from, size_t bytes, bool valid) {
  if (valid)
    report(SIMT_PLACE, from, bytes, AccessKind::async_copy_load);
  else if (observer)
    observer->skips(thread_rank, {SIMT_PLACE, 0, static_cast<uint32_t>(bytes), AccessKind::async_copy_load,
                                  AccessSpace::global});
  report(SIMT_PLACE, to, bytes, AccessKind::async_copy_store);
}
void observe_async_commit() {
  if (observer) observer->async_commit(thread_rank);
}
void observe_async_wait(int groups) {
  if (observer) observer->async_wait(thread_rank, groups);
}
void allow_unwritten(const void* begin, size_t bytes) {
  if (observer) observer->allow_unwritten(reinterpret_cast<uintptr_t>(begin), bytes);
}
// Of a vector such as float4, whose alignment is its size, at most 16.
void observe_copy(void* to, const void* from, size_t bytes) {
  const size_t alignment = std::min<size_t>(bytes, 16);
  if (!is_local(from)) require_aligned(SIMT_PLACE, from, alignment, AccessKind::load);
  if (!is_local(to)) require_aligned(SIMT_PLACE, to, alignment, AccessKind::store);
  report(SIMT_PLACE, from, bytes, AccessKind::load);
  report(SIMT_PLACE, to, bytes, AccessKind::store);
  std::memcpy(to, from, bytes);
}
void observe_multiply_adds(int count) {
  if (observer) observer->multiply_adds(thread_rank, count);
}
void observe_tensor_products(bool tf32, int products, int multiply_adds) {
  if (observer) observer->tensor_products(thread_rank, tf32, products, multiply_adds);
}
void observe_warpgroup_product(unsigned number, bool tf32, int multiply_adds) {
  if (!observer) return;
  for (unsigned warp = 4 * number; warp < 4 * number + 4; ++warp)
    observer->tensor_products(32 * warp, tf32, 1, multiply_adds);
}
void observe_bulk_load(const void* place, const void* mbarrier, const void* to, const void* from,
                       size_t bytes, unsigned index) {
  if (!observer) return;
  const unsigned thread = thread_rank / 32 * 32 + index % 32;
  const BulkCopy copy = {thread_rank, mbarrier, static_cast<unsigned>(bytes)};
  if (from)
    observer->bulk_access(
        thread,
        {place, reinterpret_cast<uintptr_t>(from), static_cast<uint32_t>(std::bit_floor(bytes)),
         AccessKind::async_copy_load, AccessSpace::global},
        copy);
  observer->bulk_access(
      thread, {place, reinterpret_cast<uintptr_t>(to), 16, AccessKind::async_copy_store, AccessSpace::shared},
      copy);
}
void observe_operand_read(const void* place, unsigned warpgroup, const void* from) {
  if (!observer) return;
  observer->product_reads(128 * warpgroup, {place, reinterpret_cast<uintptr_t>(from), 16,
                                            AccessKind::product_load, AccessSpace::shared});
}
void observe_accumulators(const void* place, unsigned thread, const float* registers, size_t bytes) {
  if (!observer) return;
  observer->product_updates(thread,
                            {place, reinterpret_cast<uintptr_t>(registers), sizeof(float),
                             AccessKind::product_update, AccessSpace::registers},
                            bytes);
}
void copy_unobserved(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
void copy_or_clear_unobserved(void* to, const void* from, size_t bytes, bool copy) {
  if (copy)
    std::memcpy(to, from, bytes);
  else
    std::memset(to, 0, bytes);
}

}  // namespace detail
}  // namespace simt

#ifdef SIMT_OBSERVE

using simt::AccessKind;
using simt::report;
using simt::require_aligned;

namespace {
template <class T>
[[gnu::always_inline]] inline void report_atomic(const void* place, const volatile T* p, AccessKind kind) {
  require_aligned(place, const_cast<const T*>(p), sizeof(T), kind);
  report(place, const_cast<const T*>(p), sizeof(T), kind, /*atomic=*/true);
}
// A volatile access to global memory is a relaxed one (PTX ISA, "Memory Consistency Model"), which does not
// race with atomics. In shared memory it stays a plain one: `volatile` does not replace __syncwarp().
[[gnu::always_inline]] inline void report_volatile(const void* place, const void* p, size_t bytes,
                                                   AccessKind kind) {
  require_aligned(place, p, bytes, kind);
  if (simt::settings().lockstep && simt::in_block() && !simt::is_local(p))
    simt::running_block("a volatile access").yield();
  report(place, p, bytes, kind, /*atomic=*/!simt::in_shared_memory(p));
}
[[gnu::always_inline]] inline void report_aligned(const void* place, const void* p, size_t bytes,
                                                  AccessKind kind) {
  require_aligned(place, p, bytes, kind);
  report(place, p, bytes, kind);
}

// An access to a struct whose members have a smaller alignment. A GPU accesses each member; here they count
// as words.
void report_words(const void* place, const void* p, size_t bytes, AccessKind kind) {
  constexpr size_t kWord = 4;
  for (size_t i = 0; i < bytes; i += kWord)
    report(place, static_cast<const char*>(p) + i, std::min(kWord, bytes - i), kind);
}

// An access of a function of the C library: of a kernel, in words if `addresses` and the size are multiples
// of a word, otherwise in bytes.
void report_function(const void* place, const void* p, size_t bytes, uintptr_t addresses, AccessKind kind) {
  const size_t width = !simt::detail::shared_begin ? bytes : (addresses | bytes) % 4 == 0 ? 4 : 1;
  for (size_t i = 0; i < bytes; i += width) report(place, static_cast<const char*>(p) + i, width, kind);
}
void report_copy(const void* place, const void* to, const void* from, size_t bytes) {
  const uintptr_t addresses = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  report_function(place, from, bytes, addresses, AccessKind::load);
  report_function(place, to, bytes, addresses, AccessKind::store);
}
}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define SIMT_ACCESS(bytes)                                                                               \
  void __tsan_read##bytes(void* p) { report_aligned(SIMT_PLACE, p, bytes, AccessKind::load); }           \
  void __tsan_write##bytes(void* p) { report_aligned(SIMT_PLACE, p, bytes, AccessKind::store); }         \
  void __tsan_unaligned_read##bytes(void* p) { report(SIMT_PLACE, p, bytes, AccessKind::load); }         \
  void __tsan_unaligned_write##bytes(void* p) { report(SIMT_PLACE, p, bytes, AccessKind::store); }       \
  void __tsan_volatile_read##bytes(void* p) { report_volatile(SIMT_PLACE, p, bytes, AccessKind::load); } \
  void __tsan_volatile_write##bytes(void* p) { report_volatile(SIMT_PLACE, p, bytes, AccessKind::store); }
SIMT_ACCESS(1)
SIMT_ACCESS(2)
SIMT_ACCESS(4)
SIMT_ACCESS(8)
SIMT_ACCESS(16)
#undef SIMT_ACCESS
void __tsan_read_range(void* p, size_t bytes) { report_words(SIMT_PLACE, p, bytes, AccessKind::load); }
void __tsan_write_range(void* p, size_t bytes) { report_words(SIMT_PLACE, p, bytes, AccessKind::store); }

void* simt_observed_memcpy(void* to, const void* from, size_t bytes) {
  report_copy(SIMT_PLACE, to, from, bytes);
  return std::memcpy(to, from, bytes);
}
void* simt_observed_memmove(void* to, const void* from, size_t bytes) {
  report_copy(SIMT_PLACE, to, from, bytes);
  return std::memmove(to, from, bytes);
}
void* simt_observed_memset(void* to, int value, size_t bytes) {
  report_function(SIMT_PLACE, to, bytes, reinterpret_cast<uintptr_t>(to), AccessKind::store);
  return std::memset(to, value, bytes);
}

// Atomics are calls instead of instructions, so each also does the work, in sequentially consistent order:
// the strongest that its caller may have asked for.
#define SIMT_ATOMIC_UPDATE(bits, type, name)                                   \
  type __tsan_atomic##bits##_fetch_##name(volatile type* p, type value, int) { \
    report_atomic(SIMT_PLACE, p, AccessKind::atomic);                          \
    return __atomic_fetch_##name(p, value, __ATOMIC_SEQ_CST);                  \
  }
#define SIMT_ATOMIC(bits, type)                                                                             \
  type __tsan_atomic##bits##_load(const volatile type* p, int) {                                            \
    report_atomic(SIMT_PLACE, p, AccessKind::load);                                                         \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                            \
  }                                                                                                         \
  void __tsan_atomic##bits##_store(volatile type* p, type value, int) {                                     \
    report_atomic(SIMT_PLACE, p, AccessKind::store);                                                        \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                           \
  }                                                                                                         \
  type __tsan_atomic##bits##_exchange(volatile type* p, type value, int) {                                  \
    report_atomic(SIMT_PLACE, p, AccessKind::atomic);                                                       \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                                                 \
  }                                                                                                         \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile type* p, type* expected, type value, int,      \
                                                    int) {                                                  \
    report_atomic(SIMT_PLACE, p, AccessKind::atomic);                                                       \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
  }                                                                                                         \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile type* p, type* expected, type value, int, int) { \
    report_atomic(SIMT_PLACE, p, AccessKind::atomic);                                                       \
    return __atomic_compare_exchange_n(p, expected, value, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
  }                                                                                                         \
  SIMT_ATOMIC_UPDATE(bits, type, add)                                                                       \
  SIMT_ATOMIC_UPDATE(bits, type, sub)                                                                       \
  SIMT_ATOMIC_UPDATE(bits, type, and)                                                                       \
  SIMT_ATOMIC_UPDATE(bits, type, or)                                                                        \
  SIMT_ATOMIC_UPDATE(bits, type, xor)                                                                       \
  SIMT_ATOMIC_UPDATE(bits, type, nand)
SIMT_ATOMIC(8, unsigned char)
SIMT_ATOMIC(16, unsigned short)
SIMT_ATOMIC(32, unsigned int)
SIMT_ATOMIC(64, unsigned long)
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_UPDATE
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"

#endif

#include "memory.h"

#include <simt/settings.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "../base/observer.h"
#include "../base/sanitizers.h"
#include "../base/text.h"

namespace simt {
namespace {

constexpr size_t kAlignment = 256;

uintptr_t address_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Returns memory at a multiple of kAlignment; null if there is none. Linux is asked for huge pages where they
// would be at least half full: the rows of a matrix are then on fewer pages than the processor's TLB has.
void* allocate_on_heap(size_t bytes) {
  constexpr size_t kHugePage = 2 << 20;
  const size_t advised = (bytes + kHugePage / 2) / kHugePage * kHugePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, advised > 0 ? kHugePage : kAlignment, std::max(bytes, advised)) != 0)
    return nullptr;
#ifdef MADV_HUGEPAGE
  if (advised > 0) madvise(memory, advised, MADV_HUGEPAGE);
#endif
  return memory;
}

}  // namespace

// Without a lock, because an observer that runs a block may be looking up an address.
void Memory::free_unlocked(void* pointer) {
  if (kObserve)
    if (Observer* const observer = active_observer) observer->freed(address_of(pointer));
  if (!arena_.release(pointer)) std::free(pointer);
}

Memory::Memory(int devices, size_t limit)
    : limit_(static_cast<size_t>(devices), limit),
      used_(static_cast<size_t>(devices), 0),
      peers_(static_cast<size_t>(devices), std::vector<bool>(static_cast<size_t>(devices))),
      links_(static_cast<size_t>(devices), std::vector<PeerAccess>(static_cast<size_t>(devices))),
      copies_(static_cast<size_t>(devices), std::vector<PeerCopies>(static_cast<size_t>(devices))) {}

cudaError_t Memory::allocate(int device, size_t bytes, void** pointer, bool managed,
                             std::shared_ptr<MemoryPool> pool) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (pool) {
    const std::unique_lock lock(mutex_);
    if (bytes > pool->most - pool->used) return cudaErrorMemoryAllocation;
  }
  if (device != kHost)
    if (const cudaError_t error = reserve(device, bytes); error != cudaSuccess) return error;
  // One extra byte: a pointer to the end belongs to the allocation, so no other allocation may begin there.
  // The address sanitizer separates allocations itself, and must detect an access to the first byte past the
  // end.
  const size_t heap_bytes = bytes + (kAddressSanitizer ? 0 : 1);
  void* fresh = nullptr;
  if (settings().bounds)
    fresh = arena_.allocate(bytes, device);
  else if (heap_bytes != 0)
    fresh = allocate_on_heap(heap_bytes);
  if (fresh) std::memset(fresh, settings().zeroed_memory ? 0 : 0xFF, bytes);
  if (!fresh) {
    if (device != kHost) give_back(device, bytes);
    return cudaErrorMemoryAllocation;
  }
  std::unique_lock lock(mutex_);
  if (pool) pool->high = std::max(pool->high, pool->used += bytes);
  ranges_[address_of(fresh)] = {address_of(fresh), bytes, device, false, false, managed, std::move(pool)};
  ++generation_;
  lock.unlock();
  if (kObserve)
    if (Observer* const observer = active_observer) observer->allocated(address_of(fresh), bytes, device);
  *pointer = fresh;
  return cudaSuccess;
}

cudaError_t Memory::reserve(int device, size_t bytes) {
  const auto index = static_cast<size_t>(device);
  std::unique_lock lock(mutex_);
  if (bytes > limit_[index] || used_[index] > limit_[index] - bytes) return cudaErrorMemoryAllocation;
  used_[index] += bytes;
  return cudaSuccess;
}

void Memory::give_back(int device, size_t bytes) {
  std::unique_lock lock(mutex_);
  used_[static_cast<size_t>(device)] -= bytes;
}

cudaError_t Memory::release(void* pointer, bool host) {
  if (!pointer) return cudaSuccess;
  {
    std::unique_lock lock(mutex_);
    const auto found = ranges_.find(address_of(pointer));
    if (found == ranges_.end() || (found->second.device == kHost) != host || found->second.registered)
      return cudaErrorInvalidValue;
    if (!host) used_[static_cast<size_t>(found->second.device)] -= found->second.bytes;
    if (found->second.pool) found->second.pool->used -= found->second.bytes;
    freed_[next_freed_++ % freed_.size()] = {found->second.begin, found->second.bytes};
    ranges_.erase(found);
    ++generation_;
  }
  free_unlocked(pointer);
  return cudaSuccess;
}

cudaError_t Memory::pin(void* pointer, size_t bytes) {
  const uintptr_t begin = address_of(pointer);
  std::unique_lock lock(mutex_);
  const auto after = ranges_.lower_bound(begin + bytes);
  if (after != ranges_.begin()) {
    const Range& last = std::prev(after)->second;
    if (last.begin + last.bytes > begin) return cudaErrorHostMemoryAlreadyRegistered;
  }
  ranges_[begin] = {begin, bytes, kHost, true, false, false};
  ++generation_;
  return cudaSuccess;
}

cudaError_t Memory::unpin(void* pointer) {
  std::unique_lock lock(mutex_);
  const auto found = ranges_.find(address_of(pointer));
  if (found == ranges_.end() || !found->second.registered || found->second.device != kHost)
    return cudaErrorHostMemoryNotRegistered;
  ranges_.erase(found);
  ++generation_;
  return cudaSuccess;
}

void Memory::add_variable(int device, void* pointer, size_t bytes, bool constant, bool managed) {
  std::unique_lock lock(mutex_);
  ranges_[address_of(pointer)] = {address_of(pointer), bytes, device, true, constant, managed};
  ++generation_;
}

void Memory::release_all_of(int device) {
  std::vector<void*> freed;
  std::unique_lock lock(mutex_);
  for (auto range = ranges_.begin(); range != ranges_.end();) {
    if (range->second.device != device) {
      ++range;
      continue;
    }
    if (!range->second.registered) freed.push_back(reinterpret_cast<void*>(range->first));
    if (range->second.pool) range->second.pool->used -= range->second.bytes;
    range = ranges_.erase(range);
  }
  const auto index = static_cast<size_t>(device);
  used_[index] = 0;
  peers_[index].assign(peers_.size(), false);
  for (auto& row : peers_) row[index] = false;
  ++generation_;
  lock.unlock();
  for (void* pointer : freed) free_unlocked(pointer);
}

const Memory::Range* Memory::find_locked(uintptr_t address) const {
  auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = std::prev(after)->second;
  // What follows registered memory may be other memory of the program.
  return address - range.begin < range.bytes + (range.registered ? 0 : 1) ? &range : nullptr;
}

std::optional<Memory::Range> Memory::find(const void* address) const {
  std::shared_lock lock(mutex_);
  const Range* range = find_locked(address_of(address));
  return range ? std::optional(*range) : std::nullopt;
}

std::string Memory::unknown(const void* pointer) const {
  constexpr uintptr_t kNear = 4096;  // bytes
  std::shared_lock lock(mutex_);
  const uintptr_t address = address_of(pointer);
  for (const Freed& freed : freed_)
    if (address - freed.begin < freed.bytes)
      return joined("memory of ", counted(freed.bytes, "byte"), " that has been freed");
  const auto after = ranges_.upper_bound(address);
  const auto near = [](uintptr_t distance, const char* side, const Range& range) {
    return joined(counted(distance, "byte"), side, "an allocation of ", counted(range.bytes, "byte"),
                  " (or pageable host memory?)");
  };
  if (after != ranges_.begin()) {
    const Range& range = std::prev(after)->second;
    const uintptr_t behind = address - range.begin - range.bytes;
    if (!range.registered && behind < kNear) return near(behind, " behind ", range);
  }
  if (after != ranges_.end()) {
    const Range& range = after->second;
    if (!range.registered && range.begin - address <= kNear)
      return near(range.begin - address, " before ", range);
  }
  return kUnknown;
}

bool Memory::finds_all(const void* argument, const std::vector<size_t>& offsets) const {
  std::shared_lock lock(mutex_);
  return std::all_of(offsets.begin(), offsets.end(), [&](size_t offset) {
    uintptr_t address;
    std::memcpy(&address, static_cast<const char*>(argument) + offset, sizeof(address));
    return address == 0 || find_locked(address);
  });
}

std::string Memory::refusal(int device, const Range& range) {
  TextStream text;
  text << "is memory of device " << range.device << ", which device " << device << " may not touch; call ";
  if (range.pool)
    text << "cudaMemPoolSetAccess() first";
  else
    text << "cudaSetDevice(" << device << ") and cudaDeviceEnablePeerAccess(" << range.device << ", 0) first";
  return text.str();
}

bool Memory::exists(const Range& range) const {
  std::shared_lock lock(mutex_);
  const auto found = ranges_.find(range.begin);
  return found != ranges_.end() && found->second.bytes == range.bytes;
}

void Memory::set_limit(int device, size_t bytes) {
  std::unique_lock lock(mutex_);
  limit_[static_cast<size_t>(device)] = bytes;
}

size_t Memory::limit(int device) const {
  std::shared_lock lock(mutex_);
  return limit_[static_cast<size_t>(device)];
}

size_t Memory::used(int device) const {
  std::shared_lock lock(mutex_);
  return used_[static_cast<size_t>(device)];
}

bool Memory::peer_enabled(int device, int owner) const {
  std::shared_lock lock(mutex_);
  return peers_[static_cast<size_t>(device)][static_cast<size_t>(owner)];
}

bool Memory::may_access(int device, const Range& range) const {
  std::shared_lock lock(mutex_);
  return may_access_locked(device, range);
}

bool Memory::may_access_locked(int device, const Range& range) const {
  if (range.device == kHost || range.device == device || range.managed) return true;
  if (range.pool) return range.pool->access[static_cast<size_t>(device)];
  return peers_[static_cast<size_t>(device)][static_cast<size_t>(range.device)];
}

void Memory::enable_peer(int device, int owner, bool enabled) {
  std::unique_lock lock(mutex_);
  peers_[static_cast<size_t>(device)][static_cast<size_t>(owner)] = enabled;
  ++generation_;
}

PeerAccess Memory::link(int device, int owner) const {
  std::shared_lock lock(mutex_);
  return links_[static_cast<size_t>(device)][static_cast<size_t>(owner)];
}

void Memory::set_link(int device, int owner, PeerAccess access) {
  std::unique_lock lock(mutex_);
  links_[static_cast<size_t>(device)][static_cast<size_t>(owner)] = access;
  if (access == PeerAccess::broken || access == PeerAccess::wrong_loads) any_broken_link_ = true;
}

// Without access the driver copies through the host.
PeerCopies Memory::copies(int from, int to) const {
  std::shared_lock lock(mutex_);
  const auto a = static_cast<size_t>(from), b = static_cast<size_t>(to);
  return peers_[a][b] || peers_[b][a] ? copies_[a][b] : PeerCopies::work;
}

void Memory::set_copies(int from, int to, PeerCopies copies) {
  std::unique_lock lock(mutex_);
  copies_[static_cast<size_t>(from)][static_cast<size_t>(to)] = copies;
}

Fault Memory::check(int device, const std::string& kernel, const std::vector<Argument>& arguments) const {
  std::shared_lock lock(mutex_);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    for (size_t offset = 0; offset + sizeof(uintptr_t) <= argument.bytes; offset += sizeof(uintptr_t)) {
      uintptr_t address;
      std::memcpy(&address, static_cast<const char*>(argument.data) + offset, sizeof(address));
      if (address == 0) continue;
      const Range* range = find_locked(address);
      const bool foreign = range && !may_access_locked(device, *range);
      if (!foreign && (range || !argument.is_pointer)) continue;
      TextStream text;
      text << "kernel " << kernel << " on device " << device << ", argument " << i + 1;
      if (!argument.is_pointer) text << " (byte " << offset << " of a struct)";
      text << ": " << reinterpret_cast<void*>(address);
      if (foreign)
        text << ' ' << refusal(device, *range);
      else
        text << " is " << kUnknown;
      return {cudaErrorIllegalAddress, text.str()};
    }
  }
  return {};
}

}  // namespace simt

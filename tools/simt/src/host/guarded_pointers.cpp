// Pointers in the structs among the arguments of a launch. A struct may have pointers to memory of the host
// that the kernel does not use, so that such a launch is no error. The kernel's copy of the struct gets an
// address without memory instead, where an access faults.
#include <simt/settings.h>
#include <simt/translated.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "../base/text.h"
#include "../base/wrong_address.h"
#include "runtime.h"

namespace simt {
namespace {

struct GuardedPointer {
  uintptr_t address;
  size_t argument, offset;
};

// Addresses without memory. Each stands for the addresses that are equal in the lower bits, so that pointers
// into the same memory keep their distances.
class GuardedPointers {
 public:
  // 0: there are no addresses left.
  uintptr_t add(const GuardedPointer& pointer) {
    const std::lock_guard lock(mutex_);
    if (begin_ == 0) {
      void* const reserved =
          mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (reserved == MAP_FAILED) return 0;
      begin_ = reinterpret_cast<uintptr_t>(reserved);
    }
    const uintptr_t address = begin_ + pointer.address % kBytes;
    pointers_[address] = pointer;
    return address;
  }
  // The pointer through which an access got to `address`, if any did.
  std::optional<GuardedPointer> find(uintptr_t address) {
    const std::lock_guard lock(mutex_);
    if (begin_ == 0 || address - begin_ >= kBytes) return {};
    const auto after = pointers_.upper_bound(address);
    return (after == pointers_.begin() ? after : std::prev(after))->second;
  }

 private:
  static constexpr size_t kBytes = size_t{1} << 42;

  std::mutex mutex_;
  uintptr_t begin_ = 0;
  std::map<uintptr_t, GuardedPointer> pointers_;
};
GuardedPointers& guarded() {
  static auto* const all = new GuardedPointers;  // kernels may run while the process ends
  return *all;
}

// An address that nothing is mapped to faults without help.
bool is_mapped(uintptr_t address) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) == 0;
}

}  // namespace

void detail::guard_pointers(const Launch& launch, size_t number, const std::vector<size_t>& offsets) {
  // The bounds check looks at each access.
  if (!kWrongAddressesAreFaults || settings().bounds || !Runtime::started()) return;
  char* const bytes = static_cast<char*>(launch.arguments[number].data);
  const Memory& memory = Runtime::get().memory;
  if (memory.finds_all(bytes, offsets) || kernel_heap_is_used) return;
  know_variables(Runtime::get(), host_thread().device);
  for (const size_t offset : offsets) {
    if (memory.finds_all(bytes, {offset})) continue;
    uintptr_t address;
    std::memcpy(&address, bytes + offset, sizeof(address));
    if (!is_mapped(address)) continue;
    if (const uintptr_t guard = guarded().add({address, number + 1, offset}); guard != 0)
      std::memcpy(bytes + offset, &guard, sizeof(guard));
  }
}

std::string description_of(uintptr_t address) {
  constexpr uintptr_t kNullPage = 65536, kUnwritten = UINTPTR_MAX - 65535;
  if (address < kNullPage) return joined("a null pointer (address ", address, ")");
  const std::optional<GuardedPointer> pointer = guarded().find(address);
  if (!pointer)
    return joined("address ", reinterpret_cast<void*>(address), ", where no memory is",
                  address >= kUnwritten ? " (new memory has such bytes until it is written)" : "");
  return joined("memory by argument ", pointer->argument, " (byte ", pointer->offset,
                " of a struct): ", reinterpret_cast<void*>(pointer->address), " is ", Memory::kUnknown);
}

}  // namespace simt

#include "device_memory.h"

#include <deque>
#include <map>
#include <mutex>

#include "runtime.h"
#include "text.h"

namespace ptx {
namespace {

class DeviceMemory final : public MemoryMap {
 public:
  explicit DeviceMemory(int device) : device_(device) {}

  bool find(uint64_t address, uint64_t* begin, uint64_t* end, bool* writable,
            std::string* problem) const override {
    const simt::Memory& memory = simt::Runtime::of_workers().memory;
    const auto range = memory.find(reinterpret_cast<const void*>(address));
    if (!range) {
      *problem = memory.unknown(reinterpret_cast<const void*>(address));
      return false;
    }
    if (address == range->begin + range->bytes) {
      *problem = "the end of an allocation of " + simt::counted(range->bytes, "byte");
      return false;
    }
    if (!memory.may_access(device_, *range)) {
      *problem = simt::Memory::refusal(device_, *range).substr(3);
      return false;
    }
    *begin = range->begin;
    *end = range->begin + range->bytes;
    *writable = !range->constant;
    return true;
  }

 private:
  const int device_;
};

struct Heaps {
  std::mutex mutex;
  std::map<int, std::shared_ptr<Heap>> of;  // by device
};
Heaps& heaps() {
  static auto& all = *new Heaps;
  return all;
}

}  // namespace

std::shared_ptr<Heap> heap_of(int device) {
  const std::lock_guard lock(heaps().mutex);
  std::shared_ptr<Heap>& heap = heaps().of[device];
  if (!heap) heap = make_heap(simt::limit_set(cudaLimitMallocHeapSize));
  return heap;
}

void forget_heap(int device) {
  const std::lock_guard lock(heaps().mutex);
  heaps().of.erase(device);
}

const MemoryMap& memory_of(int device) {
  static std::mutex mutex;
  static auto& maps = *new std::deque<DeviceMemory>;
  const std::lock_guard lock(mutex);
  while (maps.size() <= static_cast<size_t>(device)) maps.emplace_back(static_cast<int>(maps.size()));
  return maps[static_cast<size_t>(device)];
}

}  // namespace ptx

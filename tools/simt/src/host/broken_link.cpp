#include "broken_link.h"

#include <cstring>
#include <map>
#include <new>

namespace simt {

std::vector<std::shared_ptr<void>> cut_off(Memory& memory, int device,
                                           const std::vector<Argument>& arguments) {
  std::vector<std::shared_ptr<void>> stand_ins;
  if (!memory.any_broken_link()) return stand_ins;
  std::map<uintptr_t, char*> of_allocation;  // by the start address of the peer's allocation
  for (const Argument& argument : arguments) {
    for (size_t offset = 0; offset + sizeof(uintptr_t) <= argument.bytes; offset += sizeof(uintptr_t)) {
      char* const word = static_cast<char*>(argument.data) + offset;
      uintptr_t address;
      std::memcpy(&address, word, sizeof(address));
      const auto range = memory.find(reinterpret_cast<void*>(address));
      if (!range || range->device == Memory::kHost || range->device == device) continue;
      // Without enabled access the launch must fail as usual.
      if (memory.link(device, range->device) != PeerAccess::broken) continue;
      if (!memory.peer_enabled(device, range->device)) continue;
      char*& stand_in = of_allocation[range->begin];
      if (!stand_in) {
        void* fresh = nullptr;
        if (memory.allocate(Memory::kHost, range->bytes, &fresh) != cudaSuccess) throw std::bad_alloc();
        stand_ins.emplace_back(
            fresh, [&memory](void* pointer) { static_cast<void>(memory.release(pointer, true)); });
        stand_in = static_cast<char*>(fresh);
      }
      const char* const there = stand_in + (address - range->begin);
      std::memcpy(word, &there, sizeof(there));
    }
  }
  return stand_ins;
}

}  // namespace simt

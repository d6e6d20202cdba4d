#include "async_state.h"

#include <simt/shared.h>

#include <cstring>

#include "block.h"

namespace simt {

size_t shared_offset(const void* address) {
  return static_cast<size_t>(static_cast<const char*>(address) -
                             static_cast<const char*>(detail::shared_begin));
}

std::string shared_text(const void* address) {
  return "byte " + std::to_string(shared_offset(address)) + " of shared memory";
}

void check_shared(const char* instruction, const void* address, size_t bytes, size_t alignment,
                  const Place& place) {
  const auto value = reinterpret_cast<uintptr_t>(address);
  const auto begin = reinterpret_cast<uintptr_t>(detail::shared_begin);
  if (value < begin || value - begin > detail::shared_bytes || detail::shared_bytes - (value - begin) < bytes)
    running_block(instruction).fail(cudaErrorIllegalAddress, [&] {
      return std::string(instruction) + " at " + text(place) + ": its " + std::to_string(bytes) +
             " bytes are not all in the block's shared memory of " + std::to_string(detail::shared_bytes) +
             " bytes";
    });
  if (value % alignment != 0)
    running_block(instruction).fail(cudaErrorMisalignedAddress, [&] {
      return std::string(instruction) + " at " + text(place) + ": the address, " + shared_text(address) +
             ", is not a multiple of " + std::to_string(alignment);
    });
}

// The bytes of late mode that correspond to `shared`; null otherwise. Nothing was seen before the first
// fence.
unsigned char* AsyncState::seen(const void* shared) {
  if (!late_) return nullptr;
  if (seen_.empty()) seen_.assign(detail::shared_bytes, 0xFF);
  return seen_.data() + shared_offset(shared);
}

void AsyncState::fence() {
  if (late_ && detail::shared_bytes != 0)
    std::memcpy(seen(detail::shared_begin), detail::shared_begin, detail::shared_bytes);
}

void AsyncState::read(void* to, const void* from_shared, size_t bytes) {
  std::memcpy(to, from_shared, bytes);
  const unsigned char* const old = seen(from_shared);
  if (!old || std::memcmp(to, old, bytes) == 0) return;
  unsigned char* const result = static_cast<unsigned char*>(to);
  for (size_t i = 0; i < bytes; ++i)
    if (result[i] != old[i]) result[i] = 0xFF;
}

void AsyncState::write(void* to_shared, const void* from, size_t bytes) {
  std::memcpy(to_shared, from, bytes);
  if (unsigned char* const copy = seen(to_shared)) std::memcpy(copy, from, bytes);
}

void AsyncState::fill(void* to_shared, int value, size_t bytes) {
  std::memset(to_shared, value, bytes);
  if (unsigned char* const copy = seen(to_shared)) std::memset(copy, value, bytes);
}

const BulkLoad* AsyncState::unfinished_load() const {
  for (const MbarrierUse& use : uses_)
    if (!use.loads.empty()) return &use.loads.front();
  return nullptr;
}

MbarrierUse& AsyncState::use_of(void* barrier) {
  for (MbarrierUse& use : uses_)
    if (use.address == barrier) return use;
  uses_.push_back({barrier, {}, {}});
  return uses_.back();
}

}  // namespace simt

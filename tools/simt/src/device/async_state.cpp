#include "async_state.h"

#include <simt/shared.h>

#include <algorithm>
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
  TsanIgnore ignore;
  if (late_ && detail::shared_bytes != 0)
    std::memcpy(seen(detail::shared_begin), detail::shared_begin, detail::shared_bytes);
}

const void* AsyncState::unfenced(const void* shared, size_t bytes) {
  TsanIgnore ignore;
  const unsigned char* const old = seen(shared);
  if (!old || std::memcmp(shared, old, bytes) == 0) return nullptr;
  const auto* const now = static_cast<const unsigned char*>(shared);
  return std::mismatch(now, now + bytes, old).first;
}

void AsyncState::write(void* to_shared, const void* from, size_t bytes, uint16_t layout) {
  TsanIgnore ignore;
  std::memcpy(to_shared, from, bytes);
  if (unsigned char* const copy = seen(to_shared)) std::memcpy(copy, from, bytes);
  if (layout == 0 && line_layouts_.empty()) return;
  if (line_layouts_.empty()) {
    line_layouts_.resize(detail::shared_bytes / 16 + 1);
    copied_.resize(detail::shared_bytes);
  }
  const size_t begin = shared_offset(to_shared);
  std::fill(&line_layouts_[begin / 16], &line_layouts_[(begin + bytes + 15) / 16], layout);
  if (layout != 0) std::memcpy(&copied_[begin], from, bytes);
}

uint16_t AsyncState::layout(unsigned span, const Place& place) {
  const auto same = [&](const BoxLayout& known) {
    return known.span == span && known.place.line() == place.line() &&
           known.place.column() == place.column() && known.place.file_name() == place.file_name();
  };
  const auto found = std::find_if(layouts_.begin(), layouts_.end(), same);
  const auto index = static_cast<size_t>(found - layouts_.begin());
  if (found == layouts_.end()) layouts_.push_back({span, place});
  return static_cast<uint16_t>(index + 1);
}

const BoxLayout* AsyncState::box_at(const void* shared) const {
  if (line_layouts_.empty()) return nullptr;
  const size_t offset = shared_offset(shared);
  const uint16_t layout = line_layouts_[offset / 16];
  if (layout == 0 || std::memcmp(shared, &copied_[offset], 16) != 0) return nullptr;
  return &layouts_[layout - 1u];
}

void AsyncState::fill(void* to_shared, int value, size_t bytes) {
  TsanIgnore ignore;
  std::memset(to_shared, value, bytes);
  if (unsigned char* const copy = seen(to_shared)) std::memset(copy, value, bytes);
}

const BulkLoad* AsyncState::unfinished_load() const {
  for (const MbarrierUse& use : uses_)
    if (!use.loads.empty()) return &use.loads.front();
  return nullptr;
}

MbarrierUse& AsyncState::use_of(void* barrier) {
  TsanIgnore ignore;
  for (MbarrierUse& use : uses_)
    if (use.address == barrier) return use;
  uses_.push_back({barrier, {}, {}});
  return uses_.back();
}

}  // namespace simt

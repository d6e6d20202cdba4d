#include "broken_link.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>

namespace simt {
namespace {

constexpr size_t kBetweenErrors = size_t{64} << 10;  // one wrong byte in this many of a corrupted copy

void invert(char* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(~data[i]);
}

// Writes the words of `after` that differ from `before`. Whole words, because a byte of a new value may be
// equal to the damaged one.
void write_changes(char* to, const char* before, const char* after, size_t bytes) {
  constexpr size_t kBlock = 4096, kWord = sizeof(uint32_t);
  const auto differ = [&](size_t at, size_t size) { return std::memcmp(before + at, after + at, size) != 0; };
  for (size_t block = 0; block < bytes; block += kBlock) {
    const size_t end = std::min(block + kBlock, bytes);
    if (!differ(block, end - block)) continue;
    for (size_t at = block; at < end; at += kWord) {
      const size_t size = std::min(kWord, end - at);
      if (differ(at, size)) std::memcpy(to + at, after + at, size);
    }
  }
}

void corrupted_copy(const Transfer& copy) {
  for (size_t row = 0; row < copy.height; ++row) {
    char* const to = static_cast<char*>(copy.to) + row * copy.to_pitch;
    std::memmove(to, static_cast<const char*>(copy.from) + row * copy.from_pitch, copy.width);
    for (size_t end = std::min(kBetweenErrors, copy.width); end <= copy.width; end += kBetweenErrors)
      to[end - 1] = static_cast<char>(to[end - 1] ^ 1);
  }
}

}  // namespace

StandIns::StandIns(Memory& memory, int device, const std::vector<Argument>& arguments, uint64_t pieces)
    : memory_(memory), pieces_(pieces) {
  std::map<uintptr_t, char*> of_allocation;  // by the start address of the peer's allocation
  for (const Argument& argument : arguments) {
    for (size_t offset = 0; offset + sizeof(uintptr_t) <= argument.bytes; offset += sizeof(uintptr_t)) {
      char* const word = static_cast<char*>(argument.data) + offset;
      uintptr_t address;
      std::memcpy(&address, word, sizeof(address));
      const auto range = memory.find(reinterpret_cast<void*>(address));
      if (!range || range->device == Memory::kHost || range->device == device) continue;
      // Without enabled access the launch must fail as usual.
      if (!memory.may_access(device, *range)) continue;
      const PeerAccess link = memory.link(device, range->device);
      if (link != PeerAccess::broken && link != PeerAccess::wrong_loads) continue;
      char*& stand_in = of_allocation[range->begin];
      if (!stand_in) {
        void* fresh = nullptr;
        if (memory.allocate(Memory::kHost, range->bytes, &fresh) != cudaSuccess) throw std::bad_alloc();
        stand_in = static_cast<char*>(fresh);
        all_.push_back({.data = stand_in, .real = nullptr, .bytes = range->bytes, .before = {}});
        if (link == PeerAccess::wrong_loads) all_.back().real = reinterpret_cast<char*>(range->begin);
      }
      const char* const there = stand_in + (address - range->begin);
      std::memcpy(word, &there, sizeof(there));
    }
  }
}

StandIns::~StandIns() {
  for (const StandIn& one : all_) static_cast<void>(memory_.release(one.data, true));
}

void StandIns::begin_piece() {
  const std::lock_guard lock(mutex_);
  if (begun_++ > 0) return;
  for (StandIn& one : all_) {
    if (!one.real) continue;
    one.before.assign(one.real, one.real + one.bytes);
    if (one.bytes > kSoundBytes) invert(one.before.data() + kSoundBytes, one.bytes - kSoundBytes);
    std::memcpy(one.data, one.before.data(), one.bytes);
  }
}

void StandIns::end_piece() {
  const std::lock_guard lock(mutex_);
  if (++ended_ < pieces_) return;
  begun_ = ended_ = 0;  // a graph may run the launch again
  for (const StandIn& one : all_)
    if (one.real) write_changes(one.real, one.before.data(), one.data, one.bytes);
}

void damage_copy(const Memory& memory, Operation& operation) {
  const auto [from, to] = *operation.copies;
  if (from == to) return;
  const PeerCopies copies = memory.copies(from, to);
  const Transfer& transfer = *operation.transfer;
  const bool lost = copies == PeerCopies::lost;
  if (!lost && (copies == PeerCopies::work || transfer.width * transfer.height < kSoundBytes)) return;
  operation.pieces = 1;
  operation.run = [lost, transfer](uint64_t) {
    if (!lost) corrupted_copy(transfer);
    return Fault{};
  };
}

}  // namespace simt

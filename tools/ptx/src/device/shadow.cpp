#include "shadow.h"

#include <algorithm>
#include <cstring>

#include "block.h"
#include "fault.h"

namespace ptx {
namespace {

uint32_t address_of(uint32_t offset, uint32_t rank) { return offset | rank << kRankShift; }

}  // namespace

void SharedShadow::start(uint32_t bytes, uint32_t written, bool by_thread, uint32_t threads) {
  state_.assign(bytes, kUnwritten);
  std::fill_n(state_.begin(), written, kWritten);
  finds_unwritten_ = written < bytes;
  if (!by_thread) return;
  writers_.assign(bytes / 4 + 1, {0, 0});
  fenced_.assign(threads, 0);
}

void SharedShadow::record_writer(uint32_t offset, uint32_t bytes, uint32_t thread) {
  if (writers_.empty()) return;
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word)
    writers_[word] = {thread + 1, time_};
}

void SharedShadow::write(uint32_t offset, uint32_t bytes, uint32_t thread, uint32_t rank) {
  if (state_.empty() || bytes == 0) return;
  if (sources_ != 0) {
    const uint8_t* const first = state_.data() + offset;
    const uint8_t* const source = std::find(first, first + bytes, kSource);
    if (source != first + bytes)
      fail(kLaunchFailure, "write to shared memory at ",
           hex(address_of(offset + static_cast<uint32_t>(source - first), rank)),
           ", which a bulk copy has not read: its thread has not waited for its group");
  }
  std::memset(state_.data() + offset, kWritten, bytes);
  record_writer(offset, bytes, thread);
}

void SharedShadow::expect_bulk(uint32_t offset, uint32_t bytes) {
  if (finds_unwritten_) std::memset(state_.data() + offset, kUnwritten, bytes);
}

void SharedShadow::write_bulk(uint32_t offset, uint32_t bytes) {
  if (state_.empty()) return;
  std::memset(state_.data() + offset, kWritten, bytes);
  if (writers_.empty()) return;
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) writers_[word] = {0, 0};
}

void SharedShadow::fail_unwritten(uint32_t offset, uint32_t bytes, uint32_t rank) const {
  const uint8_t* const state = state_.data() + offset;
  const uint32_t at = static_cast<uint32_t>(std::find(state, state + bytes, kUnwritten) - state);
  fail(kLaunchFailure, "read of shared memory at ", hex(address_of(offset + at, rank)),
       ", which nothing has written, or only an asynchronous copy that has not been waited for");
}

void SharedShadow::check_load(uint32_t offset, uint32_t bytes, uint32_t rank) const {
  if (state_.empty()) return;
  const uint8_t* const state = state_.data() + offset;
  const uint8_t* const end = state + bytes;
  if (std::find_if(state, end, [](uint8_t byte) { return byte != kUnwritten; }) == end)
    check_read(offset, bytes, rank);
}

void SharedShadow::begin_source(uint32_t offset, uint32_t bytes) {
  if (state_.empty()) return;
  ++sources_;
  uint8_t* const state = state_.data() + offset;
  for (uint32_t at = 0; at < bytes; ++at)
    if (state[at] == kWritten) state[at] = kSource;
}

void SharedShadow::end_source(uint32_t offset, uint32_t bytes) {
  if (state_.empty()) return;
  --sources_;
  uint8_t* const state = state_.data() + offset;
  for (uint32_t at = 0; at < bytes; ++at)
    if (state[at] == kSource) state[at] = kWritten;
}

void SharedShadow::fence_proxy(uint32_t thread) {
  if (!fenced_.empty()) fenced_[thread] = ++time_;
}

void SharedShadow::check_proxy(uint32_t offset, uint32_t bytes, uint32_t issuer, uint32_t rank,
                               const char* reader) const {
  if (writers_.empty()) return;
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    const Writer& writer = writers_[word];
    if (writer.thread_and_one == 0 || writer.thread_and_one > fenced_.size()) continue;
    const uint32_t thread = writer.thread_and_one - 1;
    if (fenced_[thread] > writer.time || fenced_[issuer] > writer.time) continue;
    fail(kLaunchFailure, reader, " reads shared memory at ", hex(address_of(word * 4, rank)),
         ", which thread ", thread, " of the block has written without fence.proxy.async after it");
  }
}

}  // namespace ptx

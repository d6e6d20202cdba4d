// What is known about each byte of a block's shared memory: whether it was written, whether an asynchronous
// operation uses it, and which thread wrote it by the generic proxy (PTX ISA 8.7.1 "Proxies").
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace ptx {

struct Warp;

class SharedShadow {
 public:
  // States of a byte. A read accepts all but unwritten; the fast path of loads looks for kWritten alone.
  static constexpr uint8_t kUnwritten = 0, kWritten = 0xFF, kSource = 0xFE;

  // `bytes` of shared memory of which those below `written` are written. `by_thread`: the generic writes of
  // each of `threads` threads are recorded, for check_proxy().
  void start(uint32_t bytes, uint32_t written, bool by_thread, uint32_t threads);
  bool enabled() const { return !state_.empty(); }
  bool by_thread() const { return !writers_.empty(); }
  bool has_sources() const { return sources_ != 0; }
  uint8_t* states() { return state_.data(); }
  const uint8_t* states() const { return state_.data(); }

  // A write by the generic proxy, of a thread of the block or (kForeign) of another one. Faults if the bytes
  // are the source of a bulk copy that has not read them.
  static constexpr uint32_t kForeign = ~0u;
  void write(uint32_t offset, uint32_t bytes, uint32_t thread, uint32_t rank);
  // Records a write of several lanes whose states the caller has marked.
  void record_writer(uint32_t offset, uint32_t bytes, uint32_t thread);
  // Of a bulk copy: its destination is unwritten from its issue to its completion.
  void expect_bulk(uint32_t offset, uint32_t bytes);  // with check of unwritten bytes only
  void write_bulk(uint32_t offset, uint32_t bytes);

  // Faults if a byte is unwritten.
  void check_read(uint32_t offset, uint32_t bytes, uint32_t rank) const {
    if (!state_.empty() && has_unwritten(state_.data() + offset, bytes)) fail_unwritten(offset, bytes, rank);
  }
  // Of one load of a thread: faults if all of its bytes are unwritten. A struct may have padding, which its
  // copy by a wide load includes.
  void check_load(uint32_t offset, uint32_t bytes, uint32_t rank) const;

  // The source of a bulk copy, from its issue until it has been read.
  void begin_source(uint32_t offset, uint32_t bytes);
  void end_source(uint32_t offset, uint32_t bytes);

  // fence.proxy.async of a thread.
  void fence_proxy(uint32_t thread);
  // The asynchronous proxy reads bytes for `issuer`. Faults if the thread that wrote one has not executed
  // fence.proxy.async after it; the issuer's own fence after the write counts, too.
  void check_proxy(uint32_t offset, uint32_t bytes, uint32_t issuer, uint32_t rank, const char* reader) const;

 private:
  // Whether one of the bytes is kUnwritten. By eight: subtracting 1 from each borrows from a zero alone.
  static bool has_unwritten(const uint8_t* state, uint32_t bytes) {
    static_assert(kUnwritten == 0);
    constexpr uint64_t kOnes = 0x0101010101010101, kHighBits = kOnes << 7;
    uint64_t zeros = 0;
    uint32_t at = 0;
    for (; at + 8 <= bytes; at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, state + at, 8);
      zeros |= (word - kOnes) & ~word & kHighBits;
    }
    for (; at < bytes; ++at) zeros |= state[at] == kUnwritten;
    return zeros != 0;
  }
  [[noreturn]] void fail_unwritten(uint32_t offset, uint32_t bytes, uint32_t rank) const;

  std::vector<uint8_t> state_;
  // Of each word, the thread that wrote it and the number of fences until then; 0: no thread.
  struct Writer {
    uint32_t thread_and_one;
    uint32_t time;
  };
  std::vector<Writer> writers_;
  std::vector<uint32_t> fenced_;  // the time of each thread's latest fence
  uint32_t time_ = 1;
  uint32_t sources_ = 0;
  bool finds_unwritten_ = false;
};

}  // namespace ptx

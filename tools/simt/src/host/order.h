// OperationOrder: which operations (kernels, copies, fills, host functions) happen before which, by what the
// program itself orders: streams, events, graphs, and what the host has waited for. The waits that only the
// executor adds (hardware queues, loading a kernel, full queues) do not count, because they would hide a
// missing event. Used by the race detector (observe/race_check.cpp); otherwise it is off and costs nothing.
//
// It is a vector clock. Each operation gets a place in a chain of operations that are ordered among each
// other, and a Clock: for every chain, how many of its operations happen before it. Chains are not streams:
// an operation continues any chain whose end happens before it, so there are only as many chains as
// operations that ran at once.
#pragma once

#include <driver_types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace simt {

struct Kernel;
struct Operation;

class Clock {
 public:
  bool covers(uint32_t chain, uint32_t index) const { return chain < ends_.size() && ends_[chain] >= index; }
  void set(uint32_t chain, uint32_t index) {
    if (ends_.size() <= chain) ends_.resize(chain + 1);
    ends_[chain] = index;
  }
  void join(const Clock& other) {
    if (ends_.size() < other.ends_.size()) ends_.resize(other.ends_.size());
    for (size_t i = 0; i < other.ends_.size(); ++i)
      if (ends_[i] < other.ends_[i]) ends_[i] = other.ends_[i];
  }
  uint32_t end(uint32_t chain) const { return chain < ends_.size() ? ends_[chain] : 0; }

 private:
  std::vector<uint32_t> ends_;  // by chain
};

// The stream that an operation was issued to. Streams are numbered in the order of their creation.
struct StreamName {
  int device = 0;
  unsigned number = 0;  // 0: the legacy default stream
};

// An operation that the order knows: one launch of a kernel, or one copy.
struct IssuedOperation {
  uint32_t number = 0;  // unique; 0: none
  Clock before;         // it, and all that happens before it
};

class OperationOrder {
 public:
  // For reports.
  struct Description {
    const std::string* name = nullptr;
    dim3 grid, cluster, block;
    bool is_kernel = false;
    StreamName stream;
  };

  bool on() const { return on_.load(std::memory_order_relaxed); }
  // From now on. All earlier operations have finished.
  void start() { on_ = true; }
  void stop() { on_ = false; }

  // A new operation after `clock`, to which it is added.
  std::shared_ptr<const IssuedOperation> issue(Clock& clock, const Operation& operation, StreamName stream);
  // A cluster that a test runs without a stream: it happens after everything.
  std::shared_ptr<const IssuedOperation> issue_alone(const Kernel& kernel);

  // The host has waited for all of `clock`, so that all that it issues later comes after it. This counts for
  // all host threads: how they wait for each other is not known here.
  void host_waited(const Clock& clock);
  void host_waited_for_all();
  Clock host() const;

  bool happens_before(uint32_t operation, const Clock& clock) const {
    const Position& position = position_of(operation);
    return clock.covers(position.chain, position.index);
  }
  // Of the last million operations.
  Description description(uint32_t operation) const;

 private:
  struct Position {
    uint32_t chain, index;
  };
  // Positions never move, because they are read without the mutex.
  static constexpr uint32_t kPositions = 1u << 18;
  using Positions = std::array<Position, kPositions>;
  static constexpr size_t kDescriptions = 1u << 20;

  const Position& position_of(uint32_t operation) const {
    return (*positions_[operation / kPositions].load(std::memory_order_acquire))[operation % kPositions];
  }
  Description described(const Kernel& kernel, StreamName stream);
  uint32_t add(Clock& clock, const Description& description);
  const std::string* interned(const std::string& name);

  std::atomic<bool> on_{false};
  mutable std::mutex mutex_;
  uint32_t count_ = 0;
  std::vector<uint32_t> chain_ends_;
  Clock host_;
  std::array<std::atomic<Positions*>, 1u << 12> positions_ = {};
  std::deque<Description> descriptions_;  // the newest
  std::set<std::string> names_;
};

}  // namespace simt

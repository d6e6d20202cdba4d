// Pieces: the parts of an operation (Operation::pieces) that a thread has yet to run.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace simt {

class Pieces {
 public:
  virtual ~Pieces() = default;
  virtual std::optional<uint64_t> next() = 0;
};

// In their order, shared with other threads, which take a chunk at a time.
class SharedPieces final : public Pieces {
 public:
  SharedPieces(std::atomic<uint64_t>& next, uint64_t count, uint64_t chunk)
      : next_(next), count_(count), chunk_(chunk) {}
  std::optional<uint64_t> next() override {
    if (at_ == end_) {
      at_ = next_.fetch_add(chunk_, std::memory_order_relaxed);
      end_ = std::min(count_, at_ + chunk_);
      if (at_ >= end_) {
        at_ = end_;
        return {};
      }
    }
    return at_++;
  }

 private:
  std::atomic<uint64_t>& next_;
  const uint64_t count_, chunk_;
  uint64_t at_ = 0, end_ = 0;
};

// In a given order.
class OrderedPieces final : public Pieces {
 public:
  explicit OrderedPieces(std::vector<uint64_t> order) : order_(std::move(order)) {}
  std::optional<uint64_t> next() override {
    return at_ < order_.size() ? std::optional(order_[at_++]) : std::nullopt;
  }

 private:
  const std::vector<uint64_t> order_;
  size_t at_ = 0;
};

namespace detail {
inline thread_local constinit Pieces* running_pieces = nullptr;
}  // namespace detail

// In this scope the piece that this thread runs can take further ones from `pieces`; from null it can't.
class RunningPieces {
 public:
  explicit RunningPieces(Pieces* pieces) : before_(std::exchange(detail::running_pieces, pieces)) {}
  ~RunningPieces() { detail::running_pieces = before_; }
  RunningPieces(const RunningPieces&) = delete;
  RunningPieces& operator=(const RunningPieces&) = delete;

 private:
  Pieces* const before_;
};

// Another piece of the operation that this thread runs, which the caller then runs itself: for blocks that
// wait for blocks that no thread has begun.
inline std::optional<uint64_t> another_piece() {
  return detail::running_pieces ? detail::running_pieces->next() : std::nullopt;
}

}  // namespace simt

// OperationLog: the operations of a profile, as they begin to run.
#pragma once

#include <simt/counted_operations.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "../base/observer.h"
#include "../host/memory.h"
#include "../host/order.h"

namespace simt {

class OperationLog {
 public:
  explicit OperationLog(const OperationOrder& order) : order_(order) {}

  // Of the running operation. The place of the launch, for add_links(); nothing if it is not counted.
  std::optional<size_t> add_launch(size_t kernel, int device) {
    CountedOperation operation;
    operation.kernel = kernel;
    operation.device = device;
    if (!add(std::move(operation))) return std::nullopt;
    return entries_.size() - 1;
  }
  void add_links(std::optional<size_t> launch, const LinkBytes& host, const LinkBytes& peer) {
    if (!launch) return;
    entries_[*launch].operation.host_link = host;
    entries_[*launch].operation.peer_link = peer;
  }
  void add(const Transfer& transfer) {
    const auto place = [](int device) { return device == Memory::kHost ? kHostMemory : device; };
    CountedOperation operation;
    operation.to = place(transfer.to_device);
    operation.from = transfer.from ? place(transfer.from_device) : operation.to;
    operation.bytes = transfer.width * transfer.rows();
    add(std::move(operation));
  }

  void copy_to(ProgramProfile& profile) {
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.number < b.number; });
    for (size_t i = 0; i < entries_.size(); ++i) {
      std::vector<size_t>& after = entries_[i].operation.after;
      after.clear();
      for (size_t j = i; j-- > 0;) {
        if (!order_.happens_before(entries_[j].number, entries_[i].before)) continue;
        const bool follows = std::any_of(after.begin(), after.end(), [&](size_t other) {
          return order_.happens_before(entries_[j].number, entries_[other].before);
        });
        if (!follows) after.push_back(j);
      }
      std::reverse(after.begin(), after.end());
      profile.operations.push_back(entries_[i].operation);
    }
    profile.uncounted_operations = uncounted_;
  }

 private:
  struct Entry {
    uint32_t number;
    Clock before;
    CountedOperation operation;
  };

  // Whether it is counted.
  bool add(CountedOperation operation) {
    const IssuedOperation* const issued = detail::running_operation;
    if (!issued) return false;  // issued before the profile began, or a cluster that a test runs
    if (entries_.size() == kMostCountedOperations) {
      ++uncounted_;
      return false;
    }
    entries_.push_back({issued->number, issued->before, std::move(operation)});
    return true;
  }

  const OperationOrder& order_;
  std::vector<Entry> entries_;
  uint64_t uncounted_ = 0;
};

}  // namespace simt

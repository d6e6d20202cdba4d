#include "order.h"

#include <simt/kernel.h>

#include <utility>

#include "task.h"

namespace simt {

std::shared_ptr<const IssuedOperation> OperationOrder::issue(Clock& clock, const Operation& operation,
                                                             StreamName stream) {
  std::lock_guard lock(mutex_);
  clock.join(host_);
  Description description;
  if (operation.kernel) {
    description = described(*operation.kernel, stream);
  } else {
    description.name = interned(operation.transfer ? operation.transfer->name : "a host function");
    description.stream = stream;
  }
  auto issued = std::make_shared<IssuedOperation>();
  issued->number = add(clock, description);
  issued->before = clock;
  return issued;
}

std::shared_ptr<const IssuedOperation> OperationOrder::issue_alone(const Kernel& kernel) {
  std::lock_guard lock(mutex_);
  Clock clock;
  for (uint32_t chain = 0; chain < chain_ends_.size(); ++chain) clock.set(chain, chain_ends_[chain]);
  auto issued = std::make_shared<IssuedOperation>();
  issued->number = add(clock, described(kernel, {}));
  issued->before = std::move(clock);
  return issued;
}

OperationOrder::Description OperationOrder::described(const Kernel& kernel, StreamName stream) {
  return {interned(kernel.name), kernel.grid, kernel.together(), kernel.block, true, stream};
}

uint32_t OperationOrder::add(Clock& clock, const Description& description) {
  uint32_t chain = 0;
  while (chain < chain_ends_.size() && clock.end(chain) != chain_ends_[chain]) ++chain;
  if (chain == chain_ends_.size()) chain_ends_.push_back(0);
  const uint32_t index = ++chain_ends_[chain];
  clock.set(chain, index);

  const uint32_t number = ++count_;
  std::atomic<Positions*>& positions = positions_[number / kPositions];
  if (!positions) positions = new Positions;
  (*positions)[number % kPositions] = {chain, index};
  descriptions_.push_back(description);
  if (descriptions_.size() > kDescriptions) descriptions_.pop_front();
  return number;
}

const std::string* OperationOrder::interned(const std::string& name) { return &*names_.insert(name).first; }

void OperationOrder::host_waited(const Clock& clock) {
  std::lock_guard lock(mutex_);
  host_.join(clock);
}

void OperationOrder::host_waited_for_all() {
  std::lock_guard lock(mutex_);
  for (uint32_t chain = 0; chain < chain_ends_.size(); ++chain) host_.set(chain, chain_ends_[chain]);
}

Clock OperationOrder::host() const {
  std::lock_guard lock(mutex_);
  return host_;
}

OperationOrder::Description OperationOrder::description(uint32_t operation) const {
  static const std::string unknown = "an operation long ago";
  std::lock_guard lock(mutex_);
  const uint32_t first = count_ + 1 - static_cast<uint32_t>(descriptions_.size());
  if (operation < first || operation > count_) return {&unknown, {}, {}, {}, false, {}};
  return descriptions_[operation - first];
}

}  // namespace simt

// ForwardingGroup: a process group that forwards all calls to another one, for tests that look at its
// messages.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>

#include <cstdlib>
#include <string>

namespace rondo::test {

class ForwardingGroup : public ProcessGroup {
 public:
  explicit ForwardingGroup(ProcessGroup& group) : group_(group) {}
  int size() const override { return group_.size(); }
  int index() const override { return group_.index(); }
  std::string name(int process) const override { return group_.name(process); }
  std::string host(int process) const override { return group_.host(process); }
  Status state() const override { return group_.state(); }
  [[noreturn]] void abort(int exit_code) override {
    group_.abort(exit_code);
    std::abort();  // g++ does not see that a virtual function does not return
  }
  Status exchange(std::span<const Message> sends, std::span<const Message> receives, int tag,
                  const std::string& what) override {
    return group_.exchange(sends, receives, tag, what);
  }

 private:
  ProcessGroup& group_;
};

}  // namespace rondo::test

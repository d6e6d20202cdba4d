// A process of a group that exists in the test alone. Classes of tests add the messages.
#pragma once

#include <rondo/collectives/across_hosts/process_group.h>
#include <rondo/kernels/core/text.h>

#include <cstdlib>
#include <string>

namespace rondo::test {

class TestProcess : public ProcessGroup {
 public:
  TestProcess(int size, int index) : size_(size), index_(index) {}
  int size() const override { return size_; }
  int index() const override { return index_; }
  std::string name(int process) const override { return concat("process ", process); }
  std::string host(int) const override { return "here"; }
  Status state() const override { return {}; }
  [[noreturn]] void abort(int) override { std::abort(); }

 private:
  int size_, index_;
};

}  // namespace rondo::test

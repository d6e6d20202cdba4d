// ProcessPair: two processes of a training as two threads of one process.
#pragma once

#include <rondo/tests/support/test_process.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace rondo::test {

class ProcessPair {
 public:
  // Calls run(processes, index) in each process at the same time. An exception must not leave it.
  template <class Run>
  static void run(const Run& run) {
    ProcessPair pair;
    Member first(pair, 0), second(pair, 1);
    std::thread other([&] { run(static_cast<ProcessGroup&>(second), 1); });
    run(static_cast<ProcessGroup&>(first), 0);
    other.join();
  }

 private:
  class Member : public TestProcess {
   public:
    Member(ProcessPair& pair, int index) : TestProcess(2, index), pair_(pair) {}
    Status exchange(std::span<const Message> sends, std::span<const Message> receives, int tag,
                    const std::string& what) override {
      return pair_.exchange(index(), sends, receives, tag, what);
    }

   private:
    ProcessPair& pair_;
  };

  using Bytes = std::vector<std::byte>;
  Status exchange(int own, std::span<const ProcessGroup::Message> sends,
                  std::span<const ProcessGroup::Message> receives, int tag, const std::string& what) {
    std::unique_lock lock(mutex_);
    for (const ProcessGroup::Message& message : sends) {
      const auto* const begin = static_cast<const std::byte*>(message.data);
      sent_[{own, tag}].push_back(Bytes(begin, begin + message.bytes));
    }
    changed_.notify_all();
    for (const ProcessGroup::Message& message : receives) {
      std::deque<Bytes>& waiting = sent_[{message.process, tag}];
      if (!changed_.wait_for(lock, std::chrono::seconds(10), [&] { return !waiting.empty(); }))
        return Status(StatusCode::timed_out, concat(what, ": the other process is missing"));
      if (static_cast<int64_t>(waiting.front().size()) != message.bytes)
        return Status(StatusCode::bad_argument, concat(what, ": a message of another size"));
      std::memcpy(message.data, waiting.front().data(), waiting.front().size());
      waiting.pop_front();
    }
    return {};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::deque<Bytes>> sent_;  // by sender and tag
};

}  // namespace rondo::test

// The unit of execution. Everything that a program orders (kernels, copies, host functions, event records) is
// a Task with a count of unfinished predecessors and a list of successors; streams, events and graphs only
// create edges between tasks.
#pragma once

#include <simt/kernel.h>
#include <simt/launch.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "../base/transfer.h"
#include "order.h"

namespace simt {

// The work of a task. Immutable, so that the nodes of a graph share it with all launches.
struct Operation {
  int device = 0;
  std::optional<cudaHostNodeParams> host_function;
  bool late = false;  // begins only when the host waits, if nothing else is known about when a GPU begins it
  struct Link {
    int from, to;
  };
  std::optional<Link> copies;  // the devices of a device-to-device copy
  uint64_t pieces = 1;         // independent parts, distributed over the workers: the blocks of a kernel
  std::function<Fault(uint64_t piece)> run;
  std::function<void()> leave;  // may be empty; each thread calls it after its last piece
  // What it is and accesses: for the race detector, and for programs that ask a node of a graph.
  const Kernel* kernel = nullptr;                    // of a launch
  const std::vector<Argument>* arguments = nullptr;  // of a launch
  bool cooperative = false;                          // of a launch
  std::optional<Transfer> transfer;                  // of a copy or a fill
};

// The unfinished work of a stream.
struct Backlog {
  std::atomic<int> unfinished{0};  // entries of its queue
  int awaited = 0;                 // host threads that wait for room; guarded by the scheduler
};

struct Task;
using TaskPtr = std::shared_ptr<Task>;

struct Task {
  explicit Task(std::shared_ptr<const Operation> what = nullptr) : operation(std::move(what)) {}

  bool finished() const { return done.load(std::memory_order_acquire); }

  std::shared_ptr<const IssuedOperation> issued;  // null: no check is running
  std::shared_ptr<const Operation> operation;     // null: a marker, which finishes with its predecessors
  std::atomic<uint64_t> next_piece{0};
  std::atomic<bool> done{false};
  std::shared_ptr<Backlog> backlog;                   // null: counts for no stream
  int entries = 1;                                    // of the stream's queue
  std::chrono::steady_clock::time_point finished_at;  // of a marker; valid once done

  // Guarded by the scheduler.
  int waiting = 0;       // unfinished predecessors
  int helpers = 0;       // threads that run it
  bool awaited = false;  // a host thread waits for it
  std::vector<TaskPtr> successors;
};

}  // namespace simt

// Runs tasks when their predecessors have finished: on a pool of workers in the order in which they became
// ready, or, with a seed, on the host thread that waits, in an order drawn from the seed. Without a seed,
// host functions have a thread of their own, so that one that blocks takes no worker from the kernels. Both
// ways they run one after another.
//
// One mutex guards the edges of the graph and the queue. A worker takes it once a task (it hands in the last
// one and takes the next in the same hold), and the blocks of a kernel are shared out by an atomic counter,
// so it is not what limits a chain of small kernels.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>

#include "task.h"

namespace simt {

// Says once on stderr that a host thread has been blocked for long, in a wait that its program did not ask
// for.
class LongWait {
 public:
  LongWait(std::chrono::milliseconds patience, std::function<std::string()> what)
      : patience_(patience), deadline_(std::chrono::steady_clock::now() + patience), what_(std::move(what)) {}
  bool told() const { return told_; }
  std::chrono::steady_clock::time_point deadline() const { return deadline_; }
  void tell();

 private:
  std::chrono::milliseconds patience_;
  std::chrono::steady_clock::time_point deadline_;
  std::function<std::string()> what_;
  bool told_ = false;
};

// Lives as long as the process; shut_down() ends its threads.
class Scheduler {
 public:
  // `skip` says whether a device is dead; `report` is told of every fault.
  struct Hooks {
    std::function<bool(int device)> skip;
    std::function<void(const Operation&, const Fault&)> report;
  };
  // Throws where not all threads can be started; none is left then.
  Scheduler(int workers, std::optional<uint64_t> seed, Hooks hooks);

  int workers() const { return workers_; }

  struct Edge {
    TaskPtr before;
    TaskPtr after;
  };
  // Hands in new tasks and all edges that lead to them. A predecessor may have finished already.
  void submit(std::span<const TaskPtr> tasks, std::span<const Edge> edges);

  void wait(const TaskPtr& task, LongWait* notice = nullptr);
  // Waits until fewer than `limit` operations of a stream are unfinished. False: the process ends.
  bool wait_for_room(Backlog& backlog, int limit, LongWait& notice);
  void wait_all();
  // Gives lazy (seeded) execution a chance to proceed: a host that polls must see progress.
  void poll();
  // Called after submitting, outside every lock: keeps the backlog of lazy execution within bounds.
  void throttle();

  void set_seed(std::optional<uint64_t> seed);
  // A number below `below`, drawn from the seed; nothing without a seed.
  std::optional<uint64_t> drawn(uint64_t below);
  void shut_down();

 private:
  void work();
  void call_host_functions();
  void hand_over(const TaskPtr& host_function);
  void call_drawn(std::unique_lock<std::mutex>& lock, const TaskPtr& host_function);
  TaskPtr take(std::unique_lock<std::mutex>& lock);
  TaskPtr join_front();
  void pop_front();
  bool help(std::unique_lock<std::mutex>& lock);
  void sleep(std::unique_lock<std::mutex>& lock, LongWait* notice);
  void run_pieces(Task& task);
  static Fault run_piece(const Operation& operation, uint64_t piece);
  bool run_range(const Operation& operation, uint64_t begin, uint64_t end);
  void leave(const TaskPtr& task);
  void finish(const TaskPtr& task);
  void make_ready(const TaskPtr& task);
  void wake_workers(std::unique_lock<std::mutex>& lock);
  bool run_one_drawn(std::unique_lock<std::mutex>& lock);
  int useful_helpers(const Operation& operation) const;
  uint64_t draw(uint64_t below);

  const int workers_;
  const Hooks hooks_;
  std::vector<std::thread> threads_;  // the workers, and the one for host functions

  std::mutex mutex_;
  std::condition_variable work_arrived_;
  std::condition_variable host_function_arrived_;
  std::condition_variable task_finished_;
  std::deque<TaskPtr> host_functions_;  // the one that runs, and those that were handed over behind it
  std::deque<TaskPtr> ready_;
  std::atomic<int> ready_count_{0};  // size of ready_, for workers that spin
  int sleeping_ = 0;
  int spinning_ = 0;
  int64_t pending_ = 0;  // submitted and not finished
  bool all_awaited_ = false;
  bool stopping_ = false;

  std::atomic<bool> seeded_{false};
  std::mt19937_64 random_;
  bool drawing_ = false;  // a host thread runs a drawn task
};

}  // namespace simt

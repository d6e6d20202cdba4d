// Runs tasks after their predecessors: on a pool of workers in the order in which they become ready, or, with
// a seed, on the waiting host thread in a random order. With a seed the workers run tasks only while the host
// calls nothing for long. Host functions have their own thread, so that one that blocks takes no worker from
// the kernels. They run one after another, with and without a seed.
//
// One mutex guards the edges of the graph and the queue. A worker locks it once per task (it finishes the
// last task and takes the next under the same lock), and an atomic counter distributes the blocks of a
// kernel, so the mutex does not limit chains of small kernels.
#pragma once

#include <chrono>
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

class Pieces;

// Reports once on stderr that a host thread has been blocked for long in a wait that its program did not
// request.
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
  // `skip` returns whether a device has failed; `report` receives every fault; `before_host_function` is
  // called on the host function's thread.
  struct Hooks {
    std::function<bool(int device)> skip;
    std::function<void(const Operation&, const Fault&)> report;
    std::function<void(const Task&)> before_host_function;
  };
  // Throws if not all threads can be started, after ending those that were.
  Scheduler(int workers, std::optional<uint64_t> seed, Hooks hooks);

  int workers() const { return workers_; }

  struct Edge {
    TaskPtr before;
    TaskPtr after;
  };
  // Submits new tasks and all edges to them. A predecessor may have finished already.
  void submit(std::span<const TaskPtr> tasks, std::span<const Edge> edges);

  void wait(const TaskPtr& task, LongWait* notice = nullptr);
  // Waits until fewer than `limit` operations of a stream are unfinished. Returns false if the process is
  // ending.
  bool wait_for_room(Backlog& backlog, int limit, LongWait& notice);
  void wait_all();
  // Lets lazy (seeded) execution and late copies proceed, so that a polling host sees progress.
  void poll();
  // Whether a thread of the host waits for tasks.
  bool host_waits() const { return waiting_hosts_ > 0; }
  // Called after submitting, without a lock: limits the backlog of lazy execution.
  void throttle();

  void set_seed(std::optional<uint64_t> seed);
  // A random number below `below` from the seed; nothing without a seed.
  std::optional<uint64_t> drawn(uint64_t below);
  void shut_down();

 private:
  void work();
  void call_host_functions();
  void hand_over(const TaskPtr& host_function);
  void call_drawn(std::unique_lock<std::mutex>& lock, const TaskPtr& host_function);
  TaskPtr take(std::unique_lock<std::mutex>& lock);
  void draw_for_idle_host(std::unique_lock<std::mutex>& lock);
  TaskPtr join_front();
  void pop_front();
  bool help(std::unique_lock<std::mutex>& lock);
  void sleep(std::unique_lock<std::mutex>& lock, LongWait* notice);
  void run_pieces(Task& task);
  static Fault run_piece(const Operation& operation, uint64_t piece);
  void run_all(const Operation& operation, Pieces& pieces);
  void leave(const TaskPtr& task);
  void finish(const TaskPtr& task);
  void make_ready(const TaskPtr& task);
  void add_ready(const TaskPtr& task);
  void begin_wait();
  void begin_late();
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void wake_workers(std::unique_lock<std::mutex>& lock);
  bool run_one_drawn(std::unique_lock<std::mutex>& lock);
  int useful_helpers(const Operation& operation) const;
  uint64_t draw(uint64_t below);

  const int workers_;
  const Hooks hooks_;
  std::vector<std::thread> threads_;  // the workers and the thread for host functions

  std::mutex mutex_;
  std::condition_variable work_arrived_;
  std::condition_variable host_function_arrived_;
  std::condition_variable task_finished_;
  std::deque<TaskPtr> host_functions_;  // the running one and those waiting behind it
  std::deque<TaskPtr> ready_;
  std::atomic<int> ready_count_{0};  // size of ready_, for polling workers
  // Ready tasks with Operation::late. They begin when a host thread waits or polls, or has called nothing for
  // long.
  std::vector<TaskPtr> late_;
  std::atomic<bool> any_late_{false};  // late_ is not empty, for polling hosts
  std::atomic<int> waiting_hosts_{0};
  int sleeping_ = 0;
  int spinning_ = 0;
  int64_t pending_ = 0;  // submitted and not finished
  bool all_awaited_ = false;
  bool stopping_ = false;

  std::atomic<bool> seeded_{false};
  std::mt19937_64 random_;
  bool drawing_ = false;                               // a thread runs a drawn task
  std::chrono::steady_clock::time_point host_called_;  // the last submission or, with a seed, wait
};

}  // namespace simt

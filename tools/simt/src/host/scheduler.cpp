#include "scheduler.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>

#include "../base/observer.h"
#include "../base/text.h"
#include "pieces.h"

namespace simt {
namespace {

// How often an idle worker polls for work before it sleeps: a few microseconds. More would slow down other
// processes on a busy machine.
constexpr int kSpins = 100;
// With a seed tasks run only when the host waits, but beyond this number some run earlier, like a full GPU
// queue.
constexpr int64_t kLazyLimit = 4096;
// How long the seeded order waits for a host function.
constexpr std::chrono::milliseconds kHostFunctionTime{20};
// A host that has called nothing for this long waits for something else, such as a message of another
// process. A worker then runs the tasks that wait for the host: late ones, and with a seed all.
constexpr std::chrono::milliseconds kHostIdle{200};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

Scheduler::Scheduler(int workers, std::optional<uint64_t> seed, Hooks hooks)
    : workers_(workers), hooks_(std::move(hooks)) {
  set_seed(seed);
  threads_.reserve(static_cast<size_t>(workers_) + 1);
  try {
    for (int i = 0; i < workers_; ++i) threads_.emplace_back([this] { work(); });
    threads_.emplace_back([this] { call_host_functions(); });
  } catch (const std::exception& error) {
    const size_t started = threads_.size();
    shut_down();  // the threads wait on this object, which is about to be destroyed
    const std::string workers = std::to_string(workers_) + " worker threads";
    const std::string which = static_cast<int>(started) < workers_
                                  ? "only " + std::to_string(started) + " of " + workers
                                  : "only the " + workers + ", not that for host functions,";
    throw std::runtime_error(which + " could be started: " + error.what() + "; SIMT_WORKERS asks for fewer");
  }
}

void Scheduler::shut_down() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_arrived_.notify_all();
  host_function_arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Scheduler::set_seed(std::optional<uint64_t> seed) {
  wait_all();
  std::lock_guard lock(mutex_);
  seeded_ = seed.has_value();
  if (seed) random_.seed(*seed);
  work_arrived_.notify_all();  // idle workers sleep in another way with a seed
}

std::optional<uint64_t> Scheduler::drawn(uint64_t below) {
  if (!seeded_) return {};
  std::lock_guard lock(mutex_);
  return draw(below);
}

uint64_t Scheduler::draw(uint64_t below) { return random_() % below; }

void Scheduler::submit(std::span<const TaskPtr> tasks, std::span<const Edge> edges) {
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  host_called_ = std::chrono::steady_clock::now();
  pending_ += static_cast<int64_t>(tasks.size());
  for (const Edge& edge : edges) {
    if (edge.before->finished()) continue;
    edge.before->successors.push_back(edge.after);
    ++edge.after->waiting;
  }
  // Collected first: a marker that finishes at once would otherwise be found again later in this list.
  std::vector<TaskPtr> free_tasks;
  for (const TaskPtr& task : tasks)
    if (task->waiting == 0) free_tasks.push_back(task);
  for (const TaskPtr& task : free_tasks) make_ready(task);
  if (!seeded_) wake_workers(lock);
}

void Scheduler::make_ready(const TaskPtr& task) {
  if (!task->operation) return finish(task);
  if (task->operation->host_function && !seeded_) return hand_over(task);
  if (!task->operation->late || seeded_ || waiting_hosts_ > 0) return add_ready(task);
  late_.push_back(task);
  any_late_ = true;
}

void Scheduler::add_ready(const TaskPtr& task) {
  ready_.push_back(task);
  ready_count_.store(static_cast<int>(ready_.size()), std::memory_order_relaxed);
}

void Scheduler::begin_wait() {
  ++waiting_hosts_;
  begin_late();
}

void Scheduler::begin_late() {
  for (const TaskPtr& task : late_) add_ready(task);
  late_.clear();
  any_late_ = false;
}

// Host functions run on their own thread.
void Scheduler::hand_over(const TaskPtr& host_function) {
  host_functions_.push_back(host_function);
  host_function_arrived_.notify_one();
}

// Marks a task as done and releases its successors; markers among them finish in the same call.
void Scheduler::finish(const TaskPtr& first) {
  std::vector<TaskPtr> finished{first};
  while (!finished.empty()) {
    const TaskPtr task = std::move(finished.back());
    finished.pop_back();
    if (!task->operation) task->finished_at = std::chrono::steady_clock::now();
    task->done.store(true, std::memory_order_release);
    --pending_;
    bool awaited = task->awaited;
    if (Backlog* backlog = task->backlog.get()) {
      backlog->unfinished -= task->entries;
      awaited = awaited || backlog->awaited > 0;
    }
    if (awaited || (all_awaited_ && pending_ == 0)) task_finished_.notify_all();
    for (TaskPtr& successor : task->successors) {
      if (--successor->waiting > 0) continue;
      if (successor->operation)
        make_ready(successor);
      else
        finished.push_back(std::move(successor));
    }
    task->successors = {};
  }
}

int Scheduler::useful_helpers(const Operation& operation) const {
  return static_cast<int>(std::clamp<uint64_t>(operation.pieces, 1, static_cast<uint64_t>(workers_)));
}

// Wakes one worker; it wakes the next one if work is left after it has taken its own.
void Scheduler::wake_workers(std::unique_lock<std::mutex>& lock) {
  const bool wake = (!ready_.empty() || !late_.empty()) && sleeping_ > 0 && spinning_ == 0;
  lock.unlock();
  if (wake) work_arrived_.notify_one();
}

// Joins the task at the front of the queue; removes it from the queue once more threads would be of no use.
TaskPtr Scheduler::join_front() {
  TaskPtr task = ready_.front();
  if (++task->helpers == useful_helpers(*task->operation)) pop_front();
  return task;
}

void Scheduler::pop_front() {
  ready_.pop_front();
  ready_count_.store(static_cast<int>(ready_.size()), std::memory_order_relaxed);
}

TaskPtr Scheduler::take(std::unique_lock<std::mutex>& lock) {
  while (!stopping_) {
    if (seeded_) {
      draw_for_idle_host(lock);
      continue;
    }
    if (!ready_.empty()) return join_front();
    ++spinning_;
    lock.unlock();
    for (int i = 0; i < kSpins && ready_count_.load(std::memory_order_relaxed) == 0; ++i) relax();
    lock.lock();
    --spinning_;
    if (stopping_ || (!ready_.empty() && !seeded_)) continue;
    wait_for_work(lock);
  }
  return nullptr;
}

void Scheduler::wait_for_work(std::unique_lock<std::mutex>& lock) {
  ++sleeping_;
  if (late_.empty())
    work_arrived_.wait(lock);
  else if (work_arrived_.wait_until(lock, host_called_ + kHostIdle) == std::cv_status::timeout)
    begin_late();
  --sleeping_;
}

// GPUs run their work also if the host makes no CUDA call. A host that waits for the result in another way
// would otherwise wait forever.
void Scheduler::draw_for_idle_host(std::unique_lock<std::mutex>& lock) {
  if (std::chrono::steady_clock::now() - host_called_ >= kHostIdle && !drawing_ && run_one_drawn(lock))
    return;
  ++sleeping_;
  work_arrived_.wait_for(lock, kHostIdle);
  --sleeping_;
}

// A waiting host thread also runs tasks, so that a short kernel needs no wake-up. It must then wake workers
// for tasks that became ready by its work, and for tasks that it does not take, because all workers may be
// asleep.
bool Scheduler::help(std::unique_lock<std::mutex>& lock) {
  if (seeded_) {
    host_called_ = std::chrono::steady_clock::now();
    return !drawing_ && run_one_drawn(lock);
  }
  if (ready_.empty()) return false;
  const TaskPtr task = join_front();
  wake_workers(lock);
  run_pieces(*task);
  lock.lock();
  leave(task);
  return true;
}

void Scheduler::work() {
  std::unique_lock lock(mutex_);
  while (TaskPtr task = take(lock)) {
    wake_workers(lock);
    run_pieces(*task);
    lock.lock();
    leave(task);
  }
}

// Host functions run one after another in the whole process, as CUDA may run them.
void Scheduler::call_host_functions() {
  std::unique_lock lock(mutex_);
  for (;;) {
    host_function_arrived_.wait(lock, [this] { return stopping_ || !host_functions_.empty(); });
    if (stopping_) return;
    const TaskPtr task = host_functions_.front();
    lock.unlock();
    hooks_.before_host_function(*task);
    OrderedPieces piece({0});
    run_all(*task->operation, piece);
    lock.lock();
    host_functions_.pop_front();
    finish(task);
    if (seeded_) task_finished_.notify_all();
    if (sleeping_ > 0 && spinning_ == 0 && !ready_.empty()) work_arrived_.notify_one();
  }
}

void Scheduler::run_pieces(Task& task) {
  const Operation& operation = *task.operation;
  const RunningOperation running(task.issued.get());
  // Large enough that the shared counter is no bottleneck, small enough that the workers finish together.
  const uint64_t chunk =
      std::clamp<uint64_t>(operation.pieces / (static_cast<uint64_t>(workers_) * 16), 1, 64);
  SharedPieces pieces(task.next_piece, operation.pieces, chunk);
  run_all(operation, pieces);
  if (operation.leave) operation.leave();
}

// A worker has no caller that could catch an exception. The message is short enough to need no allocation.
Fault Scheduler::run_piece(const Operation& operation, uint64_t piece) {
  try {
    if (kObserve && piece == 0 && operation.transfer)
      if (Observer* const observer = active_observer) observer->transfer(*operation.transfer);
    return operation.run(piece);
  } catch (const std::bad_alloc&) {
    return {cudaErrorLaunchFailure, "no host memory"};
  }
}

// Until the device has failed.
void Scheduler::run_all(const Operation& operation, Pieces& pieces) {
  const RunningPieces running(&pieces);
  while (const std::optional<uint64_t> piece = pieces.next()) {
    if (hooks_.skip(operation.device)) return;
    const Fault fault = run_piece(operation, *piece);
    if (fault.error == cudaSuccess) continue;
    hooks_.report(operation, fault);
    return;
  }
}

// The first worker that leaves has seen the last piece taken, so no more workers are needed. The last worker
// that leaves finishes the task.
void Scheduler::leave(const TaskPtr& task) {
  if (!ready_.empty() && ready_.front() == task) pop_front();
  if (--task->helpers == 0) finish(task);
}

// Runs one randomly drawn ready task on this thread, with its pieces in random order.
bool Scheduler::run_one_drawn(std::unique_lock<std::mutex>& lock) {
  if (ready_.empty()) return false;
  const size_t index = draw(ready_.size());
  const auto chosen = ready_.begin() + static_cast<std::ptrdiff_t>(index);
  const TaskPtr task = ready_[index];
  const Operation& operation = *task->operation;
  if (operation.host_function) {
    ready_.erase(chosen);
    call_drawn(lock, task);
    return true;
  }
  std::vector<uint64_t> order(operation.pieces);  // first, because it may throw: the task is still queued
  ready_.erase(chosen);
  drawing_ = true;
  std::iota(order.begin(), order.end(), uint64_t{0});
  for (uint64_t left = operation.pieces; left > 1; --left) std::swap(order[left - 1], order[draw(left)]);
  lock.unlock();
  {
    const RunningOperation running(task->issued.get());
    OrderedPieces pieces(std::move(order));
    run_all(operation, pieces);
    if (operation.leave) operation.leave();
  }
  lock.lock();
  drawing_ = false;
  finish(task);
  task_finished_.notify_all();
  return true;
}

// The next draw may depend on whether a host function has ended, so the order is reproducible only if its end
// is waited for. The wait has a timeout, because a host function may itself wait for the host's next action.
void Scheduler::call_drawn(std::unique_lock<std::mutex>& lock, const TaskPtr& host_function) {
  const bool others_wait = !host_functions_.empty();
  hand_over(host_function);
  if (others_wait) return;
  drawing_ = true;
  task_finished_.wait_for(lock, kHostFunctionTime, [&] { return host_function->finished() || stopping_; });
  drawing_ = false;
  task_finished_.notify_all();
}

void LongWait::tell() {
  told_ = true;
  TextStream text;
  text << "simt: blocked for " << std::chrono::duration<double>(patience_).count() << " s: " << what_()
       << "\n";
  std::fputs(text.str().c_str(), stderr);
}

void Scheduler::sleep(std::unique_lock<std::mutex>& lock, LongWait* notice) {
  if (!notice || notice->told()) return task_finished_.wait(lock);
  if (task_finished_.wait_until(lock, notice->deadline()) == std::cv_status::timeout) notice->tell();
}

void Scheduler::wait(const TaskPtr& task, LongWait* notice) {
  if (task->finished()) return;
  std::unique_lock lock(mutex_);
  begin_wait();
  while (!task->finished() && !stopping_) {
    if (help(lock)) continue;
    task->awaited = true;
    sleep(lock, notice);
  }
  --waiting_hosts_;
  if (!seeded_) wake_workers(lock);
}

bool Scheduler::wait_for_room(Backlog& backlog, int limit, LongWait& notice) {
  std::unique_lock lock(mutex_);
  begin_wait();
  while (backlog.unfinished >= limit && !stopping_) {
    if (help(lock)) continue;
    ++backlog.awaited;
    sleep(lock, &notice);
    --backlog.awaited;
  }
  --waiting_hosts_;
  const bool room = backlog.unfinished < limit;
  if (!seeded_) wake_workers(lock);
  return room;
}

void Scheduler::wait_all() {
  std::unique_lock lock(mutex_);
  begin_wait();
  while (pending_ > 0 && !stopping_) {
    if (help(lock)) continue;
    all_awaited_ = true;
    task_finished_.wait(lock);
  }
  --waiting_hosts_;
  all_awaited_ = false;
}

void Scheduler::poll() {
  if (!seeded_ && !any_late_) return;
  std::unique_lock lock(mutex_);
  if (seeded_) {
    help(lock);
    return;
  }
  begin_late();
  wake_workers(lock);
}

void Scheduler::throttle() {
  if (!seeded_) return;
  std::unique_lock lock(mutex_);
  while (pending_ > kLazyLimit && !drawing_ && run_one_drawn(lock)) {
  }
}

}  // namespace simt

#include "runtime.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../base/observer.h"
#include "../base/text.h"
#include "kernel_name.h"

namespace simt {
namespace {

std::atomic<Runtime*> instance{nullptr};
std::atomic<bool> ended{false};
const pid_t owner = getpid();
std::mutex fault_mutex;
Fault newest_fault;
std::atomic<size_t> faults{0}, translated_faults{0};

std::vector<std::unique_ptr<Device>> make_devices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back(std::make_unique<Device>());
    devices.back()->legacy->device = i;
    devices.back()->legacy->legacy = true;
    devices.back()->legacy->queue = kMostConnections;
  }
  return devices;
}

void report_contexts(const Runtime& runtime) {
  std::string list;
  for (size_t i = 0; i < runtime.devices.size(); ++i)
    if (runtime.devices[i]->had_context) list += (list.empty() ? "" : ", ") + std::to_string(i);
  std::fprintf(stderr, "simt: contexts on devices %s\n", list.empty() ? "none" : list.c_str());
}

}  // namespace

HostThread::~HostThread() {
  if (default_streams.empty()) return;
  Runtime& runtime = *instance;
  const std::lock_guard lock(runtime.mutex);
  for (const auto& [device, stream] : default_streams)
    if (!stream->destroyed) runtime.destroy(stream);
}

HostThread& host_thread() {
  static thread_local HostThread state;
  return state;
}

uintptr_t new_handle() {
  static std::atomic<uintptr_t> next{0x1000};
  return next.fetch_add(16);
}

size_t faults_so_far() { return faults; }
size_t translated_faults_so_far() { return translated_faults; }

Fault last_fault() {
  std::lock_guard lock(fault_mutex);
  return newest_fault;
}

// Nothing may throw after the scheduler has started its workers.
Runtime::Runtime(const Settings& settings)
    : devices(make_devices(settings.devices)),
      memory(settings.devices, settings.memory_bytes),
      scheduler(settings.workers, settings.seed,
                {[this](int device) { return devices[static_cast<size_t>(device)]->failure != cudaSuccess; },
                 [this](const Operation& operation, const Fault& fault) { fail_device(operation, fault); },
                 // It may tell the host, in a way that is not known here, that the work before it is done.
                 [this](const Task& task) {
                   if (task.issued) order.host_waited(task.issued->before);
                 }}) {}

// Never destroyed, because static objects of the program may hold memory and streams until the end. The
// workers end with main(), so that nothing runs during the process's shutdown. A failed construction is not
// retried: all calls return the same error.
Runtime& Runtime::get() {
  static Runtime* const runtime = []() -> Runtime* {
    try {
      auto* fresh = new Runtime(settings());
      observe_whole_program(*fresh);
      instance = fresh;
      std::atexit([] {
        if (getpid() != owner) return;  // a forked child has no workers
        ended = true;
        instance.load()->scheduler.shut_down();
        if (simt::settings().report_contexts) report_contexts(*instance.load());
      });
      return fresh;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "simt: the executor could not start: %s\n", error.what());
      return nullptr;
    }
  }();
  require(runtime, cudaErrorInitializationError);
  require(!ended, cudaErrorCudartUnloading);
  return *runtime;
}

Runtime& Runtime::of_workers() { return *instance.load(); }

bool Runtime::started() { return instance != nullptr; }

void Runtime::check_ordinal(int device) const {
  require(device >= 0 && device < static_cast<int>(devices.size()), cudaErrorInvalidDevice);
}

void Runtime::make_context(int device) {
  Device& touched = *devices[static_cast<size_t>(device)];
  if (touched.context.load(std::memory_order_relaxed)) return;
  touched.context = true;
  touched.had_context = true;
}

void Runtime::bind_context() {
  make_context(host_thread().device);
  host_thread().bound = true;
}

std::vector<int> devices_with_context() {
  std::vector<int> found;
  if (const Runtime* runtime = instance)
    for (size_t i = 0; i < runtime->devices.size(); ++i)
      if (runtime->devices[i]->context) found.push_back(static_cast<int>(i));
  return found;
}

std::set<std::string> loaded_kernels(int device) {
  std::set<std::string> names;
  Runtime* const runtime = instance;
  if (!runtime || device < 0 || static_cast<size_t>(device) >= runtime->devices.size()) return names;
  const std::lock_guard lock(runtime->mutex);
  for (const void* kernel : runtime->devices[static_cast<size_t>(device)]->loaded)
    names.insert(kernel_name(kernel));
  return names;
}

Device& Runtime::current_device() {
  Device& device = *devices[static_cast<size_t>(host_thread().device)];
  const cudaError_t failure = device.failure;
  require(failure == cudaSuccess, failure);
  return device;
}

void Runtime::fail_device(const Operation& operation, const Fault& fault) {
  const int device = operation.device;
  // Locked before the error becomes visible, so that a caller that sees the error finds its message.
  std::lock_guard lock(fault_mutex);
  cudaError_t expected = cudaSuccess;
  if (!devices[static_cast<size_t>(device)]->failure.compare_exchange_strong(expected, fault.error)) return;
  std::fprintf(stderr, "simt: device %d: %s: %s\n", device, cudaGetErrorName(fault.error),
               fault.message.c_str());
  newest_fault = fault;
  ++faults;
  if (operation.kernel && operation.kernel->launched_at.line() != 0) ++translated_faults;
}

std::shared_ptr<Stream> Runtime::make_stream(int device, bool blocking) {
  auto stream = std::make_shared<Stream>();
  stream->device = device;
  stream->blocking = blocking;
  stream->number = ++streams_made;
  Device& owner = *devices[static_cast<size_t>(device)];
  stream->queue = queue_for_new_stream(owner);
  owner.streams.insert(stream);
  return stream;
}

void Runtime::destroy(const std::shared_ptr<Stream>& stream) {
  if (stream->capture) stream->capture->invalidated = true;
  Device& device = *devices[static_cast<size_t>(stream->device)];
  (stream->blocking ? device.after_destroyed_blocking : device.after_others).join(stream->after);
  std::erase_if(device.streams, [&](const auto& candidate) {
    const bool destroyed = candidate == stream || candidate->destroyed;
    candidate->destroyed = destroyed;
    return destroyed && std::all_of(candidate->tail.begin(), candidate->tail.end(),
                                    [](const TaskPtr& task) { return task->finished(); });
  });
}

std::shared_ptr<Stream> Runtime::stream(cudaStream_t handle) {
  const int device = host_thread().device;
  std::shared_ptr<Stream> found;
  if (handle == cudaStreamPerThread) {
    std::shared_ptr<Stream>& own = host_thread().default_streams[device];
    if (!own || own->destroyed) own = make_stream(device, true);  // the first use, or the device was reset
    found = own;
  } else {
    const bool legacy = handle == nullptr || handle == cudaStreamLegacy;
    found = legacy ? devices[static_cast<size_t>(device)]->legacy : streams.get(handle);
  }
  const cudaError_t failure = devices[static_cast<size_t>(found->device)]->failure;
  require(failure == cudaSuccess, failure);
  return found;
}

// The rules of the legacy default stream: it waits for all blocking streams of its device, and they wait for
// it.
std::vector<TaskPtr> Runtime::predecessors(const Stream& stream) {
  Device& device = *devices[static_cast<size_t>(stream.device)];
  std::vector<TaskPtr> tasks = stream.tail;
  const auto add = [&](const std::vector<TaskPtr>& tail) {
    tasks.insert(tasks.end(), tail.begin(), tail.end());
  };
  if (stream.legacy) {
    for (const auto& other : device.streams)
      if (other->blocking) add(other->tail);
  } else if (stream.blocking) {
    add(device.legacy->tail);
  }
  std::erase_if(tasks, [](const TaskPtr& task) { return task->finished(); });
  return tasks;
}

std::vector<TaskPtr> Runtime::pending(Device& device) {
  std::vector<TaskPtr> tasks = device.strays;
  tasks.insert(tasks.end(), device.legacy->tail.begin(), device.legacy->tail.end());
  for (const auto& stream : device.streams)
    tasks.insert(tasks.end(), stream->tail.begin(), stream->tail.end());
  std::erase_if(tasks, [](const TaskPtr& task) { return task->finished(); });
  return tasks;
}

std::shared_ptr<Stream> Runtime::stream_with_room(std::unique_lock<std::mutex>& lock, cudaStream_t handle,
                                                  const char* what) {
  auto found = stream(handle);
  make_room(lock, found, what);
  return found;
}

// Operations of a capturing stream do not count.
void Runtime::make_room(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Stream>& stream,
                        const char* what) {
  while (!stream->capture && stream->backlog->unfinished >= settings().queue_length) {
    const int limit = settings().queue_length, device = stream->device;
    LongWait notice(settings().patience, [=] {
      return std::string(what) + " needs room in its stream, of device " + std::to_string(device) +
             ", where " + counted(limit, "operation") + (limit == 1 ? " is" : " are") +
             " unfinished (SIMT_QUEUE_LENGTH)";
    });
    lock.unlock();
    const bool room = scheduler.wait_for_room(*stream->backlog, limit, notice);
    lock.lock();
    require(room, cudaErrorCudartUnloading);
    require(!stream->destroyed, cudaErrorInvalidResourceHandle);
    const cudaError_t failure = devices[static_cast<size_t>(device)]->failure;
    require(failure == cudaSuccess, failure);
  }
}

size_t Runtime::queue_for_new_stream(const Device& device) {
  std::vector<int> streams(static_cast<size_t>(settings().connections), 0);
  for (const auto& stream : device.streams) {
    const bool gone = stream->destroyed && std::all_of(stream->tail.begin(), stream->tail.end(),
                                                       [](const TaskPtr& task) { return task->finished(); });
    if (!gone && stream->queue < streams.size()) ++streams[stream->queue];
  }
  const int fewest = *std::min_element(streams.begin(), streams.end());
  std::vector<size_t> candidates;
  for (size_t queue = 0; queue < streams.size(); ++queue)
    if (streams[queue] == fewest) candidates.push_back(queue);
  return candidates[scheduler.drawn(candidates.size()).value_or(0)];
}

// With a seed, waits only every other time, so that the wait does not hide missing events.
void Runtime::load(std::unique_lock<std::mutex>& lock, const void* kernel, const Stream* stream) {
  const int ordinal = host_thread().device;
  Device& device = *devices[static_cast<size_t>(ordinal)];
  if (device.loaded.contains(kernel)) return;
  forbid_loading_while_capturing(stream);
  const std::vector<TaskPtr> tasks = settings().lazy_loading ? pending(device) : std::vector<TaskPtr>{};
  if (!tasks.empty() && scheduler.drawn(2).value_or(0) == 0) {
    LongWait notice(settings().patience, [=] {
      return "kernel " + kernel_name(kernel) + " must be loaded on device " + std::to_string(ordinal) +
             ", which waits until the device is idle (cudaFuncGetAttributes loads it earlier)";
    });
    lock.unlock();
    const cudaError_t failure = wait_for(tasks, ordinal, &notice);
    lock.lock();
    require(failure == cudaSuccess, failure);
  }
  device.loaded.insert(kernel);
}

Clock Runtime::before(const Stream& stream) {
  Clock clock = stream.after;
  if (!order.on()) return clock;
  const Device& device = *devices[static_cast<size_t>(stream.device)];
  if (stream.legacy) {
    for (const auto& other : device.streams)
      if (other->blocking) clock.join(other->after);
    clock.join(device.after_destroyed_blocking);
  } else if (stream.blocking) {
    clock.join(device.legacy->after);
  }
  return clock;
}

Clock Runtime::after(const Device& device) {
  if (!order.on()) return {};
  Clock clock = before(*device.legacy);
  for (const auto& stream : device.streams) clock.join(stream->after);
  clock.join(device.after_others);
  return clock;
}

void Runtime::order_task(Stream& stream, Task& task) {
  if (!order.on()) return;
  stream.after = before(stream);
  task.issued = order.issue(stream.after, *task.operation, {stream.device, stream.number});
}

void Runtime::order_marker(Stream& stream, const Clock* event) {
  if (!order.on()) return;
  stream.after = before(stream);
  stream.after.join(order.host());
  if (event) stream.after.join(*event);
}

// A host function behind other work is seen to take the room of 17 kernels: driver 580 blocks the host after
// 56 pairs of a kernel and a host function, and after 1021 kernels (bench/results/h200). It does not block
// after events or host functions alone; here each takes an entry, so that a program does not depend on it.
int Runtime::entries_of(const Task& task, const Stream& stream) {
  const bool host_function = task.operation && task.operation->host_function;
  if (!host_function || stream.tail.empty()) return 1;
  const auto& last = stream.tail.front()->operation;
  return last && last->host_function ? 1 : 1 + settings().queue_length / 64;
}

TaskPtr Runtime::append(Stream& stream, std::shared_ptr<const Operation> operation, const TaskPtr& event) {
  TaskPtr task = make_task(std::move(operation));
  if (task->operation) order_task(stream, *task);
  task->backlog = stream.backlog;
  task->entries = entries_of(*task, stream);
  task->backlog->unfinished += task->entries;
  std::vector<Scheduler::Edge> edges;
  for (TaskPtr& before : predecessors(stream)) edges.push_back({std::move(before), task});
  if (event) edges.push_back({event, task});
  TaskPtr& last = queue(stream);
  if (last && (stream.tail.empty() || last != stream.tail.front())) edges.push_back({last, task});
  scheduler.submit({&task, 1}, edges);
  stream.tail.assign(1, task);
  last = task;
  return task;
}

void Runtime::enqueue(const std::shared_ptr<Stream>& stream, std::shared_ptr<const Operation> operation) {
  if (stream->capture) {
    const auto node = std::make_shared<Node>();
    node->operation = std::move(operation);
    add_node(stream, node);
    return;
  }
  forbid_implicit_dependency(*stream);
  append(*stream, std::move(operation));
}

cudaError_t Runtime::submit(cudaStream_t handle, std::shared_ptr<Operation> operation, const char* what) {
  {
    std::unique_lock lock(mutex);
    const auto on = stream_with_room(lock, handle, what);
    operation->device = on->device;
    enqueue(on, std::move(operation));
  }
  scheduler.throttle();
  return cudaSuccess;
}

cudaError_t wait_for(const std::vector<TaskPtr>& tasks, int device, LongWait* notice) {
  Runtime& runtime = Runtime::get();
  for (const TaskPtr& task : tasks) runtime.scheduler.wait(task, notice);
  return runtime.devices[static_cast<size_t>(device)]->failure;
}

cudaError_t wait_for(const std::vector<TaskPtr>& tasks, int device, const Clock& waited) {
  const cudaError_t failure = wait_for(tasks, device);
  OperationOrder& order = Runtime::get().order;
  if (order.on()) order.host_waited(waited);
  return failure;
}

}  // namespace simt

#include "runtime.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace simt {
namespace {

std::atomic<Runtime*> instance{nullptr};
std::atomic<bool> ended{false};
const pid_t owner = getpid();
std::mutex fault_mutex;
Fault newest_fault;

std::vector<std::unique_ptr<Device>> make_devices(int count) {
  std::vector<std::unique_ptr<Device>> devices;
  for (int i = 0; i < count; ++i) {
    devices.push_back(std::make_unique<Device>());
    devices.back()->legacy->device = i;
    devices.back()->legacy->legacy = true;
  }
  return devices;
}

}  // namespace

HostThread& host_thread() {
  static thread_local HostThread state;
  return state;
}

uintptr_t new_handle() {
  static std::atomic<uintptr_t> next{0x1000};
  return next.fetch_add(16);
}

Fault last_fault() {
  std::lock_guard lock(fault_mutex);
  return newest_fault;
}

// Nothing may throw once the workers run.
Runtime::Runtime(const Settings& settings)
    : devices(make_devices(settings.devices)),
      memory(settings.devices, settings.memory_bytes),
      scheduler(settings.workers, settings.seed,
                {[this](int device) { return devices[static_cast<size_t>(device)]->failure != cudaSuccess; },
                 [this](const Operation& operation, const Fault& fault) {
                   fail_device(operation.device, fault);
                 }}) {}

// Never destroyed: static objects of the program may hold memory and streams until the very end. Only the
// workers end with main(), so that nothing runs while the process is taken down. One that could not be made
// is not tried again: all calls give the same answer.
Runtime& Runtime::get() {
  static Runtime* const runtime = []() -> Runtime* {
    try {
      auto* fresh = new Runtime(settings());
      instance = fresh;
      std::atexit([] {
        if (getpid() != owner) return;  // a forked child has no workers
        ended = true;
        instance.load()->scheduler.shut_down();
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

bool Runtime::started() { return instance != nullptr; }

void Runtime::check_ordinal(int device) const {
  require(device >= 0 && device < static_cast<int>(devices.size()), cudaErrorInvalidDevice);
}

Device& Runtime::current_device() {
  Device& device = *devices[static_cast<size_t>(host_thread().device)];
  const cudaError_t failure = device.failure;
  require(failure == cudaSuccess, failure);
  return device;
}

void Runtime::fail_device(int device, const Fault& fault) {
  // Held from before the error can be seen: who sees it finds its message.
  std::lock_guard lock(fault_mutex);
  cudaError_t expected = cudaSuccess;
  if (!devices[static_cast<size_t>(device)]->failure.compare_exchange_strong(expected, fault.error)) return;
  std::fprintf(stderr, "simt: device %d: %s: %s\n", device, cudaGetErrorName(fault.error),
               fault.message.c_str());
  newest_fault = fault;
}

std::shared_ptr<Stream> Runtime::stream(cudaStream_t handle) {
  require(handle != cudaStreamPerThread, cudaErrorNotSupported);
  std::shared_ptr<Stream> found = handle == nullptr || handle == cudaStreamLegacy
                                      ? devices[static_cast<size_t>(host_thread().device)]->legacy
                                      : streams.get(handle);
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

TaskPtr Runtime::append(Stream& stream, std::shared_ptr<const Operation> operation) {
  TaskPtr task = make_task(std::move(operation));
  std::vector<Scheduler::Edge> edges;
  for (TaskPtr& before : predecessors(stream)) edges.push_back({std::move(before), task});
  scheduler.submit({&task, 1}, edges);
  stream.tail.assign(1, task);
  return task;
}

void Runtime::enqueue(const std::shared_ptr<Stream>& stream, std::shared_ptr<const Operation> operation) {
  if (stream->capture) {
    Node node;
    node.operation = std::move(operation);
    add_node(stream, std::move(node));
    return;
  }
  forbid_implicit_dependency(*stream);
  append(*stream, std::move(operation));
}

cudaError_t Runtime::submit(cudaStream_t handle, std::shared_ptr<Operation> operation) {
  {
    std::lock_guard lock(mutex);
    const auto on = stream(handle);
    operation->device = on->device;
    enqueue(on, std::move(operation));
  }
  scheduler.throttle();
  return cudaSuccess;
}

cudaError_t wait_for(const std::vector<TaskPtr>& tasks, int device) {
  Runtime& runtime = Runtime::get();
  for (const TaskPtr& task : tasks) runtime.scheduler.wait(task);
  return runtime.devices[static_cast<size_t>(device)]->failure;
}

}  // namespace simt

// The state of the CUDA API: devices, handles, captures. One mutex guards it; no thread waits or runs a task
// while it holds the mutex.
#pragma once

#include <cuda_runtime_api.h>
#include <simt/settings.h>

#include <array>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "graph.h"
#include "handles.h"
#include "memory.h"
#include "scheduler.h"

namespace simt {

// The simulated failures of simt/faults.h that calls ask for.
// Throws cudaErrorNoKernelImageForDevice after set_kernel_images(false).
void require_kernel_image();
// Throws `error` if the driver is `refused` (set_driver()).
void refuse_driver(Driver refused, cudaError_t error);

struct Stream;

struct Capture {
  const uintptr_t id = new_handle();
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  bool given = false;  // the graph is of the program
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  const Stream* origin = nullptr;
  std::vector<std::shared_ptr<Stream>> streams;
  bool invalidated = false;
  bool ended = false;
};

struct Stream {
  int device = 0;
  bool legacy = false;
  bool blocking = true;    // synchronises with the legacy stream
  bool destroyed = false;  // the handle is gone, but work may be pending
  unsigned number = 0;     // in the order of creation; 0: legacy
  Clock after;             // what its next operation comes after, for the race detector
  size_t queue = 0;        // index of its hardware queue on the device
  std::shared_ptr<Backlog> backlog = std::make_shared<Backlog>();
  std::vector<TaskPtr> tail;  // the tasks that the next operation waits for

  // Set by cudaStreamSetAttribute(). No operation depends on them.
  cudaAccessPolicyWindow access_policy_window = {};
  cudaSynchronizationPolicy synchronization_policy = cudaSyncPolicyAuto;

  std::shared_ptr<Capture> capture;  // null: not capturing
  std::vector<Node*> captured_tail;  // as tail, in nodes of the capture
  // The same, as cudaStreamGetCaptureInfo() has returned it.
  std::vector<cudaGraphNode_t> told_tail;
  std::vector<cudaGraphEdgeData> told_edges;
};

struct Event {
  int device = 0;
  unsigned flags = 0;
  TaskPtr task;                      // null: never recorded
  Clock after;                       // of the recorded work, for the race detector
  std::shared_ptr<Capture> capture;  // set: last recorded in a capture
  std::vector<Node*> captured_tail;
};

struct Device {
  std::atomic<unsigned> flags{0};                  // cudaSetDeviceFlags()
  std::shared_ptr<MemoryPool> default_pool, pool;  // `pool`: of cudaMallocAsync()
  std::atomic<cudaError_t> failure{cudaSuccess};   // sticky
  std::atomic<bool> context{false};
  std::atomic<bool> had_context{false};  // has or had one before a reset
  std::shared_ptr<Stream> legacy = std::make_shared<Stream>();
  std::unordered_set<std::shared_ptr<Stream>> streams;  // includes destroyed ones with pending work
  Clock after_destroyed_blocking;                       // of destroyed streams, for the race detector
  Clock after_others;                                   // of other destroyed streams, and of `strays`
  std::vector<TaskPtr> strays;  // ends of graphs with work here that were launched on other devices' streams
  std::unordered_map<const void*, size_t> shared_opt_in;  // by kernel
  std::unordered_set<const void*> loaded;                 // kernels
  std::unordered_set<const void*> large_clusters;         // kernels that may have more than 8 blocks in one
  // The last operation of each hardware queue. The legacy stream has its own queue, the last one.
  std::array<TaskPtr, kMostConnections + 1> queues;
};

// CUDA's state per host thread.
struct HostThread {
  HostThread() = default;
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;
  ~HostThread();  // destroys the default streams

  int device = 0;
  bool bound = false;  // to the context of `device`, which calls of the driver need
  cudaError_t last_error = cudaSuccess;
  bool in_host_function = false;
  bool launches = false;  // is in the call for a launch
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  std::unordered_map<int, std::shared_ptr<Stream>> default_streams;  // cudaStreamPerThread, by device
};
HostThread& host_thread();

// The faults of all devices. Counts the first fault of a device only, until cudaDeviceReset().
size_t faults_so_far();
size_t translated_faults_so_far();  // of kernels that were launched by <<<>>>

struct Runtime {
  static Runtime& get();
  // For kernels on the workers, which may still run while the process ends: shut_down() waits for them.
  static Runtime& of_workers();
  static bool started();

  std::vector<std::unique_ptr<Device>> devices;
  Memory memory;
  Scheduler scheduler;
  OperationOrder order;

  std::mutex mutex;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Graph> graphs;
  Handles<GraphExec> execs;
  NodeHandles nodes;
  Handles<MemoryPool> pools;
  unsigned streams_made = 0;
  std::vector<std::shared_ptr<Capture>> captures;  // the active ones
  uint64_t copies_until_failure = 0;               // see fail_copy(); 0: no failure
  uint64_t copies_until_refusal = 0;               // see refuse_copy(); 0: none is refused

  void check_ordinal(int device) const;
  // The current device of this thread; throws its sticky error.
  Device& current_device();
  // Creates the device's context, at the first call that needs one.
  void make_context(int device);
  // The same for the current device, and binds this thread to the context.
  void bind_context();
  // Enqueues an operation that needs no access to its stream, on the stream's device.
  cudaError_t submit(cudaStream_t handle, std::shared_ptr<Operation> operation, const char* what);

  // All following functions require the mutex.
  std::shared_ptr<Stream> make_stream(int device, bool blocking);
  // Pending work of the stream continues.
  void destroy(const std::shared_ptr<Stream>& stream);
  // The valid stream of a handle, on a device without a sticky error.
  std::shared_ptr<Stream> stream(cudaStream_t handle);
  std::shared_ptr<Event> event(cudaEvent_t handle) { return events.get(handle); }

  // As stream(), and waits for room for one more operation, which `what` names in messages. This function and
  // the next two release the mutex while they wait.
  std::shared_ptr<Stream> stream_with_room(std::unique_lock<std::mutex>& lock, cudaStream_t handle,
                                           const char* what);
  void make_room(std::unique_lock<std::mutex>& lock, const std::shared_ptr<Stream>& stream, const char* what);
  // Loads a kernel on the current device if it is not loaded: waits until the device is idle. `stream` is the
  // stream of a launch.
  void load(std::unique_lock<std::mutex>& lock, const void* kernel, const Stream* stream = nullptr);

  // Appends an operation to a stream: as a task, or as a node if the stream is capturing.
  void enqueue(const std::shared_ptr<Stream>& stream, std::shared_ptr<const Operation> operation);
  // The entries that a task takes in the queue of its stream.
  static int entries_of(const Task& task, const Stream& stream);
  // Appends a task that also waits for `event`; without `operation` it is a marker. The stream must not be
  // capturing.
  TaskPtr append(Stream& stream, std::shared_ptr<const Operation> operation, const TaskPtr& event = nullptr);
  // One of the hardware queues with the fewest streams: the first, or with a seed a random one.
  size_t queue_for_new_stream(const Device& device);
  // The last operation of a stream's hardware queue. Operations of a queue run one after another.
  TaskPtr& queue(const Stream& stream) {
    return devices[static_cast<size_t>(stream.device)]->queues[stream.queue];
  }
  // A task that runs `operation`, or fails instead if fail_copy() selected it.
  TaskPtr make_task(std::shared_ptr<const Operation> operation);
  // The tasks that the next operation of a stream waits for, and the pending tasks of a device.
  std::vector<TaskPtr> predecessors(const Stream& stream);
  std::vector<TaskPtr> pending(Device& device);
  // For the race detector: what the next operation of a stream comes after, and what comes after all work of
  // a device.
  Clock before(const Stream& stream);
  Clock after(const Device& device);
  // Puts a task, or a marker that also comes after `event`, into the order of a stream.
  void order_task(Stream& stream, Task& task);
  void order_marker(Stream& stream, const Clock* event = nullptr);
  // Whether `operation` is a copy between two devices without peer access.
  bool is_staged(const Operation& operation) const;
  // Throws cudaErrorStreamCaptureUnsupported if set_staged_graph_copies() rejects a captured operation.
  void refuse_staged_copy(Capture& capture, const Operation& operation) const;
  // Throws cudaErrorNotSupported if set_staged_graph_copies() rejects this graph.
  void refuse_staged_copies(const GraphExec& exec, StagedGraphCopies refused) const;
  void launch_graph(const std::shared_ptr<Stream>& stream, GraphExec& exec);
  // The handle of a graph, which gets one at the first call.
  cudaGraph_t handle_of(const std::shared_ptr<Graph>& graph);
  // The nodes of a list of dependencies. Throws cudaErrorInvalidValue for one that is not of `graph` or named
  // twice, and for edges that are not zero.
  std::vector<Node*> nodes_of(const Graph& graph, const cudaGraphNode_t* handles,
                              const cudaGraphEdgeData* edges, size_t count) const;
  // The handles of a graph, its nodes, and the graphs in them become invalid.
  void forget(Graph& graph);
  // Takes the device memory of a graph, up to `shares` times settings().graph_node_bytes for each of its
  // operations. Throws cudaErrorMemoryAllocation, and takes nothing, where it is not there.
  void take_memory(GraphExec& exec, int shares);
  void give_back_memory(GraphExec& exec);

  // Functions for captures.
  void wait_in_capture(const std::shared_ptr<Stream>& stream, const Event& event);
  void add_node(const std::shared_ptr<Stream>& stream, std::shared_ptr<Node> node);
  void capture_launch(const std::shared_ptr<Stream>& stream, const GraphExec& exec);
  // Its streams and its graph are captured no longer. Without a graph if it is invalidated.
  void leave_capture(Capture& capture);
  // Throws if a capture forbids this call in this thread, and invalidates that capture.
  void forbid_during_capture();
  // The same for loading a kernel, if settings().capture_loads is off, for captures of any mode. `stream` is
  // that of a launch, or null.
  void forbid_loading_while_capturing(const Stream* stream);
  // The same for a synchronisation with `stream`.
  void forbid_use_while_capturing(const Stream& stream);
  void forbid_query_while_capturing(const Stream& stream);
  // The same for a synchronisation with a whole device, for captures of any thread and mode.
  void forbid_synchronizing_while_capturing(int device);
  // Ends, without a graph, all captures that include a stream of `device`.
  void end_captures_of(int device);
  // The capture of a blocking stream that `stream` would wait for, if it is the legacy stream; or null.
  Capture* implicit_dependency(const Stream& stream) const;
  // The same as forbid_during_capture() for the legacy stream, which would wait for capturing streams.
  void forbid_implicit_dependency(const Stream& stream);

  void fail_device(const Operation& operation, const Fault& fault);

 private:
  explicit Runtime(const Settings& settings);
};

// Waits without the mutex, then returns the sticky error of `device`, if any.
cudaError_t wait_for(const std::vector<TaskPtr>& tasks, int device, LongWait* notice = nullptr);
// The same, where the program asked for the wait: operations that it issues afterwards come after `waited`.
cudaError_t wait_for(const std::vector<TaskPtr>& tasks, int device, const Clock& waited);

// With the checks, prints the line of a call that returns `error`, once.
void call_failed(cudaError_t error);

// Converts exceptions to the return value and stores the thread's last error. For the executor's own
// functions.
template <class Body>
cudaError_t answer(Body&& body) noexcept {
  cudaError_t error;
  try {
    error = body(Runtime::get());
  } catch (const Failure& failure) {
    error = failure.error;
  } catch (const std::bad_alloc&) {
    error = cudaErrorMemoryAllocation;
  }
  if (error != cudaSuccess) {
    host_thread().last_error = error;
    call_failed(error);
  }
  return error;
}

// The frame of API functions that do not look at the current device. A host function must not call any.
template <class Body>
cudaError_t api_on_any_device(Body&& body) noexcept {
  if (host_thread().in_host_function) return cudaErrorNotPermitted;
  return answer(body);
}

// The frame of API functions that need no context. As CUDA's documentation allows every function, they return
// the error of earlier asynchronous work: that of the current device, if it has failed, and do nothing else.
template <class Body>
cudaError_t api_without_context(Body&& body) noexcept {
  return api_on_any_device([&](Runtime& runtime) {
    runtime.current_device();
    return body(runtime);
  });
}

// The frame of all other API functions. As in CUDA, each creates a context on the thread's current device,
// even if it is given an object of another device.
template <class Body>
cudaError_t api(Body&& body) noexcept {
  return api_without_context([&](Runtime& runtime) {
    runtime.bind_context();
    return body(runtime);
  });
}

// Destroys the object of a handle. `handles`: those of its kind.
template <auto handles, class Handle>
cudaError_t destroy(Handle handle) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    (runtime.*handles).take(handle);
    return cudaSuccess;
  });
}

// Enters the variables of device code into the memory map.
void know_variables(Runtime& runtime, int device);

// What cudaDeviceSetLimit() has set last.
size_t limit_set(cudaLimit limit);

// The most blocks of a cluster of the kernel, on the current device. Takes the mutex.
unsigned most_blocks_per_cluster(Runtime& runtime, const void* kernel);

}  // namespace simt

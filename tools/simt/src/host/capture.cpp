// Stream capture: recording the calls of a capturing stream, and rejecting calls that a capture forbids.
#include <algorithm>

#include "runtime.h"

namespace simt {

void Runtime::add_node(const std::shared_ptr<Stream>& stream, std::shared_ptr<Node> node) {
  Capture& capture = *stream->capture;
  require(!capture.invalidated, cudaErrorStreamCaptureInvalidated);
  if (node->operation) refuse_staged_copy(capture, *node->operation);
  node->predecessors.insert(node->predecessors.end(), stream->captured_tail.begin(),
                            stream->captured_tail.end());
  node->must_join = true;
  stream->captured_tail.assign(1, &capture.graph->add(std::move(node)));
}

// A graph that is launched inside a capture: its nodes are copied.
void Runtime::capture_launch(const std::shared_ptr<Stream>& stream, const GraphExec& exec) {
  const std::vector<Node*> before = stream->captured_tail;
  std::vector<Node*> copies;
  for (const GraphStep& step : exec.steps) {
    auto copy = std::make_shared<Node>();
    if (step.node) copy->take_work(*step.node);
    for (const int predecessor : step.predecessors)
      copy->predecessors.push_back(copies[static_cast<size_t>(predecessor)]);
    copies.push_back(copy.get());
    stream->captured_tail = step.predecessors.empty() ? before : std::vector<Node*>{};
    add_node(stream, std::move(copy));
  }
  if (exec.steps.empty()) return;
  stream->captured_tail.clear();
  for (const int leaf : exec.leaves) stream->captured_tail.push_back(copies[static_cast<size_t>(leaf)]);
}

// A wait between streams during a capture. Such a wait also adds further streams to the capture.
void Runtime::wait_in_capture(const std::shared_ptr<Stream>& stream, const Event& event) {
  if (!event.capture) {
    // An event that was never recorded is no dependency; one recorded outside of the capture cannot be
    // replayed.
    if (!event.task) return;
    stream->capture->invalidated = true;
    throw Failure{cudaErrorStreamCaptureIsolation};
  }
  require(!event.capture->ended, cudaErrorCapturedEvent);
  require(!event.capture->invalidated, cudaErrorStreamCaptureInvalidated);
  require(!stream->legacy, cudaErrorStreamCaptureImplicit);
  if (!stream->capture) {
    stream->capture = event.capture;
    stream->captured_tail.clear();
    event.capture->streams.push_back(stream);
  } else if (stream->capture != event.capture) {
    stream->capture->invalidated = event.capture->invalidated = true;
    throw Failure{cudaErrorStreamCaptureMerge};
  }
  for (Node* const node : event.captured_tail)
    if (std::find(stream->captured_tail.begin(), stream->captured_tail.end(), node) ==
        stream->captured_tail.end())
      stream->captured_tail.push_back(node);
}

// CUDA's rule for calls that are unsafe during a capture. In global mode a thread's own captures and all
// global captures forbid them, in thread-local mode only its own captures, in relaxed mode none.
void Runtime::forbid_during_capture() {
  if (host_thread().capture_mode == cudaStreamCaptureModeRelaxed) return;
  for (const auto& capture : captures) {
    const bool own =
        capture->thread == std::this_thread::get_id() && capture->mode != cudaStreamCaptureModeRelaxed;
    const bool everybodys = capture->mode == cudaStreamCaptureModeGlobal &&
                            host_thread().capture_mode == cudaStreamCaptureModeGlobal;
    if (!own && !everybodys) continue;
    capture->invalidated = true;
    throw Failure{cudaErrorStreamCaptureUnsupported};
  }
}

void Runtime::forbid_loading_while_capturing(const Stream* stream) {
  if (settings().capture_loads || !settings().lazy_loading) return;
  bool capturing = false;
  for (const auto& capture : captures)
    if (capture->thread == std::this_thread::get_id() || (stream && stream->capture == capture))
      capturing = capture->invalidated = true;
  require(!capturing, cudaErrorStreamCaptureUnsupported);
}

void Runtime::forbid_use_while_capturing(const Stream& stream) {
  forbid_query_while_capturing(stream);
  forbid_during_capture();
}

// Queries of a captured stream, or of a legacy stream that would wait for one. Driver 580 (CUDA 13.0) is seen
// to refuse them and to end the capture; the documentation does not mention it. Other streams may be queried.
void Runtime::forbid_query_while_capturing(const Stream& stream) {
  if (stream.capture) {
    stream.capture->invalidated = true;
    throw Failure{cudaErrorStreamCaptureUnsupported};
  }
  forbid_implicit_dependency(stream);
}

void Runtime::forbid_synchronizing_while_capturing(int device) {
  bool capturing = false;
  for (const auto& capture : captures)
    for (const auto& captured : capture->streams)
      if (captured->device == device) capturing = capture->invalidated = true;
  require(!capturing, cudaErrorStreamCaptureUnsupported);
}

void Runtime::end_captures_of(int device) {
  std::erase_if(captures, [&](const auto& capture) {
    const bool part = std::any_of(capture->streams.begin(), capture->streams.end(),
                                  [&](const auto& stream) { return stream->device == device; });
    if (!part) return false;
    capture->invalidated = true;
    leave_capture(*capture);
    return true;
  });
}

void Runtime::leave_capture(Capture& capture) {
  capture.ended = true;
  for (const auto& member : capture.streams) {
    member->capture = nullptr;
    member->captured_tail.clear();
  }
  Graph& graph = *capture.graph;
  graph.captured_into = false;
  for (const auto& node : graph.nodes) node->must_join = false;
  if (capture.invalidated && !capture.given) forget(graph);
}

Capture* Runtime::implicit_dependency(const Stream& stream) const {
  if (!stream.legacy) return nullptr;
  for (const auto& capture : captures)
    for (const auto& captured : capture->streams)
      if (captured->blocking && captured->device == stream.device) return capture.get();
  return nullptr;
}

void Runtime::forbid_implicit_dependency(const Stream& stream) {
  Capture* const capture = implicit_dependency(stream);
  if (!capture) return;
  capture->invalidated = true;
  throw Failure{cudaErrorStreamCaptureImplicit};
}

}  // namespace simt

using namespace simt;

namespace {

// Whether every captured node leads to `tail`, unless the program itself has taken it out. Other work was
// never joined into the stream that began the capture.
bool joined(const Graph& graph, const std::vector<Node*>& tail) {
  std::unordered_set<const Node*> reached;
  std::vector<const Node*> open(tail.begin(), tail.end());
  for (const auto& node : graph.nodes)
    if (!node->must_join) open.push_back(node.get());
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    if (reached.insert(node).second)
      open.insert(open.end(), node->predecessors.begin(), node->predecessors.end());
  }
  return reached.size() == graph.nodes.size();
}

cudaStreamCaptureStatus capture_status(const Stream& stream) {
  if (!stream.capture) return cudaStreamCaptureStatusNone;
  return stream.capture->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

// Requires the mutex.
std::shared_ptr<Stream> begin_capture(Runtime& runtime, cudaStream_t handle, cudaStreamCaptureMode mode) {
  require(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed, cudaErrorInvalidValue);
  auto stream = runtime.stream(handle);
  require(!stream->legacy, cudaErrorStreamCaptureUnsupported);
  require(!stream->capture, cudaErrorIllegalState);
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->streams = {stream};
  capture->graph->captured_into = true;
  stream->capture = capture;
  stream->captured_tail.clear();
  runtime.captures.push_back(std::move(capture));
  return stream;
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    begin_capture(runtime, handle, mode);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
                                          size_t count, cudaStreamCaptureMode mode) {
  return api([&](Runtime& runtime) {
    std::lock_guard lock(runtime.mutex);
    const auto given = runtime.graphs.get(graph);
    require(!given->captured_into, cudaErrorInvalidValue);
    const std::vector<Node*> first = runtime.nodes_of(*given, dependencies, edges, count);
    const auto stream = begin_capture(runtime, handle, mode);
    stream->capture->graph = given;
    stream->capture->given = true;
    given->captured_into = true;
    stream->captured_tail = first;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* edges, size_t count,
                                                unsigned int flags) {
  return api([&](Runtime& runtime) {
    require(flags == cudaStreamAddCaptureDependencies || flags == cudaStreamSetCaptureDependencies,
            cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    require(stream->capture != nullptr, cudaErrorIllegalState);
    require(!stream->capture->invalidated, cudaErrorStreamCaptureInvalidated);
    const std::vector<Node*> given = runtime.nodes_of(*stream->capture->graph, dependencies, edges, count);
    std::vector<Node*>& tail = stream->captured_tail;
    if (flags == cudaStreamSetCaptureDependencies) {
      for (Node* const node : tail) node->must_join = false;
      tail.clear();
    }
    for (Node* const node : given)
      if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return api([&](Runtime& runtime) {
    require(graph, cudaErrorInvalidValue);
    *graph = nullptr;
    std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    const auto capture = stream->capture;
    require(capture != nullptr, cudaErrorIllegalState);
    require(capture->origin == stream.get(), cudaErrorStreamCaptureUnmatched);
    require(capture->mode == cudaStreamCaptureModeRelaxed || capture->thread == std::this_thread::get_id(),
            cudaErrorStreamCaptureWrongThread);
    const bool invalidated = capture->invalidated;
    if (!joined(*capture->graph, stream->captured_tail)) capture->invalidated = true;
    runtime.leave_capture(*capture);
    std::erase(runtime.captures, capture);
    require(!invalidated, cudaErrorStreamCaptureInvalidated);
    require(!capture->invalidated, cudaErrorStreamCaptureUnjoined);
    *graph = runtime.handle_of(capture->graph);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(handle, status);
}

// For the legacy stream it is an error while a blocking stream is captured, but one that leaves the capture
// valid.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     size_t* dependency_count) {
  return api([&](Runtime& runtime) {
    require(status && (!edges || dependencies), cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    require(!runtime.implicit_dependency(*stream), cudaErrorStreamCaptureImplicit);
    *status = capture_status(*stream);
    if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
    if (id) *id = stream->capture->id;
    if (graph) *graph = runtime.handle_of(stream->capture->graph);
    if (dependencies) {
      stream->told_tail.clear();
      for (Node* const node : stream->captured_tail) stream->told_tail.push_back(runtime.nodes.give(*node));
      stream->told_edges.assign(stream->told_tail.size(), cudaGraphEdgeData{});
      *dependencies = stream->told_tail.data();
    }
    if (edges) *edges = stream->told_edges.data();
    if (dependency_count) *dependency_count = stream->captured_tail.size();
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api_without_context([&](Runtime&) {
    require(mode && *mode >= cudaStreamCaptureModeGlobal && *mode <= cudaStreamCaptureModeRelaxed,
            cudaErrorInvalidValue);
    std::swap(*mode, host_thread().capture_mode);
    return cudaSuccess;
  });
}

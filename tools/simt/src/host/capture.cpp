// Stream capture: recording the calls of a capturing stream, and rejecting calls that a capture forbids.
#include <algorithm>

#include "runtime.h"

namespace simt {

int Runtime::add_node(const std::shared_ptr<Stream>& stream, Node node) {
  Capture& capture = *stream->capture;
  require(!capture.invalidated, cudaErrorStreamCaptureInvalidated);
  if (node.operation) refuse_staged_copy(capture, *node.operation);
  node.predecessors.insert(node.predecessors.end(), stream->captured_tail.begin(),
                           stream->captured_tail.end());
  capture.graph->nodes.push_back(std::move(node));
  const int number = static_cast<int>(capture.graph->nodes.size()) - 1;
  stream->captured_tail.assign(1, number);
  return number;
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
  for (const int node : event.captured_tail)
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
  if (stream.capture) {
    stream.capture->invalidated = true;
    throw Failure{cudaErrorStreamCaptureUnsupported};
  }
  forbid_implicit_dependency(stream);
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
    capture->invalidated = capture->ended = true;
    for (const auto& member : capture->streams) {
      member->capture = nullptr;
      member->captured_tail.clear();
    }
    return true;
  });
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

// Whether every node leads to `tail`. Other work was never joined into the stream that began the capture.
bool joined(const Graph& graph, const std::vector<int>& tail) {
  std::vector<bool> reached(graph.nodes.size());
  for (const int node : tail) reached[static_cast<size_t>(node)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;)  // predecessors precede their successors
    if (reached[i])
      for (const int before : graph.nodes[i].predecessors) reached[static_cast<size_t>(before)] = true;
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}

cudaStreamCaptureStatus capture_status(const Stream& stream) {
  if (!stream.capture) return cudaStreamCaptureStatusNone;
  return stream.capture->invalidated ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return api([&](Runtime& runtime) {
    require(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed,
            cudaErrorInvalidValue);
    std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    require(!stream->legacy, cudaErrorStreamCaptureUnsupported);
    require(!stream->capture, cudaErrorIllegalState);
    auto capture = std::make_shared<Capture>();
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->origin = stream.get();
    capture->streams = {stream};
    stream->capture = capture;
    stream->captured_tail.clear();
    runtime.captures.push_back(std::move(capture));
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
    const bool complete = joined(*capture->graph, stream->captured_tail);
    capture->ended = true;
    for (const auto& member : capture->streams) {
      member->capture = nullptr;
      member->captured_tail.clear();
    }
    std::erase(runtime.captures, capture);
    require(!capture->invalidated, cudaErrorStreamCaptureInvalidated);
    require(complete, cudaErrorStreamCaptureUnjoined);
    runtime.graphs.add(capture->graph, graph);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(handle, status);
}

// Returns only the status and the id of the capture, because nodes have no handles here. For the legacy
// stream it is an error while a blocking stream is captured, but one that leaves the capture valid.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     size_t* dependency_count) {
  return api([&](Runtime& runtime) {
    require(status, cudaErrorInvalidValue);
    require(!graph && !dependencies && !edges && !dependency_count, cudaErrorNotSupported);
    std::lock_guard lock(runtime.mutex);
    const auto stream = runtime.stream(handle);
    require(!runtime.implicit_dependency(*stream), cudaErrorStreamCaptureImplicit);
    *status = capture_status(*stream);
    if (id && *status == cudaStreamCaptureStatusActive) *id = stream->capture->id;
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

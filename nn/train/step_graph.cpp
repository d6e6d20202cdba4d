#include <rondo/nn/train/step_graph.h>

namespace rondo {

namespace {

Status end_capture(cudaStream_t stream, cudaGraph_t* graph) {
  return from_cuda(cudaStreamEndCapture(stream, graph), "recording the step");
}

void destroy(cudaGraph_t graph) {
  if (graph) static_cast<void>(cudaGraphDestroy(graph));
}

}  // namespace

StepGraph::StepGraph(StreamGroup& group, std::function<void()> enqueue)
    : group_(group), enqueue_(std::move(enqueue)) {
  DeviceScope scope(group.device(0));
  const cudaStream_t stream = group.stream(0);
  // Thread-local mode: other threads may allocate and synchronise during the capture.
  RONDO_CUDA_THROW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  Status recorded;
  cudaGraph_t graph = nullptr;
  try {
    group.fork();  // adds the other streams to the capture
    enqueue_();
    group.join();  // every branch must join the stream where the capture began
  } catch (const Error& error) {
    recorded = Status(error.status().code(), concat("recording the step: ", error.what()));
  } catch (...) {
    static_cast<void>(end_capture(stream, &graph));
    destroy(graph);
    throw;
  }
  const Status ended = end_capture(stream, &graph);
  if (recorded.ok()) recorded = ended;
  if (recorded.ok())
    recorded = from_cuda(cudaGraphInstantiate(&executable_, graph, 0), "making the step's graph executable");
  destroy(graph);
  if (!recorded.ok()) refuse(std::move(recorded));
}

StepGraph::~StepGraph() {
  if (executable_) static_cast<void>(cudaGraphExecDestroy(executable_));
}

StepGraph::StepGraph(StepGraph&& other) noexcept
    : group_(other.group_),
      enqueue_(std::move(other.enqueue_)),
      executable_(std::exchange(other.executable_, nullptr)),
      launched_(other.launched_),
      refusal_(std::move(other.refusal_)) {}

// Only a bad_argument is worth a fallback: a failed device or lack of memory would fail without a graph, too.
void StepGraph::refuse(Status status) {
  if (status.code() != StatusCode::bad_argument) throw Error(std::move(status));
  refusal_ = std::move(status);
  if (executable_) static_cast<void>(cudaGraphExecDestroy(std::exchange(executable_, nullptr)));
}

void StepGraph::launch() {
  if (refusal_.ok()) {
    const cudaError_t error = cudaGraphLaunch(executable_, group_.stream(0));
    if (error == cudaSuccess) {
      launched_ = true;
      return;
    }
    Status status = from_cuda(error, "launching the step's graph");
    if (launched_) throw Error(std::move(status));
    refuse(std::move(status));
  }
  group_.fork();
  enqueue_();
  group_.join();
}

}  // namespace rondo

#include <rondo/nn/train/step_graph.h>

namespace rondo {

StepGraph::StepGraph(StreamGroup& group, std::function<void()> enqueue)
    : group_(group), enqueue_(std::move(enqueue)) {
  DeviceScope scope(group.device(0));
  const cudaStream_t stream = group.stream(0);
  // Thread-local mode: other threads may allocate and synchronise during the capture.
  RONDO_CUDA_THROW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    group.fork();  // adds the other streams to the capture
    enqueue_();
    group.join();  // every branch must join the stream where the capture began
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream, &graph));
    static_cast<void>(cudaGetLastError());
    if (graph) static_cast<void>(cudaGraphDestroy(graph));
    throw;
  }
  RONDO_CUDA_THROW(cudaStreamEndCapture(stream, &graph));
  const cudaError_t error = cudaGraphInstantiate(&executable_, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  if (error != cudaSuccess) refuse(error, "making the step's graph executable");
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
void StepGraph::refuse(cudaError_t error, const char* what) {
  Status status = from_cuda(error, what);
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
    if (launched_) throw Error(from_cuda(error, "launching the step's graph"));
    refuse(error, "launching the step's graph");
  }
  group_.fork();
  enqueue_();
  group_.join();
}

}  // namespace rondo

#include <rondo/nn/step_graph.h>

namespace rondo {

StepGraph::StepGraph(StreamGroup& group, const std::function<void()>& enqueue) : stream_(group.stream(0)) {
  DeviceScope scope(group.device(0));
  // Thread-local: other threads of the program may allocate and synchronise meanwhile.
  RONDO_CUDA_THROW(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    group.fork();  // draws the other streams into the recording
    enqueue();
    group.join();  // every branch must lead back to the stream that began it
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream_, &graph));
    static_cast<void>(cudaGetLastError());
    if (graph) static_cast<void>(cudaGraphDestroy(graph));
    throw;
  }
  RONDO_CUDA_THROW(cudaStreamEndCapture(stream_, &graph));
  const cudaError_t error = cudaGraphInstantiate(&executable_, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  throw_if_error(from_cuda(error, "making the step's graph executable"));
}

StepGraph::~StepGraph() {
  if (executable_) static_cast<void>(cudaGraphExecDestroy(executable_));
}

StepGraph::StepGraph(StepGraph&& other) noexcept
    : stream_(other.stream_), executable_(std::exchange(other.executable_, nullptr)) {}

void StepGraph::launch() { RONDO_CUDA_THROW(cudaGraphLaunch(executable_, stream_)); }

}  // namespace rondo

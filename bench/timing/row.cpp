#include <rondo/bench/timing/row.h>

namespace rondo::bench {

Row::Row(cudaStream_t stream, const EnqueueFunction& enqueue, int count) {
  RONDO_CUDA_THROW(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  Status status;
  for (int i = 0; i < count && status.ok(); ++i) status = enqueue(stream);
  cudaGraph_t graph = nullptr;
  const Status captured = from_cuda(cudaStreamEndCapture(stream, &graph), "recording a row of calls");
  throw_if_error(status);
  throw_if_error(captured);
  size_t nodes = 0;
  RONDO_CUDA_THROW(cudaGraphGetNodes(graph, nullptr, &nodes));
  if (nodes == 0) {
    RONDO_CUDA_THROW(cudaGraphDestroy(graph));
    // An empty graph takes no time: a library that was not given the stream would seem infinitely fast.
    throw Error(bad_argument("recording a row of calls: the calls did not use the stream"));
  }
  const Status instantiated =
      from_cuda(cudaGraphInstantiate(&row_, graph, 0), "instantiating a row of calls");
  RONDO_CUDA_THROW(cudaGraphDestroy(graph));
  throw_if_error(instantiated);
}

}  // namespace rondo::bench

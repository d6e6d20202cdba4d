#include <rondo/bench/timing/device_time.h>

namespace rondo::bench {

void run_once(const EnqueueFunction& enqueue) {
  Stream stream;
  warm_up(stream, enqueue);
}

void warm_up(cudaStream_t stream, const EnqueueFunction& enqueue) {
  throw_if_error(enqueue(stream));
  RONDO_CUDA_THROW(cudaStreamSynchronize(stream));
}

double seconds_between(cudaEvent_t begin, cudaEvent_t end) {
  RONDO_CUDA_THROW(cudaEventSynchronize(end));
  float milliseconds = 0;
  RONDO_CUDA_THROW(cudaEventElapsedTime(&milliseconds, begin, end));
  return milliseconds * 1e-3;
}

double seconds_of(cudaStream_t stream, const std::function<void(cudaStream_t)>& enqueue) {
  Event begin(Event::Kind::timing), end(Event::Kind::timing);
  RONDO_CUDA_THROW(cudaEventRecord(begin, stream));
  enqueue(stream);
  RONDO_CUDA_THROW(cudaEventRecord(end, stream));
  return seconds_between(begin, end);
}

double seconds_of_call(cudaStream_t stream, const EnqueueFunction& enqueue) {
  return seconds_of(stream, [&](cudaStream_t s) { throw_if_error(enqueue(s)); });
}

}  // namespace rondo::bench

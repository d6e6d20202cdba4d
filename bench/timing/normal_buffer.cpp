#include <rondo/bench/timing/normal_buffer.h>

namespace rondo::bench {

void fill_repeatedly(void* data, int64_t bytes, const void* values, int64_t period) {
  char* const to = static_cast<char*>(data);
  int64_t filled = std::min(period, bytes);
  RONDO_CUDA_THROW(cudaMemcpy(to, values, static_cast<size_t>(filled), cudaMemcpyDefault));
  while (filled < bytes) {
    const int64_t more = std::min(filled, bytes - filled);
    RONDO_CUDA_THROW(cudaMemcpy(to + filled, to, static_cast<size_t>(more), cudaMemcpyDeviceToDevice));
    filled += more;
  }
  // Copies between device memory do not wait, nor do streams for those of the default stream.
  RONDO_CUDA_THROW(cudaStreamSynchronize(cudaStreamLegacy));
}

}  // namespace rondo::bench

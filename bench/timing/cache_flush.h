// CacheFlush: overwrites the last-level cache by writing a buffer of twice its size.
#pragma once

#include <rondo/bench/timing/machine.h>
#include <rondo/kernels/runtime/buffer.h>

#include <algorithm>

namespace rondo::bench {

class CacheFlush {
 public:
  CacheFlush() : buffer_(std::clamp<int64_t>(2 * last_level_cache().bytes, 4 << 20, 1 << 30)) {}
  void enqueue(cudaStream_t stream) {
    RONDO_CUDA_THROW(cudaMemsetAsync(buffer_.data(), 0, static_cast<size_t>(buffer_.bytes()), stream));
  }

 private:
  Buffer<unsigned char> buffer_;
};

}  // namespace rondo::bench

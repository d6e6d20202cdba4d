// <cuda_pipeline.h>: copies from global to shared memory by cp.async, as the pipeline primitives.
#pragma once

#include <cuda_runtime.h>
#include <simt/async_copy.h>

#include <cassert>
#include <cstddef>

// Starts a copy of 4, 8 or 16 bytes, to and from multiples of this size. The last `zeros` bytes are not read,
// and become zero.
inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  assert((bytes == 4 || bytes == 8 || bytes == 16) && zeros <= bytes);
  char* const target = static_cast<char*>(to);
  const char* const source = static_cast<const char*>(from);
  const size_t read = bytes - zeros;
  if (zeros > 0 && read > 0) {
    for (size_t i = 0; i < bytes; i += 4) {
      if (i + 4 <= read || i >= read) {
        simt::async_copy<4>(target + i, source + i, i < read);
        continue;
      }
      for (size_t j = i; j < i + 4; ++j) target[j] = j < read ? source[j] : char{0};
    }
  } else if (bytes == 4) {
    simt::async_copy<4>(to, from, zeros == 0);
  } else if (bytes == 8) {
    simt::async_copy<8>(to, from, zeros == 0);
  } else {
    simt::async_copy<16>(to, from, zeros == 0);
  }
}

inline void __pipeline_commit() { simt::async_commit(); }

// Waits for the calling thread's groups, except for the newest `groups`.
inline void __pipeline_wait_prior(size_t groups) { simt::async_wait(static_cast<int>(groups)); }

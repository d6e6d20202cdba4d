// The capture that a stream is part of.
#pragma once

#include <cuda_runtime_api.h>

#include <rondo/kernels/core/status.h>

namespace rondo {

struct StreamCapture {
  bool captured = false;
  unsigned long long id = 0;  // 0: none, or one that was invalidated and has not ended
};

inline Status capture_of(cudaStream_t stream, StreamCapture& capture) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  RONDO_CUDA(cudaStreamGetCaptureInfo(stream, &status, &id));
  capture.captured = status != cudaStreamCaptureStatusNone;
  capture.id = status == cudaStreamCaptureStatusActive ? id : 0;
  return {};
}

}  // namespace rondo

// The kernels of the stand-in for cuDNN: pooling, softmax and batch normalisation, a thread for each result,
// row or channel.
#pragma once

#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/status.h>

#include "sums.h"

namespace rondo::stand_in {

// Forward: y of x. Gradient: dx of dy, whose tensors are as those of x and y.
struct Pooling {
  const void* x = nullptr;
  void* y = nullptr;
  const void* dy = nullptr;
  void* dx = nullptr;
  bool is_gradient = false, is_average = false;
  Tensor of_x = {}, of_y = {};
  int window[2] = {}, pad[2] = {}, stride[2] = {};
};

// Forward: to = softmax(from). Gradient: from = dy, to = dx.
struct Softmax {
  const void* from = nullptr;
  void* to = nullptr;
  const void* y = nullptr;
  bool is_gradient = false, is_log = false;
  int rows = 0, cols = 0;
};

// Forward: to, mean and inv_std of x. Gradient, if there is a dy: to = dx, and dgamma and dbeta.
struct BatchNorm {
  const void* x = nullptr;
  void* to = nullptr;
  const void *gamma = nullptr, *beta = nullptr;
  void *mean = nullptr, *inv_std = nullptr;
  const void* dy = nullptr;
  void *dgamma = nullptr, *dbeta = nullptr;
  double epsilon = 0;
  int rows = 0, channels = 0;
};

Status enqueue(DType type, const Pooling& pooling, cudaStream_t stream);
Status enqueue(DType type, const Softmax& softmax, cudaStream_t stream);
Status enqueue(DType type, const BatchNorm& norm, cudaStream_t stream);

}  // namespace rondo::stand_in

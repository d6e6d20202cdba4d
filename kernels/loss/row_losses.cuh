// The loss of a batch from those of its rows.
#pragma once

#include <rondo/kernels/core/size.h>
#include <rondo/kernels/core/status.h>
#include <rondo/kernels/core/view.h>
#include <rondo/kernels/core/launch.cuh>

#include <algorithm>
#include <cstdint>

namespace rondo::losses {

// *divisor = value
Status store_divisor(const char* name, double* divisor, double value, cudaStream_t stream);

// *divisor = sum over the rows of weights[labels[i]], or of 1 without weights. Leaves out labels that are
// `ignored` or not in [0, classes).
Status add_weights(const char* name, double* divisor, VectorView<const int32_t> labels, const float* weights,
                   int64_t classes, int32_t ignored, cudaStream_t stream);

// *loss = sum over the rows of losses[i], in double; divided by *divisor, unless it is null.
Status add_losses(const char* name, float* loss, const float* losses, const double* divisor, int64_t rows,
                  cudaStream_t stream);

// A workspace: the divisor, the losses of the rows if the caller does not want them, and the rest.
struct RowLossesMemory {
  static constexpr int64_t kDivisorBytes = 16;
  static int64_t losses_bytes(int64_t rows) {
    return saturating_product({ceil_div<int64_t>(std::max<int64_t>(rows, 0), 4), 16});
  }
  static int64_t bytes(int64_t rows, int64_t rest) {
    const int64_t own = losses_bytes(rows);
    return own > INT64_MAX - kDivisorBytes - rest || rest > INT64_MAX - kDivisorBytes
               ? INT64_MAX
               : kDivisorBytes + own + rest;
  }

  RowLossesMemory(Workspace workspace, int64_t rows) {
    auto* const all = static_cast<unsigned char*>(workspace.data);
    const int64_t used = kDivisorBytes + losses_bytes(rows);
    divisor = reinterpret_cast<double*>(all);
    losses = reinterpret_cast<float*>(all + kDivisorBytes);
    rest = {all + used, workspace.bytes - used};
  }
  double* divisor;
  float* losses;
  Workspace rest;
};

}  // namespace rondo::losses

// The transformed filter G g G^T, as operand B of the forward kernel. For each frequency it is a matrix of
// `inner` rows and `columns` columns. The matrix is split into panels of kPanel columns, stored one after the
// other, each row by row. Columns past the end are zeros.
//
//   forward:        row = in channel,  column = out channel
//   data gradient:  row = out channel, column = in channel, of the filter rotated by 180 degrees
#pragma once

#include <rondo/kernels/conv/conv_geometry.h>
#include <rondo/kernels/core/launch.cuh>

namespace rondo::winograd {

inline constexpr int kPanel = 64;

struct TransformedFilter {
  const float* data;
  int inner, columns;

  __host__ __device__ int64_t panel_floats() const { return static_cast<int64_t>(inner) * kPanel; }
  __host__ __device__ int panels() const { return ceil_div(columns, kPanel); }
  __device__ const float* panel(int frequency, int number) const {
    return data + (static_cast<int64_t>(frequency) * panels() + number) * panel_floats();
  }
};

int64_t transformed_filter_floats(int inner, int columns);

// filter: KRSC, [k, 3, 3, c].
Status transform_filter(float* to, const float* filter, int k, int c, bool for_data_gradient,
                        cudaStream_t stream);

}  // namespace rondo::winograd

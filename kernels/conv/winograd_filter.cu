// A thread transforms the filters of 4 out channels x 4 in channels. Memory runs along the in channels; where columns
// are out channels (forward), each tap's 4 x 4 values are transposed on their way.
#include <rondo/kernels/conv/winograd_filter.cuh>
#include <rondo/kernels/conv/winograd_math.cuh>

namespace rondo::winograd {
namespace {

constexpr int kThreads = 64;

template <bool for_data_gradient>
__global__ __launch_bounds__(kThreads) void transform_filter_kernel(float* __restrict__ to,
                                                                    const float* __restrict__ filter, int k, int c) {
  const TransformedFilter layout = {to, for_data_gradient ? k : c, for_data_gradient ? c : k};
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int per_row = layout.panels() * (kPanel / 4);  // quads of columns
  const int column = static_cast<int>(item % per_row) * 4;
  const int row = static_cast<int>(item / per_row) * 4;
  if (row >= layout.inner) return;

  Lanes<4> taps[4][3][3];  // [row], lanes are columns
  if (column < layout.columns) {
    const int k0 = for_data_gradient ? row : column, c0 = for_data_gradient ? column : row;
    RONDO_UNROLL
    for (int r = 0; r < 3; ++r)
      RONDO_UNROLL
    for (int s = 0; s < 3; ++s) {
      Lanes<4> block[4];
      RONDO_UNROLL
      for (int i = 0; i < 4; ++i)
        block[i] = Lanes<4>::load_unaligned(filter + (static_cast<int64_t>(k0 + i) * 9 + r * 3 + s) * c + c0);
      if (!for_data_gradient) transpose(block);
      RONDO_UNROLL
      for (int i = 0; i < 4; ++i) taps[i][for_data_gradient ? 2 - r : r][for_data_gradient ? 2 - s : s] = block[i];
    }
  } else {
    RONDO_UNROLL
    for (int i = 0; i < 36; ++i) (&taps[0][0][0])[i] = Lanes<4>::zero();
  }
  float* panel = to + column / kPanel * layout.panel_floats() + static_cast<int64_t>(row) * kPanel + column % kPanel;
  const int64_t frequency_stride = layout.panels() * layout.panel_floats();
  RONDO_UNROLL
  for (int i = 0; i < 4; ++i)
    transform_filter<4>(taps[i], [&](int frequency, const Lanes<4>& value) {
      value.store(panel + frequency * frequency_stride + i * kPanel);
    });
}

}  // namespace

int64_t transformed_filter_floats(int inner, int columns) {
  const TransformedFilter layout = {nullptr, inner, columns};
  return kFrequencies * layout.panels() * layout.panel_floats();
}

Status transform_filter(float* to, const float* filter, int k, int c, bool for_data_gradient, cudaStream_t stream) {
  const int64_t items = transformed_filter_floats(for_data_gradient ? k : c, for_data_gradient ? c : k) /
                        (kFrequencies * 16);
  return launch("winograd_filter", {.grid_x = ceil_div<int64_t>(items, kThreads), .block_x = kThreads}, stream,
                for_data_gradient ? transform_filter_kernel<true> : transform_filter_kernel<false>, to, filter, k, c);
}

}  // namespace rondo::winograd

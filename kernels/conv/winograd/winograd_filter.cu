// Each thread transforms the filters of N out channels x N in channels. The in channels are contiguous in
// memory. If the columns are out channels (forward), the N x N values of each tap are transposed after
// loading. On a GPU the halves of a warp have adjacent rows of one panel: 8 adjacent in channels are a
// sector. The values are loaded one by one: 16-byte loads would need 50 registers more.
#include <rondo/kernels/conv/winograd/winograd_filter.cuh>
#include <rondo/kernels/conv/winograd/winograd_math.cuh>
#include <rondo/kernels/core/tile_threads.cuh>

namespace rondo::winograd {
namespace {

constexpr int kThreads = 64;
constexpr int N = ThreadsOf<kVectorTiles>::kStored;

template <bool for_data_gradient>
__global__ __launch_bounds__(kThreads) void transform_filter_kernel(float* __restrict__ to,
                                                                    const float* __restrict__ filter, int k,
                                                                    int c) {
  const TransformedFilter layout = {to, for_data_gradient ? k : c, for_data_gradient ? c : k};
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  constexpr int kPerRow = kPanel / N;  // threads for a row of a panel
  const int rows = layout.inner / N;
  const int row = static_cast<int>(item / kPerRow % rows) * N;
  const int column = static_cast<int>(item / kPerRow / rows) * kPanel + static_cast<int>(item % kPerRow) * N;
  if (column >= layout.panels() * kPanel) return;

  Vec<N> taps[N][3][3];  // [row]; the elements of a Vec are columns
  if (column < layout.columns) {
    const int k0 = for_data_gradient ? row : column, c0 = for_data_gradient ? column : row;
    RONDO_UNROLL
    for (int tap = 0; tap < 9; ++tap) {
      Vec<N> block[N];
      RONDO_UNROLL
      for (int i = 0; i < N; ++i)
        block[i] = Vec<N>::load_unaligned(filter + (static_cast<int64_t>(k0 + i) * 9 + tap) * c + c0);
      if (!for_data_gradient) transpose(block);
      const int turned = for_data_gradient ? 8 - tap : tap;
      RONDO_UNROLL
      for (int i = 0; i < N; ++i) taps[i][turned / 3][turned % 3] = block[i];
    }
  } else {
    RONDO_UNROLL
    for (int i = 0; i < N; ++i) RONDO_UNROLL
    for (int tap = 0; tap < 9; ++tap) taps[i][tap / 3][tap % 3] = Vec<N>::zero();
  }
  float* panel =
      to + column / kPanel * layout.panel_floats() + static_cast<int64_t>(row) * kPanel + column % kPanel;
  const int64_t frequency_stride = layout.panels() * layout.panel_floats();
  RONDO_UNROLL
  for (int i = 0; i < N; ++i)
    transform_filter<N>(taps[i], [&](int frequency, const Vec<N>& value) {
      value.store(panel + frequency * frequency_stride + i * kPanel);
    });
}

}  // namespace

int64_t transformed_filter_floats(int inner, int columns) {
  const TransformedFilter layout = {nullptr, inner, columns};
  return kFrequencies * layout.panels() * layout.panel_floats();
}

Status transform_filter(float* to, const float* filter, int k, int c, bool for_data_gradient,
                        cudaStream_t stream) {
  const int64_t items = transformed_filter_floats(for_data_gradient ? k : c, for_data_gradient ? c : k) /
                        (kFrequencies * N * N);
  return launch("winograd_filter", {.grid_x = ceil_div<int64_t>(items, kThreads), .block_x = kThreads},
                stream, for_data_gradient ? transform_filter_kernel<true> : transform_filter_kernel<false>,
                to, filter, k, c);
}

}  // namespace rondo::winograd

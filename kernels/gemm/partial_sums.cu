// The second pass of split-K; see split_k.h. Each thread adds the parts of four neighbouring results: its
// loads are 16 bytes wide, and a warp reads 512 contiguous bytes of each part. Bound by memory traffic.
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/pack.cuh>
#include <rondo/kernels/gemm/partial_sums.cuh>

#ifdef __SIMT__
#include <simt/unwritten.h>
#endif

namespace rondo {
namespace {

constexpr int kThreads = 128;

// The last pack of a row may end in padding, which has no values. Its sums are not stored.
__device__ __forceinline__ void reads_unwritten_padding([[maybe_unused]] const Partials& partials,
                                                        [[maybe_unused]] int64_t part,
                                                        [[maybe_unused]] int64_t first) {
#ifdef __SIMT__
  const int64_t columns = partials.columns - first % partials.stride();
  if (columns < 4)
    simt::allow_unwritten(partials.data + part * partials.part_size() + first + columns,
                          (4 - columns) * sizeof(float));
#endif
}

template <class C>
__global__ __launch_bounds__(kThreads) void sum_partials_kernel(Partials partials, C* to, int64_t row_stride,
                                                                int64_t column_stride,
                                                                GemmEpilogue epilogue) {
  const int64_t first = 4 * (static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x);
  const int64_t size = partials.part_size();
  if (first >= size) return;
  float sums[4] = {0, 0, 0, 0};
  RONDO_UNROLL_BY(4)
  for (int64_t part = 0; part < partials.count; ++part) {
    reads_unwritten_padding(partials, part, first);
    const auto values = load_pack<4>(partials.data + part * size + first);
    RONDO_UNROLL
    for (int j = 0; j < 4; ++j) sums[j] += values.v[j];
  }
  const int64_t row = first / partials.stride(), column = first % partials.stride();
  RONDO_UNROLL
  for (int j = 0; j < 4; ++j) {
    if (column + j >= partials.columns) break;
    C* value = to + row * row_stride + (column + j) * column_stride;
    *value = static_cast<C>(epilogue.value(sums[j], column + j, value));
  }
}

}  // namespace

template <class C>
Status sum_partials(const Partials& partials, C* to, int64_t row_stride, int64_t column_stride,
                    const GemmEpilogue& epilogue, cudaStream_t stream) {
  return launch("sum_partials", flat_shape(partials.part_size(), kThreads, 4), stream, sum_partials_kernel<C>,
                partials, to, row_stride, column_stride, epilogue);
}

template Status sum_partials(const Partials&, float*, int64_t, int64_t, const GemmEpilogue&, cudaStream_t);
template Status sum_partials(const Partials&, __nv_bfloat16*, int64_t, int64_t, const GemmEpilogue&,
                             cudaStream_t);
template Status sum_partials(const Partials&, __half*, int64_t, int64_t, const GemmEpilogue&, cudaStream_t);

}  // namespace rondo

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/reduce/bias_gradient.h>
#include <rondo/kernels/reduce/column_sums.cuh>

#include <algorithm>

namespace rondo {
namespace {

template <class T>
struct Rows {
  using Value = float;
  static constexpr int kSums = 1, kRowThreads = 32, kWidest = kWidestValues<T>;
  const T* x;
  int64_t stride;

  template <int N>
  using Partial = columns::Sums<float, 1, N>;
  template <int N>
  struct Channel {
    const T* x;
    int64_t stride;
    __device__ __forceinline__ void add(columns::Sums<float, 1, N>& sums, int64_t row) const {
      const auto element = load_values<N>(x + row * stride);
      RONDO_SIMD
      for (int k = 0; k < N; ++k) sums.of[0][k] += element.v[k];
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {x + col, stride};
  }
};

struct AddBeta {
  float beta = 0;
  __device__ __forceinline__ float operator()(float sum, const float* to) const {
    return beta == 0 ? sum : fmaf(beta, *to, sum);
  }
};

template <class T>
Status launch_bias_gradient(VectorView<float> db, MatrixView<const T> dy, float beta, Workspace workspace,
                            cudaStream_t stream) {
  ArgumentCheck check("bias_gradient");
  check.output("db", db);
  check.input("dy", dy);
  check.require(db.size == dy.cols, "db.size is ", db.size, ", must be dy.cols = ", dy.cols);
  check.require(dy.cols <= kMostBiasColumns, "dy.cols is ", dy.cols, ", must be at most ", kMostBiasColumns);
  check.workspace(workspace, bias_gradient_workspace_bytes(dy.rows, dy.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  // Each row must begin on a boundary of packs: its stride counts like a pointer.
  const int width = std::min(values_width<T>(dy.cols, dy.data),
                             values_width<T>(dy.rows > 1 ? dy.stride : dy.cols, dy.data));
  return columns::column_sums("bias_gradient", db.data, Rows<T>{dy.data, dy.stride}, dy.rows, dy.cols, width,
                              workspace, stream, AddBeta{beta});
}

}  // namespace

int64_t bias_gradient_workspace_bytes(int64_t rows, int64_t cols) {
  return columns::workspace_bytes<float, 1>(rows, cols);
}

template <InputType T>
Status bias_gradient(VectorView<float> db, MatrixView<T> dy, float beta, Workspace workspace,
                     cudaStream_t stream) {
  return launch_bias_gradient<std::remove_const_t<T>>(db, dy, beta, workspace, stream);
}

#define RONDO_BIAS_GRADIENT(T) \
  template Status bias_gradient<T>(VectorView<float>, MatrixView<T>, float, Workspace, cudaStream_t);
RONDO_FOR_INPUT_TYPES(RONDO_BIAS_GRADIENT)

}  // namespace rondo

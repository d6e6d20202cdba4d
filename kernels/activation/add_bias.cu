#include <rondo/kernels/activation/add_bias.h>
#include <rondo/kernels/norm/batch_norm_checks.h>
#include <rondo/kernels/norm/row_map.cuh>

namespace rondo {
namespace {

template <class T>
struct AddBias {
  static constexpr int kWidest = kWidestValues<T>;
  T* y;
  const T* x;
  const float* bias;
  int cols;

  template <int N>
  struct Channel {
    const AddBias& a;
    int col;
    Values<N> bias;

    __device__ __forceinline__ void row(int64_t row) const {
      const int64_t at = row * a.cols + col;
      auto value = load_values<N>(a.x + at);
      RONDO_SIMD
      for (int k = 0; k < N; ++k) value.v[k] += bias.v[k];
      store_values<N>(a.y + at, value);
    }
  };
  template <int N>
  __device__ Channel<N> channel(int col) const {
    return {*this, col, load_values<N>(bias + col)};
  }
};

}  // namespace

template <ValueType T>
Status add_bias(MatrixView<T> y, NonDeduced<MatrixView<const T>> x, VectorView<const float> bias,
                cudaStream_t stream) {
  constexpr const char* kName = "add_bias";
  norm::BatchNormCheck check(kName, x.rows, x.cols, "x");
  check.input_matrix("x", x);
  check.output_matrix("y", y, {"x"});
  check.input_channels("bias", bias);
  RONDO_RETURN_IF_ERROR(check.status());
  const AddBias<T> operation = {y.data, x.data, bias.data, static_cast<int>(x.cols)};
  return norm::row_map(kName, operation, x.rows, x.cols, values_width<T>(x.cols, y.data, x.data, bias.data),
                       stream);
}

#define RONDO_ADD_BIAS(T) \
  template Status add_bias<T>(MatrixView<T>, MatrixView<const T>, VectorView<const float>, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_ADD_BIAS)

}  // namespace rondo

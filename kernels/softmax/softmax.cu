// A row's largest value is subtracted before the exponentials are added. A row that fits into one part has
// its exponentials in registers then, and multiplies them by the inverse of their sum. A part of a longer row
// has a largest value of its own, and the row's sum is that of the parts' sums, each times exp(its largest
// value - that of the row).

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/elementary.h>
#include <rondo/kernels/softmax/softmax.h>
#include <rondo/kernels/reduce/rows.cuh>

namespace rondo {
namespace {

struct SoftmaxPart {
  float largest, sum;
};
struct SoftmaxRow {
  float largest, inverse, log_of_sum;
};

template <class T>
struct Softmax {
  using Type = T;
  using Part = SoftmaxPart;
  using Row = SoftmaxRow;
  static constexpr int kInputs = 1;
  MatrixView<T> y;
  MatrixView<const T> x;
  bool log;

  __device__ __forceinline__ const T* input(int, int64_t row) const { return x.data + row * x.stride; }
  __device__ __forceinline__ T* output(int64_t row) const { return y.data + row * y.stride; }

  template <class Team>
  __device__ __forceinline__ Part part(Team& team) const {
    const float largest = team.max();
    // The exponentials of a part of -infinity are 0, not NaN: other parts may have values.
    const float pivot = largest == -INFINITY ? 0.0f : largest;
    // Chosen by bits, so that the store is unconditional: g++ makes vectors of it.
    const int32_t keep = log ? -1 : 0;
    float sum[1];
    team.sums(sum, [=](float(&values)[1], float(&sums)[1], int) {
      const float e = exp_of_negative(values[0] - pivot);
      sums[0] += e;
      values[0] = __builtin_bit_cast(
          float, (__builtin_bit_cast(int32_t, values[0]) & keep) | (__builtin_bit_cast(int32_t, e) & ~keep));
    });
    return {largest, sum[0]};
  }
  __device__ __forceinline__ Row combine(const Part* parts, int count, int64_t) const {
    float largest = parts[0].largest, sum = parts[0].sum;
    if (count > 1) {  // the sum of a single part is that of the row
      sum = 0;
      for (int i = 1; i < count; ++i) largest = fmaxf(largest, parts[i].largest);
      for (int i = 0; i < count; ++i)
        sum = fmaf(parts[i].sum, exp_of_negative(parts[i].largest - largest), sum);
    }
    sum += largest - largest;  // NaN if the largest value is infinite
    return {largest, 1.0f / sum, log ? log_of_one_plus(sum - 1.0f) : 0.0f};
  }

  template <class Access>
  __device__ __forceinline__ void apply(typename Access::Pack (&in)[1], const Row& of_row, int,
                                        bool reduced) const {
    if (log) {
      RONDO_SIMD
      for (int k = 0; k < Access::kSize; ++k) in[0].v[k] = (in[0].v[k] - of_row.largest) - of_row.log_of_sum;
      return;
    }
    if (!reduced) {
      RONDO_SIMD
      for (int k = 0; k < Access::kSize; ++k) in[0].v[k] = exp_of_negative(in[0].v[k] - of_row.largest);
    }
    RONDO_SIMD
    for (int k = 0; k < Access::kSize; ++k) in[0].v[k] *= of_row.inverse;
  }
};

struct GradientSum {
  float sum;
};

template <class T>
struct SoftmaxBackward {
  using Type = T;
  using Part = GradientSum;
  using Row = GradientSum;
  static constexpr int kInputs = 2;
  MatrixView<T> dx;
  MatrixView<const T> dy, y;
  bool log;

  __device__ __forceinline__ const T* input(int i, int64_t row) const {
    return i == 0 ? dy.data + row * dy.stride : y.data + row * y.stride;
  }
  __device__ __forceinline__ T* output(int64_t row) const { return dx.data + row * dx.stride; }

  template <class Team>
  __device__ __forceinline__ Part part(Team& team) const {
    const bool of_log = log;
    float sum[1];
    team.sums(sum, [=](float(&values)[2], float(&sums)[1], int) {
      sums[0] = fmaf(values[0], of_log ? 1.0f : values[1], sums[0]);
    });
    return {sum[0]};
  }
  __device__ __forceinline__ Row combine(const Part* parts, int count, int64_t) const {
    Row of_row = parts[0];
    for (int i = 1; i < count; ++i) of_row.sum += parts[i].sum;
    return of_row;
  }

  template <class Access>
  __device__ __forceinline__ void apply(typename Access::Pack (&in)[2], const Row& of_row, int, bool) const {
    if (log) {
      RONDO_SIMD
      for (int k = 0; k < Access::kSize; ++k)
        in[0].v[k] = fmaf(-exp_of_negative(in[1].v[k]), of_row.sum, in[0].v[k]);
    } else {
      RONDO_SIMD
      for (int k = 0; k < Access::kSize; ++k) in[0].v[k] = in[1].v[k] * (in[0].v[k] - of_row.sum);
    }
  }
};

template <class T>
void check_columns(ArgumentCheck& check, const char* name, const MatrixView<T>& output) {
  check.require(output.cols <= INT32_MAX / 2, name, ".cols is ", output.cols, ", must be at most ",
                INT32_MAX / 2);
}

template <class T>
Status launch_softmax(const char* name, MatrixView<T> y, MatrixView<const T> x, bool log, Workspace workspace,
                      cudaStream_t stream) {
  ArgumentCheck check(name);
  check.output("y", y, {"x"});
  check.input("x", x);
  check.same_shape("x", x, "y", y);
  check_columns(check, "y", y);
  check.workspace(workspace, softmax_workspace_bytes(y.rows, y.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  return rows::row_operation(name, Softmax<T>{y, x, log}, y.rows, y.cols, rows::rows_are_wide<T>({y, x}),
                             workspace, stream);
}

template <class T>
Status launch_softmax_backward(const char* name, MatrixView<T> dx, MatrixView<const T> dy,
                               MatrixView<const T> y, bool log, Workspace workspace, cudaStream_t stream) {
  ArgumentCheck check(name);
  check.output("dx", dx, {"dy", "y"});
  check.input("dy", dy);
  check.input("y", y);
  check.same_shape("dy", dy, "dx", dx);
  check.same_shape("y", y, "dx", dx);
  check_columns(check, "dx", dx);
  check.workspace(workspace, softmax_workspace_bytes(dx.rows, dx.cols));
  RONDO_RETURN_IF_ERROR(check.status());
  return rows::row_operation(name, SoftmaxBackward<T>{dx, dy, y, log}, dx.rows, dx.cols,
                             rows::rows_are_wide<T>({dx, dy, y}), workspace, stream);
}

}  // namespace

int64_t softmax_workspace_bytes(int64_t rows, int64_t cols) {
  return rows::workspace_bytes<Softmax<float>>(rows, cols);  // more than those of the gradient
}

template <ValueType T>
Status softmax(MatrixView<T> y, NonDeduced<MatrixView<const T>> x, Workspace workspace, cudaStream_t stream) {
  return launch_softmax<T>("softmax", y, x, false, workspace, stream);
}

template <ValueType T>
Status log_softmax(MatrixView<T> y, NonDeduced<MatrixView<const T>> x, Workspace workspace,
                   cudaStream_t stream) {
  return launch_softmax<T>("log_softmax", y, x, true, workspace, stream);
}

template <ValueType T>
Status softmax_backward(MatrixView<T> dx, NonDeduced<MatrixView<const T>> dy,
                        NonDeduced<MatrixView<const T>> y, Workspace workspace, cudaStream_t stream) {
  return launch_softmax_backward<T>("softmax_backward", dx, dy, y, false, workspace, stream);
}

template <ValueType T>
Status log_softmax_backward(MatrixView<T> dx, NonDeduced<MatrixView<const T>> dy,
                            NonDeduced<MatrixView<const T>> y, Workspace workspace, cudaStream_t stream) {
  return launch_softmax_backward<T>("log_softmax_backward", dx, dy, y, true, workspace, stream);
}

#define RONDO_SOFTMAX(T)                                                                                  \
  template Status softmax<T>(MatrixView<T>, MatrixView<const T>, Workspace, cudaStream_t);                \
  template Status log_softmax<T>(MatrixView<T>, MatrixView<const T>, Workspace, cudaStream_t);            \
  template Status softmax_backward<T>(MatrixView<T>, MatrixView<const T>, MatrixView<const T>, Workspace, \
                                      cudaStream_t);                                                      \
  template Status log_softmax_backward<T>(MatrixView<T>, MatrixView<const T>, MatrixView<const T>,        \
                                          Workspace, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_SOFTMAX)

}  // namespace rondo

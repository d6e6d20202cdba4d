#include <rondo/kernels/core/activation_functions.h>
#include <rondo/kernels/elementwise/unary.h>
#include <rondo/kernels/elementwise/elementwise.cuh>

namespace rondo {
namespace {

template <UnaryOperator op>
struct Unary {
  __device__ float operator()(float x) const {
    switch (op) {
      case UnaryOperator::negate:
        return -x;
      case UnaryOperator::absolute:
        return fabsf(x);
      case UnaryOperator::square:
        return x * x;
      case UnaryOperator::reciprocal:
        return 1.0f / x;
      case UnaryOperator::sqrt:
        return sqrtf(x);
      case UnaryOperator::exp:
        return exp_of(x);
      case UnaryOperator::log:
        return log_of(x);
      case UnaryOperator::tanh:
        return tanh_of(x);
    }
    return x;
  }
};

template <UnaryOperator op, class T>
Status run_unary(MatrixView<T> y, MatrixView<const T> x, cudaStream_t stream) {
  return detail::checked_elementwise("unary", {"x"}, y, Unary<op>{}, stream, detail::input_of(x));
}

}  // namespace

template <ValueType T>
Status unary(MatrixView<T> y, NonDeduced<MatrixView<const T>> x, UnaryOperator op, cudaStream_t stream) {
  ArgumentCheck check("unary");
  check.enumerator("op", op, UnaryOperator::tanh);
  check.same_shape("x", x, "y", y);
  RONDO_RETURN_IF_ERROR(check.status());
  using enum UnaryOperator;
  using Run = Status (*)(MatrixView<T>, MatrixView<const T>, cudaStream_t);
  constexpr Run kRun[] = {run_unary<negate, T>,     run_unary<absolute, T>, run_unary<square, T>,
                          run_unary<reciprocal, T>, run_unary<sqrt, T>,     run_unary<exp, T>,
                          run_unary<log, T>,        run_unary<tanh, T>};
  return kRun[static_cast<int>(op)](y, x, stream);
}

#define RONDO_UNARY(T) \
  template Status unary<T>(MatrixView<T>, MatrixView<const T>, UnaryOperator, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_UNARY)

}  // namespace rondo

#include <rondo/kernels/elementwise/binary.h>
#include <rondo/kernels/elementwise/elementwise.cuh>

namespace rondo {
namespace {

template <BinaryOperator op>
struct Binary {
  __device__ float operator()(float a, float b) const {
    switch (op) {
      case BinaryOperator::add:
        return a + b;
      case BinaryOperator::subtract:
        return a - b;
      case BinaryOperator::multiply:
        return a * b;
      case BinaryOperator::divide:
        return a / b;
      case BinaryOperator::minimum:
        return a < b || a != a ? a : b;  // b also if it is NaN
      case BinaryOperator::maximum:
        return a > b || a != a ? a : b;
    }
    return a;
  }
};

template <BinaryOperator op, class T>
Status run_binary(MatrixView<T> y, const detail::ElementwiseInput<T>& a, const detail::ElementwiseInput<T>& b,
                  cudaStream_t stream) {
  return detail::checked_elementwise("binary", {"a", "b"}, y, Binary<op>{}, stream, a, b);
}

template <class T>
Status checked_binary(MatrixView<T> y, const detail::ElementwiseInput<T>& a,
                      const detail::ElementwiseInput<T>& b, BinaryOperator op, cudaStream_t stream) {
  ArgumentCheck check("binary");
  check.enumerator("op", op, BinaryOperator::maximum);
  RONDO_RETURN_IF_ERROR(check.status());
  using enum BinaryOperator;
  using Input = const detail::ElementwiseInput<T>&;
  using Run = Status (*)(MatrixView<T>, Input, Input, cudaStream_t);
  constexpr Run kRun[] = {run_binary<add, T>,    run_binary<subtract, T>, run_binary<multiply, T>,
                          run_binary<divide, T>, run_binary<minimum, T>,  run_binary<maximum, T>};
  return kRun[static_cast<int>(op)](y, a, b, stream);
}

// As an input of T, so that a value and a matrix have one kernel.
template <class T>
detail::ElementwiseInput<T> value_of(float value) {
  return {{}, true, value};
}

}  // namespace

template <ValueType T>
Status binary(MatrixView<T> y, NonDeduced<MatrixView<const T>> a, NonDeduced<MatrixView<const T>> b,
              BinaryOperator op, cudaStream_t stream) {
  return checked_binary(y, detail::input_of(a), detail::input_of(b), op, stream);
}
template <ValueType T>
Status binary(MatrixView<T> y, NonDeduced<MatrixView<const T>> a, float b, BinaryOperator op,
              cudaStream_t stream) {
  return checked_binary(y, detail::input_of(a), value_of<T>(b), op, stream);
}
template <ValueType T>
Status binary(MatrixView<T> y, float a, NonDeduced<MatrixView<const T>> b, BinaryOperator op,
              cudaStream_t stream) {
  return checked_binary(y, value_of<T>(a), detail::input_of(b), op, stream);
}

#define RONDO_BINARY(T)                                                                               \
  template Status binary<T>(MatrixView<T>, MatrixView<const T>, MatrixView<const T>, BinaryOperator,  \
                            cudaStream_t);                                                            \
  template Status binary<T>(MatrixView<T>, MatrixView<const T>, float, BinaryOperator, cudaStream_t); \
  template Status binary<T>(MatrixView<T>, float, MatrixView<const T>, BinaryOperator, cudaStream_t);
RONDO_FOR_VALUE_TYPES(RONDO_BINARY)

}  // namespace rondo

// elementwise(): y[i, j] = function(a[i, j], b[i, j], ...), for a function of your own.
//
//   struct Blend {
//     float weight;
//     __device__ float operator()(float a, float b) const { return fmaf(weight, b - a, a); }
//   };
//   const Status status = elementwise("blend", y, inputs(a, bias), Blend{0.25f}, stream);
//
// This header is installed. Its users compile it with nvcc or, for the CPU executor, with g++ or clang; they
// link rondo::kernels. A lambda is `[=] __device__(float a) { ... }`, and needs nvcc's `--extended-lambda`.
// nvcc's warnings 1407 (launch() of a local type is not hidden) and 2810 (of a lambda's call) mean nothing.
// The CMake target rondo::kernel_options has the options of Rondo's own kernels: with nvcc those for lambdas
// and warnings, on the executor those with which g++ makes vectors, also of exp_of() or gelu_of(). The level
// of optimisation is the program's own; -O3 is Rondo's.
//
// Shapes: y is [rows, cols], row-major with any stride; or a VectorView, which is one row. Each input is
//   - a MatrixView, whose sides are those of y, or 1. A side of 1 counts as that of y, as in NumPy: 1 x cols
//     is a row for all rows, rows x 1 a column for all columns, 1 x 1 a value in device memory.
//   - a VectorView, which is a row.
//   - a float, a value for all elements.
// There are from 1 to 8 inputs. Elements are float32, bfloat16 or float16, of a type for each operand,
// aligned to their size. There are no units.
//
// Numerics: `function` takes and returns floats. A 16-bit result is rounded once, to nearest even. The
// function is called once for each element; in which thread and order is not defined.
// Aliasing: y may be an input of the same shape (the same pointer and stride). Otherwise y overlaps nothing.
// Errors: bad_argument for a negative side, a stride below cols, sides that do not match, null or misaligned
// pointers, an overlap. Messages begin with `name`, which must live as long as the launch; inputs
// are "input 0", "input 1" and so on. Without rows or columns nothing is done.
// Traffic: each input is read once, y is written once. Accesses have 16 bytes where they can:
//   - Matrices without gaps between their rows, and vectors, are one flat array (flat.cuh), unless an input
//     is a value. It may begin anywhere, if all operands begin equally far behind a multiple of 16 bytes.
//   - Others (broadcast.cuh) need rows that begin at multiples of 16 bytes. The number of columns may be odd.
// Otherwise each thread accesses single elements, and adjacent threads adjacent elements.
#pragma once

#include <rondo/kernels/core/check.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/elementwise/broadcast.cuh>
#include <rondo/kernels/elementwise/flat.cuh>

#include <array>
#include <tuple>
#include <type_traits>

namespace rondo {
namespace detail {

// An input as inputs() makes it. `view.data` is not used if `is_value`.
template <class T>
struct ElementwiseInput {
  MatrixView<const T> view;
  bool is_value = false;
  float value = 0;
};

template <class T>
ElementwiseInput<std::remove_const_t<T>> input_of(const MatrixView<T>& view) {
  return {view};
}
template <class T>
ElementwiseInput<std::remove_const_t<T>> input_of(const VectorView<T>& row) {
  return {{row.data, 1, row.size, row.size}};
}
inline ElementwiseInput<float> input_of(float value) { return {{}, true, value}; }

template <class T>
BroadcastInput<T> broadcast_of(const ElementwiseInput<T>& in, int64_t cols) {
  if (in.is_value) return {nullptr, 0, false, in.value};
  return {in.view.data, in.view.rows == 1 ? 0 : in.view.stride, in.view.cols == cols, 0};
}

// Whether the operand is one array without gaps, or one value.
template <class T>
bool is_packed(const MatrixView<T>& view) {
  return view.rows <= 1 || view.stride == view.cols;
}
template <class T>
bool is_one_value(const ElementwiseInput<T>& in) {
  return in.is_value || (in.view.rows == 1 && in.view.cols == 1);
}
template <class T, class Output>
bool is_whole(const ElementwiseInput<T>& in, const MatrixView<Output>& y) {
  return !in.is_value && in.view.rows == y.rows && in.view.cols == y.cols;
}

template <class T, class Output>
void check_input(ArgumentCheck& check, const char* name, const ElementwiseInput<T>& in,
                 const MatrixView<Output>& y) {
  if (in.is_value) return;
  check.input(name, in.view);
  check.require(
      (in.view.rows == y.rows || in.view.rows == 1) && (in.view.cols == y.cols || in.view.cols == 1), name,
      " is ", in.view.rows, " x ", in.view.cols, ", must be ", y.rows, " x ", y.cols,
      " like y, or have 1 in place of a side");
}

// elementwise() without its checks.
template <class Output, class Function, class... T>
Status run_elementwise(const char* name, MatrixView<Output> y, Function function, cudaStream_t stream,
                       ElementwiseInput<T>... in) {
  if (is_packed(y) && ((is_one_value(in) || (is_whole(in, y) && is_packed(in.view))) && ...)) {
    const int64_t size = y.rows * y.cols;
    if ((is_whole(in, y) && ...))
      return elementwise_flat(name, stream, function, y.data, size, in.view.data...);
    ((in.view = is_whole(in, y) ? matrix(in.view.data, 1, size) : in.view), ...);
    y = matrix(y.data, 1, size);
  }
  return broadcast(name, function, y, stream, broadcast_of(in, y.cols)...);
}

// elementwise() with the names of the inputs in messages.
template <class Output, class Function, class... T>
Status checked_elementwise(const char* name, const std::array<const char*, sizeof...(T)>& names,
                           MatrixView<Output> y, Function function, cudaStream_t stream,
                           const ElementwiseInput<T>&... in) {
  static_assert(sizeof...(T) >= 1 && sizeof...(T) <= 8, "from 1 to 8 inputs");
  ArgumentCheck check(name);
  check.output("y", y, names);
  size_t i = 0;
  (check_input(check, names[i++], in, y), ...);
  RONDO_RETURN_IF_ERROR(check.status());
  return run_elementwise(name, y, function, stream, in...);
}

inline constexpr std::array<const char*, 8> kInputNames = {"input 0", "input 1", "input 2", "input 3",
                                                           "input 4", "input 5", "input 6", "input 7"};

}  // namespace detail

// The inputs of elementwise(): views, and values.
template <class... Operand>
auto inputs(const Operand&... operands) {
  return std::make_tuple(detail::input_of(operands)...);
}

template <ValueType T, class... Input, class Function>
[[nodiscard]] Status elementwise(const char* name, MatrixView<T> y,
                                 const std::tuple<detail::ElementwiseInput<Input>...>& inputs,
                                 Function function, cudaStream_t stream) {
  std::array<const char*, sizeof...(Input)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = detail::kInputNames[i];
  return std::apply(
      [&](const auto&... in) { return detail::checked_elementwise(name, names, y, function, stream, in...); },
      inputs);
}

// For a flat array, which is a matrix of one row.
template <ValueType T, class... Input, class Function>
[[nodiscard]] Status elementwise(const char* name, VectorView<T> y,
                                 const std::tuple<detail::ElementwiseInput<Input>...>& inputs,
                                 Function function, cudaStream_t stream) {
  return elementwise(name, MatrixView<T>{y.data, 1, y.size, y.size}, inputs, function, stream);
}

}  // namespace rondo

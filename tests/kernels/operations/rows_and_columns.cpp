// Operators on the elements of matrices with gaps, rows and columns, and reductions over rows and columns.
#include <rondo/kernels/elementwise/binary.h>
#include <rondo/kernels/elementwise/unary.h>
#include <rondo/kernels/reduce/reduce.h>
#include <rondo/tests/kernels/operations/operations.h>

#include <array>
#include <utility>

namespace rondo::test {
namespace {

template <class T>
std::string suffix_of(int64_t rows, int64_t cols, int64_t stride) {
  return concat("_", rows, "x", cols, "_stride_", stride,
                std::is_same_v<T, float> ? "" : concat("_", name_of(dtype_of<T>)));
}

template <class T>
void add_elementwise(std::vector<Operation>& all, int64_t rows, int64_t cols, int64_t stride) {
  const std::string suffix = suffix_of<T>(rows, cols, stride);
  const auto in = [](Operands& o, int64_t of_rows, int64_t of_cols, int64_t of_stride) {
    return MatrixView<const T>{o.in(o.values_of<T>(of_rows * of_stride)), of_rows, of_cols, of_stride};
  };
  const auto out = [=](Operands& o) {
    return MatrixView<T>{o.in_out(o.values_of<T>(rows * stride)), rows, cols, stride};
  };
  all.push_back({"unary" + suffix, [=](Operands& o) {
                   const auto y = out(o);
                   return unary(y, in(o, rows, cols, stride), UnaryOperator::tanh, o.stream());
                 }});
  all.push_back({"binary" + suffix, [=](Operands& o) {
                   const auto y = out(o);
                   const auto a = in(o, rows, cols, stride), b = in(o, rows, cols, stride);
                   return binary(y, a, b, BinaryOperator::subtract, o.stream());
                 }});
  all.push_back({"binary_row" + suffix, [=](Operands& o) {
                   const auto y = out(o);
                   const auto a = in(o, rows, cols, stride), b = in(o, 1, cols, cols);
                   return binary(y, a, b, BinaryOperator::subtract, o.stream());
                 }});
  all.push_back({"binary_column" + suffix, [=](Operands& o) {
                   const auto y = out(o);
                   const auto a = in(o, rows, 1, 1), b = in(o, rows, cols, stride);
                   return binary(y, a, b, BinaryOperator::subtract, o.stream());
                 }});
  all.push_back({"binary_value" + suffix, [=](Operands& o) {
                   const auto y = out(o);
                   return binary(y, in(o, rows, cols, stride), 0.75f, BinaryOperator::multiply, o.stream());
                 }});
}

template <class T>
void add_reductions(std::vector<Operation>& all, bool of_rows, int64_t rows, int64_t cols, int64_t stride) {
  const std::string suffix = suffix_of<T>(rows, cols, stride);
  const auto in = [=](Operands& o) {
    return MatrixView<const T>{o.in(o.values_of<T>(rows * stride)), rows, cols, stride};
  };
  const auto scratch = [=](Operands& o) {
    return o.workspace(of_rows ? reduce_rows_workspace_bytes(rows, cols)
                               : reduce_columns_workspace_bytes(rows, cols));
  };
  const int64_t results = of_rows ? rows : cols;
  for (const auto& [name, op] : {std::pair<const char*, ReduceOperator>{"sum", ReduceOperator::sum},
                                 {"norm", ReduceOperator::l2_norm},
                                 {"min", ReduceOperator::min}})
    all.push_back(
        {concat(of_rows ? "reduce_rows_" : "reduce_columns_", name, suffix), [=, op = op](Operands& o) {
           const VectorView<float> y = {o.out(results), results};
           const auto x = in(o);
           return of_rows ? reduce_rows(y, x, op, scratch(o), o.stream())
                          : reduce_columns(y, x, op, scratch(o), o.stream());
         }});
  for (const bool largest : {true, false})
    all.push_back(
        {concat(largest ? "argmax" : "argmin", of_rows ? "_rows" : "_columns", suffix), [=](Operands& o) {
           const VectorView<int64_t> index = {o.out<int64_t>(results), results};
           const auto x = in(o);
           const Workspace w = scratch(o);
           return of_rows
                      ? largest ? argmax_rows(index, x, w, o.stream()) : argmin_rows(index, x, w, o.stream())
                  : largest ? argmax_columns(index, x, w, o.stream())
                            : argmin_columns(index, x, w, o.stream());
         }});
}

template <class T>
void add_of(std::vector<Operation>& all) {
  using Shape = std::array<int64_t, 3>;
  for (const auto& [rows, cols, stride] : {Shape{40, 17, 24}, {5, 64, 64}, {3, 300, 301}, {2, 1030, 1032}})
    add_elementwise<T>(all, rows, cols, stride);
  for (const auto& [rows, cols, stride] :
       {Shape{40, 17, 24}, {5, 130, 136}, {3, 1030, 1031}, {2, 8232, 8232}})
    add_reductions<T>(all, true, rows, cols, stride);
  for (const auto& [rows, cols, stride] : {Shape{40, 17, 24}, {600, 64, 64}, {33, 70, 71}})
    add_reductions<T>(all, false, rows, cols, stride);
}

}  // namespace

void add_rows_and_columns(std::vector<Operation>& all) {
  add_of<float>(all);
  add_of<__nv_bfloat16>(all);
  add_of<__half>(all);
}

}  // namespace rondo::test

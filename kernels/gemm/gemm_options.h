// The shape and the options of a matrix product.
#pragma once

#include <rondo/kernels/core/activation.h>
#include <rondo/kernels/core/dtype.h>
#include <rondo/kernels/core/math_mode.h>
#include <rondo/kernels/core/view.h>

#include <cstdint>
#include <type_traits>

namespace rondo {

// The matrix or the batch that is added to a product before the activation. It has the type, the shape and
// the strides of c, and may be c.
struct GemmResidual {
  GemmResidual() = default;
  template <class T>
  GemmResidual(const MatrixBatchView<T>& view)
      : data(view.data),
        type(dtype_of<std::remove_const_t<T>>),
        rows(view.rows),
        cols(view.cols),
        stride(view.stride),
        batches(view.batches),
        batch_stride(view.batch_stride) {}
  template <class T>
  GemmResidual(const MatrixView<T>& view)
      : GemmResidual(MatrixBatchView<T>{view.data, 1, view.rows, view.cols, view.stride, 0}) {}
  template <class T>
  GemmResidual(const MatrixPointersView<T>& view)
      : GemmResidual(MatrixBatchView<T>{nullptr, view.batches, view.rows, view.cols, view.stride, 0}) {
    data = view.data;
    by_pointers = true;
  }

  const void* data = nullptr;  // none: null and no elements
  DType type = DType::float32;
  int64_t rows = 0, cols = 0, stride = 0;
  int64_t batches = 1, batch_stride = 0;
  bool by_pointers = false;  // data is an array of pointers
};

struct GemmOptions {
  bool transpose_a = false;                  // op(A) = A^T: the view `a` is k x m
  bool transpose_b = false;                  // op(B) = B^T: the view `b` is n x k
  float alpha = 1;                           // 0: A and B are not read (their views are still checked)
  float beta = 0;                            // 0: C is not read
  VectorView<const float> bias{};            // n values, added to every row; none if data is null
  GemmResidual residual{};                   // added like the bias; beta must be 0 with it
  Activation activation = Activation::none;  // applied last
  Math math = Math::fp32;                    // of the products; everything else is always fp32
};

// The sizes m, n, k of a product. Each result is a sum of k products.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

}  // namespace rondo

// The kernels of the stand-ins: sums of products in float.
#pragma once

#include <rondo/kernels/core/status.h>

#include <cstdint>

namespace rondo::stand_in {

// The type of the tensors, and how factors are rounded: tf32 are floats.
enum class Arithmetic { fp32, tf32, bf16, fp16 };

// Element (i, j) is at index i * row + j * column.
struct Matrix {
  void* data;
  int64_t row, column;
};

// c = alpha a b + beta c, with a: m x k and b: k x n. c is not read if beta is 0.
struct MatrixProduct {
  int m, n, k;
  Matrix a, b, c;
  float alpha, beta;
};

// Sizes and steps in the order of the arguments of a descriptor: NCHW, KCRS.
struct Tensor {
  void* data;
  int size[4];
  int64_t step[4];
};

enum class Sum { forward, data_gradient, filter_gradient };

// The result is one of x [n, c, h, w], w [k, c / groups, r, s] and y [n, k, p, q]: alpha times the sum of
// products, plus beta times itself. Row p of y combines row r of the filter with row
// p * stride + r * dilation - pad of x, and each group of k only with its group of c.
// `is_flipped`: with the filter's rows and columns reversed.
struct ConvolutionSum {
  Sum sum;
  Tensor x, w, y;
  int pad[2], stride[2], dilation[2];  // of rows and columns
  int groups;
  bool is_flipped;
  float alpha, beta;
};

Status enqueue(Arithmetic arithmetic, const MatrixProduct& product, cudaStream_t stream);
Status enqueue(Arithmetic arithmetic, const ConvolutionSum& sum, cudaStream_t stream);

}  // namespace rondo::stand_in

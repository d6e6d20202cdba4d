// The copies of cuBLAS between host and device: vectors whose elements lie `inc` elements apart, and matrices
// in column-major order.
#pragma once

#include <cublas_v2.h>  // the statuses; it includes this file after them
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>

namespace simt::blas {

// Copies `columns` columns of `rows` elements; the first elements of two columns are `from_step` and
// `to_step` elements apart. Without a stream the copy has ended on return.
inline cublasStatus_t copy(int rows, int columns, int element_bytes, const void* from, int from_step,
                           void* to, int to_step, cudaMemcpyKind kind, const cudaStream_t* stream) {
  if (rows < 0 || columns < 0 || element_bytes <= 0 || from_step < std::max(1, rows) ||
      to_step < std::max(1, rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (rows == 0 || columns == 0) return CUBLAS_STATUS_SUCCESS;
  const auto bytes = [element_bytes](int elements) {
    return static_cast<size_t>(elements) * static_cast<size_t>(element_bytes);
  };
  const cudaError_t error = stream
                                ? cudaMemcpy2DAsync(to, bytes(to_step), from, bytes(from_step), bytes(rows),
                                                    static_cast<size_t>(columns), kind, *stream)
                                : cudaMemcpy2D(to, bytes(to_step), from, bytes(from_step), bytes(rows),
                                               static_cast<size_t>(columns), kind);
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

// A vector is a matrix of one column if its elements are adjacent on both sides, and else one of one row.
inline cublasStatus_t copy_vector(int n, int element_bytes, const void* from, int from_inc, void* to,
                                  int to_inc, cudaMemcpyKind kind, const cudaStream_t* stream) {
  if (from_inc == 1 && to_inc == 1)
    return copy(n, 1, element_bytes, from, std::max(1, n), to, std::max(1, n), kind, stream);
  return copy(1, n, element_bytes, from, from_inc, to, to_inc, kind, stream);
}

}  // namespace simt::blas

inline cublasStatus_t cublasSetVector(int n, int element_bytes, const void* x, int incx, void* device,
                                      int inc) {
  return simt::blas::copy_vector(n, element_bytes, x, incx, device, inc, cudaMemcpyHostToDevice, nullptr);
}
inline cublasStatus_t cublasSetVectorAsync(int n, int element_bytes, const void* x, int incx, void* device,
                                           int inc, cudaStream_t stream) {
  return simt::blas::copy_vector(n, element_bytes, x, incx, device, inc, cudaMemcpyHostToDevice, &stream);
}
inline cublasStatus_t cublasGetVector(int n, int element_bytes, const void* device, int inc, void* x,
                                      int incx) {
  return simt::blas::copy_vector(n, element_bytes, device, inc, x, incx, cudaMemcpyDeviceToHost, nullptr);
}
inline cublasStatus_t cublasGetVectorAsync(int n, int element_bytes, const void* device, int inc, void* x,
                                           int incx, cudaStream_t stream) {
  return simt::blas::copy_vector(n, element_bytes, device, inc, x, incx, cudaMemcpyDeviceToHost, &stream);
}
inline cublasStatus_t cublasSetMatrix(int rows, int columns, int element_bytes, const void* a, int lda,
                                      void* device, int ld) {
  return simt::blas::copy(rows, columns, element_bytes, a, lda, device, ld, cudaMemcpyHostToDevice, nullptr);
}
inline cublasStatus_t cublasSetMatrixAsync(int rows, int columns, int element_bytes, const void* a, int lda,
                                           void* device, int ld, cudaStream_t stream) {
  return simt::blas::copy(rows, columns, element_bytes, a, lda, device, ld, cudaMemcpyHostToDevice, &stream);
}
inline cublasStatus_t cublasGetMatrix(int rows, int columns, int element_bytes, const void* device, int ld,
                                      void* a, int lda) {
  return simt::blas::copy(rows, columns, element_bytes, device, ld, a, lda, cudaMemcpyDeviceToHost, nullptr);
}
inline cublasStatus_t cublasGetMatrixAsync(int rows, int columns, int element_bytes, const void* device,
                                           int ld, void* a, int lda, cudaStream_t stream) {
  return simt::blas::copy(rows, columns, element_bytes, device, ld, a, lda, cudaMemcpyDeviceToHost, &stream);
}
